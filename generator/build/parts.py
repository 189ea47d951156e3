"""Applications built one by one, or remembered where all that they are built of is as it was."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from posixpath import join, normpath
from typing import Any

from msgspec import Struct, structs

from generator.build import cache
from generator.build.broken import BrokenError, unreadable
from generator.build.building import build_folder
from generator.build.go_yaml import UnreadableError
from generator.build.kustomization import patch_targets
from generator.build.kustomize import program
from generator.build.manifests import documents, is_manifest
from generator.build.objects import Elsewhere, Object, TargetedPatch
from generator.build.offline import CUSTOM, SetAside, TakenOut, build_offline
from generator.build.sources import Sources
from generator.build.stage import stage_application
from generator.model.finding import Finding
from generator.process import threads


class _Kept(Struct, frozen=True):
    """What is kept of an Application: `crds` are files with CRDs that were set aside; `unvendored` tells that some
    of it is not vendored.
    """

    objects: tuple[Object, ...] = ()
    crds: tuple[str, ...] = ()
    unvendored: bool = False
    notes: tuple[str, ...] = ()
    patches: tuple[TargetedPatch, ...] = ()


class Part(Struct, frozen=True):
    """One Application as built, or why it was not. `unvendored` tells that some of it is not vendored, `remote` that
    some of it is in the network.
    """

    objects: tuple[Object, ...] = ()
    unvendored: bool = False
    remote: bool = False
    elsewhere: tuple[Elsewhere, ...] = ()
    notes: tuple[str, ...] = ()
    patches: tuple[TargetedPatch, ...] = ()
    findings: tuple[Finding, ...] = ()


class Parts:
    """The Applications of a cluster, in folders of the repository at `root`. What was built of the same files before is
    remembered; all else is built in what `staged` returns, a copy in which files may be changed.
    """

    def __init__(self, root: Path, staged: Callable[[], Path]) -> None:
        self._root = root
        self._staged = staged
        self._command = program()
        self._sources = Sources(root, self._command)
        self._asked: list[str] = []
        self._copy: Path | None = None
        self._taken: dict[Path, TakenOut] = {}
        self._removed: dict[str, SetAside | Finding] = {}

    def of(self, applications: Mapping[str, str]) -> dict[str, Part]:
        """Return the Applications in these folders, by name and in this order."""
        self._asked += applications.values()
        files = {name: self._file(name, place) for name, place in applications.items()}
        found = {name: self._recalled(name, file) for name, file in files.items()}
        missing = [name for name, part in found.items() if part is None]
        if missing:
            copy = self._set_aside()
            kept = {name: self._as_copied(copy, name, applications[name], files[name]) for name in missing}
            with threads() as pool:
                made = pool.map(lambda name: self._made(copy, name, applications[name], kept[name]), missing)
                found |= zip(missing, made, strict=True)
        return {name: part for name, part in found.items() if part}

    def _file(self, component: str, place: str) -> Path | None:
        """Return where an Application is kept; None where nobody can tell what it is built of."""
        sources = self._sources.of(component, place, self._asked)
        return cache.place(sources) if sources else None

    def _as_copied(self, copy: Path, component: str, place: str, file: Path | None) -> Path | None:
        """Return where an Application is kept; None where somebody wrote to its files while they were copied: nobody
        could tell which of them it is built of.
        """
        return file if copy == self._root or self._file(component, place) == file else None

    def _recalled(self, component: str, file: Path | None) -> Part | None:
        kept = cache.recall(file, _Kept)
        try:
            return self._whole(Part(), kept, component) if kept else None
        except (BrokenError, OSError):
            return None

    def _set_aside(self) -> Path:
        """Return a copy, in which what Kustomize cannot build is set aside: of one folder after the other, as several
        may share what is rewritten. It is younger than all that was looked at.
        """
        copy = self._staged()
        if copy != self._copy:
            self._copy, self._taken, self._removed = copy, {}, {}
        for place in (each for each in self._asked if each not in self._removed):
            try:
                self._removed[place] = stage_application(copy / place, copy, self._taken)
            except BrokenError as error:
                self._removed[place] = _inside(copy, error.finding)
        return copy

    def _made(self, copy: Path, component: str, place: str, file: Path | None) -> Part:
        removed = self._removed[place]
        if isinstance(removed, Finding):
            return Part(findings=(removed,))
        found = patch_targets(copy / place)
        patches = tuple(TargetedPatch(component, f"{place}/{path}", number, target) for path, number, target in found)
        remotes = [(each, each.file.relative_to(copy).as_posix()) for each in removed.remotes]
        notes = tuple(each.note(path) for each, path in remotes)
        elsewhere = tuple(Elsewhere(component, path, each.field, each.address, each.said) for each, path in remotes)
        part = Part(unvendored=removed.unvendored, remote=bool(remotes), elsewhere=elsewhere, notes=notes)
        try:
            build_it = partial(build_folder, self._command, copy / place, place, component)
            made, more = build_offline(build_it, removed, f"{place}/{CUSTOM}")
            objects = tuple(Object(manifest, component, normpath(join(place, path))) for manifest, path in made)
            crds = tuple(normpath(path.relative_to(copy).as_posix()) for path in removed.crds)
            kept = _Kept(objects, crds, removed.unvendored, (*notes, *more), patches)
            whole = self._whole(part, kept, component)
        except BrokenError as error:
            return structs.replace(part, findings=(_inside(copy, error.finding),))
        # An address in the network may hold a password.
        if not elsewhere:
            cache.keep(file, kept)
        return whole

    def _whole(self, part: Part, kept: _Kept, component: str) -> Part:
        """Return an Application with its CRDs as they stand: to build them would take most of the time and change
        nothing. Raises BrokenError.
        """
        found = chain.from_iterable(_definitions(self._root, file, component) for file in kept.crds)
        objects = (*kept.objects, *found)
        return structs.replace(
            part, objects=objects, unvendored=kept.unvendored, notes=kept.notes, patches=kept.patches
        )


def _inside(copy: Path, finding: Finding) -> Finding:
    return structs.replace(finding, file=finding.file.removeprefix(f"{copy}/"))


def _definitions(root: Path, file: str, component: str) -> Iterator[Object]:
    content = (root / file).read_bytes()
    try:
        yield from (Object(one, component, file) for one in _read(content) if is_manifest(one))
    except UnreadableError as error:
        raise BrokenError(unreadable(file, error, content, fix=f"gen vendor {component}")) from None


@lru_cache(maxsize=1000)
def _read(content: bytes) -> list[Any]:
    """Return the documents of a file with CRDs; clusters share most of them, and to read one may take half a second."""
    return cache.remembered((content,), partial(documents, content), list[Any])
