"""The nodes of the cluster file as hosts of Zabbix, and the cluster itself as one more."""

from collections.abc import Iterator

from generator.components.argo_workflows import METRICS_PORT as ARGO_PORT
from generator.components.argo_workflows import METRICS_SERVICE as ARGO_SERVICE
from generator.components.argo_workflows import operated
from generator.components.component import Manifest
from generator.components.minio.layout import PORT as MINIO_PORT
from generator.components.minio.layout import SERVICE as MINIO_SERVICE
from generator.components.rook_ceph import METRICS_PORT as CEPH_PORT
from generator.components.rook_ceph import METRICS_SERVICE as CEPH_SERVICE
from generator.components.zabbix.export import document, identity
from generator.components.zabbix.templates.devices import GPU, INFINIBAND
from generator.components.zabbix.templates.kubernetes import (
    BACKUPS,
    KUBERNETES,
    LEFT_OUT,
    backup,
    drills,
    gpu_care,
    without,
)
from generator.components.zabbix.templates.monitoring import MONITORING
from generator.components.zabbix.templates.node import NODE
from generator.components.zabbix.templates.queues import QUEUES
from generator.components.zabbix.templates.storage import CEPH, MINIO
from generator.components.zabbix.templates.volumes import metrics, volume_backup
from generator.model.cluster import Cluster
from generator.model.nodes import Machine


def group(cluster: Cluster) -> str:
    """Return the host group that is ours alone: what is in it and not in the cluster file is removed."""
    return f"gen/{cluster.name}"


def proxy(cluster: Cluster) -> str:
    """Return the name of the proxy in the cluster."""
    return f"{cluster.name}-proxy"


def whole(cluster: Cluster) -> str:
    """Return the host that stands for the cluster."""
    return f"{cluster.name}-cluster"


def watcher(cluster: Cluster) -> str:
    """Return the host that stands for Zabbix itself."""
    return f"{cluster.name}-monitoring"


def hosts(cluster: Cluster) -> dict[str, str]:
    """Return the hosts as export files, one each, so that two added nodes merge."""
    made = {machine.name: node(cluster, machine) for machine in cluster.machines}
    made |= {host["host"]: host for host in (services(cluster), monitoring(cluster))}
    return {f"{name}.json": document(groups=_groups(one), hosts=[one]) for name, one in made.items()}


def _groups(host: Manifest) -> list[Manifest]:
    return [{"uuid": identity("group", one["name"]), **one} for one in host["groups"]]


def node(cluster: Cluster, machine: Machine) -> Manifest:
    """Return a node. What its hardware should be are macros, which its templates compare with what is there."""
    macros = {"{$GPU.COUNT}": machine.gpus} if machine.gpus else {}
    if machine.hardware.hcas and cluster.fabric:
        macros |= {"{$IB.PORTS}": len(machine.hardware.hcas), "{$IB.RATE}": cluster.fabric.speed}
    # Where it stands and what it has.
    tags = {"pool": machine.pool, "rack": machine.rack, "gpu": machine.hardware.gpu and machine.hardware.gpu.model}
    return host(
        cluster,
        machine.name,
        [NODE, *([GPU] if machine.gpus else []), *([INFINIBAND] if "{$IB.PORTS}" in macros else [])],
        {name: str(value) for name, value in macros.items()},
        groups=[{"name": name} for name in (group(cluster), f"{group(cluster)}/{machine.pool}")],
        interfaces=[{"ip": str(machine.address), "interface_ref": "if1"}],
        tags=[{"tag": tag, "value": value} for tag, value in tags.items() if value],
    )


def services(cluster: Cluster) -> Manifest:
    """Return the host that holds what is the cluster's, not a node's."""
    domain = cluster.kubernetes.dns_domain
    linked, macros = [KUBERNETES], {"{$KUBE.URL}": f"https://kubernetes.default.svc.{domain}"}
    if cluster.teams:
        linked.append(QUEUES)
        macros[LEFT_OUT] = without(team.name for team in cluster.teams)
    if cluster.storage.ceph:
        linked.append(CEPH)
        macros["{$CEPH.URL}"] = f"http://{CEPH_SERVICE}.{domain}:{CEPH_PORT}/metrics"
    if cluster.storage.objects:
        linked.append(MINIO)
        macros["{$MINIO.URL}"] = f"https://{MINIO_SERVICE}.{domain}:{MINIO_PORT}/minio/v2/metrics/cluster"
    if operated(cluster):
        linked.append(BACKUPS)
        macros["{$ARGO.URL}"] = f"http://{ARGO_SERVICE}.{domain}:{ARGO_PORT}/metrics"
    items = list(_of_backups(cluster))
    return host(cluster, whole(cluster), linked, macros, **({"items": items} if items else {}))


def _of_backups(cluster: Cluster) -> Iterator[Manifest]:
    for name, age in cluster.watched_backups.items():
        yield backup(whole(cluster), name, age)
    for name, age in cluster.watched_drills.items():
        yield from drills(whole(cluster), name, age)
    running = [one for one in cluster.volume_backups if not one.suspended]
    if running:
        yield metrics(cluster.kubernetes.dns_domain)
    for one in running:
        yield from volume_backup(whole(cluster), one)
    if looked_after(cluster):
        yield gpu_care(whole(cluster))


def looked_after(cluster: Cluster) -> bool:
    """Tell whether GPUs are looked at by `gpu-care`."""
    return bool(cluster.gpu_care and cluster.gpu_nodes)


def monitoring(cluster: Cluster) -> Manifest:
    """Return the host that the server watches itself: when the proxy is away, no other host has problems."""
    made = host(cluster, watcher(cluster), [MONITORING], {"{$PROXY}": proxy(cluster)})
    return {key: value for key, value in made.items() if key != "proxy"}


def host(cluster: Cluster, name: str, linked: list[str], macros: dict[str, str], **more: list[Manifest]) -> Manifest:
    """Return a host that the proxy watches, with its templates; `more` has the last word."""
    return {
        "host": name,
        "name": name,
        "proxy": {"name": proxy(cluster)},
        "groups": [{"name": group(cluster)}],
        "templates": [{"name": one} for one in linked],
        "macros": [{"macro": macro, "value": value} for macro, value in macros.items()],
        "inventory_mode": "DISABLED",
        **more,
    }
