"""Two states of a repository, compared by what each would have Argo CD apply."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from generator.build.applications import build_some
from generator.build.difference import differences, field_changes
from generator.build.go_yaml import UnreadableError
from generator.build.kustomize import NAMES
from generator.build.manifests import documents
from generator.build.objects import ROOT, Built
from generator.build.stage import temporary_folder
from generator.components.component import Manifest
from generator.model.change import ABSENT, FILE, NOTHING, Beside, FieldChange, ObjectChange
from generator.model.fields import dig
from generator.model.finding import Finding
from generator.repository.sides import FOLDERS, Side

BOOTSTRAP = "bootstrap"
"""What stands for the files that people bring to nodes: no Application holds them."""

WAVE = "argocd.argoproj.io/sync-wave"
_LEADING_OUT = re.compile(r"(?:\.\./)+[\w@:.+/-]*")


class ClusterChanges(Struct, frozen=True, kw_only=True):
    """What differs on one cluster. `waves` are those of Applications, on the new side where they are on both. `unseen`
    names Applications of which something is not vendored: nobody can tell what of them differs. `findings` tell what
    could not be built, on either side. `beside` is all that was built.
    """

    cluster: str
    changes: tuple[ObjectChange, ...]
    waves: Mapping[str, int] = {}
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    beside: Beside = NOTHING


def compare(old: Side, new: Side, clusters: Collection[str] = ()) -> list[ClusterChanges]:
    """Return what differs from `old` to `new`, cluster by cluster, for those that differ. Only Applications whose files
    differ are built. Raises UsageError.
    """
    paths = old.differing(new)
    folders = {*_own(paths), *_sharing(old, paths), *_sharing(new, paths)}
    names = {path.split("/")[1] for path in (*folders, *paths) if path.split("/")[0] in {"clusters", "overlays"}}
    wanted = sorted(name for name in names if not clusters or name in clusters)
    return [_cluster(old, new, name, paths, folders) for name in wanted if _differs(name, paths, folders)]


def _differs(name: str, paths: Iterable[str], folders: Iterable[str]) -> bool:
    mine = (f"overlays/{name}/", f"clusters/{name}/argocd/", f"clusters/{name}/{BOOTSTRAP}/")
    return any(path.startswith(mine) for path in (*paths, *(f"{folder}/" for folder in folders)))


def _own(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        parts = path.split("/")
        if parts[0] == "overlays" and len(parts) > 3:
            yield "/".join(parts[:3])


def _sharing(side: Side, paths: Collection[str]) -> Iterator[str]:
    """Yield the folders of Applications that are built from what differs in folders that clusters share."""
    shared = {path for path in paths if not path.startswith(("overlays/", "clusters/"))}
    if not shared:
        return
    reach = _Reach(side)
    for folder in sorted({*_own(side.files)}):
        places = reach.of(folder)
        if any(path == place or path.startswith(f"{place}/") for path in shared for place in places):
            yield folder


class _Reach:
    """The places outside its own folder that a kustomization reads."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._named: dict[str, list[str]] = {}
        for path in side.files:
            if posixpath.basename(path) in NAMES:
                self._named.setdefault(posixpath.dirname(path), []).append(path)
        self._texts: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}
        for folder in self._named:
            for parent in _parents(folder):
                self._below.setdefault(parent, []).append(folder)

    def of(self, folder: str) -> set[str]:
        """Return them; the folder itself is one."""
        found, waiting = {folder}, [folder]
        while waiting:
            for place in self._leading_out(waiting.pop()):
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def _leading_out(self, place: str) -> Iterator[str]:
        for folder in self._below.get(place, ()):
            for path in self._named[folder]:
                for text in self._texts_of(path):
                    yield posixpath.normpath(posixpath.join(folder, text))

    def _texts_of(self, path: str) -> list[str]:
        key = self._side.files[path]
        if key not in self._texts:
            self._texts[key] = _LEADING_OUT.findall(self._side.read(path).decode(errors="replace"))
        return self._texts[key]


