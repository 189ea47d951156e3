"""Rules about what objects name: it is there, with its keys, and in time."""

from collections.abc import Iterator
from functools import lru_cache

from generator.build.kinds import Kinds
from generator.build.objects import ROOT, Built
from generator.model.fields import dig
from generator.model.finding import Finding, Severity
from generator.model.gpus import GPU
from generator.model.rule import rule
from generator.rules.mentions import Mention, Reference, mentions
from generator.rules.providers import Provider, Providers, UnseenObjects, api_of, waves
from generator.spec.near import instead

CHOSEN = {
    "ClusterTrainingRuntime", "IngressClass", "LocalQueue", "PriorityClass", "RuntimeClass", "StorageClass",
    "VolumeSnapshotClass",
}  # fmt: skip
"""Kinds of which people choose one that is there; of others, as Secrets, another one is no answer."""
FEW = 6
"""Names that are listed for them."""


@rule("GEN-REF-001", "what an object names is there")
def there(built: Built) -> Iterator[Finding]:
    """A pod whose ServiceAccount, ConfigMap, Secret or claim is not there does not start; a claim of an unknown
    StorageClass waits for ever, and so does a workload in an unknown queue. Secrets count that the cluster declares
    in bootstrap/secrets.yaml, and those that controllers make. What charts that are not vendored may bring is not
    judged but counted.

    Wrong:
        serviceAccountName: minoi
    Right:
        serviceAccountName: minio
    """
    providers = Providers.of(built)
    yield from (absent(one, providers) for one in missing(built) if not harmless(one))


@rule("GEN-REF-002", "a key that is asked for is there")
def keys_there(built: Built) -> Iterator[Finding]:
    """A container that takes a variable or a file from a key which its ConfigMap or Secret does not have is not
    started.

    Wrong:
        valueFrom: {secretKeyRef: {name: minio-root, key: pasword}}
    Right:
        valueFrom: {secretKeyRef: {name: minio-root, key: password}}
    """
    providers = Providers.of(built)
    for one in all_mentions(built):
        provider = providers.provider(one.reference)
        if provider and provider.keys is not None and one.reference.key and one.reference.key not in provider.keys:
            fix = instead(one.reference.key, provider.keys, f"it has {', '.join(sorted(provider.keys)) or 'no keys'}")
            yield one.object.finding(f"{one.reference.full_name} has no key {one.reference.key}", *one.at, fix=fix)


INSTEAD = {
    "DeviceClass": f"leave claims of devices out, and ask for {GPU} in limits: so GPUs are offered and counted here",
}
"""What to write in place of a kind that nothing of gen's brings."""
LATER = {
    "Ingress": {"ClusterIssuer", "Secret"},
    "RoleBinding": {"ServiceAccount"},
    "ClusterRoleBinding": {"ServiceAccount"},
}
"""What may come after the objects of a kind that name it."""


@rule("GEN-REF-003", "nothing waits for a later wave")
def in_time(built: Built) -> Iterator[Finding]:
    """Argo CD goes on to the next wave when everything in this one is healthy. What needs an object of a later wave,
    or of another Application in the same one, may stop the installation for ever. The root Application is applied by
    hand after Argo CD; cert-manager looks at an Ingress again and again, so that its issuer may come later; and a right
    may be given to a ServiceAccount before that is there.

    Wrong:
        (a StatefulSet in wave 2 whose StorageClass comes with an Application of wave 3)
    Right:
        (the StorageClass's Application in wave 1)
    """
    providers, order = Providers.of(built), waves(built)
    for one in (*all_mentions(built), *groups(built)):
        maker = (providers.provider(one.reference) or Provider("")).component
        own = one.object.component
        patient = own == ROOT or one.reference.kind in LATER.get(one.object.kind, ())
        if maker and maker != own and not patient and {maker, own} <= order.keys() and order[maker] >= order[own]:
            what = f"{one.reference.full_name} comes with {maker} in wave {order[maker]}"
            message = f"{what}, and this is in wave {order[own]}"
            yield one.object.finding(message, *one.at, fix=f"let {own} come after {maker}")


