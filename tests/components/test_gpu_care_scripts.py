"""What `gpu-care` makes of what an exporter tells: nothing, something sick, something cut off, something else."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import pytest
from exporteroutputs import BLANK, Device, output, uuid

from generator.components.gpu_care.templates import scripts
from generator.components.gpu_care.xids import CLASSES, table

NOON = "2026-11-23T12:00:00Z"
WELL = output([Device(0), Device(1)])


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """The scripts as a step imports them."""
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in scripts()["data"].items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield import_module("exporter"), import_module("judging")
        for name in scripts()["data"]:
            sys.modules.pop(name.removesuffix(".py"), None)


def judged(modules: tuple[Any, Any], memory: dict[str, Any], *devices: Device, now: str = NOON) -> Any:
    """Return what is found in an answer."""
    exporter, judging = modules
    return judging.judge(memory, exporter.gpus(output(devices)), now, table(), lambda holder: holder)


def looked_at(modules: tuple[Any, Any], *devices: Device) -> dict[str, Any]:
    """Return what is known after a first look."""
    found = judged(modules, {}, *devices)
    return dict(found.memory)


def test_a_node_that_is_well_is_left(modules: tuple[Any, Any]) -> None:
    found = judged(modules, looked_at(modules, Device(0), Device(1)), Device(0), Device(1))
    assert (found.sick, found.report) == ([], [])
    assert found.memory == looked_at(modules, Device(0), Device(1)), "nothing is written where nothing happens"


@pytest.mark.parametrize("code", CLASSES["sick"])  # type: ignore[index]
def test_an_xid_of_the_hardware_makes_sick(modules: tuple[Any, Any], code: int) -> None:
    found = judged(modules, looked_at(modules, Device(0), Device(1)), Device(0), Device(1, code))
    assert len(found.sick) == 1
    assert found.sick[0].startswith(f"{uuid(1)}: Xid {code}")


def test_an_xid_counts_once_and_again_after_another(modules: tuple[Any, Any]) -> None:
    memory = looked_at(modules, Device(0))
    found = judged(modules, memory, Device(0, 79))
    assert found.sick
    assert judged(modules, found.memory, Device(0, 79)).sick == []
    restarted = judged(modules, found.memory, Device(0))
    assert judged(modules, restarted.memory, Device(0, 79)).sick


def test_a_gpu_that_is_not_told_of_is_not_forgotten(modules: tuple[Any, Any]) -> None:
    found = judged(modules, looked_at(modules, Device(0), Device(1)), Device(0), Device(1, 79))
    gone = judged(modules, found.memory, Device(0))
    assert judged(modules, gone.memory, Device(0), Device(1, 79)).sick == []


def test_an_xid_of_unknown_age_is_only_reported(modules: tuple[Any, Any]) -> None:
    found = judged(modules, {}, Device(0, 79), Device(1, 31, pod="vision/train-0"))
    assert found.sick == []
    assert found.report == [
        f"{uuid(0)}: Xid 79 (GPU has fallen off the bus), of unknown age: it was there at the first look"
    ]
    assert judged(modules, found.memory, Device(0, 79)).sick == []


def test_rows_that_cannot_be_remapped_make_sick_once(modules: tuple[Any, Any]) -> None:
    found = judged(modules, {}, Device(0, failed=1))
    assert found.sick == [f"{uuid(0)}: memory rows can no longer be remapped"]
    assert judged(modules, found.memory, Device(0, failed=1)).sick == []
    assert judged(modules, {}, Device(0, failed=BLANK)).sick == []


@pytest.mark.parametrize(("code", "told"), [(63, "reset the GPU when it is idle"), (54, "have a person look")])
def test_what_can_wait_is_reported(modules: tuple[Any, Any], code: int, told: str) -> None:
    found = judged(modules, looked_at(modules, Device(0)), Device(0, code))
    assert found.sick == []
    assert len(found.report) == 1
    assert told in found.report[0]


@pytest.mark.parametrize("code", [45, 43, 999])
def test_what_says_nothing_of_the_device_is_only_noted(modules: tuple[Any, Any], code: int) -> None:
    found = judged(modules, looked_at(modules, Device(0)), Device(0, code))
    assert (found.sick, found.report) == ([], [])


def test_many_jobs_with_errors_of_their_own_speak_against_the_node(modules: tuple[Any, Any]) -> None:
    memory = looked_at(modules, Device(0))
    codes = (31, 13, 43, 31, 13, 31)
    reports = []
    for hour, code in enumerate(codes):
        job = "vision/first" if hour < 3 else f"vision/train-{hour}"
        found = judged(modules, memory, Device(0, code, pod=job), now=f"2026-11-23T{hour:02}:00:00Z")
        assert found.sick == []
        memory = found.memory
        reports.append(found.report)
    assert [bool(one) for one in reports] == [False, False, False, False, False, True]
    assert "in 4 different jobs within a day: vision/first, vision/train-3" in reports[-1][0]
    later = judged(modules, memory, Device(0, 13, pod="vision/last"), now="2026-11-24T12:00:00Z")
    assert later.report == []
    assert list(later.memory["jobs"]) == ["vision/last"]


def test_no_number_of_jobs_makes_a_note_outgrow_its_node(modules: tuple[Any, Any]) -> None:
    memory = looked_at(modules, Device(0))
    for number in range(60):
        device = Device(0, (13, 31)[number % 2], pod=f"vision/train-{number}")
        found = judged(modules, memory, device, now=f"2026-11-23T12:{number:02}:00Z")
        memory = found.memory
    assert sorted(memory["jobs"]) == sorted(f"vision/train-{number}" for number in range(40, 60))
    assert found.report, "the newest is told of still"


def test_split_gpus_tell_of_each_instance(modules: tuple[Any, Any]) -> None:
    well = [Device(0, instance="3"), Device(0, instance="4")]
    for devices in ((well[0], Device(0, 95, instance="4")), (Device(0, 95, instance="3"), well[1])):
        found = judged(modules, looked_at(modules, *well), *devices)
        assert found.sick == [f"{uuid(0)}: Xid 95 (uncontained ECC error)"]


def test_fewer_gpus_make_sick_only_after_a_while_and_once(modules: tuple[Any, Any]) -> None:
    _, judging = modules
    told, memory = judging.short({"seen": {}}, "7 of 8", NOON)
    assert (told, memory["short"]) == ([], NOON)
    assert judging.short(memory, "7 of 8", "2026-11-23T12:09:59Z")[0] == []
    told, later = judging.short(memory, "7 of 8", "2026-11-23T12:10:00Z")
    assert told == [f"7 of 8 since {NOON}"]
    assert judging.short(later, "7 of 8", "2026-11-23T12:20:00Z")[0] == []
    assert judging.short(later, "", "2026-11-23T12:20:00Z") == ([], {"seen": {}})


def test_the_bound_is_a_part_of_the_pool_within_a_day(modules: tuple[Any, Any]) -> None:
    _, judging = modules
    assert [judging.room([], nodes, 10, NOON) for nodes in (1, 2, 10, 11, 200)] == [1, 1, 1, 2, 20]
    assert judging.room(["2026-11-23T11:00:00Z"], 10, 10, NOON) == 0
    assert judging.room(["2026-11-22T12:00:00Z"], 10, 10, NOON) == 1


@contextmanager
def answering(text: bytes, status: int = 200, **headers: str) -> Iterator[int]:
    """Yield the port of something that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_exporter_is_read(modules: tuple[Any, Any]) -> None:
    exporter, _ = modules
    text = output([Device(0, 79, pod="vision/train-0"), Device(1)])
    with answering(text.encode()) as port:
        found = exporter.read("127.0.0.1", port, 5)
    assert found == {
        uuid(0): exporter.Gpu(frozenset({79}), failed=False, holders=frozenset({"vision/train-0"})),
        uuid(1): exporter.Gpu(frozenset({0}), failed=False, holders=frozenset()),
    }


