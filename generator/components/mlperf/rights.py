"""Who may what: the steps in the team's namespace, its people in that of the operation, and no pod past Kueue."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.mlperf.names import NAMESPACE, OF_TEAM, OPERATION, PEOPLE, labels
from generator.components.tenants.rbac import GROUP, subjects
from generator.model.cluster import Cluster
from generator.model.gpus import GPU, devices
from generator.model.teams import Team

ROOM = {"pods": "10", "requests.cpu": "4", "requests.memory": "4Gi"}
"""What the steps of a few runs need."""


def in_team(team: Team) -> Iterator[Manifest]:
    """Yield what the steps may in the team's namespace: a part of what its members may. The rules of the API server
    hold for them as for these: an account of another namespace is a controller only where it may do the same
    everywhere.
    """
    metadata = {"name": OF_TEAM, "namespace": team.name, "labels": labels()}
    yield {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": [
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "delete"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        ],
    }
    account = {"kind": "ServiceAccount", "name": OPERATION, "namespace": NAMESPACE}
    yield _bound(metadata, OF_TEAM, [account])


def people(team: Team) -> Iterator[Manifest]:
    """Yield who may start benchmarks: the members of the team whose GPUs they take."""
    if found := subjects(team, "member"):
        yield _bound({"name": PEOPLE, "namespace": NAMESPACE, "labels": labels()}, PEOPLE, found)


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


def _bound(metadata: Manifest, role: str, people: list[Manifest]) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": role},
        "subjects": people,
    }
