"""Rules about Argo CD: who holds what, what projects allow, what waits for ever, what is left out."""

from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from generator.build.go_yaml import UnreadableError
from generator.build.kinds import CRD, defined_kind
from generator.build.manifests import documents
from generator.build.objects import Built, Object, TargetedPatch, targets_object
from generator.components import CATALOGUE
from generator.components.argo_cd.settings import EXCLUDED
from generator.components.cilium import INGRESS_CLASS
from generator.components.common import IGNORE_HEALTH
from generator.components.load_balancer import DEFINITION as ADDRESSES
from generator.model.extras import Extra
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import Finding, Severity
from generator.model.rule import rule
from generator.rules.providers import by_application, composed, waves


@rule("GEN-ARGO-001", "an object is there once")
def held_once(built: Built) -> Iterator[Finding]:
    """Of two Applications that hold one object each undoes what the other does, and the one that lets go of it prunes
    it for both. Of two in one folder the last that is applied wins.

    Wrong:
        (the same ConfigMap in overlays/ml50/minio/custom/ and in overlays/ml50/workflows/custom/)
    Right:
        (the ConfigMap in one of them)
    """
    owners: dict[tuple[str, ...], list[Object]] = defaultdict(list)
    for one in built.objects:
        if one.identity:
            owners[one.variant, *one.identity].append(one)
    for first, *others in owners.values():
        for one in others:
            where = f"in {first.component} ({first.file}) as well" if first.component else f"in {first.file} as well"
            told = "there twice" if one.file == first.file else where
            yield one.finding(f"the same object is {told}", "metadata", "name", fix=_kept(built, one, first))


def _kept(built: Built, *of: Object) -> str:
    """Say how one of two goes: what a component of the user's own has from upstream, nobody can leave out of a file."""
    for one in of:
        if built.cluster and one.component in built.cluster.extras:
            overlay = f"overlays/{built.cluster.name}/{one.component}"
            if one.file.startswith(("base/", f"{overlay}/upstream/")):
                return f"keep one of them: `$patch: delete` in {overlay}/custom/ takes that of {one.component} out"
    return "keep one of them"


@rule("GEN-ARGO-002", "the project allows what its Applications hold")
def allowed(built: Built) -> Iterator[Finding]:
    """One object that its AppProject refuses stops the whole sync of an Application. `gen` computes projects from what
    all components of a tier state and from what is vendored: run `gen render` after `gen vendor`. Objects of your own
    in `custom/` may need a patch of the project, or one of your own.

    Wrong:
        kind: AppProject
        spec: {clusterResourceWhitelist: []}
    Right:
        kind: AppProject
        spec: {clusterResourceWhitelist: [{group: storage.k8s.io, kind: StorageClass}]}
    """
    projects = {one.name: one.spec for one in built.of("AppProject")}
    for one in built.of("Application") if built.cluster else ():
        project = projects.get(str(one.spec.get("project")))
        if project is not None:
            yield from refusals(one, project, built)


def refusals(application: Object, project: dict[str, Any], built: Built) -> Iterator[Finding]:
    """Yield why a project refuses an Application's sources, place or objects."""
    spec = application.spec
    for at, source in sources(spec):
        url = str(dig(source, "repoURL"))
        if not any(fnmatchcase(url, str(each)) for each in sequence(project.get("sourceRepos"))):
            message = f"its project {spec.get('project')} does not allow the repository {url}"
            yield application.finding(message, *at, "repoURL", fix="add it to sourceRepos")
    own = dig(spec, "destination", "namespace")
    for space in sorted({*released(built).get(application.name, ()), *([own] if isinstance(own, str) and own else [])}):
        if not goes(project, spec, space):
            message = f"its project {spec.get('project')} does not allow the namespace {space}"
            at = ("spec", "destination", "namespace")
            yield application.finding(message, *at, fix="add it to the project's destinations")
    extras = built.cluster.extras if built.cluster else {}
    for one in by_application(built).get(application.name, ()):
        # What makes the project: told first, and alone.
        said = [*unstated(one, extras[one.component])] if one.component in extras else []
        yield from said or refused(one, project, spec)


