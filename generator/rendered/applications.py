"""Rules about Argo CD: who holds what, what projects allow, what waits for ever, what is left out."""

from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from yaml import YAMLError

from generator.components import compose
from generator.components.argo_cd.settings import EXCLUDED
from generator.model.finding import Severity
from generator.rendered.access import dig, mapping, sequence
from generator.rendered.built import Aim, Built, Object, aims_at
from generator.rendered.kinds import group_of
from generator.rendered.known import waves
from generator.rendered.manifests import documents
from generator.rendered.rule import BuiltRule, Problem, built_rule

__all__ = ["RULES", "unproven"]

_IGNORED = "argocd.argoproj.io/ignore-healthcheck"


@built_rule(
    "GEN-ARGO-001",
    "an object is there once",
    wrong="(the same ConfigMap in overlays/ml50/minio/custom/ and in overlays/ml50/workflows/custom/)\n",
    right="(the ConfigMap in one of them)\n",
)
def held_once(built: Built) -> Iterator[Problem]:
    """Of two Applications that hold one object each undoes what the other does, and the one that lets go of it prunes
    it for both. Of two in one folder the last that is applied wins.
    """
    owners: dict[tuple[str, str, str, str], list[Object]] = defaultdict(list)
    for one in built.objects:
        if one.manifest["metadata"].get("name"):
            group = group_of(str(one.manifest["apiVersion"]))
            owners[group, one.kind, one.namespace, one.name].append(one)
    for first, *others in owners.values():
        for one in others:
            where = f"in {first.component} ({first.file})" if first.component else f"in {first.file}"
            message = f"the same object is {where} as well"
            yield Problem(object=one, at=("metadata", "name"), message=message, fix="keep one of them")


@built_rule(
    "GEN-ARGO-002",
    "the project allows what its Applications hold",
    wrong="kind: AppProject\nspec: {clusterResourceWhitelist: []}\n",
    right="kind: AppProject\nspec: {clusterResourceWhitelist: [{group: storage.k8s.io, kind: StorageClass}]}\n",
)
def allowed(built: Built) -> Iterator[Problem]:
    """One object that its AppProject refuses stops the whole sync of an Application. `gen` computes projects from what
    is built; objects of your own in `custom/` need `gen render` after `gen vendor`, or a project of your own.
    """
    projects = {one.name: mapping(one.manifest.get("spec")) for one in built.of("AppProject")}
    for one in built.of("Application") if built.cluster else ():
        project = projects.get(str(dig(one.manifest, "spec", "project")))
        if project is not None:
            yield from refusals(one, project, built)


def refusals(application: Object, project: dict[str, Any], built: Built) -> Iterator[Problem]:
    """Yield why a project refuses an Application's sources, place or objects."""
    spec = mapping(application.manifest.get("spec"))
    for at, source in sources(spec):
        url = str(dig(source, "repoURL"))
        if not any(fnmatchcase(url, str(each)) for each in sequence(project.get("sourceRepos"))):
            message = f"its project {spec.get('project')} does not allow the repository {url}"
            yield Problem(object=application, at=(*at, "repoURL"), message=message, fix="add it to sourceRepos")
    own = dig(spec, "destination", "namespace")
    for space in sorted(released(application.name, built) | ({own} if isinstance(own, str) and own else set())):
        if not goes(project, spec, space):
            message = f"its project {spec.get('project')} does not allow the namespace {space}"
            at = ("spec", "destination", "namespace")
            yield Problem(object=application, at=at, message=message, fix="add it to the project's destinations")
    for one in built.objects:
        if one.component == application.name:
            yield from refused(one, project, spec)


def sources(spec: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield an Application's one source or several."""
    if "source" in spec:
        yield ("spec", "source"), spec["source"]
    for index, source in enumerate(sequence(spec.get("sources"))):
        yield ("spec", "sources", index), source


def released(application: str, built: Built) -> set[str]:
    """Return the namespaces that charts go to which are not vendored."""
    components = compose(built.cluster) if built.cluster and application in built.unseen else ()
    return {one.namespace for each in components if each.name == application for one in each.releases}


def goes(project: dict[str, Any], spec: dict[str, Any], space: str) -> bool:
    """Tell whether a project lets an Application go to a namespace."""
    wanted = mapping(spec.get("destination"))
    for place in map(mapping, sequence(project.get("destinations"))):
        same = any(place.get(key) in ("*", wanted.get(key)) for key in ("server", "name") if wanted.get(key))
        if same and fnmatchcase(space, str(place.get("namespace"))):
            return True
    return False


def refused(one: Object, project: dict[str, Any], spec: dict[str, Any]) -> Iterator[Problem]:
    """Yield why a project refuses an object."""
    group = group_of(str(one.manifest["apiVersion"]))
    if one.namespace:
        fine = "namespaceResourceWhitelist" not in project or listed(project, "namespaceResourceWhitelist", group, one)
        fine = fine and not listed(project, "namespaceResourceBlacklist", group, one)
    else:
        fine = listed(project, "clusterResourceWhitelist", group, one)
        fine = fine and not listed(project, "clusterResourceBlacklist", group, one)
    if not fine:
        message = f"its project {spec.get('project')} does not allow the kind {one.kind} ({group or 'core'})"
        yield Problem(object=one, at=("kind",), message=message, fix="run `gen render`, or allow it in the project")
    if one.namespace and not goes(project, spec, one.namespace):
        message = f"its project {spec.get('project')} does not allow the namespace {one.namespace}"
        yield Problem(object=one, at=("metadata", "namespace"), message=message, fix="add it to its destinations")


def listed(project: dict[str, Any], key: str, group: str, one: Object) -> bool:
    """Tell whether a list of kinds holds the kind of an object; newer lists may also name objects."""
    return any(
        fnmatchcase(group, str(each.get("group")))
        and fnmatchcase(one.kind, str(each.get("kind")))
        and fnmatchcase(one.name, str(each.get("name", "*")))
        for each in map(mapping, sequence(project.get(key)))
    )


@built_rule(
    "GEN-ARGO-003",
    "Argo CD watches the kind",
    wrong="apiVersion: v1\nkind: Endpoints\n",
    right="(a Service with a selector: Kubernetes makes the Endpoints)\n",
)
def watched(built: Built) -> Iterator[Problem]:
    """Argo CD leaves out kinds that controllers write by the thousand (`resource.exclusions` in argocd-cm): it neither
    applies nor compares them, and says so only in a condition of the Application.
    """
    excluded = exclusions(built) if built.cluster else []
    for one in built.objects:
        group = group_of(str(one.manifest["apiVersion"]))
        for each in map(mapping, excluded):
            if covers(each, "apiGroups", group) and covers(each, "kinds", one.kind) and not each.get("clusters"):
                message = f"Argo CD leaves out {one.kind} ({group or 'core'}): it will never apply this"
                fix = "leave it to the controller that makes it, or change resource.exclusions"
                yield Problem(object=one, at=("kind",), message=message, fix=fix)
                break


def covers(exclusion: dict[str, Any], key: str, text: str) -> bool:
    """Tell whether one part of an exclusion is for a group or kind; one that says nothing is for all."""
    return any(fnmatchcase(text, str(glob)) for glob in sequence(exclusion.get(key)) or ["*"])


def exclusions(built: Built) -> list[Any]:
    """Return what Argo CD leaves out: as its ConfigMap says, or will say when it is vendored."""
    for one in built.of("ConfigMap"):
        text = dig(one.manifest, "data", "resource.exclusions")
        if one.name == "argocd-cm" and isinstance(text, str):
            try:
                return sequence(next(iter(documents(text)), None))
            except (YAMLError, ValueError, RecursionError):
                return []
    return [*EXCLUDED]


@built_rule(
    "GEN-ARGO-004",
    "Namespaces are in the Application `namespaces`",
    wrong="(a Namespace in overlays/ml50/minio/custom/)\n",
    right="(the Namespace in overlays/ml50/namespaces/custom/)\n",
)
def namespaces_apart(built: Built) -> Iterator[Problem]:
    """All Namespaces come in the first wave, in one Application that never lets go of them: a Namespace that another
    Application holds is deleted with that Application, and everything in it.
    """
    for one in built.of("Namespace") if built.cluster else ():
        if one.component != "namespaces" and str(one.manifest["apiVersion"]) == "v1":
            message = f"a Namespace in the Application {one.component}"
            fix = "move it to overlays/<cluster>/namespaces/custom/"
            yield Problem(object=one, at=("kind",), message=message, fix=fix)


@built_rule(
    "GEN-ARGO-005",
    "nothing waits for an address for ever",
    severity=Severity.WARNING,
    wrong="kind: Ingress\nspec: {ingressClassName: nginx}\n",
    right="kind: Ingress\n"
    'metadata: {annotations: {argocd.argoproj.io/ignore-healthcheck: "true"}}\nspec: {ingressClassName: nginx}\n',
)
def addressed(built: Built) -> Iterator[Problem]:
    """Argo CD calls an Ingress, and a Service of type LoadBalancer, unhealthy until it has an address. Addresses are
    given by the component `load-balancer`; an Ingress of a controller that somebody else runs may never be told its
    own. The wave would wait, and everything behind it.
    """
    order = waves(built)
    for one in built.of("Ingress", "Service") if built.cluster else ():
        spec = mapping(one.manifest.get("spec"))
        waiting = one.kind == "Ingress" or spec.get("type") == "LoadBalancer"
        ours = one.kind == "Service" or spec.get("ingressClassName") == "cilium"
        early = order.get("load-balancer", 10**9) < order.get(one.component, 0)
        ignored = mapping(one.manifest["metadata"].get("annotations")).get(_IGNORED) == "true"
        if waiting and not ignored and not (ours and early):
            message = f"the wave of {one.component} waits for its address, and nothing before it gives one"
            yield Problem(object=one, at=("kind",), message=message, fix=f'annotate it with {_IGNORED}: "true"')


@built_rule(
    "GEN-ARGO-006",
    "patches match something",
    wrong="patches: [{target: {kind: Deployment, name: argocd-sever}, patch: ...}]\n",
    right="patches: [{target: {kind: Deployment, name: argocd-server}, patch: ...}]\n",
)
def patching(built: Built) -> Iterator[Problem]:
    """Kustomize says nothing when the target of a patch matches no object: after an upgrade that renames something,
    what the patch was for is simply gone.
    """
    for aim in unmatched(built):
        if aim.component not in built.unseen:
            told = ", ".join(f"{key} {value}" for key, value in aim.target.items())
            metadata = {"name": aim.component}
            where = Object({"kind": "Component", "apiVersion": "v1", "metadata": metadata}, aim.component, aim.file)
            message = f"the patch matches no object of {aim.component}: {told}"
            fix = "correct the target, or remove the patch"
            yield Problem(object=where, at=("patches", aim.index, "target"), message=message, fix=fix)


def unproven(built: Built) -> int:
    """Return how many patches are for what is not vendored."""
    return sum(aim.component in built.unseen for aim in unmatched(built))


def unmatched(built: Built) -> Iterator[Aim]:
    """Yield the patches that match no object of their Application."""
    held: dict[str, list[Object]] = defaultdict(list)
    for one in built.objects:
        held[one.component].append(one)
    for aim in built.patches:
        if not any(aims_at(aim.target, one) for one in held[aim.component]):
            yield aim


RULES: tuple[BuiltRule, ...] = (held_once, allowed, watched, namespaces_apart, addressed, patching)
