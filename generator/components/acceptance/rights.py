"""What the steps may do: begin, hear and take away jobs in the one namespace of theirs, and see nodes."""

from collections.abc import Iterator

from generator.components import mpi_operator
from generator.components.acceptance.names import JOBS, NAMESPACE, labels
from generator.components.acceptance.pools import runs_mpi
from generator.components.component import Manifest
from generator.components.rbac import binding, bound, role, rule
from generator.model.cluster import Cluster

VERBS = ("create", "delete", "get", "list")


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the role in the jobs' namespace, that for nodes, and their bindings."""
    mpi = [rule(mpi_operator.GROUP, ["mpijobs"], VERBS)] if runs_mpi(cluster) else []
    metadata = {"name": NAMESPACE, "namespace": JOBS, "labels": labels()}
    rules = [
        rule("batch", ["jobs"], VERBS),
        *mpi,
        rule("", ["services"], ["create", "delete", "list"]),
        rule("", ["pods"], ["list"]),
        rule("", ["pods/log"], ["get"]),
        rule("kueue.x-k8s.io", ["workloads"], ["list"]),
    ]
    yield role(metadata, rules)
    account = {"kind": "ServiceAccount", "name": NAMESPACE, "namespace": NAMESPACE}
    yield binding(metadata, "Role", NAMESPACE, [account])
    if cluster.kubernetes.endpoint.by != "external":
        seen = rule("", ["nodes"], ["list", "watch"])
        yield from bound({"name": NAMESPACE, "labels": labels()}, [seen], NAMESPACE)
