"""MinIO's volumes on a real control plane, and real MinIO servers on drives that lie as the claims were bound."""

import contextlib
import json
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from documented import as_administrator, blocks
from msgspec import structs
from reference import with_hardware

from generator.components.minio import minio
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from twin.plane import Plane

    from generator.process import Program

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SERVERS, DRIVES = 4, 2
ROOT = {"MINIO_ROOT_USER": "rootuser", "MINIO_ROOT_PASSWORD": "rootpassword"}
CLAIMS = "/api/v1/namespaces/minio/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
PATIENCE = 60.0
SETTLED = 3.0
"""Seconds in which a claim that loses its volume is told to be lost: at once, where that is made to happen."""


def few_drives(cluster: Cluster) -> Cluster:
    """Return the cluster with as many drives on each NAS node as a test needs."""
    machines = []
    for machine in cluster.machines:
        disks = tuple(structs.replace(disk, count=DRIVES) for disk in machine.hardware.disks)
        machines.append(with_hardware(machine, disks=disks) if machine.pool == "nas" else machine)
    return structs.replace(cluster, machines=tuple(machines))


def objects(cluster: Cluster, *kinds: str) -> list[dict[str, Any]]:
    component = minio(few_drives(cluster))
    return [one for one in (*component.base, *component.objects) if one["kind"] in kinds]


def claims_of(cluster: Cluster) -> list[dict[str, Any]]:
    """Return the claims as the StatefulSet's controller makes them."""
    (servers,) = objects(cluster, "StatefulSet")
    return [
        {
            **{key: template[key] for key in ("apiVersion", "kind", "spec")},
            "metadata": {"namespace": "minio", "name": f"{template['metadata']['name']}-minio-{number}"},
        }
        for number in range(servers["spec"]["replicas"])
        for template in servers["spec"]["volumeClaimTemplates"]
    ]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Plane"]:
    from twin.plane import plane

    with plane(tmp_path_factory.mktemp("plane")) as running:
        running.namespace("minio")
        yield running


def eventually(what: str, check: Any) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if check():
            return
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {PATIENCE:g} s")


def bound(plane: "Plane") -> dict[str, str]:
    """Return each claim's volume."""
    found = {one["metadata"]["name"]: one for one in plane.items(CLAIMS)}
    return {name: one["spec"]["volumeName"] for name, one in found.items() if one["status"].get("phase") == "Bound"}


def bind(plane: "Plane", claims: list[dict[str, Any]]) -> dict[str, str]:
    for claim in claims:
        assert plane.create(claim, dry=False)[0] == 201
    eventually("every claim is bound", lambda: len(bound(plane)) == len(claims))
    return bound(plane)


def remove_claims(plane: "Plane") -> None:
    plane.request("DELETE", CLAIMS)
    eventually("the claims are gone", lambda: not plane.items(CLAIMS))


def released(plane: "Plane") -> int:
    return [one["status"]["phase"] for one in plane.items(VOLUMES)].count("Released")


