"""What the steps may do outside their namespace: no more than they use, on nodes of the cluster file alone."""

from collections.abc import Iterator

from generator.components import etcd_backup, gpu_operator, jobset, kuberay
from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    LEASES,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
    labels,
)
from generator.components.rbac import bound, rule
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.capacity import osds
from generator.model.cluster import Cluster

VERBS = {MINIO_EXPANSION: ["delete", "list"]}
"""What is done with notes where it is not all of it."""


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the roles of all operations, each with its binding."""
    marked = rule("", ["nodes"], ["patch"], [one.name for one in cluster.machines])
    listed = rule("", ["nodes"], ["get", "list"])
    registered = rule("storage.k8s.io", ["csinodes"], ["get"])
    # Which node is free, so that NCCL can be tried with it.
    free = [rule("", ["pods"], ["list"]), *([rule("kueue.x-k8s.io", ["workloads"], ["list"])] if cluster.teams else [])]
    yield from _bound(EXPANSION, [listed, marked, registered, *(free if cluster.acceptance else [])])
    yield from _bound(REMOVAL, [rule("", ["nodes"], ["get"]), marked, *emptying(cluster)])
    budgets = rule("policy", ["poddisruptionbudgets"], ["list"])
    away = [*emptying(cluster), budgets]
    # What is asked for that the new version no longer serves.
    yield from _bound(UPGRADE, [listed, marked, registered, *away, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
    yield from _bound(MAINTENANCE, [listed, marked, registered, *away])
    if gpu_operator.DEFINITION.wanted(cluster):
        drivers = rule("", ["nodes"], ["patch"], [one.name for one in cluster.gpu_nodes])
        yield from _bound(DRIVER_UPGRADE, [listed, drivers, registered, *away])
        revisions = rule("apps", ["controllerrevisions", "daemonsets"], ["list"])
        yield from _bound(DRIVER_UPGRADE, [revisions], namespace=GPU_OPERATOR)
    yield from _replacing(cluster, marked, registered)
    yield from _remembering(cluster)
    yield from _inside(cluster)


def _replacing(cluster: Cluster, marked: Manifest, registered: Manifest) -> Iterator[Manifest]:
    """Yield what changing a machine takes: a Node is deleted, but none that the file does not name."""
    deleted = {**marked, "verbs": ["delete", "patch"]}
    volumes = [registered, rule("storage.k8s.io", ["volumeattachments"], ["list"])]
    yield from _bound(REPLACEMENT, [rule("", ["nodes"], ["get"]), deleted, *volumes, *emptying(cluster)])
    heard = rule("coordination.k8s.io", ["leases"], ["get"], [one.name for one in cluster.machines])
    yield from _bound(REPLACEMENT, [heard], namespace=LEASES)


def _remembering(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what keeping notes takes: of the ConfigMaps of the namespace, which has all scripts, only the notes."""
    of_objects = [one.name for one in cluster.machines if one.drive_count("objects")]
    kept = {
        REPLACEMENT: [one.name for one in cluster.machines],
        REMOVAL: [one.name for one in cluster.machines] if cluster.storage.ceph else [],
        OSD_REPLACEMENT: [one.name for one in cluster.machines if osds(one, cluster)],
        DRIVE_REPLACEMENT: of_objects if cluster.storage.objects else [],
    }
    if cluster.storage.objects:
        kept[MINIO_EXPANSION] = [MINIO]
    for name, nodes in kept.items():
        if nodes:
            verbs = VERBS.get(name, ["delete", "patch"])
            own = rule("", ["configmaps"], verbs, [f"{name}-{node}" for node in nodes])
            yield from _bound(name, [own], "-notes", namespace=NAMESPACE)


def _inside(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what operations see of other components."""
    health = rule("ceph.rook.io", ["cephclusters"], ["get"])
    asked = rule("batch", ["jobs"], ["create", "delete", "get"])
    if cluster.storage.ceph:
        daemons = rule("apps", ["deployments"], ["list"])
        yield from _bound(EXPANSION, [daemons, health], namespace=ROOK)
        ended = rule("apps", ["deployments"], ["delete"])
        yield from _bound(REMOVAL, [daemons, health, ended, asked], namespace=ROOK)
        for name in (REPLACEMENT, OSD_REPLACEMENT):
            yield from _bound(name, [daemons, health, ended, *_asking()], namespace=ROOK)
        for name in (UPGRADE, MAINTENANCE):
            yield from _bound(name, [health], namespace=ROOK)
    if cluster.storage.objects:
        yield from _bound(DRIVE_REPLACEMENT, [rule("", ["nodes"], ["get"])])
        yield from _bound(DRIVE_REPLACEMENT, [*_asking()], namespace=MINIO)
        for name in (UPGRADE, MAINTENANCE):
            yield from _bound(name, [rule("apps", ["statefulsets"], ["list"]), asked], namespace=MINIO)
        yield from _bound(REPLACEMENT, [asked], namespace=MINIO)
        started_anew = [rule("", ["pods"], ["delete", "list"]), rule("", ["persistentvolumeclaims"], ["list"])]
        sets = rule("apps", ["statefulsets"], ["list"])
        yield from _bound(MINIO_EXPANSION, [*started_anew, sets, asked], namespace=MINIO)
    if etcd_backup.DEFINITION.wanted(cluster):
        yield from _bound(UPGRADE, [rule("argoproj.io", ["workflows"], ["list"])], namespace=BACKUPS)


def _asking() -> Iterator[Manifest]:
    """Yield what asking a storage system takes, and starting a pod anew. Who may create Jobs in its namespace has its
    administrator's keys in effect.
    """
    yield rule("batch", ["jobs"], ["create", "delete", "get"])
    yield rule("", ["pods"], ["list"])
    yield rule("", ["pods/eviction"], ["create"])


def emptying(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what letting pods leave nodes takes, gangs as a whole."""
    yield rule("", ["pods"], ["list"])
    yield rule("", ["pods/eviction"], ["create"])
    if cluster.teams:
        yield rule("kueue.x-k8s.io", ["workloads"], ["get", "list", "patch"])
        # Which of a job's parts made a pod, and so whether the job has it.
        yield rule("batch", ["jobs"], ["get"])
        if jobset.DEFINITION.wanted(cluster):
            yield rule("jobset.x-k8s.io", ["jobsets"], ["get"])
        if kuberay.DEFINITION.wanted(cluster):
            yield rule("ray.io", ["rayclusters"], ["get"])


def _bound(name: str, rules: list[Manifest], more: str = "", **namespace: str) -> Iterator[Manifest]:
    """Yield a role and its binding to the operation's account, of the whole cluster or of one namespace. `more` tells
    it from another one of the same namespace.
    """
    yield from bound({"name": f"{name}{more}", **namespace, "labels": labels(name)}, rules, NAMESPACE, name)
