"""What a DCGM exporter answers: the form of dcgm-exporter 4.6 (internal/pkg/rendermetrics), with the labels that
it adds of pods and of Xids; split GPUs as an A30's were told in its issue 317.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

HELP = {
    "GPU_TEMP": ("gauge", "GPU temperature (in C)."),
    "XID_ERRORS": ("gauge", "Value of the last XID error encountered."),
    "UNCORRECTABLE_REMAPPED_ROWS": ("counter", "Number of remapped rows for uncorrectable errors"),
    "ROW_REMAP_FAILURE": ("gauge", "Whether remapping of rows has failed"),
}
BLANK = 9223372036854775794
"""What DCGM tells of what it does not know (DCGM_INT64_NOT_SUPPORTED)."""


class Device(NamedTuple):
    """A GPU: its number, its last Xid, whether rows cannot be remapped, the pod that has it, an instance of it."""

    number: int
    xid: int = 0
    failed: int = 0
    pod: str = ""
    instance: str = ""


def uuid(number: int) -> str:
    """Return the UUID of a GPU."""
    return f"GPU-{number:08x}-6156-355b-e589-ff2064894f16"


def output(devices: Iterable[Device], node: str = "gpu-01") -> str:
    """Return an answer, whole."""
    text = ""
    for field, (kind, words) in HELP.items():
        text += f"# HELP DCGM_FI_DEV_{field} {words}\n# TYPE DCGM_FI_DEV_{field} {kind}\n"
        text += "".join(_series(field, one, node) for one in devices)
    return text


def _series(field: str, one: Device, node: str) -> str:
    value = {"GPU_TEMP": 41, "XID_ERRORS": one.xid, "ROW_REMAP_FAILURE": one.failed}.get(field, 0)
    split = f',GPU_I_PROFILE="1g.6gb",GPU_I_ID="{one.instance}"' if one.instance else ""
    space, _, pod = one.pod.partition("/")
    held = {"container": "main", "namespace": space, "pod": pod} if one.pod else {}
    told = (
        {"err_code": str(one.xid), "err_msg": 'Some, with "{braces}" \\"'.replace('"', "'")} if "XID" in field else {}
    )
    more = "".join(f',{name}="{words}"' for name, words in sorted({**held, **told}.items()))
    return (
        f'DCGM_FI_DEV_{field}{{gpu="{one.number}",UUID="{uuid(one.number)}",pci_bus_id="00000000:17:00.0",'
        f'device="nvidia{one.number}",modelName="NVIDIA H100 80GB HBM3"{split},Hostname="{node}"'
        f',DCGM_FI_DRIVER_VERSION="580.95.05"{more}}} {value}\n'
    )


@contextmanager
def exporters(answers: Mapping[str, str], port: int = 0) -> Iterator[int]:
    """Answer at the addresses of some exporters, all by one port, which this yields, any where none is named: what
    `answers` says at that time, 404 where it says nothing.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = answers.get(self.connection.getsockname()[0])
            self.send_response(200 if text else 404)
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *_: object) -> None:
            pass

    servers: list[ThreadingHTTPServer] = []
    for address in answers:
        servers.append(ThreadingHTTPServer((address, servers[0].server_port if servers else port), Handler))
    threads = [threading.Thread(target=one.serve_forever, args=(0.05,)) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield servers[0].server_port
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()
