"""What components say of themselves whatever the cluster, and that nobody else says it."""

import ast

import pytest
from msgspec import structs
from reference import ROOT, load

from generator.checks.site import hosts
from generator.components import CATALOGUE, compose
from generator.components.component import Tier
from generator.layout.projects import own_manifests
from generator.model.cluster import Cluster
from generator.model.monitoring import Monitoring, Prometheus
from generator.model.storage import Nfs

REFERENCES = ("ml50", "a30-bench", "gpu-serving")
# Words of the cluster file as well: `networks.cni`, `frameworks`, a node's disks, sections, a folder.
FRAMEWORKS = {"jobset", "kuberay", "mpi-operator", "trainer", "training-operator"}
WORDS = {
    "acceptance",
    "calico",
    "cilium",
    "exposure",
    "fleet",
    "minio",
    "mlperf",
    "scratch",
    "tenants",
    "workflows",
    "zabbix",
} | FRAMEWORKS


# A twin runs these programs and no others.
RUN = {("rehearsal", "argo-cd"), ("rehearsal", "kueue"), ("rehearsal", "volcano")}
# What is about one component by its nature, or about keys of the cluster file that are one component's.
ABOUT_ONE = {
    "build/pods.py": {"argo_workflows"},
    "build/train_pods.py": {"trainer"},
    "build/workflow_pods.py": {"argo_workflows"},
    "checks/acceptance.py": {"acceptance"},
    "checks/claims.py": {"queues"},
    "checks/exposure.py": {"exposure"},
    "checks/extras.py": {"argo_cd"},
    "checks/gpus.py": {"gpu_operator", "queues"},
    "checks/mlperf.py": {"queues"},
    "checks/networks.py": {"calico"},
    "checks/scaling.py": {"cluster_autoscaler"},
    "checks/site.py": {"cilium"},
    "checks/tiers.py": {"ceph_cluster", "minio"},
    "checks/volume_backups.py": {"volsync"},
    "layout/argocd.py": {"argo_cd"},
    "layout/bootstrap.py": {"cluster_autoscaler"},
    "live/bootstrap/argo_cd.py": {"argo_cd"},
    "live/bootstrap/overlays.py": {"argo_cd"},
    "day2/workflows/argo_connection.py": {"argo_workflows"},  # of the same name: the client
    "day2/workflows/argo_server.py": {"argo_workflows"},
    "day2/workflows/restoring.py": {"ceph_cluster", "rook_ceph", "workflows"},
    "day2/workflows/room.py": {"rook_ceph"},
    "live/status/last_backups.py": {"workflows"},
    "live/status/last_volumes.py": {"volsync"},
    "day2/volume_restore.py": {"volsync"},
    "day2/use/use.py": {"kube_prometheus_stack"},
    "live/status/machine_causes.py": {"node_operations"},
    "live/status/node_causes.py": {"gpu_care"},
    "layout/projects.py": {"argo_cd"},
    "survey/machines.py": {"gpu_care"},
    "survey/networks.py": {"calico"},
    "survey/storage.py": {"minio"},
    "survey/teams.py": {"acceptance", "kueue", "tenants", "volcano"},
    "review/capacity.py": {"queues"},
    "rules/argo_cd.py": {"argo_cd", "cilium", "load_balancer"},
    "rules/claims.py": {"queues"},
    "rules/queues.py": {"kueue", "tenants", "volcano"},
    "rules/services.py": {"queues"},
    "rules/team_admission.py": {"kueue", "queues", "tenants"},
    "rules/team_pods.py": {"volcano"},
    "rules/team_rights.py": {"tenants"},
    "rules/team_routes.py": {"cilium", "exposure"},
    "rules/team_workflows.py": {"argo_workflows", "kueue", "tenants"},
    "rules/unknown_kinds.py": {"volcano"},
    "workloads/pipeline.py": {"tenants"},
    "workloads/indexed.py": {"volcano"},
    "workloads/ingest.py": {"ceph_cluster", "minio", "queues"},
    "workloads/models.py": {"ceph_cluster", "minio"},
    "workloads/place.py": {"queues", "rdma"},
    "workloads/mpi.py": {"mpi_operator"},
    "workloads/pods.py": {"kueue", "rdma"},
    "workloads/storage.py": {"ceph_cluster", "queues"},
    "workloads/served.py": {"cilium", "exposure", "queues"},
    "workloads/server.py": {"queues"},
    "workloads/triton.py": {"kube_prometheus_stack", "prometheus_adapter"},
    "rehearsal/argocd/programs.py": {"argo_cd"},
    "rehearsal/simulation/asked.py": {"node_operations"},
    "rehearsal/simulation/assuming.py": {"etcd_backup", "node_operations", "rook_ceph"},
    "rehearsal/simulation/drivers.py": {"gpu_operator"},
    "rehearsal/simulation/joining.py": {"node_operations"},
    "rehearsal/simulation/machines.py": {"minio", "node_operations", "rook_ceph"},
    "rehearsal/simulation/played.py": {"gpu_care", "node_operations"},
    "rehearsal/simulation/preparing.py": {"gpu_care", "node_operations"},
    "rehearsal/simulation/reading.py": {"etcd_backup", "gpu_operator", "rook_ceph"},
    "rehearsal/simulation/shape.py": {"gpu_operator"},
    "rehearsal/simulation/simulate.py": {"gpu_care", "node_operations"},
    "rehearsal/simulation/timeline.py": {"gpu_operator", "node_operations"},
}


