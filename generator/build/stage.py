"""A copy of a repository in which Kustomize needs no network: charts, remote resources and CRDs are set aside."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeAlias

from msgspec import Struct

from generator.build.kustomization import Kustomization, Remote, folders, kustomization, parted, write
from generator.build.kustomize import ORIGIN
from generator.errors import UsageError
from generator.model.fields import mapping, sequence

_CRD = "customresourcedefinition-"
_COPIED = ("base", "workflows")
_SPLIT = ("overlays", "clusters")
_OURS = "custom"

Found: TypeAlias = dict[Path, list[Path | str | Remote]]
"""What was set aside of each kustomization in a copy, by its file: Applications may share some."""


class Aside(Struct, frozen=True):
    """What was set aside of an Application: files with CRDs, what `gen vendor` would bring, and what the user's own
    kustomizations want from the network. `own` are the folders of these.
    """

    crds: tuple[Path, ...] = ()
    charts: tuple[str, ...] = ()
    remotes: tuple[Remote, ...] = ()
    own: tuple[Path, ...] = ()


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder that is gone after the block. Raises UsageError for what cannot be read within the block,
    or copied.
    """
    name = gettempdir()
    try:
        with TemporaryDirectory(prefix="gen-") as name:
            yield Path(name).resolve()
    except OSError as error:
        file, why = _reason(error)
        file = file.removeprefix(f"{Path(name).resolve()}/")
        message = f"{file}: cannot be read, or not copied to {gettempdir()}, where Kustomize builds: {why}"
        raise UsageError(message) from None


def _reason(error: OSError) -> tuple[str, str]:
    """Return the first file of an error and the reason in a few words."""
    if isinstance(error, shutil.Error):
        (file, _, why), *_ = error.args[0]
        return str(file), re.sub(r"^\[Errno \d+\] |^`.*` |: '.*", "", str(why))
    return str(error.filename or gettempdir()), error.strerror or str(error)


def stage(root: Path, cluster: str, copy: Path) -> None:
    """Fill the empty folder `copy` with what stands in the repository for one cluster; what is not to be changed is
    linked, and so are CRDs, which are most of it. Raises OSError for what cannot be read or copied.
    """
    for entry in root.iterdir():
        if entry.name in _SPLIT:
            (copy / entry.name).mkdir()
            for each in entry.iterdir():
                _put(each, copy / entry.name / each.name, whole=each.name == cluster)
        elif entry.name != ".git":
            _put(entry, copy / entry.name, whole=entry.name in _COPIED)


def _put(source: Path, target: Path, *, whole: bool) -> None:
    if whole and source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=_copied)
    else:
        target.symlink_to(source.absolute())


def _copied(source: str, target: str) -> None:
    if Path(source).name.startswith(_CRD) and Path(source).is_file():
        Path(target).symlink_to(Path(source).absolute())
    else:
        shutil.copyfile(source, target)


def aside(folder: Path, copy: Path, known: Found) -> Aside:
    """Set aside, in the folder of an Application in the staged `copy`, what Kustomize cannot or need not build; ask it
    for the origin of everything else. `known` is kept for all Applications in the copy. Raises BrokenError for a
    kustomization that cannot be read.
    """
    _unlinked(folder, copy)
    keep_crds = any("CustomResourceDefinition" in path.read_text(errors="replace") for path in _patching(folder))
    reached = list(_reached(folder, copy, set(), own=False))
    found = [each for one, own in reached for each in _taken(one, known, own=own, keep_crds=keep_crds)]
    if top := kustomization(folder):
        metadata = sorted({ORIGIN, *map(str, sequence(top.content.get("buildMetadata")))})
        write(top.file, {**top.content, "buildMetadata": metadata})
    return Aside(
        crds=tuple(one for one in found if isinstance(one, Path)),
        charts=tuple(one for one in found if isinstance(one, str)),
        remotes=tuple(one for one in found if isinstance(one, Remote)),
        own=tuple(one.folder for one, own in reached if own),
    )


def _patching(folder: Path) -> Iterator[Path]:
    """Yield the files that may patch a CRD; CRDs are then built with everything else."""
    for name in ("generated", _OURS):
        yield from (path for path in sorted((folder / name).rglob("*")) if path.is_file())


def _reached(folder: Path, copy: Path, seen: set[Path], *, own: bool) -> Iterator[tuple[Kustomization, bool]]:
    """Yield the kustomizations that one is built from, and whether each is the user's."""
    one = kustomization(folder)
    if one is None or one.file in seen:
        return
    seen.add(one.file)
    yield one, own
    for each in folders(one):
        if below := _unlinked(each, copy):
            yield from _reached(below, copy, seen, own=own or each.name == _OURS)


def _taken(one: Kustomization, known: Found, *, own: bool, keep_crds: bool) -> list[Path | str | Remote]:
    """Take out of a kustomization in the copy what is not to be built, and return it."""
    if one.file in known:
        return known[one.file]
    kept, remotes = parted(one)
    resources = sequence(kept.get("resources"))
    crds = [entry for entry in resources if not keep_crds and _is_crd(one.folder / str(entry))]
    for entry in resources:
        if entry not in crds:
            _seen_by_kustomize(one.folder / str(entry))
    charts = [Remote(one.file, "helmCharts", str(mapping(each).get("name"))) for each in _charts(one)]
    if crds or remotes or charts:
        left = {key: value for key, value in kept.items() if key != "helmCharts"}
        write(one.file, {**left, "resources": [entry for entry in resources if entry not in crds]})
    away = [*remotes, *charts]
    known[one.file] = [*(one.folder / str(crd) for crd in crds), *(each if own else each.address for each in away)]
    return known[one.file]


def _charts(one: Kustomization) -> list[object]:
    return sequence(one.content.get("helmCharts"))


def _is_crd(local: Path) -> bool:
    return local.name.startswith(_CRD) and local.is_file()


def _seen_by_kustomize(local: Path) -> None:
    """Put a copy in place of the link to a CRD: Kustomize follows none that lead out of its folder."""
    if _is_crd(local) and local.is_symlink():
        content = local.read_bytes()
        local.unlink()
        local.write_bytes(content)


def _unlinked(folder: Path, copy: Path) -> Path | None:
    """Return the folder with every link on the way to it replaced by a copy, so that nothing is changed through one, or
    None where it lies outside the staged copy.
    """
    place = Path(os.path.normpath(folder))
    if not place.is_relative_to(copy):
        return None
    for parent in (*reversed(place.relative_to(copy).parents), place.relative_to(copy)):
        link = copy / parent
        if link.is_symlink():
            source = link.resolve()
            link.unlink()
            shutil.copytree(source, link, symlinks=True)
    return place


def targets(folder: Path, below: str = "") -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the target of each patch in the kustomizations of a staged folder: the file, the patch's number in it, and
    the target. Only patches that name a target: Kustomize itself refuses others that match nothing.
    """
    one = kustomization(folder / below)
    if one is None:
        return
    for index, patch in enumerate(sequence(one.content.get("patches"))):
        if isinstance(patch, dict) and isinstance(patch.get("target"), dict):
            said = {str(key): str(value) for key, value in patch["target"].items()}
            yield f"{below}{one.file.name}", index, said
    for entry in (*sequence(one.content.get("resources")), *sequence(one.content.get("components"))):
        inner = os.path.normpath(str(entry))
        if inner != "." and ".." not in inner and (folder / below / inner).is_dir():
            yield from targets(folder, f"{below}{inner}/")
