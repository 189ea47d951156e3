"""Who may do what in a team's namespace."""

from generator.components.common import OIDC_PREFIX
from generator.components.component import Manifest
from generator.components.jobs import Jobs, by_group, sorted_kinds
from generator.components.rbac import RBAC, binding, rule
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.teams import Team

MEMBER, VIEWER, QUEUES, ROUTES = "gen:team-member", "gen:team-viewer", "gen:queue-reader", "gen:team-routes"
PIPELINES, STEPS = "gen:team-pipelines", "gen:pipeline-steps"
# Made by Kueue's chart: it grows with the kinds of jobs that Kueue knows.
KUEUE_USER = "kueue-batch-user-role"
READ = ["get", "list", "watch"]


def roles(jobs: Jobs) -> tuple[Manifest, ...]:
    """Return the roles, the same on every cluster: with jobs of operators people may do what they may with autoscalers,
    and what such jobs are made from they may see.
    """
    member, viewer, router, *pipelines, reader = read_objects("tenants/roles.yaml")
    shared = [rule(one.group, list(one.cluster_templates), READ) for one in sorted_kinds(jobs) if one.cluster_templates]
    people = (with_jobs(member, jobs), with_jobs(viewer, jobs), router, *pipelines)
    return *people, {**reader, "rules": [*reader["rules"], *shared]}


def with_jobs(role: Manifest, jobs: Jobs) -> Manifest:
    """Return a role with the kinds of jobs behind autoscalers, and their templates behind PodGroups."""
    (verbs,) = (one["verbs"] for one in role["rules"] if one["apiGroups"] == ["autoscaling"])
    behind = {
        "autoscaling": [rule(group, kinds, verbs) for group, kinds in by_group(jobs)],
        "scheduling.volcano.sh": [
            rule(one.group, list(one.templates), READ) for one in sorted_kinds(jobs) if one.templates
        ],
    }
    rules = [each for one in role["rules"] for each in (one, *behind.get(one["apiGroups"][0], ()))]
    return {**role, "rules": rules}


def bindings(team: Team) -> list[Manifest]:
    """Bind a team's people to the roles, in its namespace."""
    members, viewers = subjects(team, "member"), subjects(team, "viewer")
    bound = (
        ("members", MEMBER, members),
        ("queue-users", KUEUE_USER, members),
        ("viewers", VIEWER, viewers),
        ("routes", ROUTES, members if team.hosts else []),
        ("pipelines", PIPELINES, members if team.pipelines else []),
    )
    return [
        binding({"name": name, "namespace": team.name}, "ClusterRole", role, people)
        for name, role, people in bound
        if people
    ]


def subjects(team: Team, role: str) -> list[Manifest]:
    """Return a team's groups and users of one role, as the identity provider names them."""
    return [
        {"apiGroup": RBAC, "kind": kind, "name": OIDC_PREFIX + name}
        for member in team.members
        if member.role == role
        for kind, name in (("Group", member.group), ("User", member.user))
        if name
    ]


def queue_readers(cluster: Cluster) -> list[Manifest]:
    """Let everybody in any team read the cluster's queues."""
    people = [entry for team in cluster.teams for role in ("member", "viewer") for entry in subjects(team, role)]
    unique = {(entry["kind"], entry["name"]): entry for entry in people}
    return [binding({"name": QUEUES}, "ClusterRole", QUEUES, list(unique.values()))] if unique else []
