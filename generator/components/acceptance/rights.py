"""What the steps may do: begin, hear and take away jobs in the one namespace of theirs."""

from collections.abc import Iterator

from generator.components import mpi_operator
from generator.components.acceptance.names import JOBS, NAMESPACE, labels
from generator.components.component import Manifest
from generator.model.cluster import Cluster

RBAC = "rbac.authorization.k8s.io"
VERBS = ["create", "delete", "get", "list"]


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the role in the jobs' namespace and its binding."""
    mpi = [_rule(mpi_operator.GROUP, "mpijobs", VERBS)] if mpi_operator.DEFINITION.wanted(cluster) else []
    metadata = {"name": NAMESPACE, "namespace": JOBS, "labels": labels()}
    rules = [
        _rule("batch", "jobs", VERBS),
        *mpi,
        _rule("", "services", ["create", "delete", "list"]),
        _rule("", "pods", ["list"]),
        _rule("", "pods/log", ["get"]),
        _rule("kueue.x-k8s.io", "workloads", ["list"]),
    ]
    yield {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": NAMESPACE},
        "subjects": [{"kind": "ServiceAccount", "name": NAMESPACE, "namespace": NAMESPACE}],
    }


def _rule(group: str, what: str, verbs: list[str]) -> Manifest:
    return {"apiGroups": [group], "resources": [what], "verbs": verbs}
