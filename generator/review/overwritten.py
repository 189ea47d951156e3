"""What it means that a render overwrites files: told from their bytes alone, without Git and without Kustomize."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from generator.review.judging import judge
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
    reports = []
    for name in sorted({_cluster(change.path) for change in found} - {""}):
        mine = [change for change in found if _cluster(change.path) == name]
        if name == SHARED:
            folders = {shared_folder(change.path) for change in mine}
            left = _last_holders(found)
            used = {each for each in folders if each[0] in left or _used(each, clusters, (old, new))}
            mine = [change for change in mine if shared_folder(change.path) in used]
        elif name not in clusters and old.below(f"clusters/{name}/argocd"):
            gone = whole(old, new, name)
            reports.append(ClusterReport(gone, tuple(judge(gone.changes, rules(), cluster=name))))
            continue
        reports.append(_shared(mine, found) if name == SHARED else _of_cluster(root, name, mine, (old, new)))
    return [one for one in reports if one.judged]


def _of_cluster(root: Path, name: str, mine: Sequence[Change], sides: tuple[Side, Side]) -> ClusterReport:
    before, after = _both(mine)
    both = [Standing(side, name) for side in sides]
    beside = [*version_changes(*both), *chart_changes(*both), *bootstrap_changes(*both)]
    told = ClusterChanges(cluster=name, changes=(*beside, *differences(before, after)))
    applications = {one.name for one in (*before, *after) if one.kind == "Application"}
    built = frozenset(each for each in applications if _is_told(root, name, each, mine))
    standing = [*_delivered(root, name, mine)]
    known = Beside(_known(before, standing), _known(after, standing), built)
    return ClusterReport(told, tuple(judge(told.changes, rules(), known, name)))


def _shared(mine: Sequence[Change], found: Sequence[Change]) -> ClusterReport:
    """Tell what becomes of objects that several Applications hold: of those that go with the folder it is one."""
    before, after = _both(mine, _last_holders(found))
    roots = _both([one for one in found if _is_delivered(one.path)])
    told = ClusterChanges(cluster=SHARED, changes=tuple(differences(before, after)))
    known = Beside(_known(before, roots[0]), _known(after, roots[1]))
    return ClusterReport(told, tuple(judge(told.changes, rules(), known)))


def _last_holders(changes: Iterable[Change]) -> dict[str, str]:
    """Return the Applications that go and were built from shared folders, by these."""
    found: dict[str, str] = {}
    for change in changes:
        top, *parts = change.path.split("/")
        if top == "overlays" and parts[2:] == ["kustomization.yaml"] and change.old and change.new is None:
            lines = (line.removeprefix("- ../../../") for line in change.old.decode(errors="replace").splitlines())
            found |= dict.fromkeys(lines, parts[1])
    return found


def _is_delivered(path: str) -> bool:
    """Tell whether the root Application of a cluster holds what is in a file."""
    return path.startswith("clusters/") and "/argocd/" in path


def _known(objects: Iterable[Object], standing: Iterable[Object]) -> dict[str, list[Manifest]]:
    """Return what is known beside an object: the namespaces that come are new, with all in them; and all that the root
    Application holds, which tells what becomes of what an Application held.
    """
    found: dict[str, list[Manifest]] = {"/Namespace": []}
    for one in (*objects, *standing):
        if one.component == ROOT or (one.group, one.kind) == ("", "Namespace"):
            found.setdefault(f"{one.group}/{one.kind}", []).append(one.manifest)
    return found


def _delivered(root: Path, cluster: str, changes: Iterable[Change]) -> Iterator[Object]:
    """Yield what the root Application holds on both sides: Applications and projects."""
    changed = {change.path for change in changes}
    for file in sorted((root / f"clusters/{cluster}/argocd").rglob("*.yaml")):
        path = file.relative_to(root).as_posix()
        if path not in changed and file.is_file():
            yield from (Object(one, ROOT, path) for one in _manifests(file.read_bytes()))


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


def _both(changes: Sequence[Change], holders: Mapping[str, str] = {}) -> tuple[list[Object], list[Object]]:
    """Return the objects of files on both sides; `holders` are the Applications of shared folders, as far as known."""
    old = [one for change in changes for one in _objects(change.path, change.old, holders)]
    return old, [one for change in changes for one in _objects(change.path, change.new, holders)]


def _objects(path: str, text: bytes | None, holders: Mapping[str, str]) -> Iterator[Object]:
    parts = path.split("/")
    if text is not None and path.endswith(".yaml") and parts[2:3] != [BOOTSTRAP]:
        of_shared = holders.get(shared_folder(path)[0], parts[1])
        component = {"clusters": ROOT, "overlays": parts[2]}.get(parts[0], of_shared)
        yield from (Object(one, component, path) for one in _manifests(text))


def _manifests(text: bytes) -> Iterator[dict[str, object]]:
    try:
        yield from (one for one in documents(text) if is_manifest(one))
    except UnreadableError:
        return
