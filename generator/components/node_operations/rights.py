"""What the steps may do outside their namespace: no more than they use, on nodes of the cluster file alone."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.node_operations.names import EXPANSION, NAMESPACE, REMOVAL, labels
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster

RBAC = "rbac.authorization.k8s.io"


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the roles of both operations, each with its binding."""
    nodes = [
        _rule("", "nodes", "get", "list"),
        _rule("", "nodes", "patch", only=[one.name for one in cluster.machines]),
    ]
    yield from _role(EXPANSION, [*nodes, _rule("storage.k8s.io", "csinodes", "get")])
    yield from _role(REMOVAL, [_rule("", "nodes", "get"), nodes[1], *_emptying(cluster)])
    if cluster.storage.ceph:
        seen = [_rule("apps", "deployments", "list"), _rule("ceph.rook.io", "cephclusters", "get")]
        for name in (EXPANSION, REMOVAL):
            yield from _role(name, seen, ROOK)


def _emptying(cluster: Cluster) -> Iterator[Manifest]:
    yield _rule("", "pods", "list")
    yield _rule("", "pods/eviction", "create")
    if cluster.teams:
        yield _rule("kueue.x-k8s.io", "workloads", "get", "list", "patch")


def _rule(group: str, what: str, *verbs: str, only: list[str] | None = None) -> Manifest:
    rule = {"apiGroups": [group], "resources": [what], "verbs": [*verbs]}
    return rule | {"resourceNames": only} if only else rule


def _role(name: str, rules: list[Manifest], namespace: str = "") -> Iterator[Manifest]:
    """Yield a role and its binding, of the whole cluster or of one namespace."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels(name)}
    yield {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }
