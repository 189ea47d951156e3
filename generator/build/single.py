"""One kustomization that belongs to no cluster, with all that it is built from; without what Kustomize would fetch."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from stat import S_IFDIR, S_IFLNK, S_IFMT, S_IFREG

from msgspec import structs

from generator.components.component import Manifest
from generator.build.objects import Built, Object
from generator.build.broken import BrokenError
from generator.build.kustomization import Kustomization, folders, kustomization, parted, unpatched, write
from generator.build.kustomize import ORIGIN, built, program
from generator.build.stage import scratch

_USUAL = {S_IFREG, S_IFDIR, S_IFLNK}


def build_alone(path: Path) -> Built:
    """Build the folder of a kustomization where it stands; in a copy where it wants something from the network, which
    is then left out and told in `notes`. What cannot be built is among `findings`. Raises UsageError where Kustomize is
    missing, and for what cannot be read or copied.
    """
    empty = Built(name=str(path), cluster=None, objects=())
    with scratch() as folder:
        try:
            reached = list(_reached(Path(os.path.realpath(path)), set()))
            remotes = [each for one in reached for each in parted(one)[1]]
            empty = structs.replace(empty, notes=tuple(one.told(os.path.relpath(one.file)) for one in remotes))
            empty = structs.replace(empty, remote=("",) if remotes else ())
            return _in_a_copy(empty, path, reached, folder) if remotes else _in_place(empty, path, folder)
        except BrokenError as error:
            return structs.replace(empty, findings=(error.finding,))


def _reached(folder: Path, seen: set[Path]) -> Iterator[Kustomization]:
    """Yield the kustomizations that one is built from. Raises BrokenError for one that cannot be read."""
    try:
        one = kustomization(folder)
    except BrokenError as error:
        raise BrokenError(structs.replace(error.finding, file=os.path.relpath(error.finding.file))) from None
    if one and folder not in seen:
        seen.add(folder)
        yield one
        for each in folders(one):
            yield from _reached(Path(os.path.realpath(each)), seen)


def _in_place(empty: Built, path: Path, folder: Path) -> Built:
    return _with(empty, path, _built(path, Path(os.path.realpath(path)), folder))


def _in_a_copy(empty: Built, path: Path, reached: list[Kustomization], folder: Path) -> Built:
    common, copy = _copied(reached, folder)
    top = copy / reached[0].folder.relative_to(common)
    try:
        found, notes = _patched(path, top, folder, [copy / one.folder.relative_to(common) for one in reached])
    except BrokenError as error:
        told = error.finding.message.replace(str(copy), str(common))
        fix = f"commit what is remote, or `kustomize build {path} | gen check --rendered -`"
        raise BrokenError(structs.replace(error.finding, message=told, fix=fix)) from None
    real = [(one, file and str(common / Path(file).relative_to(copy))) for one, file in found]
    return _with(structs.replace(empty, notes=(*empty.notes, *notes)), path, real)


def _copied(reached: list[Kustomization], folder: Path) -> tuple[Path, Path]:
    """Copy every folder that matters, without what is remote. Return where they have in common, and its copy."""
    common, copy = Path(os.path.commonpath([one.folder for one in reached])), folder / "copy"
    for source in sorted(one.folder for one in reached):
        place = copy / source.relative_to(common)
        if not place.exists():
            shutil.copytree(source, place, symlinks=True, ignore=_left)
    for one in reached:
        write(copy / one.file.relative_to(common), parted(one)[0])
    return common, copy


def _left(folder: str, names: list[str]) -> list[str]:
    """Name what no kustomization is built from: what Git keeps, pipes and sockets."""
    modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
    return [name for name, mode in modes.items() if name == ".git" or S_IFMT(mode) not in _USUAL]


def _patched(path: Path, top: Path, folder: Path, places: list[Path]) -> tuple[list[tuple[Manifest, str]], list[str]]:
    """Build, without patches where these want what is remote; return what there is to say of that as well."""
    try:
        return _built(path, top, folder), []
    except BrokenError:
        if not unpatched(places):
            raise
    return _built(path, top, folder), [f"{path}: its patches are not judged: what they change is remote"]


def _built(path: Path, top: Path, folder: Path) -> list[tuple[Manifest, str]]:
    """Build from a kustomization around it that asks for the origin of objects; return them with whole paths."""
    around = folder / "around"
    around.mkdir(exist_ok=True)
    content = {"resources": [os.path.relpath(top, around)], "buildMetadata": [ORIGIN]}
    (around / "kustomization.yaml").write_text(json.dumps(content))  # JSON is YAML
    found = built(program(), around, str(path))
    return [(one, file and os.path.normpath(around / file)) for one, file in found]


def _with(empty: Built, path: Path, found: list[tuple[Manifest, str]]) -> Built:
    objects = (Object(one, "", os.path.relpath(file) if file else str(path)) for one, file in found)
    return structs.replace(empty, objects=tuple(objects))