def everything() -> list[Cluster]:
    return [load(name) for name in REFERENCES]


def exchanged() -> list[Cluster]:
    """Return the reference clusters, each with the other one's network and monitoring."""
    ml50, a30 = load("ml50"), load("a30-bench")
    return [
        structs.replace(
            one, monitoring=other.monitoring, networks=structs.replace(one.networks, cni=other.networks.cni)
        )
        for one, other in ((ml50, a30), (a30, ml50))
    ]


@pytest.mark.parametrize("cluster", everything() + exchanged(), ids=(*REFERENCES, "as a30-bench", "as ml50"))
def test_a_component_writes_only_what_its_definition_states(cluster: Cluster) -> None:
    """What is not stated stays in the cluster when the component leaves: the project does not allow its deletion."""
    for component in compose(cluster):
        stated = CATALOGUE[component.name]
        own = [(one, one["metadata"].get("namespace")) for one in own_manifests(component)]
        kinds = {f"{one['apiVersion'].rpartition('/')[0]}/{one['kind']}" for one, space in own if not space}
        assert component.tier == stated.tier, component.name
        assert set(component.kinds) <= set(stated.chart_kinds), component.name
        assert kinds <= {*stated.chart_kinds, *stated.own_kinds}, component.name
        # The project of tenants allows all namespaces but the platform's.
        if component.tier != Tier.TENANTS:
            spaces = {space for _, space in own if space} | {*component.reach}
            assert spaces <= {*stated.namespaces, *stated.reach}, component.name


def test_nothing_is_stated_twice() -> None:
    for one in CATALOGUE.values():
        assert not set(one.chart_kinds) & set(one.own_kinds), one.name
        assert not set(one.namespaces) & set(one.reach), one.name


@pytest.mark.parametrize("cluster", everything(), ids=REFERENCES)
def test_a_component_lives_only_where_it_says(cluster: Cluster) -> None:
    for component in compose(cluster):
        # The tenants' namespaces are the teams' own.
        if component.name != "tenants":
            spaces = {space.name for space in component.namespaces}
            spaces |= {release.namespace for release in component.releases}
            assert spaces <= set(CATALOGUE[component.name].namespaces), component.name


@pytest.mark.parametrize(
    ("storage_class", "owner"),
    [
        (None, "ceph-cluster"),
        ("rbd-nvme", "ceph-cluster"),
        ("shared-fast", "ceph-cluster"),
        ("scratch-nvme", "scratch"),
        ("nfs", "csi-nfs"),
        ("minio-local", "minio"),
        ("brought-by-the-site", None),
    ],
)
def test_what_makes_the_class_of_a_volume_comes_first(storage_class: str | None, owner: str | None) -> None:
    ml50, shared = load("ml50"), Nfs(server="nas.example.org", share="/export")
    with_nfs = structs.replace(ml50, storage=structs.replace(ml50.storage, nfs=shared))
    assert with_nfs.monitoring.zabbix
    settings = structs.replace(with_nfs.monitoring.zabbix, storage_class=storage_class)
    prometheus = Prometheus(storage_class=storage_class)
    monitoring = structs.replace(with_nfs.monitoring, zabbix=settings, prometheus=prometheus)
    made = {one.name: one for one in compose(structs.replace(with_nfs, monitoring=monitoring))}
    makers = {"ceph-cluster", "scratch", "csi-nfs", "minio"}
    for name in ("zabbix", "kube-prometheus-stack"):
        assert makers & set(made[name].needs) == ({owner} if owner else set()), name


def test_hosts_come_in_the_order_of_the_file() -> None:
    ml50 = load("ml50")
    prometheus = Prometheus(host="grafana.ml50.example.org")
    both = structs.replace(ml50, monitoring=Monitoring(zabbix=ml50.monitoring.zabbix, prometheus=prometheus))
    assert [at for at, _ in hosts(both)] == [
        ("storage", "objects", "host"),
        ("monitoring", "zabbix", "host"),
        ("monitoring", "prometheus", "host"),
        ("gitops", "host"),
    ]


def test_nothing_else_names_a_component() -> None:
    named = set()
    for file in (ROOT / "generator").rglob("*.py"):
        place = file.relative_to(ROOT / "generator").as_posix()
        if not place.startswith("components/"):
            found = {node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)}
            named |= {(place, name) for name in found & (CATALOGUE.keys() - WORDS)}
    assert not {(place, name) for place, name in named if (place.partition("/")[0], name) not in RUN}


def test_only_what_is_about_a_component_imports_it() -> None:
    folders = {name.replace("-", "_") for name in CATALOGUE}
    found: dict[str, set[str]] = {}
    for file in (ROOT / "generator").rglob("*.py"):
        place = file.relative_to(ROOT / "generator").as_posix()
        if not place.startswith("components/"):
            nodes = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom))
            modules = {(node.module or "").removeprefix("generator.components.").split(".")[0] for node in nodes}
            found |= {place: modules & folders} if modules & folders else {}
    assert found == ABOUT_ONE