@rule("GEN-REF-004", "namespaces that Applications go to are made")
def destinations(built: Built) -> Iterator[Finding]:
    """All Namespaces of a cluster are in the Application `namespaces`; Argo CD makes none by itself, and what goes
    into one that is not there fails.

    Wrong:
        destination: {namespace: minoi}
    Right:
        destination: {namespace: minio}
    """
    providers = Providers.of(built)
    for one in built.of("Application") if built.cluster else ():
        name = dig(one.spec, "destination", "namespace")
        wanted = Reference("Namespace", "", str(name))
        if isinstance(name, str) and name and not providers.provider(wanted):
            fix = "correct it, or add the Namespace to overlays/<cluster>/namespaces/custom/"
            yield one.finding(f"nothing makes the {wanted.full_name}", "spec", "destination", "namespace", fix=fix)


@rule("GEN-REF-005", "who is meant is there", severity=Severity.WARNING)
def meant(built: Built) -> Iterator[Finding]:
    """A right that is given to a ServiceAccount which is not there helps nobody, and a StatefulSet without its Service
    gives its pods no names. Neither is refused, and some charts bring both on purpose: of what is vendored they are
    only counted.

    Wrong:
        kind: RoleBinding
        subjects: [{kind: ServiceAccount, name: prometheus-k8s, namespace: monitoring}]
    Right:
        kind: RoleBinding
        subjects: [{kind: ServiceAccount, name: kube-prometheus-stack-prometheus, namespace: monitoring}]
    """
    providers = Providers.of(built)
    yield from (absent(one, providers) for one in missing(built) if harmless(one) and not one.object.vendored)


def habits(built: Built) -> int:
    """Count what vendored objects mean that is not there: nobody here can mend it."""
    return sum(harmless(one) and one.object.vendored for one in missing(built))


def missing(built: Built) -> Iterator[Mention]:
    """Yield the references that lead to nothing."""
    unseen = UnseenObjects.of(built)
    return (one for one in unresolved(built) if not unseen.may_hold(one.reference))


def harmless(one: Mention) -> bool:
    """Tell whether things work without what is named."""
    return one.at[:1] == ("subjects",) or one.at == ("spec", "serviceName")


def absent(one: Mention, providers: Providers) -> Finding:
    """Say that something is not there."""
    return one.object.finding(f"there is no {one.reference.full_name}", *one.at, fix=other_name(one, providers))


def other_name(one: Mention, providers: Providers) -> str:
    """Say what to write: what was meant, one of those that are there, or what is missing itself."""
    if meant := providers.closest_name(one.reference):
        return f"write `{meant}`"
    if one.reference.kind in INSTEAD:
        return INSTEAD[one.reference.kind]
    there = providers.names(one.reference) if one.reference.kind in CHOSEN else []
    if 0 < len(there) <= FEW:
        known = ", ".join(f"`{name}`" for name in there)
        return f"correct the name ({known}), or add the {one.reference.kind}"
    return f"add the {one.reference.kind}, or correct the name"


@lru_cache(maxsize=2)
def all_mentions(built: Built) -> tuple[Mention, ...]:
    """Return every reference of every object."""
    return tuple(each for one in built.objects for each in mentions(one, built))


def groups(built: Built) -> Iterator[Mention]:
    """Yield for each object of a custom kind that its CRD is needed."""
    known = Kinds.of(built)
    for one in built.objects:
        if not known.ours(one.group):
            yield Mention(one, ("apiVersion",), api_of(one.group, one.kind))


def unproven(built: Built) -> list[Mention]:
    """Return the references that lead into what nobody sees: they may be right."""
    unseen = UnseenObjects.of(built)
    return [one for one in unresolved(built) if unseen.may_hold(one.reference)]


def unresolved(built: Built) -> Iterator[Mention]:
    """Yield the references to what nothing that is seen makes."""
    providers = Providers.of(built)
    return (one for one in all_mentions(built) if not providers.provider(one.reference))
