"""A server pool more for MinIO: real scripts with the rendered rights, a real API server with its controllers, and
real MinIO servers, four of each pool. Only what kubelet does is played (test_minio_replacement.py).
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from miniopods import PODS
from msgspec import structs
from nodesite import audited, control_plane, told_tokens, unused
from nodesteps import NODES
from reference import load
from test_minio_drives import DRIVES, ROOT, SERVERS, Store, few_drives
from test_minio_replacement import Site

from generator.components.common import OBJECTS
from generator.components.minio import minio
from generator.components.minio.settings import setup_job
from generator.components.node_operations.names import MINIO_EXPANSION
from generator.model.cluster import Cluster

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

OLD = [f"nas-{number + 1}" for number in range(SERVERS)]
NEW = [f"cpu-0{number + 1}" for number in range(SERVERS)]
"""Nodes that become the second server pool."""
NAMES = [f"object-{number}" for number in range(20)]
KINDS = ("StorageClass", "PersistentVolume", "ServiceAccount", "PodDisruptionBudget", "StatefulSet")
POOLS = re.compile(r"//minio(-\w+)*-\{0\.\.\.\d+\}")


class Pools(Store):
    """Servers on addresses of their own, one after the other, so that MinIO's own pattern names them. The same path
    leads each to its own drives: they are in the folder that it was started in.
    """

    def address(self, number: int) -> str:
        return f"127.0.{number // SERVERS + 1}.{number % SERVERS + 1}:{self.ports[0]}"

    def pool(self, number: int) -> str:
        hosts = f"127.0.{number + 1}.{{1...{SERVERS}}}"
        return f"http://{hosts}:{self.ports[0]}/proc/self/cwd/export-{{0...{DRIVES - 1}}}"

    def of_pools(self, number: int, count: int) -> list[str]:
        """Return what runs a server that knows so many pools."""
        for drive in range(DRIVES):
            (self.own(number) / f"export-{drive}").mkdir(exist_ok=True)
        parity = f"EC:{SERVERS * DRIVES // 2}"
        env = {**ROOT, "MINIO_CI_CD": "1", "MINIO_STORAGE_CLASS_STANDARD": parity, "MINIO_STORAGE_CLASS_RRS": parity}
        env["_MINIO_SERVER_LOCAL"] = self.address(number)
        words = [f"--chdir={self.own(number)}", *(f"{key}={value}" for key, value in env.items())]
        server = [self.server, "server", f"--address={self.address(number)}", "--json"]
        return ["/usr/bin/env", *words, *server, *map(self.pool, range(count))]

    def asks(self, *words: str, text: str = "", through: int = 0) -> "subprocess.CompletedProcess[str]":
        host = f"http://{':'.join(ROOT.values())}@{self.address(through)}"
        env = {"HOME": str(self.folder), "MC_HOST_s": host}
        command = [self.mc, *words]
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=False, timeout=120)


class Growing(Site):
    """The cluster, whose MinIO grows."""

    store: Pools

    def command(self, number: int, pod: dict[str, Any]) -> list[str]:
        return self.store.of_pools(number, pools_of(pod))

    @property
    def endpoint(self) -> str:
        return self.store.address(0)

    def named(self, said: str) -> str:
        for number, pod in self.pods.items():
            said = said.replace(f"{self.store.address(number)}/", f"{pod}.minio-hl.minio.svc:9000/")
        return said

    def bring(self, cluster: Cluster) -> None:
        """Do what a sync does."""
        component = minio(cluster)
        for one in (*component.base, *component.objects):
            if one["kind"] in KINDS:
                self.steps.api.apply(one)

    def good(self, *steps: str, **told: str) -> str:
        return "".join(self.steps.good("minio_expansion", step, PAUSE="1", **told) for step in steps)

    def no(self, step: str, **told: str) -> str:
        return self.steps.refused("minio_expansion", step, PAUSE="1", **told)

    def pools_of(self, name: str) -> int:
        """Return how many pools the server of a pod knows, 0 where there is none."""
        pod = self.steps.api.get(f"{PODS}/{name}")
        return pools_of(pod) if pod else 0


def pools_of(pod: dict[str, Any]) -> int:
    (container,) = pod["spec"]["containers"]
    return len([one for one in container["args"] if POOLS.search(one)])


def grown(cluster: Cluster) -> Cluster:
    """Return the cluster with a second server pool, on nodes that had another use."""
    assert cluster.storage.objects
    nas = next(one for one in cluster.machines if one.name == OLD[0])
    like = {"pool": "nas-2", "hardware": nas.hardware, "taints": nas.taints}
    machines = [structs.replace(one, **like) if one.name in NEW else one for one in cluster.machines]
    objects = structs.replace(cluster.storage.objects, expansions=("nas-2",))
    storage = structs.replace(cluster.storage, objects=objects)
    return structs.replace(cluster, machines=tuple(machines), storage=storage)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Growing]:
    from apiserver import programs

    from generator.live.apiserver import free_ports

    cluster = few_drives(load("ml50"))
    assert cluster.storage.objects
    folder = tmp_path_factory.mktemp("audit")
    with (
        tempfile.TemporaryDirectory(prefix="pools-", ignore_cleanup_errors=True) as name,
        audited(folder) as log,
        control_plane(cluster, Path(name), *OLD, "cpu-10") as steps,
    ):
        store = Pools(folder, list(free_ports(1)), *programs("minio", "mc"))
        made = Growing(steps, store, log)
        made.pods |= {SERVERS + number: f"minio-nas-2-{number}" for number in range(SERVERS)}
        made.bring(cluster)
        steps.api.apply(setup_job(cluster, cluster.storage.objects))
        with made.playing():
            steps.api.wait("all servers began", lambda: len(made.programs) == SERVERS)
            assert any(store.asks("ready", "s").returncode == 0 for _ in range(10))
            yield made


def test_a_pool_that_is_not_there_is_waited_for_by_nobody(site: Growing) -> None:
    assert site.store.asks("mb", "s/data").returncode == 0
    for name in NAMES:
        assert site.store.asks("pipe", f"s/data/{name}", text=name * 1000).returncode == 0
    before = dict(site.uids)
    said = site.good("preflight", "restart", "whole", "sample", "report")
    assert "all 4 servers of MinIO were started with the pools of the file: nothing is to be done" in said
    assert "nothing is to be started anew" in said
    site.bring(grown(few_drives(load("ml50"))))
    said = site.no("preflight")
    assert "minio-nas-2-0, minio-nas-2-1, minio-nas-2-2, minio-nas-2-3 of MinIO does not run: take its node in" in said
    assert "nothing was changed" in site.good("report", STATUS="Failed")
    assert site.uids == before


@pytest.fixture(scope="module")
def joined(site: Growing) -> Growing:
    """The nodes of the second pool have joined; its servers run and wait."""
    for name in NEW:
        site.steps.join(name)
        site.steps.patch(f"{NODES}/{name}", {"metadata": {"labels": {OBJECTS: "true"}}})
    site.steps.api.wait("all servers began", lambda: len(site.programs) == 2 * SERVERS)
    return site


def test_a_claim_without_a_drive_is_told(joined: Growing) -> None:
    path = "/api/v1/namespaces/minio/persistentvolumeclaims"
    metadata = {"name": "export-9-minio-0", "namespace": "minio", "labels": {"app.kubernetes.io/name": "minio"}}
    claim = joined.steps.api.get(f"{path}/export-0-minio-0")["spec"]
    spec = {key: value for key, value in claim.items() if key != "volumeName"}
    joined.steps.api.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    assert "export-9-minio-0 of MinIO is not bound to a drive" in joined.no("preflight")
    joined.steps.api.request("DELETE", f"{path}/export-9-minio-0")
    joined.steps.api.wait("it has gone", lambda: joined.steps.api.get(f"{path}/export-9-minio-0") is None)


def drives(site: Growing) -> list[str]:
    """Return in which states drives are, of all that MinIO tells of."""
    said = site.store.asks("admin", "info", "s", "--json").stdout
    info = json.loads(said or "{}").get("info", {})
    return [one["state"] for server in info.get("servers", ()) for one in server.get("drives", ())]


def test_while_a_drive_is_bad_nothing_is_started_anew(joined: Growing) -> None:
    place = joined.store.own(1) / "export-1"
    away = place.rename(joined.store.folder / "away")
    place.touch()  # or MinIO makes a new folder there, and heals it
    joined.steps.api.wait("MinIO has noticed", lambda: {*drives(joined)} != {"ok"})
    said = joined.no("preflight")
    assert re.search(
        r"of the drives of MinIO \S+/export-1 is (offline|faulty|corrupt): wait, or mend that, first", said
    )
    place.unlink()
    away.rename(place)
    joined.steps.api.wait("it is back", lambda: drives(joined) == ["ok"] * SERVERS * DRIVES)


def test_all_servers_start_anew_with_both_pools_though_the_run_is_killed_after_each(joined: Growing) -> None:
    # Who ended since the merge knows both pools, waits for the others, and must hinder nothing.
    joined.steps.api.request("DELETE", f"{PODS}/minio-3?gracePeriodSeconds=0")
    joined.steps.api.wait("it began anew", lambda: joined.pools_of("minio-3") == 2)
    joined.steps.api.wait("MinIO has noticed", lambda: "offline" in drives(joined) or len(drives(joined)) < 8)
    said = joined.good("preflight")
    assert "would start 8 servers anew at once: 3 do not know all pools of the file" in said
    before = dict(joined.uids)
    assert joined.steps.killed("minio_expansion", "restart", "", PAUSE="1") == 2 * SERVERS
    joined.steps.api.wait("all began anew", lambda: not {*before.values()} & {*joined.uids.values()})
    after = dict(joined.uids)
    assert "going on with what began at" in joined.good("preflight")
    assert "0 of 8 servers of MinIO end at once" in joined.good("restart")
    assert joined.uids == after, "a run that is done again ends nothing"
    said = joined.good("whole", "sample", READY_SECONDS="180")
    assert "all drives of all pools are good" in said
    assert f"read {len(NAMES)} objects as they were written" in said
    assert drives(joined) == ["ok"] * 2 * SERVERS * DRIVES
    through = 2 * SERVERS - 1
    assert [
        one for one in NAMES if joined.store.asks("cat", f"s/data/{one}", through=through).stdout != one * 1000
    ] == []
    # For some seconds it answers writes with 503, which clients try again: the others have yet to reach it.
    joined.steps.api.wait(
        "the last one takes objects",
        lambda: joined.store.asks("pipe", "s/data/new", text="x", through=through).returncode == 0,
    )
    assert "new objects go where there is room" in joined.good("report")
    assert "nothing is to be done" in joined.good("preflight")


def test_no_right_is_unused_and_none_is_missing(joined: Growing) -> None:
    """After all others."""
    assert unused(joined.steps, joined.log, MINIO_EXPANSION) == set()


def test_no_key_and_no_token_is_told(joined: Growing) -> None:
    """After all others."""
    assert told_tokens(joined.steps, joined.log, ROOT["MINIO_ROOT_PASSWORD"]) == []