@pytest.mark.parametrize(
    ("text", "status", "headers", "told"),
    [
        (b"", 200, {}, "ends in the middle"),
        (b"\n", 200, {}, "tells nothing of DCGM_FI_DEV_XID_ERRORS"),
        (b"<html>\n</html>\n", 200, {}, "tells nothing of DCGM_FI_DEV_XID_ERRORS"),
        (b"\xff\xfe\x00\n", 200, {}, "answers no text"),
        (WELL.encode()[:-1], 200, {}, "ends in the middle"),
        (WELL.encode(), 200, {"Content_Length": "999999"}, "lacks"),
        (WELL.encode(), 302, {"Location": "http://127.0.0.1:1/"}, "answers 302 Found"),
        (WELL.encode(), 503, {}, "answers 503 Service Unavailable"),
        (WELL.replace("} 0", "} nan").encode(), 200, {}, "a value that is none"),
        (WELL.replace("} 0", "} 7e999").encode(), 200, {}, "a value that is none"),
        (WELL.replace("} 0", "} -1").encode(), 200, {}, "a value that is none"),
        (WELL.replace("} 0", "} 79 extra").encode(), 200, {}, "a line that is none"),
        (WELL.replace("UUID=", "other=").encode(), 200, {}, "not of which GPU"),
        (WELL.replace("XID_ERRORS", "XID_LAST").encode(), 200, {}, "tells nothing of DCGM_FI_DEV_XID_ERRORS"),
    ],
)  # fmt: skip
def test_any_other_answer_is_told_in_a_sentence(
    modules: tuple[Any, Any], text: bytes, status: int, headers: dict[str, str], told: str
) -> None:
    exporter, _ = modules
    with answering(text, status, **headers) as port, pytest.raises(exporter.Unread, match=told):
        exporter.read("127.0.0.1", port, 5)


def test_a_number_that_was_cut_off_is_no_other_xid(modules: tuple[Any, Any]) -> None:
    exporter, _ = modules
    text = output([Device(0, 119)])
    cut = text[: text.index("} 119") + len("} 11")]
    with pytest.raises(exporter.Unread, match="ends in the middle"):
        exporter.gpus(cut)


def test_an_answer_that_is_too_long_is_left(modules: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, _ = modules
    monkeypatch.setattr(exporter, "LONGEST", 100)
    with answering(WELL.encode()) as port, pytest.raises(exporter.Unread, match="more than 100 bytes"):
        exporter.read("127.0.0.1", port, 5)


def test_one_that_hangs_or_drips_is_left_in_time(modules: tuple[Any, Any]) -> None:
    exporter, _ = modules
    end = threading.Event()

    def drip(server: socket.socket) -> None:
        client, _ = server.accept()
        with client:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(100):
                if end.wait(0.1):
                    return
                client.sendall(b"#\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        try:
            with pytest.raises(exporter.Unread, match="it takes too long"):
                exporter.read("127.0.0.1", server.getsockname()[1], 0.5)
        finally:
            end.set()
            thread.join()
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(exporter.Unread, match="timed out"):
        exporter.read("127.0.0.1", server.getsockname()[1], 0.3)
    with pytest.raises(exporter.Unread, match="refused"):
        exporter.read("127.0.0.1", 1, 1)
