"""Who may do what in a team's namespace."""

from generator.components.common import OIDC_PREFIX
from generator.components.component import Manifest
from generator.components.static import read_objects
from generator.components.tenants.admission import OPERATED
from generator.model.cluster import Cluster
from generator.model.teams import Team

GROUP = "rbac.authorization.k8s.io"
MEMBER, VIEWER, QUEUES = "gen:team-member", "gen:team-viewer", "gen:queue-reader"
# Made by Kueue's chart: it grows with the kinds of jobs that Kueue knows.
KUEUE_USER = "kueue-batch-user-role"


def roles() -> tuple[Manifest, ...]:
    """Return the roles, the same on every cluster."""
    member, viewer, reader = read_objects("tenants/roles.yaml")
    return with_operated(member), with_operated(viewer), reader


def with_operated(role: Manifest) -> Manifest:
    """Return a role that may do with the jobs of operators what it may do with autoscalers, in rules behind theirs."""
    rules = role["rules"]
    place = next(number for number, one in enumerate(rules) if one["apiGroups"] == ["autoscaling"])
    operated = [{**rules[place], "apiGroups": [group], "resources": kinds} for group, kinds in OPERATED]
    return {**role, "rules": [*rules[: place + 1], *operated, *rules[place + 1 :]]}


def bindings(team: Team) -> list[Manifest]:
    """Bind a team's people to the roles, in its namespace."""
    members, viewers = subjects(team, "member"), subjects(team, "viewer")
    bound = (("members", MEMBER, members), ("queue-users", KUEUE_USER, members), ("viewers", VIEWER, viewers))
    return [
        binding("RoleBinding", {"name": name, "namespace": team.name}, role, people)
        for name, role, people in bound
        if people
    ]


def binding(kind: str, metadata: Manifest, role: str, people: list[Manifest]) -> Manifest:
    """Bind people to a ClusterRole: everywhere, or in one namespace."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": people,
    }


def subjects(team: Team, role: str) -> list[Manifest]:
    """Return a team's groups and users of one role, as the identity provider names them."""
    return [
        {"apiGroup": GROUP, "kind": kind, "name": OIDC_PREFIX + name}
        for member in team.members
        if member.role == role
        for kind, name in (("Group", member.group), ("User", member.user))
        if name
    ]


def queue_readers(cluster: Cluster) -> list[Manifest]:
    """Let everybody in any team read the cluster's queues."""
    people = [entry for team in cluster.teams for role in ("member", "viewer") for entry in subjects(team, role)]
    unique = {(entry["kind"], entry["name"]): entry for entry in people}
    return [binding("ClusterRoleBinding", {"name": QUEUES}, QUEUES, list(unique.values()))] if unique else []