def take_back(plane: "Plane") -> None:
    """Run what docs/operations.md says of claims that were deleted."""
    from generator.rehearsal.twin.plane import ADMIN

    (script,) = [one for one in blocks("operations.md", "sh") if "claimRef/uid" in one]
    config = plane.address.kubeconfig(ADMIN)
    done = as_administrator(f"set -eu\n{script}", config, config.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def states(plane: "Plane") -> dict[str, str]:
    return {one["metadata"]["name"]: one["status"].get("phase", "") for one in plane.items(CLAIMS)}


def again(plane: "Plane", claims: list[dict[str, Any]]) -> None:
    """Delete claims and make them anew, as the StatefulSet does with a new pod."""
    for claim in claims:
        plane.request("DELETE", f"{CLAIMS}/{claim['metadata']['name']}")
    names = {claim["metadata"]["name"] for claim in claims}
    eventually("they are gone", lambda: not names & set(states(plane)))
    for claim in claims:
        assert plane.create(claim, dry=False)[0] == 201


def one_server_again(plane: "Plane", claims: list[dict[str, Any]]) -> dict[str, str]:
    """Return each claim's volume after those of one server were deleted, while all others stayed bound."""
    again(plane, [claim for claim in claims if claim["metadata"]["name"].endswith("-minio-1")])
    eventually("its volumes are released", lambda: released(plane) == DRIVES)
    take_back(plane)
    eventually("its claims are bound", lambda: "Pending" not in states(plane).values())
    time.sleep(SETTLED)
    assert set(states(plane).values()) == {"Bound"}
    return bound(plane)


def lost_and_found(plane: "Plane", claims: list[dict[str, Any]]) -> dict[str, str]:
    """Return each claim's volume after those of one server lost them, and were deleted and made anew."""
    for drive in range(DRIVES):
        path = f"{VOLUMES}/minio-nas-2-{drive}"
        held = plane.get(path)
        del held["spec"]["claimRef"]["uid"]
        assert plane.request("PUT", path, held)[0] == 200
    eventually("they are lost", lambda: list(states(plane).values()).count("Lost") == DRIVES)
    again(plane, [claim for claim in claims if states(plane)[claim["metadata"]["name"]] == "Lost"])
    take_back(plane)
    eventually("all are bound", lambda: set(states(plane).values()) == {"Bound"})
    return bound(plane)


@pytest.fixture(scope="module")
def bindings(plane: "Plane", ml50: Cluster) -> list[dict[str, str]]:
    """Return each claim's volume at the first installation; after the claims were deleted and made again in another
    order; after those of one server were; after claims were lost; and on a new cluster, whose volumes come from Git
    once more.
    """
    shuffled, volumes = random.Random(4), objects(ml50, "PersistentVolume")
    for made in (*objects(ml50, "StorageClass"), *volumes):
        plane.apply(made)
    claims = claims_of(ml50)
    found = [bind(plane, claims)]
    remove_claims(plane)
    eventually("the volumes are released", lambda: released(plane) == len(volumes))
    take_back(plane)
    shuffled.shuffle(claims)
    found.append(bind(plane, claims))
    found.append(one_server_again(plane, claims))
    found.append(lost_and_found(plane, claims))
    remove_claims(plane)
    for volume in volumes:
        plane.request("DELETE", f"{VOLUMES}/{volume['metadata']['name']}")
    eventually("the volumes are gone", lambda: not plane.items(VOLUMES))
    shuffled.shuffle(volumes)
    shuffled.shuffle(claims)
    for volume in volumes:
        plane.apply(volume)
    found.append(bind(plane, claims))
    return found


def test_claims_find_their_own_drives_in_whatever_order_they_are_made(bindings: list[dict[str, str]]) -> None:
    own = {
        f"export-{drive}-minio-{server}": f"minio-nas-{server + 1}-{drive}"
        for server in range(SERVERS)
        for drive in range(DRIVES)
    }
    assert bindings == [own] * 5


class Store(NamedTuple):
    """Servers of one MinIO, on loopback ports of their own, and the client."""

    folder: Path
    ports: list[int]
    server: str
    mc: str

    def mount(self, binding: dict[str, str]) -> None:
        """Lay the drives, which are called by their volumes, where the pods would see them."""
        note = self.folder / "placed.json"
        for volume, place in json.loads(note.read_text()).items() if note.exists() else ():
            Path(place).rename(self.folder / volume)
        placed = {volume: self.place(*claim.partition("-minio-")[::2]) for claim, volume in binding.items()}
        for volume, place in placed.items():
            (self.folder / volume).mkdir(exist_ok=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / volume).rename(place)
        note.write_text(json.dumps({volume: str(place) for volume, place in placed.items()}))

    def place(self, export: str, number: int | str) -> Path:
        return self.folder / "pods" / f"minio-{number}" / export

    def drives(self) -> list[str]:
        return [
            f"http://127.0.0.1:{port}{self.place(f'export-{drive}', number)}"
            for number, port in enumerate(self.ports)
            for drive in range(DRIVES)
        ]

    def command(self, number: int, **more: str) -> list[str]:
        """Return what runs a server, with the parity of the component and `more` in its environment."""
        parity, port = f"EC:{SERVERS * DRIVES // 2}", self.ports[number]
        env = {
            **ROOT,
            # The drives lie on the machine's own disk.
            "MINIO_CI_CD": "1",
            "MINIO_STORAGE_CLASS_STANDARD": parity,
            "MINIO_STORAGE_CLASS_RRS": parity,
            # In a container MinIO takes no loopback address for its own, unless it is told.
            "_MINIO_SERVER_LOCAL": f"127.0.0.1:{port}",
            **more,
        }
        words = [f"{key}={value}" for key, value in env.items()]
        return ["/usr/bin/env", *words, self.server, "server", f"--address=127.0.0.1:{port}", "--json", *self.drives()]

    def own(self, number: int) -> Path:
        """Return a server's own folder."""
        own = self.folder / f"server-{number}"
        own.mkdir(exist_ok=True)
        return own

    @contextlib.contextmanager
    def running(self, **more: str) -> Iterator[list["Program"]]:
        """Run all servers."""
        from generator.process import background

        with ExitStack() as stack:
            yield [
                stack.enter_context(background(self.own(number), self.command(number, **more)))
                for number in range(SERVERS)
            ]

    def client(self, *words: str, through: int = 0, text: str = "") -> subprocess.CompletedProcess[str]:
        login = ":".join(ROOT.values())
        env = {"HOME": str(self.folder), "MC_HOST_s": f"http://{login}@127.0.0.1:{self.ports[through]}"}
        return subprocess.run(
            [self.mc, *words], env=env, input=text, capture_output=True, text=True, check=False, timeout=60
        )

    def ready(self, seconds: float, *options: str) -> bool:
        try:
            env = {"HOME": str(self.folder), "MC_HOST_s": f"http://rootuser:rootpassword@127.0.0.1:{self.ports[0]}"}
            subprocess.run([self.mc, "ready", "s", *options], env=env, capture_output=True, check=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def all_read(self, through: int = 0) -> bool:
        return all(self.client("cat", f"s/data/{name}", through=through).stdout == name * 1000 for name in NAMES)


NAMES = ["one", "two", "three", "four"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    from apiserver import programs

    from generator.live.apiserver import free_ports

    server, client = programs("minio", "mc")
    return Store(tmp_path, list(free_ports(SERVERS)), server, client)


def fill(store: Store, binding: dict[str, str]) -> None:
    store.mount(binding)
    with store.running():
        assert store.ready(PATIENCE)
        assert store.client("mb", "s/data").returncode == 0
        for name in NAMES:
            assert store.client("pipe", f"s/data/{name}", text=name * 1000).returncode == 0


def test_full_drives_are_taken_back_after_the_claims_were_made_again(
    store: Store, bindings: list[dict[str, str]]
) -> None:
    first, *again = bindings
    fill(store, first)
    for binding in again:
        store.mount(binding)
        with store.running():
            assert store.ready(PATIENCE)
            assert store.all_read()


def test_drives_in_another_order_are_refused(store: Store, bindings: list[dict[str, str]]) -> None:
    """The fault itself: what any order of binding would do."""
    first = bindings[0]
    fill(store, first)
    store.mount(dict(zip(first, reversed(first.values()), strict=True)))
    with store.running():
        assert not store.ready(15)
    logs = "".join(file.read_text() for file in store.folder.glob("server-*/*.log"))
    assert "unexpected drive ordering" in logs


def test_writes_are_refused_at_once_while_two_are_gone_and_all_heals_when_they_come_back(
    store: Store, bindings: list[dict[str, str]]
) -> None:
    """One comes back as it went, without what was written meanwhile, and the other one with new drives."""
    from generator.process import background, stop

    fill(store, bindings[0])
    with store.running() as servers:
        assert store.ready(PATIENCE)
        stop(servers[3])
        eventually("three take writes", lambda: store.client("pipe", "s/data/five", text="five" * 1000).returncode == 0)
        stop(servers[2])
        eventually("all is read with two servers gone", lambda: store.all_read() and store.all_read(1))
        began = time.monotonic()
        refused = store.client("pipe", "s/data/six", text="x")
        took = time.monotonic() - began
        assert (refused.returncode, "x" in store.client("cat", "s/data/six").stdout) == (1, False), refused
        assert "Resource requested is unwritable, please reduce your request rate" in refused.stderr, refused
        assert took < PATIENCE / 2, took
        shutil.rmtree(store.folder / "pods" / "minio-3")
        for drive in range(DRIVES):
            store.place(f"export-{drive}", 3).mkdir(parents=True)
        with ExitStack() as returned:
            for number in (2, 3):
                returned.enter_context(background(store.own(number), store.command(number)))
            assert store.ready(PATIENCE)
            eventually(
                "writes are taken", lambda: store.client("pipe", "s/data/six", text="six" * 1000).returncode == 0
            )
            assert store.client("admin", "heal", "--recursive", "s/data").returncode == 0
            eventually("every drive has its part of every object", lambda: whole_on(store, 2) and whole_on(store, 3))
            stop(servers[0])
            stop(servers[1])
            eventually("all is read from those that came back", lambda: store.all_read(2) and store.all_read(3))


def whole_on(store: Store, server: int) -> bool:
    """Tell whether all drives of a server have a part of each object."""
    names = [*NAMES, "five", "six"]
    parts = (
        store.place(f"export-{drive}", server) / "data" / name / "xl.meta" for drive in range(DRIVES) for name in names
    )
    return all(part.is_file() for part in parts)
