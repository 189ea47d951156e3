"""What the steps may do outside their namespace: no more than they use, on nodes of the cluster file alone."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.node_operations.names import EXPANSION, NAMESPACE, REMOVAL, labels
from generator.components.rbac import binding, role, rule
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the roles of both operations, each with its binding."""
    marked = rule("", ["nodes"], ["patch"], [one.name for one in cluster.machines])
    listed = rule("", ["nodes"], ["get", "list"])
    yield from _bound(EXPANSION, [listed, marked, rule("storage.k8s.io", ["csinodes"], ["get"])])
    yield from _bound(REMOVAL, [rule("", ["nodes"], ["get"]), marked, *_emptying(cluster)])
    if cluster.storage.ceph:
        seen = [rule("apps", ["deployments"], ["list"]), rule("ceph.rook.io", ["cephclusters"], ["get"])]
        for name in (EXPANSION, REMOVAL):
            yield from _bound(name, seen, namespace=ROOK)


def _emptying(cluster: Cluster) -> Iterator[Manifest]:
    yield rule("", ["pods"], ["list"])
    yield rule("", ["pods/eviction"], ["create"])
    if cluster.teams:
        yield rule("kueue.x-k8s.io", ["workloads"], ["get", "list", "patch"])


def _bound(name: str, rules: list[Manifest], **namespace: str) -> Iterator[Manifest]:
    """Yield a role and its binding to the operation's account, of the whole cluster or of one namespace."""
    metadata = {"name": name, **namespace, "labels": labels(name)}
    made = role(metadata, rules)
    yield made
    yield binding(metadata, made["kind"], name, [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}])
