"""The report of health and capacity against a real API server, with the rights that are rendered, and a real Prometheus
whose past is filled in. What controllers would write into statuses is written by the test.
"""

import datetime as dt
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import healthsite
import pytest
import yaml
from auditing import executor, flags, unused
from msgspec import structs
from ports import free_port
from reference import load

from generator.components.health_report import NAME, NAMESPACE, health_report
from generator.components.health_report.facts import facts
from generator.components.health_report.template import scripts
from generator.model.cluster import Cluster
from generator.model.monitoring import Monitoring, Prometheus
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
ACCOUNT = f"{NAMESPACE}:{NAME}"
KEPT = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
CRDS = (
    "argo-cd/v3.5.3/crds/*application-crd.yaml",
    "cert-manager/v1.21.1/crds/*certificates.yaml",
    "kueue/v0.18.3/crds/*_clusterqueues.yaml",
    "kueue/v0.18.3/crds/*_resourceflavors.yaml",
    "rook/v1.20.6/crds/*_cephclusters.yaml",
    "volsync/v0.16.0/crds/*replicationsources.yaml",
)
WORKFLOWS = "argo-workflows/v4.0.2/crds/argoproj.io_workflows.yaml"
TIB = 2**40
SHOWN = 'instance="10.20.0.11:9283",job="rook-ceph-mgr",pod="rook-ceph-mgr-a"'
CLAIM = 'namespace="vision",persistentvolumeclaim="models",node="cpu-01"'
GROWING = {
    f"ceph_cluster_total_used_raw_bytes{{{SHOWN}}}": (40 * TIB, TIB),
    f'ceph_pool_stored{{pool_id="2",{SHOWN}}}': (10 * TIB, TIB / 10),
    f'ceph_pool_max_avail{{pool_id="2",{SHOWN}}}': (30 * TIB, 0),
    f'ceph_pool_quota_bytes{{pool_id="2",{SHOWN}}}': (0, 0),
    f'ceph_pool_metadata{{pool_id="2",name="rbd-nvme",type="replicated",{SHOWN}}}': (1, 0),
    'minio_cluster_capacity_usable_total_bytes{server="minio-0"}': (700 * TIB, 0),
    'minio_cluster_capacity_usable_free_bytes{server="minio-0"}': (350 * TIB, -TIB),
    'minio_cluster_nodes_offline_total{server="minio-0"}': (0, 0),
    'minio_cluster_drive_offline_total{server="minio-0"}': (0, 0),
    f"kubelet_volume_stats_used_bytes{{{CLAIM}}}": (50, 0),
    f"kubelet_volume_stats_capacity_bytes{{{CLAIM}}}": (100, 0),
    'ALERTS{alertname="Watchdog",alertstate="firing",severity="none"}': (1, 0),
    'ALERTS{alertname="CephOSDDown",alertstate="pending",severity="warning"}': (1, 0),
}
"""Series as exporters and Prometheus write them: what they are now, and by how much they grow in a day."""


def past(now: int) -> Iterator[str]:
    """Yield 30 days of samples, one each hour, and one of now."""
    hours = [now - now % 3600 - 3600 * back for back in range(30 * 24, -1, -1)]
    for series, (value, growth) in GROWING.items():
        yield f"# TYPE {series.partition('{')[0]} unknown"
        yield from (f"{series} {value - growth * (now - at) / 86400} {at}" for at in [*hours, now] if at <= now)
    yield "# EOF\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a Prometheus that scrapes nothing and has a past."""
    promtool, server = program("promtool"), program("prometheus")
    place = tmp_path_factory.mktemp("prometheus")
    (place / "past").write_text("\n".join(dict.fromkeys(past(int(time.time())))))
    (place / "prometheus.yml").write_text("{}")
    fill = [promtool, "tsdb", "create-blocks-from", "--max-block-duration=744h", "openmetrics", "past", "data"]
    filled = subprocess.run(fill, cwd=place, check=False, capture_output=True, text=True, timeout=120)
    assert filled.returncode == 0, filled.stdout + filled.stderr
    url = f"http://127.0.0.1:{free_port()}"
    places = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--storage.tsdb.retention.time=100y"]
    # The newest sample is some seconds old, and stays what is answered for as long as the test takes.
    command = [server, f"--web.listen-address={url.removeprefix('http://')}", "--query.lookback-delta=15m", *places]
    with (place / "log").open("w") as log:
        running = subprocess.Popen(command, cwd=place, stdout=log, stderr=log)
    try:
        await_ready(url)
        yield url
    finally:
        running.terminate()
        running.wait(30)


