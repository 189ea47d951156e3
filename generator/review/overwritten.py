"""What it means that a render overwrites files: told from their bytes alone, without Git and without Kustomize."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from generator.build.difference import differences
from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents, is_manifest
from generator.build.objects import ROOT, Object
from generator.build.offline import CUSTOM
from generator.components.component import Manifest
from generator.layout.overlay import RELEASES, UPSTREAM
from generator.model.change import Beside
from generator.repository.places import names
from generator.repository.plan import Change
from generator.repository.sides import Side
from generator.repository.since import shared_folder
from generator.repository.unused_custom import filled
from generator.review.bootstrap import bootstrap_changes
from generator.review.charts import VENDORED, chart_changes
from generator.review.compare import ClusterChanges, whole
from generator.review.component_versions import version_changes
from generator.review.judging import CLUSTER, judge
from generator.review.report import ClusterReport, rules
from generator.review.standing import BOOTSTRAP, Standing

MOST = 400
"""Files of which more are not read here: `gen diff` compares them, and says so while it works."""

SHARED = "every cluster"
"""Stands for the clusters that are built from folders of `base`."""


def consequences(root: Path, changes: Iterable[Change]) -> list[ClusterReport]:
    """Return what the changes of files mean, cluster by cluster; of patches and of what Kustomize does beside nothing
    can be told. Nothing where no file is overwritten or removed, or too many are.
    """
    found = [change for change in changes if change.old != change.new]
    if not any(change.old for change in found) or len(found) > MOST:
        return []
    old, new = (_side(root, found, which) for which in (lambda one: one.old, lambda one: one.new))
    clusters = names(root)
    every = rules()
    reports = []
    for name in sorted({_cluster(change.path) for change in found} - {""}):
        mine = [change for change in found if _cluster(change.path) == name]
        if name == SHARED:
            folders = {shared_folder(change.path) for change in mine}
            used = {each for each in folders if _used(each, clusters, (old, new))}
            mine = [change for change in mine if shared_folder(change.path) in used]
        elif name not in clusters and old.below(f"clusters/{name}/argocd"):
            gone = whole(old, new, name)
            reports.append(ClusterReport(gone, tuple(judge(gone.changes, every, cluster=name))))
            continue
        before, after = ([*_objects(mine, which)] for which in (lambda one: one.old, lambda one: one.new))
        both = (Standing(old, name), Standing(new, name))
        beside = [] if name == SHARED else [*version_changes(*both), *chart_changes(*both), *bootstrap_changes(*both)]
        told = ClusterChanges(cluster=name, changes=(*beside, *differences(before, after)))
        applications = {one.name for one in (*before, *after) if one.kind == "Application"}
        built = frozenset(each for each in applications if _is_told(root, name, each, mine))
        known = Beside(_namespaces(before), _namespaces(after), built)
        on = CLUSTER if name == SHARED else name
        reports.append(ClusterReport(told, tuple(judge(told.changes, every, known, on))))
    return [one for one in reports if one.judged]


def _namespaces(objects: Iterable[Object]) -> dict[str, list[Manifest]]:
    """Return what is known beside an object: the namespaces that come are new, with all in them."""
    return {"/Namespace": [one.manifest for one in objects if (one.group, one.kind) == ("", "Namespace")]}


def _cluster(path: str) -> str:
    """Return the cluster that a file belongs to, empty where it is applied nowhere."""
    top, name, *rest = (*path.split("/"), "")
    if top in {"overlays", "clusters"} and rest[0] not in {"", "cluster.yaml"}:
        return name
    return SHARED if top in {"base", "workflows"} else ""


def _used(shared: tuple[str, str], clusters: Iterable[str], sides: Iterable[Side]) -> bool:
    """Tell whether a cluster that stands is, or was, built from a shared folder for this component."""
    folder, component = shared
    files = [f"overlays/{name}/{component}/kustomization.yaml" for name in clusters]
    line = f"{folder}\n".encode()
    return any(line in side.read(file) for side in sides for file in files if side.has(file))


def _is_told(root: Path, cluster: str, application: str, changes: Iterable[Change]) -> bool:
    """Tell whether gen wrote all that an Application holds: such objects say their namespace, and are told by
    themselves where they differ. Charts, what is in the network and what is the user's may do otherwise.
    """
    folder = f"overlays/{cluster}/{application}"
    others = tuple(f"{folder}/{name}" for name in (RELEASES, UPSTREAM))
    if any((root / place).exists() for place in others) or any(change.path.startswith(others) for change in changes):
        return False
    file = root / folder / "kustomization.yaml"
    return not filled(root / folder / CUSTOM) and b"://" not in (file.read_bytes() if file.is_file() else b"")


def _side(root: Path, changes: Iterable[Change], content: Callable[[Change], bytes | None]) -> Side:
    """Return one side: of folders only what changed is listed, and what is read with it, for the rest is equal."""
    known = {change.path: content(change) for change in changes}
    with_them = {*_of_releases(root, known)} - known.keys()

    def listed(places: Iterable[str]) -> dict[str, str]:
        asked = tuple(places)
        below = tuple(f"{place}/" for place in asked)
        alone = {place for place in asked if place not in known and (root / place).is_file()}
        standing = dict.fromkeys((*alone, *(path for path in with_them if path.startswith(below))), "same")
        mine = {path: str(hash(one)) for path, one in known.items() if one is not None and path.startswith(below)}
        return {**standing, **mine, **{place: "there" for place in asked if known.get(place) is not None}}

    def read(path: str) -> bytes:
        return known[path] or b"" if path in known else (root / path).read_bytes()

    return Side("", listed, read)


def _of_releases(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the files that say, with the one of these that a chart has, what is released of it."""
    parts = [path.split("/") for path in paths]
    for folder in {"/".join(each[:3]) for each in parts if each[3:4] in ([RELEASES], [UPSTREAM])}:
        files = [root / folder / name for name in ("kustomization.yaml", VENDORED)]
        files += (root / folder / RELEASES).glob("*")
        yield from (file.relative_to(root).as_posix() for file in files if file.is_file())


def _objects(changes: Iterable[Change], content: Callable[[Change], bytes | None]) -> Iterator[Object]:
    for change in changes:
        text, parts = content(change), change.path.split("/")
        if text is None or not change.path.endswith(".yaml") or parts[2:3] == [BOOTSTRAP]:
            continue
        component = {"clusters": ROOT, "overlays": parts[2]}.get(parts[0], parts[1])
        yield from (Object(one, component, change.path) for one in _manifests(text))


def _manifests(text: bytes) -> Iterator[dict[str, object]]:
    try:
        yield from (one for one in documents(text) if is_manifest(one))
    except UnreadableError:
        return