def _parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def _cluster(old: Side, new: Side, name: str, paths: Collection[str], folders: Collection[str]) -> ClusterChanges:
    wanted = {folder for folder in folders if folder.startswith(f"overlays/{name}/")}
    before, after = _build(old, name, wanted), _build(new, name, wanted)
    files = [path for path in sorted(paths) if path.startswith(f"clusters/{name}/{BOOTSTRAP}/")]
    by_hand = [change for path in files for change in _file_changes(old, new, path)]
    return ClusterChanges(
        cluster=name,
        changes=(*differences(before.objects, after.objects), *by_hand),
        waves={**_waves(before), **_waves(after)},
        unseen=tuple(sorted({*before.unvendored, *after.unvendored})),
        notes=tuple(dict.fromkeys((*before.notes, *after.notes))),
        findings=(*before.findings, *after.findings),
        beside=Beside(_by_kind(before), _by_kind(after)),
    )


def _by_kind(built: Built) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for one in built.objects:
        found.setdefault(f"{one.group}/{one.kind}", []).append(one.manifest)
    return found


def _build(side: Side, name: str, wanted: Collection[str]) -> Built:
    """Build some Applications of one side, from a copy of the files that they are made of."""
    argocd = f"clusters/{name}/argocd"
    if not any(path.startswith(f"{argocd}/") for path in side.files):
        return Built(name=name, cluster=None, objects=())
    reach = _Reach(side)
    places = tuple(sorted({place for folder in (argocd, *wanted) for place in reach.of(folder)}))
    prefixes = tuple(f"{place}/" for place in places)
    with temporary_folder() as copy:
        for folder in (*FOLDERS, f"overlays/{name}"):
            (copy / folder).mkdir(exist_ok=True)
        for path in side.files:
            if path.startswith(prefixes) or path in places:
                _write(copy / path, side.read(path))
        return build_some(copy, name, wanted)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _waves(built: Built) -> dict[str, int]:
    found = {one.name: str(one.annotations.get(WAVE, "0")) for one in built.of("Application") if one.component == ROOT}
    return {name: int(wave) if wave.lstrip("-").isdigit() else 0 for name, wave in found.items()}


def _file_changes(old: Side, new: Side, path: str) -> Iterator[ObjectChange]:
    """Yield what differs in a file that people bring to nodes: field by field where it says its kind."""
    before, after = (side.read(path) if path in side.files else None for side in (old, new))
    name = path.split("/", 3)[3]
    kinds, others = _configurations(before), _configurations(after)
    if not (kinds or others):
        steps = tuple(name.split("/"))
        yield _file_change(path, FILE, FieldChange(steps, _text(before), _text(after)))
        return
    for kind in dict.fromkeys((*kinds, *others)):
        one, other = kinds.get(kind, ABSENT), others.get(kind, ABSENT)
        if fields := tuple(field_changes(one, other)):
            yield _file_change(path, kind, *fields)


def _file_change(path: str, kind: str, *fields: FieldChange) -> ObjectChange:
    whole = fields[0] if len(fields) == 1 else FieldChange((), None, None)
    on: Any = "added" if whole.old is ABSENT else "removed" if whole.new is ABSENT else "changed"
    name = path.split("/", 3)[3]
    return ObjectChange(on=on, kind=kind, namespace="", name=name, application=BOOTSTRAP, fields=fields, file=path)


def _configurations(content: bytes | None) -> dict[str, Any]:
    """Return the documents of a file that say their kind, each by it."""
    if content is None:
        return {}
    try:
        found = documents(content)
    except UnreadableError:
        return {}
    return {_kind(one): one for one in found if isinstance(one, dict) and one.get("kind") and one.get("apiVersion")}


def _kind(document: dict[str, Any]) -> str:
    group = str(document["apiVersion"]).rpartition("/")[0]
    name = dig(document, "metadata", "name")
    return f"{group}/{document['kind']}" + (f" {name}" if name else "")


def _text(content: bytes | None) -> Any:
    return ABSENT if content is None else content.decode(errors="replace")
