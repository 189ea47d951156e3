"""What a simulation assumes where no cluster is asked, or where its twin has nobody who would bring it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, islice

from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.node_operations.facts import drivers, kept_backup
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.rook_ceph import VERSIONS
from generator.live.api import Request
from generator.live.running import RunningCluster
from generator.live.times import stamp
from generator.model.capacity import osds
from generator.model.cluster import Cluster
from generator.model.fields import mapping
from generator.model.mirror import at_mirror
from generator.model.nodes import Machine
from generator.rehearsal.simulation.reading import CEPH, DRIVERS, NODES, RUNS
from generator.rehearsal.simulation.units import MIRROR

FILES = "gen.internal/upgrade-files"
"""An annotation of a Node, by its timer: the version of the files there."""
SYSTEM = "/api/v1/namespaces/kube-system/pods"
ACCOUNTS = f"/api/v1/namespaces/{ROOK}/serviceaccounts"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{ROOK}/deployments"
CLUSTER = ROOK
"""Rook's CephCluster is called as its namespace."""
NUMBER = "ceph-osd-id"
"""A label of what runs an OSD."""
IMAGE = "registry.example.org/any:1"
IMAGES = {"etcd": "registry.k8s.io/etcd:3.6.6-0", "kube-apiserver": "registry.k8s.io/kube-apiserver:v{}"}


def before(version: str) -> str:
    """Return a version one minor before another one."""
    major, minor, _ = version.split(".")
    return f"{major}.{int(minor) - 1}.0"


def assume(twin: RunningCluster, cluster: Cluster, *, older: bool) -> Iterator[str]:
    """Bring what is there in a cluster that is well; `older`: at the minor version of Kubernetes before the file's.
    Yield what was assumed. Raises UsageError.
    """
    version = before(cluster.kubernetes.version) if older else cluster.kubernetes.version
    for one in cluster.control_plane:
        for part, image in IMAGES.items():
            twin.create(SYSTEM, static_pod(part, one.name, image.format(version)))
    for machine in cluster.machines:
        twin.merge(f"{NODES}/{machine.name}", {"metadata": {"annotations": {FILES: cluster.kubernetes.version}}})
        told = {"status": {"nodeInfo": {"kubeletVersion": f"v{version}"}}}
        twin.merge(f"{NODES}/{machine.name}/status", told)
        twin.create(DRIVERS, registered(twin, machine.name, drivers(cluster)))
    yield f"all nodes run Kubernetes {version}, and all drivers of volumes are registered"
    if backup := kept_backup(cluster):
        twin.create(RUNS, snapshot(backup))
        yield "a snapshot of etcd was taken a minute ago"
    if cluster.storage.ceph:
        daemons = [*_daemons(cluster)]
        for each in daemons:
            twin.create(DEPLOYMENTS, each)
        well(twin)
        yield f"Ceph is HEALTH_OK, with {len(daemons)} monitors and OSDs as the cluster file has them"


def asked(twin: RunningCluster, cluster: Cluster) -> None:
    """Have the account and the operator by which operations ask Ceph; of its operator only the image is taken."""
    image = at_mirror(VERSIONS.of(cluster).images["operator"], cluster.site.images)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rook-ceph-default"}}
    twin.create(ACCOUNTS, account)
    if not [*twin.items(DEPLOYMENTS, labelSelector="app=rook-ceph-operator")]:
        twin.create(DEPLOYMENTS, daemon("rook-ceph-operator", "rook-ceph-operator", "", image=image))


def well(twin: RunningCluster) -> None:
    """Let Rook say that Ceph is well, for as long as a simulation may take: nobody looks again."""
    stands(twin, {"health": "HEALTH_OK"})


def stands(twin: RunningCluster, told: Manifest) -> None:
    """Let Rook say something of Ceph, for as long as a simulation may take."""
    kind = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "metadata": {"name": CLUSTER, "namespace": ROOK}}
    twin.create(CEPH, {**kind, "spec": {}})
    looked = stamp(datetime.now(UTC) + timedelta(days=1))
    body = {"status": {"ceph": {"details": None, **told, "lastChecked": looked}}}
    twin.api.ask(Request(path=f"{CEPH}/{CLUSTER}/status", method="PATCH", body=body, merge=True))


def static_pod(part: str, node: str, image: str) -> Manifest:
    """Return a pod of the control plane as kubeadm has kubelet run it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{part}-{node}",
            "namespace": "kube-system",
            "labels": {"component": part, "tier": "control-plane"},
            "annotations": {MIRROR: "1"},
        },
        "spec": {
            "nodeName": node,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": part, "image": image}],
        },
    }


def registered(twin: RunningCluster, node: str, names: list[str]) -> Manifest:
    """Return what tells that drivers of volumes are there on a node."""
    uid = (twin.get(f"{NODES}/{node}") or {})["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": node, "ownerReferences": [owner]},
        "spec": {"drivers": [{"name": one, "nodeID": node} for one in names]},
    }


def snapshot(backup: Manifest) -> Manifest:
    """Return a run that has brought a snapshot of etcd away a minute ago; `backup` says which runs do."""
    name, _, value = str(backup["runs"]).partition("=")
    stored = {"name": "stored", "value": str(int(datetime.now(UTC).timestamp()) - 60)}
    node = {"id": "a", "name": "a", "type": "Pod", "outputs": {"parameters": [stored]}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "assumed", "namespace": BACKUPS, "labels": {name: value}},
        "spec": {},
        "status": {"phase": "Succeeded", "nodes": {"a": node}},
    }


def _daemons(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the daemons of Ceph that stay on one node each, as Rook makes them."""
    numbers = count()
    for machine in cluster.monitor_hosts[:3]:
        yield daemon(f"rook-ceph-mon-{machine.name}", "rook-ceph-mon", machine.name, _taints(machine))
    for machine in cluster.machines:
        yield from _osds(machine, cluster, numbers)


def osds_of(twin: RunningCluster, machine: Machine, cluster: Cluster) -> Iterator[Manifest]:
    """Yield the OSDs that Rook would make on a node that is new, with numbers that are free."""
    taken = {mapping(one["metadata"].get("labels")).get(NUMBER, "") for one in twin.items(DEPLOYMENTS)}
    free = (number for number in count() if str(number) not in taken)
    yield from _osds(machine, cluster, free)


def _osds(machine: Machine, cluster: Cluster, numbers: Iterator[int]) -> Iterator[Manifest]:
    for number in islice(numbers, osds(machine, cluster)):
        own = {NUMBER: str(number)}
        yield daemon(f"rook-ceph-osd-{number}", "rook-ceph-osd", machine.name, _taints(machine), **own)


def _taints(machine: Machine) -> list[str]:
    return [one.key for one in machine.taints]


def daemon(
    name: str, app: str, node: str, tolerated: Iterable[str] = (), image: str = IMAGE, **labels: str
) -> Manifest:
    """Return a Deployment of one pod, which runs on one node alone where it is named."""
    own = {"app": app, "one": name, **labels}
    pod: Manifest = {
        "containers": [{"name": "main", "image": image}],
        # Of taints for a purpose, and not of a cordon: else it would come back to the node that is emptied.
        "tolerations": [{"key": one, "operator": "Exists"} for one in tolerated],
        "nodeSelector": {"kubernetes.io/hostname": node} if node else {},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"one": name}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": ROOK, "labels": own},
        "spec": {**spec, "template": {"metadata": {"labels": own}, "spec": pod}},
    }
