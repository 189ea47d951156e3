"""MinIO as the StatefulSet of ml50 says it: four real servers of sixteen drives each, by its own arguments,
environment, files and probes. Replaced are the hosts' names by loopback addresses, which count up as the pods do, ports
by free ones, and paths by those of a folder.
"""

import contextlib
import json
import re
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from minioserver import asked
from msgspec import structs
from ports import free_port

from generator.components.minio import minio
from generator.components.minio.layout import CONSOLE_PORT, PORT
from generator.model.cluster import Cluster
from tools import program

if TYPE_CHECKING:
    from generator.process import Program

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SECRETS = {
    "minio-root": {"rootUser": "administrator", "rootPassword": "only-for-this-test"},
    "minio-kms": {"key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
}
PATIENCE = 120.0
STARTS = 4
OBJECTS = {"small": b"some text\n" * 1000, "empty": b"", "large": bytes(range(256)) * 4096 * 40}
"""By name. The large one is 40 MiB: mc sends it in parts."""


class Servers:
    """The servers of a StatefulSet; each runs in a folder of its own, in which its drives are."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        from apiserver import programs

        self.folder = folder
        self.server, self.mc = programs("minio", "mc")
        (self.set,) = (one for one in minio(cluster).objects if one["kind"] == "StatefulSet")
        self.pod = self.set["spec"]["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.count: int = self.set["spec"]["replicas"]
        self.port, self.console = free_port(), free_port()
        self.running: dict[int, Program] = {}
        self.certify()

    def address(self, number: int) -> str:
        """Return the host of a server: MinIO's own pattern counts from the first one on."""
        return f"127.0.7.{number}"

    @property
    def certificates(self) -> Path:
        return self.folder / "certs"

    def certify(self) -> None:
        """Lay a CA and a certificate of it for all servers where the pod would see its Secret's keys."""
        hosts = ",".join(f"IP:{self.address(number)}" for number in range(self.count))
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        ca = ["-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "ca.crt"]
        leaf = ["-subj", "/CN=minio", "-keyout", "tls.key", "-out", "tls.crt", "-CA", "ca.crt", "-CAkey", "ca.key"]
        leaf += ["-addext", f"subjectAltName={hosts}", "-addext", "basicConstraints=critical,CA:FALSE"]
        for more in (ca, leaf):
            command = [program("openssl"), "req", "-x509", *curve, *more]
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        (volume,) = (one for one in self.pod["volumes"] if one["name"] == "certs")
        trusted = self.folder / ".mc/certs/CAs/ca.crt"
        placed = {self.certificates / one["path"]: one["key"] for one in volume["secret"]["items"]}
        for place, key in (placed | {trusted: "ca.crt"}).items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((self.folder / key).read_bytes())

    def arguments(self, number: int) -> list[str]:
        """Return the container's arguments with other hosts, ports and paths. Each is replaced once."""
        mounts = {one["name"]: one["mountPath"] for one in self.container["volumeMounts"]}
        hosts = f"127.0.7.{{0...{self.count - 1}}}:{self.port}/proc/self/cwd/"
        words: list[str] = []
        for word in self.container["args"]:
            said, found = re.subn(rf"(?<=//)minio-{{[0-9.]+}}\.minio-hl\.[a-z.]+:{PORT}/(?=export-)", hosts, word)
            for former, now in (
                (f"--address=:{PORT}", f"--address={self.address(number)}:{self.port}"),
                (f"--console-address=:{CONSOLE_PORT}", f"--console-address={self.address(number)}:{self.console}"),
                (f"--certs-dir={mounts['certs']}", f"--certs-dir={self.certificates}"),
            ):
                found += said == former
                said = now if said == former else said
            assert found == (word != "server"), word
            words.append(said)
        return words

    def environment(self, number: int) -> dict[str, str]:
        """Return what kubelet makes of the container's environment, with what the machine must be told."""
        found: dict[str, str] = {}
        for one in self.container["env"]:
            of = one.get("valueFrom", {}).get("secretKeyRef")
            text = SECRETS[of["name"]][of["key"]] if of else one["value"]
            found[one["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found[name[1]], text)
        return found | {
            "HOME": str(self.own(number)),  # containerd sets it
            "MINIO_CI_CD": "1",  # the drives lie on the machine's own disk, all on one
            # In a container MinIO takes no loopback address for its own, unless it is told.
            "_MINIO_SERVER_LOCAL": f"{self.address(number)}:{self.port}",
        }

    def own(self, number: int) -> Path:
        """Return a server's folder."""
        return self.folder / f"minio-{number}"

    def start(self, *numbers: int) -> None:
        from generator.process import start

        for number in numbers:
            own = self.own(number)
            for one in self.set["spec"]["volumeClaimTemplates"]:
                (own / one["metadata"]["name"]).mkdir(parents=True, exist_ok=True)
            words = [f"{name}={value}" for name, value in self.environment(number).items()]
            command = ["/usr/bin/env", "-i", f"--chdir={own}", *words, self.server, *self.arguments(number)]
            self.running[number] = start(own, command)

    def stop(self, *numbers: int) -> None:
        from generator.process import stop

        for number in numbers:
            stop(self.running.pop(number))

    def status(self, number: int, path: str) -> int:
        """Return what a server says at a path, 0 where it says nothing."""
        trust = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        try:
            url = f"https://{self.address(number)}:{self.port}{path}"
            with urllib.request.urlopen(url, timeout=10, context=trust) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code
        except OSError:
            return 0

    def well(self, probe: str, *numbers: int) -> bool:
        """Tell whether servers pass a probe."""
        path = self.container[probe]["httpGet"]["path"]
        return all(self.status(number, path) == 200 for number in numbers or range(self.count))

    def client(self, number: int, *words: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run mc through one server."""
        login = ":".join(SECRETS["minio-root"].values())
        env = {"HOME": str(self.folder), "MC_HOST_s": f"https://{login}@{self.address(number)}:{self.port}"}
        return subprocess.run([self.mc, *words], env=env, input=text, capture_output=True, check=False, timeout=60)

    def whole(self) -> bool:
        """Tell whether each server sees all others, as it would still take writes without itself. That it is ready, or
        that all drives are good where they are, is said before.
        """
        path = "/minio/health/cluster?maintenance=true"
        return all(self.status(number, path) == 200 for number in range(self.count))

    def takes(self, number: int, name: str, text: bytes) -> bool:
        """Tell whether a server takes an object, in parts where it is large."""
        (self.folder / "sent").write_bytes(text)
        return not self.client(number, "cp", str(self.folder / "sent"), f"s/data/{name}").returncode

    def takes_whole(self, number: int, name: str, text: bytes) -> bool:
        """Tell whether a server takes an object onto the drives of all servers. One that has just started may leave out
        those of another for a while, whatever it tells of the cluster: such an object is healed later.
        """
        if not self.takes(number, name, text):
            return False
        parts = [len(list(self.own(each).glob(f"export-*/data/{name}/xl.meta"))) for each in range(self.count)]
        return min(parts) == max(parts)

    def told(self, number: int, name: str) -> dict[str, Any]:
        """Return what a server tells of an object."""
        found: dict[str, Any] = json.loads(self.client(number, "stat", "--json", f"s/data/{name}").stdout)
        return found

    def reads(self, number: int, name: str) -> bool:
        """Tell whether a server gives an object back as it was sent."""
        read = self.client(number, "cat", f"s/data/{name}")
        return (read.returncode, read.stdout) == (0, OBJECTS[name])

    def reads_all(self, number: int) -> bool:
        return all(self.reads(number, name) for name in OBJECTS)


def eventually(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.3)


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def servers(request: pytest.FixtureRequest, tmp_path: Path, ml50: Cluster) -> Iterator[Servers]:
    assert ml50.storage.objects
    objects = structs.replace(ml50.storage.objects, encryption=request.param)
    made = Servers(tmp_path, structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects)))
    try:
        made.start(*range(made.count))
        eventually("all are live", lambda: made.well("livenessProbe"))
        eventually("all are ready", lambda: made.well("readinessProbe"))
        eventually("there is a bucket", lambda: not made.client(0, "mb", "--ignore-existing", "s/data").returncode)
        # What is written before a server sees all others lies on fewer until it is healed.
        eventually("each server sees all others", made.whole)
        yield made
    finally:
        made.stop(*list(made.running))


def test_every_kind_of_object_survives_two_servers(servers: Servers, request: pytest.FixtureRequest) -> None:
    """What was sent whole, what was sent in parts and what is empty; each server is gone once, and left once."""
    for name, text in OBJECTS.items():
        eventually(f"{name} lies on all servers", partial(servers.takes_whole, 0, name, text))
    told = {name: servers.told(0, name) for name in OBJECTS}
    assert {name: one["size"] for name, one in told.items()} == {name: len(text) for name, text in OBJECTS.items()}
    in_parts = {name for name, one in told.items() if "-" in one["etag"]}
    assert in_parts == {"large"}
    encrypted = "encrypted" in request.node.callspec.id
    assert {bool(said_encrypted(one)) for name, one in told.items()} == {encrypted}
    for gone, left in (((0, 1), (2, 3)), ((2, 3), (0, 1))):
        servers.stop(*gone)
        for number in left:
            eventually(f"all is read through {number} without {gone}", partial(servers.reads_all, number))
            # Else kubelet would start anew what still reads, or the Service would lose it.
            assert servers.well("livenessProbe", number)
            assert servers.well("readinessProbe", number)
        refused = servers.client(left[0], "pipe", "s/data/refused", text=b"x")
        assert b"Resource requested is unwritable" in refused.stderr, (gone, refused)
        servers.start(*gone)
        eventually("each server sees all others", servers.whole)
        eventually("writes are taken", partial(servers.takes, gone[0], f"after-{gone[0]}", b"x"))
    assert servers.status(0, "/minio/v2/metrics/cluster") == 403


def said_encrypted(one: dict[str, Any]) -> str:
    """Return how an object lies encrypted, nothing where it does not."""
    return str(one.get("metadata", {}).get("X-Amz-Server-Side-Encryption", ""))


def test_three_servers_take_objects_in_parts(servers: Servers) -> None:
    servers.stop(3)
    eventually("three take writes", lambda: servers.takes(1, "large", OBJECTS["large"]))
    servers.start(3)
    eventually("all are ready", lambda: servers.well("readinessProbe"))
    eventually("the fourth reads it", lambda: servers.reads(3, "large"))


@pytest.mark.parametrize("servers", [True], ids=["encrypted"], indirect=True)
def test_nothing_lies_unencrypted_from_the_first_moment_of_a_start(servers: Servers) -> None:
    """Root writes all the time while all servers start: what is taken before they have read their settings would lie
    unencrypted.
    """
    taken: list[str] = []
    for _ in range(STARTS):
        servers.stop(*list(servers.running))
        servers.start(*range(servers.count))
        taken += written_until(servers, servers.whole)
    assert len(taken) >= STARTS
    # What was written while some servers were away is seen everywhere a while later.
    eventually("all that was taken is there", lambda: all(servers.told(0, name).get("etag") for name in taken))
    assert [name for name in taken if not said_encrypted(servers.told(0, name))] == []


def written_until(servers: Servers, holds: Callable[[], bool]) -> list[str]:
    """Write object after object to each server until something holds; return the names of those that were taken."""
    login, end = ":".join(SECRETS["minio-root"].values()), threading.Event()

    def write(number: int) -> list[str]:
        place, taken = (f"{servers.address(number)}:{servers.port}", servers.folder / "ca.crt"), []
        while not end.wait(0.05):
            name = f"at-{number}-{time.monotonic_ns()}"
            with contextlib.suppress(OSError, HTTPException):
                if asked(place, login, "PUT", f"/data/{name}") == 200:
                    taken.append(name)
        return taken

    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(write, number) for number in range(servers.count)]
        try:
            eventually("each server sees all others", holds)
        finally:
            end.set()
        return [name for one in writers for name in one.result()]
