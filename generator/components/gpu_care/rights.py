"""What the steps may do: no more than they use, on the GPU nodes of the cluster file alone."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.gpu_care.names import CLEARED, DRAIN, NAME, labels
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.node_operations.names import NAMESPACE
from generator.components.node_operations.rights import emptying
from generator.components.rbac import bound, rule
from generator.model.cluster import Cluster


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield accounts and roles: who looks, who takes marks away again, and who sees to it that jobs leave."""
    nodes = rule("", ["nodes"], ["list"])
    looked_at = rule("", ["nodes"], ["get", "patch"], [one.name for one in cluster.gpu_nodes])
    yield _account(NAME)
    yield from _bound(NAME, [nodes, looked_at, rule("", ["pods"], ["get"])])
    yield from _bound(NAME, [*_executor(), rule("", ["events"], ["create"])], namespace=NAMESPACE)
    yield from _bound(NAME, [rule("", ["pods"], ["list"])], namespace=GPU_OPERATOR)
    yield _account(CLEARED)
    yield from _bound(CLEARED, [looked_at])
    yield from _bound(CLEARED, [*_executor()], namespace=NAMESPACE)
    yield from _bound(CLEARED, [rule("", ["pods"], ["list"])], namespace=GPU_OPERATOR)
    yield _account(DRAIN)
    seen = rule("", ["nodes"], ["get"], [one.name for one in cluster.gpu_nodes])
    yield from _bound(DRAIN, [nodes, seen, *emptying(cluster)])
    yield from _bound(DRAIN, [*_executor()], namespace=NAMESPACE)


def _executor() -> Iterator[Manifest]:
    """Yield what Argo's executor needs (facts: Argo Workflows, practice), and how nodes are known."""
    yield rule("argoproj.io", ["workflowtaskresults"], ["create", "patch"])
    yield rule("", ["configmaps"], ["list"])


def _account(name: str) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels(name)}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _bound(name: str, rules: list[Manifest], **namespace: str) -> Iterator[Manifest]:
    """Yield a role and its binding to the account, of the whole cluster or of one namespace."""
    yield from bound({"name": name, **namespace, "labels": labels(name)}, rules, NAMESPACE)
