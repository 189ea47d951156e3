"""Rules about what objects name: it is there, with its keys, and in time."""

from collections.abc import Iterator
from functools import lru_cache

from generator.build.kinds import Kinds
from generator.build.objects import ROOT, Built
from generator.model.fields import dig
from generator.model.finding import Finding, Severity
from generator.model.rule import rule
from generator.rules.mentions import Reference, references
from generator.rules.providers import Known, Maker, Unseen, api_of, waves
from generator.rules.target import Target
from generator.spec.near import instead


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
    known = Known.of(built)
    yield from (absent(one, known) for one in missing(built) if not harmless(one))


@rule("GEN-REF-002", "a key that is asked for is there")
def keys_there(built: Built) -> Iterator[Finding]:
    """A container that takes a variable or a file from a key which its ConfigMap or Secret does not have is not
    started.

    Wrong:
        valueFrom: {secretKeyRef: {name: minio-root, key: pasword}}
    Right:
        valueFrom: {secretKeyRef: {name: minio-root, key: password}}
    """
    known = Known.of(built)
    for one in named(built):
        maker = known.maker(one.target)
        if maker and maker.keys is not None and one.target.key and one.target.key not in maker.keys:
            fix = instead(one.target.key, maker.keys, f"it has {', '.join(sorted(maker.keys)) or 'no keys'}")
            yield one.object.finding(f"{one.target.full_name} has no key {one.target.key}", *one.at, fix=fix)


@rule("GEN-REF-003", "nothing waits for a later wave")
def in_time(built: Built) -> Iterator[Finding]:
    """Argo CD goes on to the next wave when everything in this one is healthy. What needs an object of a later wave,
    or of another Application in the same one, may stop the installation for ever. The root Application is applied by
    hand after Argo CD; and cert-manager looks at an Ingress again and again, so that its issuer may come later.

    Wrong:
        (a StatefulSet in wave 2 whose StorageClass comes with an Application of wave 3)
    Right:
        (the StorageClass's Application in wave 1)
    """
    known, order = Known.of(built), waves(built)
    for one in (*named(built), *groups(built)):
        maker = (known.maker(one.target) or Maker("")).component
        own = one.object.component
        patient = own == ROOT or (one.object.kind == "Ingress" and one.target.kind in {"ClusterIssuer", "Secret"})
        if maker and maker != own and not patient and {maker, own} <= order.keys() and order[maker] >= order[own]:
            message = (
                f"{one.target.full_name} comes with {maker} in wave {order[maker]}, and this is in wave {order[own]}"
            )
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
    known = Known.of(built)
    for one in built.of("Application") if built.cluster else ():
        name = dig(one.spec, "destination", "namespace")
        wanted = Target("Namespace", "", str(name))
        if isinstance(name, str) and name and not known.maker(wanted):
            fix = "correct it, or add the Namespace to overlays/<cluster>/namespaces/custom/"
            yield one.finding(f"nothing makes the {wanted.full_name}", "spec", "destination", "namespace", fix=fix)


@rule("GEN-REF-005", "who is meant is there", severity=Severity.WARNING)
def meant(built: Built) -> Iterator[Finding]:
    """A right that is given to a ServiceAccount which is not there helps nobody, and a StatefulSet without its Service
    gives its pods no names. Neither is refused, and some charts bring both on purpose.

    Wrong:
        kind: RoleBinding
        subjects: [{kind: ServiceAccount, name: prometheus-k8s, namespace: monitoring}]
    Right:
        kind: RoleBinding
        subjects: [{kind: ServiceAccount, name: kube-prometheus-stack-prometheus, namespace: monitoring}]
    """
    known = Known.of(built)
    yield from (absent(one, known) for one in missing(built) if harmless(one))


def missing(built: Built) -> Iterator[Reference]:
    """Yield the references that lead to nothing."""
    unseen = Unseen.of(built)
    return (one for one in unmade(built) if not unseen.brings(one.target))


def harmless(one: Reference) -> bool:
    """Tell whether things work without what is named."""
    return one.at[:1] == ("subjects",) or one.at == ("spec", "serviceName")


def absent(one: Reference, known: Known) -> Finding:
    """Say that something is not there."""
    meant = known.meant(one.target)
    fix = f"write `{meant}`" if meant else f"add the {one.target.kind}, or correct the name"
    return one.object.finding(f"there is no {one.target.full_name}", *one.at, fix=fix)


@lru_cache(maxsize=2)
def named(built: Built) -> tuple[Reference, ...]:
    """Return every reference."""
    return tuple(each for one in built.objects for each in references(one, built))


def groups(built: Built) -> Iterator[Reference]:
    """Yield for each object of a custom kind that its CRD is needed."""
    known = Kinds.of(built)
    for one in built.objects:
        if not known.ours(one.group):
            yield Reference(one, ("apiVersion",), api_of(one.group, one.kind))


def unproven(built: Built) -> list[Reference]:
    """Return the references that lead into what nobody sees: they may be right."""
    unseen = Unseen.of(built)
    return [one for one in unmade(built) if unseen.brings(one.target)]


def unmade(built: Built) -> Iterator[Reference]:
    """Yield the references to what nothing that is seen makes."""
    known = Known.of(built)
    return (one for one in named(built) if not known.maker(one.target))
