"""Rules about what a team's people may make: roles in the team's namespace say it, told before it is applied."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.components.tenants.rbac import KUEUE_USER
from generator.model.fields import dig, sequence
from generator.model.finding import Finding
from generator.model.rule import warning
from generator.rules.queues import held, teams
from generator.rules.references import INSTEAD as BY_OTHER_MEANS
from generator.rules.unknown_kinds import nowhere

_PIPELINES = "ask for `pipelines` of the team, which lets it run workflows"
_HOSTS = "ask for `hosts` of the team, which lets it make routes"
INSTEAD = {
    **dict.fromkeys(("CronWorkflow", "Workflow", "WorkflowTemplate"), _PIPELINES),
    **dict.fromkeys(("GRPCRoute", "HTTPRoute"), _HOSTS),
    "DaemonSet": "make a Deployment of it",
    "Ingress": "leave it out: a team with `hosts` is reached by routes",
    "LocalQueue": "leave it out: the team has a queue `default`",
    "Namespace": "leave it out: the team's is there, and metadata.namespace of what goes into it as well",
    "PersistentVolume": "leave it out: a claim of a StorageClass gets its volume by itself",
    "ReplicaSet": "make a Deployment of it",
    "ReplicationController": "make a Deployment of it",
    "Role": "leave it out, and what binds it: pods of a team get no rights in the API server",
    "RoleBinding": "leave it out: pods of a team get no rights in the API server",
    "ResourceClaim": BY_OTHER_MEANS["DeviceClass"],
    "ResourceClaimTemplate": BY_OTHER_MEANS["DeviceClass"],
    "ServiceAccount": "leave it out, and serviceAccountName of pods as well: they run as `default`",
    "TrainingRuntime": "leave it out, and name one of the cluster's in `runtimeRef`",
}
"""What people do in place of making one of a kind."""
OTHERWISE = "leave it out, or ask those who run the cluster to make it"


@warning("GEN-QUEUE-018", "a team may make what it brings")
def allowed(built: Built) -> Iterator[Finding]:
    """People of a team make jobs, services, claims, ConfigMaps and Secrets in their team's namespace, and nothing in
    others or beside namespaces: the API server refuses them the rest. Whose a file is says `--namespace`, or the
    namespace of its objects. What those who run the cluster bring for a team is not refused.

    Wrong:
        kind: PersistentVolume
        spec: {hostPath: {path: /data}, ...}
    Right:
        kind: PersistentVolumeClaim
        spec: {storageClassName: shared-fast, ...}
    """
    spaces = teams(built) if built.cluster else set()
    for one in built.objects:
        team = built.into if built.into in spaces else one.namespace
        if one.component or team not in spaces:
            continue
        if one.namespace not in ("", team) and isinstance(one.manifest["metadata"]["namespace"], str):
            message = f"goes to namespace {one.namespace}, and people of team {team} make nothing outside their own"
            yield one.finding(message, "metadata", "namespace", fix=f"leave the namespace out, or write {team}")
        elif one.namespace in ("", team) and not may_make(one, team, built):
            message = f"people of team {team} may make no {one.kind}: the API server refuses it"
            yield one.finding(message, "kind", fix=INSTEAD.get(one.kind, OTHERWISE))


def may_make(one: Object, team: str, built: Built) -> bool:
    """Tell whether people of a team may make an object, or nobody here can tell: jobs of kinds that Kueue holds are
    theirs by a role of its chart as well, and of a kind that nothing serves another rule tells.
    """
    rights = rights_in(team, built)
    if rights is None or held(one) or nowhere(one, built):
        return True
    return bool(set(product((one.group, "*"), (resource(one, built), "*"))) & rights) and bool(one.namespace)


@lru_cache(maxsize=8)
def rights_in(namespace: str, built: Built) -> frozenset[tuple[str, str]] | None:
    """Return what roles let people make in a namespace, by group and resource; None where one of them is not seen, or
    there is none.
    """
    roles = {(one.kind, one.namespace, one.name): one.manifest for one in built.of("ClusterRole", "Role")}
    found: set[tuple[str, str]] = set()
    for role in bound_to_people(namespace, built):
        manifest = roles.get(role)
        if manifest is None or "aggregationRule" in manifest:
            return None
        for each in sequence(manifest.get("rules")):
            verbs, groups, resources = (
                {*map(str, sequence(dig(each, key)))} for key in ("verbs", "apiGroups", "resources")
            )
            found |= {*product(groups, resources)} if verbs & {"create", "*"} else set()
    return frozenset(found) or None


def bound_to_people(namespace: str, built: Built) -> Iterator[tuple[str, str, str]]:
    """Yield kind, namespace and name of the roles that people have in a namespace, without the one of Kueue's chart."""
    for one in built.of("RoleBinding"):
        people = {str(dig(each, "kind")) for each in sequence(one.manifest.get("subjects"))} & {"Group", "User"}
        kind, name = (str(dig(one.manifest, "roleRef", key)) for key in ("kind", "name"))
        if one.namespace == namespace and one.component and people and name != KUEUE_USER:
            yield kind, namespace if kind == "Role" else "", name


def resource(one: Object, built: Built) -> str:
    """Return what roles call a kind: as its CRD says, else as Kubernetes makes it of the kind's name."""
    defined = dig(Kinds.of(built).custom.get((one.group, one.kind)), "spec", "names", "plural")
    if defined:
        return str(defined)
    name = one.kind.lower()
    return f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