def sources(spec: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield an Application's one source or several."""
    if "source" in spec:
        yield ("spec", "source"), spec["source"]
    for index, source in enumerate(sequence(spec.get("sources"))):
        yield ("spec", "sources", index), source


@lru_cache(maxsize=2)
def released(built: Built) -> dict[str, set[str]]:
    """Return the namespaces that charts go to which are not vendored, by Application."""
    unseen = [one for one in composed(built) if one.name in built.unseen]
    return {one.name: {release.namespace for release in one.releases} for one in unseen}


def goes(project: dict[str, Any], spec: dict[str, Any], space: str) -> bool:
    """Tell whether a project lets an Application go to a namespace. One that a pattern with `!` names is closed, and
    such a pattern allows all others.
    """
    wanted = mapping(spec.get("destination"))
    allowed = False
    for place in map(mapping, sequence(project.get("destinations"))):
        same = any(place.get(key) in ("*", wanted.get(key)) for key in ("server", "name") if wanted.get(key))
        pattern = str(place.get("namespace", ""))
        denies = pattern.startswith("!")
        matches = fnmatchcase(space, pattern.removeprefix("!"))
        if same and denies and matches:
            return False
        allowed = allowed or (same and denies != matches)
    return allowed


def unstated(one: Object, extra: Extra) -> Iterator[Finding]:
    """Yield what the cluster file does not say of a component of the user's own that it writes."""
    kind = f"{one.group}/{one.kind}"
    if not one.namespace and one.kind != "Namespace" and kind not in extra.kinds:
        message = f"the cluster file does not say that {one.component} brings objects of {kind}"
        yield one.finding(message, "kind", fix=f"add {kind} to extras.{one.component}.kinds")
    if one.namespace and one.namespace not in {extra.namespace, *extra.reach}:
        message = f"the cluster file does not say that {one.component} writes to the namespace {one.namespace}"
        yield one.finding(message, "metadata", "namespace", fix=f"add {one.namespace} to extras.{one.component}.reach")


def refused(one: Object, project: dict[str, Any], spec: dict[str, Any]) -> Iterator[Finding]:
    """Yield why a project refuses an object."""
    kinds = "namespaceResource" if one.namespace else "clusterResource"
    anything = one.namespace and f"{kinds}Whitelist" not in project
    if listed(project, f"{kinds}Blacklist", one) or not (anything or listed(project, f"{kinds}Whitelist", one)):
        message = f"its project {spec.get('project')} does not allow the kind {one.kind} ({one.group or 'core'})"
        yield one.finding(message, "kind", fix="run `gen render`, or allow it in the project")
    if one.namespace and not goes(project, spec, one.namespace):
        message = f"its project {spec.get('project')} does not allow the namespace {one.namespace}"
        yield one.finding(message, "metadata", "namespace", fix="add it to its destinations")


def listed(project: dict[str, Any], key: str, one: Object) -> bool:
    """Tell whether a list of kinds holds the kind of an object; newer lists may also name objects."""
    return any(
        fnmatchcase(one.group, str(each.get("group")))
        and fnmatchcase(one.kind, str(each.get("kind")))
        and fnmatchcase(one.name, str(each.get("name", "*")))
        for each in map(mapping, sequence(project.get(key)))
    )


@rule("GEN-ARGO-003", "Argo CD watches the kind")
def watched(built: Built) -> Iterator[Finding]:
    """Argo CD leaves out kinds that controllers write by the thousand (`resource.exclusions` in argocd-cm): it neither
    applies nor compares them, and says so only in a condition of the Application.

    Wrong:
        apiVersion: v1
        kind: Endpoints
    Right:
        (a Service with a selector: Kubernetes makes the Endpoints)
    """
    excluded = exclusions(built) if built.cluster else []
    # What somebody brings, without a component, may be applied in another way: here as below.
    for one in (each for each in built.objects if each.component):
        for each in map(mapping, excluded):
            if covers(each, "apiGroups", one.group) and covers(each, "kinds", one.kind) and not each.get("clusters"):
                message = f"Argo CD leaves out {one.kind} ({one.group or 'core'}): it will never apply this"
                fix = "leave it to the controller that makes it, or change resource.exclusions"
                yield one.finding(message, "kind", fix=fix)
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
            except UnreadableError:
                return []
    return [*EXCLUDED]


@rule("GEN-ARGO-004", "Namespaces are in the Application `namespaces`")
def namespaces_apart(built: Built) -> Iterator[Finding]:
    """All Namespaces come in the first wave, in one Application that never lets go of them: a Namespace that another
    Application holds is deleted with that Application, and everything in it.

    Wrong:
        (a Namespace in overlays/ml50/minio/custom/)
    Right:
        (the Namespace in overlays/ml50/namespaces/custom/)
    """
    for one in built.of("Namespace") if built.cluster else ():
        if one.component not in ("", "namespaces") and one.version == "v1":
            fix = "move it to overlays/<cluster>/namespaces/custom/"
            yield one.finding(f"a Namespace in the Application {one.component}", "kind", fix=fix)


@rule("GEN-ARGO-005", "nothing waits for an address for ever", severity=Severity.WARNING)
def addressed(built: Built) -> Iterator[Finding]:
    """Argo CD calls an Ingress, and a Service of type LoadBalancer, unhealthy until it has an address. Addresses are
    given by the component `load-balancer`; an Ingress of a controller that somebody else runs may never be told its
    own. The wave would wait, and everything behind it.

    Wrong:
        kind: Ingress
        spec: {ingressClassName: nginx}
    Right:
        kind: Ingress
        metadata: {annotations: {argocd.argoproj.io/ignore-healthcheck: "true"}}
        spec: {ingressClassName: nginx}
    """
    order = waves(built)
    for one in built.of("Ingress", "Service") if built.cluster else ():
        spec = one.spec
        waiting = one.component and (one.kind == "Ingress" or spec.get("type") == "LoadBalancer")
        ours = one.kind == "Service" or spec.get("ingressClassName") == INGRESS_CLASS
        early = order.get(ADDRESSES.name, 10**9) < order.get(one.component, 0)
        ignored = one.annotations.get(IGNORE_HEALTH) == "true"
        if waiting and not ignored and not (ours and early):
            message = f"the wave of {one.component} waits for its address, and nothing before it gives one"
            yield one.finding(message, "kind", fix=f'annotate it with {IGNORE_HEALTH}: "true"')


@rule("GEN-ARGO-006", "patches match something")
def patching(built: Built) -> Iterator[Finding]:
    """Kustomize says nothing when the target of a patch matches no object: after an upgrade that renames something,
    what the patch was for is simply gone.

    Wrong:
        patches: [{target: {kind: Deployment, name: argocd-sever}, patch: ...}]
    Right:
        patches: [{target: {kind: Deployment, name: argocd-server}, patch: ...}]
    """
    for patch in unmatched(built):
        if patch.component not in built.unseen:
            told = ", ".join(f"{key} {value}" for key, value in patch.target.items())
            metadata = {"name": patch.component}
            where = Object({"kind": "Component", "apiVersion": "v1", "metadata": metadata}, patch.component, patch.file)
            message = f"the patch matches no object of {patch.component}: {told}"
            fix = "correct the target, or remove the patch"
            yield where.finding(message, "patches", patch.index, "target", fix=fix)


@rule("GEN-ARGO-007", "definitions do not leave before their objects")
def defined(built: Built) -> Iterator[Finding]:
    """A CRD that a component brings and that is no longer rendered takes all objects of its kind along when it goes,
    whatever protects these: all CephClusters, say. gen protects CRDs from being pruned; to turn them off while
    objects of their kinds are rendered is still a mistake, and on a new cluster these objects are refused.

    Wrong:
        components: {rook-ceph: {values: {crds: {enabled: false}}}}
    Right:
        components: {rook-ceph: {}}
    """
    here = {defined_kind(one.manifest) for one in built.of(CRD)}
    makers = _makers(built)
    told: set[tuple[str, str]] = set()
    for one in built.objects:
        kind = (one.group, one.kind)
        maker = makers.get(kind) or makers.get((one.group, ""))
        if maker and kind not in here | told:
            told.add(kind)
            message = f"the CRD of {one.kind} ({one.group}), which {maker} brings, is not rendered"
            yield one.finding(message, "kind", fix=f"let {maker} bring it: look at its values, run `gen vendor`")


def _makers(built: Built) -> dict[tuple[str, str], str]:
    """Return the components of the cluster whose charts and manifests bring CRDs, by group and kind, or by the group
    alone. What is not vendored is not seen.
    """
    seen = {one.name for one in composed(built)} - {*built.unseen}
    found = [(one.name, api) for one in CATALOGUE.values() for api in one.apis]
    brought = [(name, api) for name, api in found if name in seen and not api.by_operator]
    return {(api.group, kind): name for name, api in brought for kind in api.kinds or ("",)}


def unproven(built: Built) -> int:
    """Return how many patches are for what is not vendored."""
    return sum(patch.component in built.unseen for patch in unmatched(built))


def unmatched(built: Built) -> Iterator[TargetedPatch]:
    """Yield the patches that match no object of their Application."""
    for patch in built.patches:
        if not any(targets_object(patch.target, one) for one in by_application(built).get(patch.component, ())):
            yield patch
