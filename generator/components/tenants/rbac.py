"""Who may do what in a team's namespace."""

from generator.components.common import OIDC_PREFIX
from generator.components.component import Manifest
from generator.components.jobs import Jobs, by_group, sorted_kinds
from generator.components.parts import rule
from generator.model.cluster import Cluster
from generator.model.teams import Team

GROUP = "rbac.authorization.k8s.io"
MEMBER, VIEWER, QUEUES = "gen:team-member", "gen:team-viewer", "gen:queue-reader"
# Made by Kueue's chart: it grows with the kinds of jobs that Kueue knows.
KUEUE_USER = "kueue-batch-user-role"

READ = ["get", "list", "watch"]
WRITE = [*READ, "create", "delete", "deletecollection", "patch", "update"]

CORE = ["configmaps", "persistentvolumeclaims", "services"]
ABOUT = ["events", "limitranges", "persistentvolumeclaims", "pods", "pods/log", "resourcequotas", "services"]
BUILT_IN = (
    ("batch", ["cronjobs", "jobs"]),
    ("apps", ["deployments", "statefulsets"]),
    ("autoscaling", ["horizontalpodautoscalers"]),
)
"""What teams run beside jobs of operators. Not PodGroups or Volcano's own jobs: operators make PodGroups, and Kueue
cannot hold the others.
"""


def roles(jobs: Jobs) -> tuple[Manifest, ...]:
    """Return the roles, the same on every cluster."""
    return (member(jobs), viewer(jobs), cluster_role(QUEUES, queue_rules(jobs)))


def member(jobs: Jobs) -> Manifest:
    """Run jobs and see everything of one's own. Pods may be made and deleted but not changed: who may change a pod
    can take Kueue's gate off it.
    """
    return cluster_role(
        MEMBER,
        [
            rule("", ["pods"], [*READ, "create", "delete", "deletecollection"]),
            rule("", ["events", "limitranges", "pods/log", "resourcequotas", "serviceaccounts"], READ),
            # A WebSocket opens with GET, and Kubernetes 1.35 asks for `create` as well.
            rule("", ["pods/attach", "pods/exec", "pods/portforward"], ["create", "get"]),
            rule("", [*CORE, "secrets"], WRITE),
            *(rule(group, kinds, WRITE) for group, kinds in (*BUILT_IN, *by_group(jobs))),
            rule("apps", ["deployments/scale", "statefulsets/scale"], ["get", "patch", "update"]),
            *context_rules(jobs),
        ],
    )


def viewer(jobs: Jobs) -> Manifest:
    """See jobs and their logs; no Secrets and no ConfigMaps, in which people keep passwords too."""
    return cluster_role(
        VIEWER,
        [
            rule("", ABOUT, READ),
            *(rule(group, kinds, READ) for group, kinds in (*BUILT_IN, *by_group(jobs))),
            *context_rules(jobs),
            rule("kueue.x-k8s.io", ["localqueues", "workloads"], READ),
        ],
    )


def context_rules(jobs: Jobs) -> list[Manifest]:
    """See what explains why a pod does not start."""
    return [
        rule("apps", ["controllerrevisions", "replicasets"], READ),
        rule("networking.k8s.io", ["networkpolicies"], READ),
        rule("scheduling.volcano.sh", ["podgroups"], READ),
        *(rule(one.group, list(one.templates), READ) for one in sorted_kinds(jobs) if one.templates),
    ]


def queue_rules(jobs: Jobs) -> list[Manifest]:
    """See the cluster's queues and classes: who waits for what."""
    return [
        rule("kueue.x-k8s.io", ["clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"], READ),
        rule("scheduling.k8s.io", ["priorityclasses"], READ),
        rule("storage.k8s.io", ["storageclasses"], READ),
        *(rule(one.group, list(one.cluster_templates), READ) for one in sorted_kinds(jobs) if one.cluster_templates),
    ]


def cluster_role(name: str, rules: list[Manifest]) -> Manifest:
    """Write a ClusterRole; RoleBindings make it one namespace's."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


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
