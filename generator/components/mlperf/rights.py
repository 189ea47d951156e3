"""Who may what: the steps in the team's namespace, its people in that of the operation, and no pod past Kueue."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.mlperf.names import NAMESPACE, OF_TEAM, OPERATION, PEOPLE, labels
from generator.components.rbac import binding, role, rule
from generator.components.tenants.rbac import subjects
from generator.model.cluster import Cluster
from generator.model.gpus import GPU, devices
from generator.model.teams import Team

ROOM = {"pods": "10", "requests.cpu": "4", "requests.memory": "4Gi", "persistentvolumeclaims": "0"}
"""What the steps of a few runs need."""


def in_team(team: Team) -> Iterator[Manifest]:
    """Yield what the steps may in the team's namespace: a part of what its members may. The rules of the API server
    hold for them as for these: an account of another namespace is a controller only where it may do the same
    everywhere.
    """
    metadata = {"name": OF_TEAM, "namespace": team.name, "labels": labels()}
    rules = [
        rule("batch", ["jobs"], ["create", "get", "delete"]),
        rule("", ["pods"], ["list"]),
        rule("", ["pods/log"], ["get"]),
    ]
    yield role(metadata, rules)
    account = {"kind": "ServiceAccount", "name": OPERATION, "namespace": NAMESPACE}
    yield binding(metadata, "Role", OF_TEAM, [account])


def people(team: Team) -> Iterator[Manifest]:
    """Yield who may start benchmarks: the members of the team whose GPUs they take."""
    if found := subjects(team, "member"):
        yield binding({"name": PEOPLE, "namespace": NAMESPACE, "labels": labels()}, "Role", PEOPLE, found)


def quota(cluster: Cluster) -> Manifest:
    """Keep the namespace small, and without any device: Kueue and the teams' rules do not look at its pods, and whoever
    may create workflows may make some.
    """
    offered = {name for one in cluster.machines for name in devices(cluster.gpus, one.hardware.gpu)}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": OPERATION, "namespace": NAMESPACE, "labels": labels()},
        "spec": {"hard": {**ROOM, **{f"requests.{name}": "0" for name in sorted({GPU, *offered})}}},
    }
