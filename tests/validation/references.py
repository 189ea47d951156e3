"""Whether what an object names is there, and there in time."""

from collections.abc import Iterator
from typing import NamedTuple

from validation.build import ROOT, Built, Object, told
from validation.made import BUILT_IN, BY_CHARTS
from validation.named import Target, of_values, references
from validation.pods import GIVEN

__all__ = ["dangling", "index", "late", "waves"]


class Known(NamedTuple):
    """What there is: by kind, namespace and name the Application that brings it, and the keys it holds if they are
    known. The Application is empty for what stands before Argo CD.
    """

    application: str
    keys: frozenset[str] | None = None


class Naming(NamedTuple):
    """A reference, and who makes it."""

    application: str
    who: str
    kind: str
    target: Target


def everything(built: Built) -> Iterator[Naming]:
    """Yield all references: of objects, and of charts' values."""
    for application, one in built.all():
        for target in references(one, built):
            yield Naming(application, told(application, one), one["kind"], target)
    for (component, release), values in built.values.items():
        space = built.charts[component, release]["namespace"]
        for target in (*of_values(space, values), Target("Namespace", "", space)):
            yield Naming(component, f"{component}: values of {release}", "values", target)


def dangling(built: Built) -> list[str]:
    """Return the references to something that nothing makes."""
    known = index(built)
    return [
        f"{one.who}: no {one.target.kind} {place(one.target)}"
        for one in everything(built)
        if missing(one.target, known)
    ]


def late(built: Built) -> list[str]:
    """Return the references to something that a later wave brings, or another Application of the same wave. The root
    Application is applied by hand, after Argo CD and its namespace; and cert-manager looks at an Ingress again and
    again, so that its issuer may come later.
    """
    known, order = index(built), waves(built)
    found = []
    for one in everything(built):
        maker = known.get(one.target[:3], Known("")).application
        patient = one.application == ROOT or (one.kind, one.target.kind) == ("Ingress", "ClusterIssuer")
        if maker and maker != one.application and not patient and order[maker] >= order[one.application]:
            found.append(
                f"{one.who}: {one.target.kind} {place(one.target)} comes from {maker} in wave {order[maker]}, "
                f"not before wave {order[one.application]}"
            )
    return found


def waves(built: Built) -> dict[str, int]:
    """Return the waves of Applications."""
    return {
        one["metadata"]["name"]: int(one["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
        for one in built.objects[ROOT]
        if one["kind"] == "Application"
    }


def place(target: Target) -> str:
    name = f"{target.namespace}/{target.name}" if target.namespace else target.name
    return f"{name} with key {target.key}" if target.key else name


def missing(target: Target, known: dict[tuple[str, str, str], Known]) -> bool:
    if GIVEN in target.name:
        return False
    found = known.get(target[:3])
    return not found or bool(target.key and found.keys is not None and target.key not in found.keys)


def index(built: Built) -> dict[tuple[str, str, str], Known]:
    """Return everything that references may name."""
    found = {(kind, "", name): Known("") for kind, names in BUILT_IN.items() for name in names}
    for component, targets in BY_CHARTS.items():
        if component in built.objects or not built.cluster.settings(component).managed:
            found |= {target: Known(component if component in built.objects else "") for target in targets}
    if built.cluster.site.ingress_class:
        found.setdefault(("IngressClass", "", built.cluster.site.ingress_class), Known(""))
    for one in built.secrets:
        maker = one.get("by") or (one["component"] if one["source"] == "in-cluster" else "")
        found[("Secret", one["namespace"], one["name"])] = Known(maker, frozenset(one["keys"]))
    for application, one in built.all():
        for target in made(one):
            found[target[:3]] = Known(application, keys(one))
    return found


def made(manifest: Object) -> Iterator[Target]:
    """Yield an object and what controllers make of it."""
    space, name = manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]
    yield Target(manifest["kind"], space, name)
    if manifest["kind"] == "Certificate":
        yield Target("Secret", space, manifest["spec"]["secretName"])
    if manifest["kind"] == "Namespace":
        yield Target("ServiceAccount", name, "default")
        yield Target("ConfigMap", name, "kube-root-ca.crt")
    if manifest["kind"] == "CephBlockPool":
        yield Target("CephPool", space, manifest["spec"].get("name", name))
    if manifest["kind"] == "CephFilesystem":
        # Rook puts the filesystem's name before its pools' unless it is told to keep theirs.
        prefix = "" if manifest["spec"].get("preservePoolNames") else f"{name}-"
        pools = enumerate(manifest["spec"]["dataPools"])
        yield from (Target("CephPool", space, prefix + pool.get("name", f"data{number}")) for number, pool in pools)


def keys(manifest: Object) -> frozenset[str] | None:
    """Return the keys of what is made."""
    if manifest["kind"] == "ConfigMap":
        return frozenset({**manifest.get("data", {}), **manifest.get("binaryData", {})})
    return frozenset({"ca.crt", "tls.crt", "tls.key"}) if manifest["kind"] == "Certificate" else None