def await_ready(url: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=10):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("Prometheus is not ready")


def minimal(file: Path) -> Object:
    """Return the kind without its schema, as Argo's minimal manifests have it: to read all takes twenty seconds."""
    (crd,) = yaml.load_all(file.read_bytes(), yaml.CSafeLoader)
    for version in crd["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return dict(crd)


class Site:
    """A cluster that is well, as far as statuses tell, and the report that runs there."""

    def __init__(self, api: "ApiServer", cluster: Cluster, folder: Path) -> None:
        self.api, self.cluster, self.folder = api, cluster, folder
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)
        (folder / "facts.json").write_text(json.dumps(facts(cluster)))

    def bring(self) -> None:
        """Install kinds, what is rendered but for Argo's kinds and policies by name, and the cluster's objects."""
        from apiserver import SHARED

        if not SHARED.exists():
            pytest.skip("../shared is absent")
        (self.folder / "crd.yaml").write_text(json.dumps(minimal(SHARED / WORKFLOWS)))
        kinds = (file for pattern in CRDS for file in sorted(SHARED.glob(pattern)))
        self.api.define(self.folder / "crd.yaml", *kinds)
        for space in (NAMESPACE, "argocd", "argo", "minio", "monitoring", "rook-ceph", "vision"):
            self.api.namespace(space)
        left_out = {"WorkflowTemplate", "CronWorkflow", "CiliumNetworkPolicy"}
        for one in (*health_report(self.cluster).objects, *self.objects()):
            if one["kind"] not in left_out:
                self.apply(one)

    def objects(self) -> Iterator[Object]:
        """Yield what is in the cluster."""
        now = dt.datetime.now(dt.UTC)
        times = {
            name: f"{now + dt.timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}" for name, days in (("now", 0), ("far", 90))
        }
        for machine in self.cluster.machines:
            gpus = {"nvidia.com/gpu": "8"} if machine.name.startswith("gpu-") else {}
            yield healthsite.node(machine.name, machine.pool, **gpus)
        well = healthsite.well()
        yield from well[healthsite.APPLICATIONS]
        for kind in ("deployments", "statefulsets", "daemonsets"):
            yield from well[f"{healthsite.APPS}/{kind}"]
        yield from (healthsite.certificate("minio-tls", times["far"], times["far"]),)
        (ceph,) = well[healthsite.CEPH]
        ceph["status"]["ceph"]["lastChecked"] = times["now"]
        ceph["spec"] = {"dataDirHostPath": "/var/lib/rook"}
        yield ceph
        yield healthsite.queue("vision", training=40)
        labels = {"gen.internal/pool": "gpu-training"}
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "training"}}
        yield {**flavor, "spec": {"nodeLabels": labels}}
        for one in facts(self.cluster)["backups"]:
            label = {f"gen.internal/{one['of']}": one["name"]}
            yield healthsite.workflow(f"{one['of']}-{one['name']}", one["of"], times["now"], **label)

    def apply(self, one: Object) -> None:
        """Store an object, and its status as a controller does; Argo's kinds have no status of their own address."""
        whole = {key: value for key, value in one.items() if key != "status"}
        whole["metadata"] = {key: value for key, value in one["metadata"].items() if key != "creationTimestamp"}
        argo = one["apiVersion"].startswith("argoproj.io")
        self.api.apply({**whole, "status": one["status"]} if argo and "status" in one else whole)
        if "status" in one and not argo:
            self.status(one)

    def status(self, one: Object) -> None:
        path = f"{self.api.path(one, named=True)}/status"
        status, answer = self.api.request("PATCH", path, {"status": one["status"]}, patch="merge-patch+json")
        assert status == 200, json.dumps(answer)

    def look(self, prometheus: str) -> list[str]:
        """Run the script as its pod does, and return the message's lines."""
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        status, answer = self.api.request("POST", path, body)
        assert status == 201, answer
        (self.folder / "token").write_text(answer["status"]["token"])
        (self.folder / "ca.crt").write_bytes(self.api.certificate.read_bytes())
        env = {
            "PATH": os.environ["PATH"],
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": self.api.url.rpartition(":")[2],
            "ACCOUNT": str(self.folder),
            "FACTS": str(self.folder / "facts.json"),
            "TOLD": str(self.folder),
            "PROMETHEUS": prometheus,
        }
        command = [sys.executable, "-B", str(self.folder / "health_report.py"), "look"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return (self.folder / "message").read_text().splitlines()

    def kept(self, key: str) -> str:
        status, answer = self.api.request("GET", KEPT)
        assert status == 200, answer
        return str(answer["data"][key])


@pytest.fixture(scope="module")
def watched() -> Cluster:
    ml50 = load("ml50")
    return structs.replace(ml50, monitoring=Monitoring(prometheus=Prometheus()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, watched: Cluster) -> Iterator[Site]:
    from apiserver import start

    folder, audit = tmp_path_factory.mktemp("health"), tmp_path_factory.mktemp("audit")
    with start(audit, *flags(audit, ACCOUNT)) as api:
        made = Site(api, watched, folder)
        made.bring()
        yield made


def test_a_cluster_that_is_well_then_not_with_the_rights_that_are_rendered(
    site: Site, prometheus: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = site.look(prometheus)
    text = site.kept("report.txt")
    assert lines[0] == ":white_check_mark: ml50 is well: nothing needs anybody", text
    assert len(lines) == 3
    assert (
        "Ceph 40 % of 100 TiB, 85 % in 45 days by the last 28 days; MinIO 50 % of 700 TiB, 85 % in 245 days" in lines[1]
    )
    assert "pool rbd-nvme 25 % of 40.0 TiB, 85 % in 240 days by the last 28 days" in text
    assert "promised to teams: 40 of 96 nvidia.com/gpu of training" in text
    assert json.loads(site.kept("report.json"))["notKnown"] == []
    etcd = next(one for one in json.loads(site.kept("report.json"))["rooms"] if one["name"] == "etcd")
    assert 10**5 < etcd["used"] < etcd["total"] == 8 * 2**30

    away = healthsite.node("cpu-01")
    away["status"]["conditions"] = healthsite.ready("Unknown", message="Kubelet stopped posting node status.")
    site.status(away)
    site.status(healthsite.workload("StatefulSet", "minio", "minio", 4, 3))
    site.apply(healthsite.workflow("node-removal-1", "node-removal", "", "Failed"))
    lines = site.look(prometheus)
    assert lines[0] == ":warning: ml50: 3 things need somebody"
    assert [line.partition("  ")[0] for line in lines[1:4]] == ["*now*", "*soon*", "*soon*"]
    assert "namespace minio: statefulset minio has 3 of 4 pods ready" in lines[2]
    assert "operation node-removal failed this week, at last: `exit code 2: the disk is full`" in lines[3]
    assert len(json.loads(site.kept("history.json"))) == 2

    log = next(tmp_path_factory.getbasetemp().glob("audit*"))
    assert unused(site.api, log, ACCOUNT) == executor(ACCOUNT)
