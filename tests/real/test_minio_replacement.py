"""A drive of MinIO changed: real scripts with the rights that are rendered, a real API server with its controllers, and
four real MinIO servers, asked by the Jobs' own script with the real client. Only what kubelet does is played.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from miniopods import PODS, Pods
from nodesite import audited, control_plane, told_tokens, unused
from nodesteps import Steps
from reference import load
from test_minio_drives import DRIVES, PATIENCE, ROOT, SERVERS, Store, few_drives, objects

from generator.components.minio.settings import setup_job
from generator.components.node_operations.names import DRIVE_REPLACEMENT

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ASKING = f"{PODS}?labelSelector=app.kubernetes.io%2Fname%3Dask-minio"
NODE, SERVER = "nas-2", 1
OBJECTS = [f"object-{number}" for number in range(40)]
"""Enough that each drive holds a part of some."""


class Site(Pods):
    """A cluster with MinIO's pods, and the servers that run in them."""

    def __init__(self, steps: Steps, store: Store, log: Path) -> None:
        super().__init__(steps, SERVERS)
        self.store, self.log = store, log
        self.secrets = store.folder / "secrets"
        (self.secrets / "root").mkdir(parents=True)
        (self.secrets / "ca.crt").touch()
        (self.secrets / "root/rootUser").write_text("rootuser")
        (self.secrets / "root/rootPassword").write_text("rootpassword")

    def look(self, own: Steps) -> None:
        """Run a server for each new pod, and end the pods that ask."""
        super().look(own)
        for pod in own.api.items(ASKING):
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
                self.answer(own, pod)

    def own(self, number: int) -> Path:
        return self.store.own(number)

    def ready(self) -> bool:
        return self.store.ready(PATIENCE)

    def command(self, number: int, _pod: dict[str, Any]) -> list[str]:
        """Return what runs the server of a pod."""
        return self.store.command(number)

    def named(self, said: str) -> str:
        """Return what MinIO says, as it would by the names of its pods."""
        return said

    @property
    def endpoint(self) -> str:
        """Where MinIO is asked."""
        return f"127.0.0.1:{self.store.ports[0]}"

    def answer(self, own: Steps, pod: dict[str, Any]) -> None:
        (container,) = pod["spec"]["containers"]
        told = self.store.folder / "told"
        told.write_text("")
        env = {
            "PATH": f"{Path(self.store.mc).parent}:/usr/bin:/bin",
            "SECRETS": str(self.secrets),
            "SCHEME": "http",
            "TOLD": str(told),
            "MC_CONFIG_DIR": str(self.store.folder / "mc"),
            "ENDPOINT": self.endpoint,
        }
        done = subprocess.run([*container["command"], *container["args"]], env=env, check=False, capture_output=True)
        state = {"terminated": {"exitCode": done.returncode, "reason": "Done", "message": self.named(told.read_text())}}
        status = {"name": "main", "image": "any", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        phase = "Failed" if done.returncode else "Succeeded"
        own.status(f"{PODS}/{pod['metadata']['name']}", {"phase": phase, "containerStatuses": [status]})

    def do(self, *steps: str, drive: str = "0", **told: str) -> str:
        """Run steps that must succeed."""
        return "".join(self.steps.good("drive_replacement", step, NODE, DRIVE=drive, **told) for step in steps)

    def refused(self, step: str, node: str = NODE, drive: str = "0", **told: str) -> str:
        return self.steps.refused("drive_replacement", step, node, DRIVE=drive, **told)

    @property
    def place(self) -> Path:
        """Where the drive is mounted that is changed."""
        return self.store.place("export-0", SERVER)

    def reads(self, name: str, through: int) -> bool:
        return self.store.client("cat", f"s/data/{name}", through=through).stdout == name * 1000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    from apiserver import programs

    from generator.live.apiserver import free_ports

    cluster = few_drives(load("ml50"))
    assert cluster.storage.objects
    folder = tmp_path_factory.mktemp("audit")
    with (
        tempfile.TemporaryDirectory(prefix="drives-", ignore_cleanup_errors=True) as name,
        audited(folder) as log,
        control_plane(cluster, Path(name), *(f"nas-{number + 1}" for number in range(SERVERS)), "cpu-01") as steps,
    ):
        store = Store(folder, list(free_ports(SERVERS)), *programs("minio", "mc"))
        store.mount(
            {f"export-{drive}-minio-{one}": f"{one}-{drive}" for drive in range(DRIVES) for one in range(SERVERS)}
        )
        for one in objects(cluster, "StorageClass", "PersistentVolume", "ServiceAccount", "PodDisruptionBudget"):
            steps.api.apply(one)
        for one in (*objects(cluster, "StatefulSet"), setup_job(cluster, cluster.storage.objects)):
            steps.api.apply(one)
        with Site(steps, store, log).playing() as made:
            steps.api.wait("all servers began", lambda: len(made.programs) == SERVERS)
            assert store.ready(PATIENCE)
            yield made


@pytest.fixture(scope="module")
def full(site: Site) -> Site:
    """Objects of which each drive holds parts."""
    assert site.store.client("mb", "s/data").returncode == 0
    for name in OBJECTS:
        assert site.store.client("pipe", f"s/data/{name}", text=name * 1000).returncode == 0
    return site


def test_what_is_no_drive_is_refused(full: Site) -> None:
    assert "sdb is no number of a drive: the first one of nas-2 is 0" in full.refused("preflight", drive="sdb")
    assert "nas-2 has 2 drives of MinIO, and none with the number 7" in full.refused("preflight", drive="7")
    assert "cpu-01 has no drives of MinIO" in full.refused("preflight", node="cpu-01")
    for node in (NODE, "cpu-01"):
        report = full.steps.good("drive_replacement", "report", node, DRIVE="0", STATUS="Failed")
        assert report.strip().endswith("nothing was changed"), "a server that was left alone is not to be stopped"


def test_a_new_drive_heals_and_alone_gives_back_every_object(full: Site) -> None:
    former = full.place.rename(full.store.folder / "former")
    full.place.mkdir()
    said = full.do("preflight", "restart", "heal", "sample")
    assert "minio-1 starts anew" in said
    assert "healed: " in said
    assert f"read {len(OBJECTS[:20])} objects as they were written" in said
    for name in OBJECTS:
        assert len(list((full.place / "data" / name).rglob("*"))) == len(list((former / "data" / name).rglob("*"))), (
            name
        )
    uid = full.uids[SERVER]
    said = full.do("preflight", "restart", "heal")
    assert "minio-1 has started anew since the change began" in said
    assert full.uids[SERVER] == uid, "a run that is done again stops nothing"
    full.do("report")
    # Half of the drives are needed for each object: without two servers, the new drive is one of them.
    with full.without(2, 3):
        assert [name for name in OBJECTS if not full.reads(name, through=0)] == []
    shutil.rmtree(former)


def test_the_same_drive_is_changed_once_more(full: Site) -> None:
    """MinIO tells how the former one was healed until it sees the new one."""
    former = full.place.rename(full.store.folder / "former")
    full.place.mkdir()
    uid = full.uids[SERVER]
    full.do("preflight")
    assert full.steps.killed("drive_replacement", "restart", NODE, DRIVE="0") == 1
    runs(full)
    assert full.uids[SERVER] != uid
    assert "healed: " in full.do("heal")
    for name in OBJECTS:
        assert len(list((full.place / "data" / name).rglob("*"))) == len(list((former / "data" / name).rglob("*")))
    full.do("sample", "report")
    shutil.rmtree(former)


def test_a_drive_that_nobody_changed_is_told(full: Site) -> None:
    full.do("preflight", "restart")
    runs(full)
    said = full.refused("heal", ACCEPT_SECONDS="15")
    assert "drive 0 of nas-2 is good, and MinIO has not begun to heal it: the former drive is mounted there" in said
    report = full.do("report", STATUS="Failed")
    assert "delete configmap drive-replacement-nas-2`" in report
    assert "drive 0 of nas-2 is being changed since" in full.refused("preflight", drive="1")
    report = full.do("report", drive="1", STATUS="Failed")
    assert "nothing was changed" in report
    assert "delete" not in report, "it is the other drive's note, and its server serves"
    full.place.rename(full.store.folder / "former")
    full.place.mkdir()
    assert "healed: " in full.do("preflight", "restart", "heal", "report"), "its server has not seen the new drive"
    shutil.rmtree(full.store.folder / "former")
    runs(full)


def runs(site: Site) -> None:
    """Wait until the server of the pod that is there runs: the pod is Ready at once, for no kubelet looks."""
    pod = f"{PODS}/minio-{SERVER}"
    site.steps.api.wait("it began", lambda: site.uids[SERVER] == site.steps.api.get(pod)["metadata"]["uid"])
    assert site.store.ready(PATIENCE)
    site.steps.api.wait("all drives are good", lambda: states(site) == {"ok"})


def test_while_another_drive_is_bad_none_is_changed(full: Site) -> None:
    other = full.store.place("export-1", 2)
    away = other.rename(full.store.folder / "away")
    other.touch()  # or MinIO makes a new folder there, and heals it
    full.steps.api.wait("MinIO has noticed", lambda: states(full) != {"ok"})
    said = full.refused("preflight")
    assert re.search(r"of 8 drives \S+/minio-2/export-1 is (offline|faulty|corrupt): wait, or mend that, first", said)
    other.unlink()
    away.rename(other)
    full.steps.api.wait("it is back", lambda: states(full) == {"ok"})


def states(site: Site) -> set[str]:
    """Return in which states drives are."""
    info = json.loads(site.store.client("admin", "info", "s", "--json").stdout)["info"]
    return {one["state"] for server in info["servers"] for one in server.get("drives", ())}


def test_a_drive_of_another_place_is_not_taken(full: Site) -> None:
    full.do("preflight")
    full.place.rename(full.store.folder / "former")
    shutil.copytree(full.store.place("export-1", 3), full.place, ignore=shutil.ignore_patterns("tmp"))
    uid = full.uids[SERVER]
    # Whoever did not notice: the server starts anew, and leaves the drive alone.
    full.steps.api.request("DELETE", f"{PODS}/minio-{SERVER}?gracePeriodSeconds=0")
    full.steps.api.wait("it started anew", lambda: full.uids[SERVER] != uid)
    said = full.refused("heal", ACCEPT_SECONDS="10")
    assert "MinIO does not take drive 0 of nas-2" in said
    assert "has been one of MinIO's in another place" in said


def test_no_right_is_unused_and_none_is_missing(full: Site) -> None:
    """After all others."""
    assert unused(full.steps, full.log, DRIVE_REPLACEMENT) == set()


def test_no_key_and_no_token_is_told(full: Site) -> None:
    """After all others."""
    assert told_tokens(full.steps, full.log, ROOT["MINIO_ROOT_PASSWORD"]) == []
