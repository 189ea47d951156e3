"""One kustomization that belongs to no cluster, with all that it is built from; without what Kustomize would fetch."""

import json
import os
import shutil
from functools import partial
from pathlib import Path
from stat import S_IFDIR, S_IFLNK, S_IFMT, S_IFREG

from msgspec import Struct, structs

from generator.build.broken import BrokenError
from generator.build.kustomization import split_remotes
from generator.build.kustomize import ORIGIN, program, run_kustomize
from generator.build.objects import Built, Object
from generator.build.offline import SetAside, build_offline, reached, set_aside
from generator.build.stage import temporary_folder

_USUAL = {S_IFREG, S_IFDIR, S_IFLNK}


class _Source(Struct, frozen=True):
    """Where to build: `copy` stands for the folder `original`, and `top` in it is the kustomization in question."""

    top: Path
    copy: Path = Path("/")
    original: Path = Path("/")
    removed: SetAside = SetAside()
    named_in: str = "resources"
    """The field by which another kustomization takes it."""

    def shown(self, file: str | Path) -> str:
        """Return a file of the copy as it is called for people."""
        return os.path.relpath(self.original / Path(file).relative_to(self.copy))


def build_kustomization(path: Path) -> Built:
    """Build the folder of a kustomization where it stands; in a copy where it wants something from the network, which
    is then left out and told in `notes`. What cannot be built is among `findings`. Raises UsageError where Kustomize is
    missing, and for what cannot be read or copied.
    """
    result = Built(name=str(path), cluster=None, objects=())
    with temporary_folder() as folder:
        try:
            source = _source(path, folder)
            remotes = source.removed.remotes
            notes = tuple(one.note(source.shown(one.file)) for one in remotes)
            result = structs.replace(result, notes=notes, remote=("",) if remotes else ())
            objects, more = _built(path, source, folder)
        except BrokenError as error:
            return structs.replace(result, findings=(error.finding,))
    return structs.replace(result, objects=objects, notes=(*notes, *more))


def _source(path: Path, folder: Path) -> _Source:
    """Return the folder itself, or its copy in `folder` without what is remote. Raises BrokenError."""
    top = Path(os.path.realpath(path))
    try:
        found = list(reached(top, lambda each: Path(os.path.realpath(each)), own=True))
    except BrokenError as error:
        raise BrokenError(structs.replace(error.finding, file=os.path.relpath(error.finding.file))) from None
    named_in = "components" if found and found[0].content.get("kind") == "Component" else "resources"
    if not any(split_remotes(one)[1] for one in found):
        return _Source(top, named_in=named_in)
    copy, original = folder / "copy", Path(os.path.commonpath([one.folder for one in found]))
    for each in sorted(one.folder for one in found):
        target = copy / each.relative_to(original)
        if not target.exists():
            shutil.copytree(each, target, symlinks=True, ignore=_unusual)
    copied = [structs.replace(one, file=copy / one.file.relative_to(original)) for one in found]
    return _Source(copied[0].folder, copy, original, set_aside(copied, {}), named_in)


def _unusual(folder: str, names: list[str]) -> list[str]:
    """Name what no kustomization is built from: what Git keeps, pipes and sockets."""
    modes = {name: (Path(folder) / name).lstat().st_mode for name in names}
    return [name for name, mode in modes.items() if name == ".git" or S_IFMT(mode) not in _USUAL]


def _built(path: Path, source: _Source, folder: Path) -> tuple[tuple[Object, ...], list[str]]:
    """Build from a kustomization around it that asks for the origin of objects."""
    around = folder / "around"
    around.mkdir()
    content = {source.named_in: [os.path.relpath(source.top, around)], "buildMetadata": [ORIGIN]}
    (around / "kustomization.yaml").write_text(json.dumps(content))  # JSON is YAML
    try:
        found, notes = build_offline(partial(run_kustomize, program(), around, str(path)), source.removed, str(path))
    except BrokenError as error:
        if source.named_in == "components":
            fix = "a Component may need what it is added to: check a kustomization that names it"
            raise BrokenError(structs.replace(error.finding, fix=fix)) from None
        if source.copy == source.original:
            raise
        message = error.finding.message.replace(str(source.copy), str(source.original))
        fix = f"commit what is remote, or `kustomize build {path} | gen check --rendered -`"
        raise BrokenError(structs.replace(error.finding, message=message, fix=fix)) from None
    files = [file and source.shown(os.path.normpath(around / file)) for _, file in found]
    return tuple(Object(one, "", file or str(path)) for (one, _), file in zip(found, files, strict=True)), notes
