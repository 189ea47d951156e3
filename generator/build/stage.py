"""A copy of a repository for Kustomize to build in, and what is set aside there."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from generator.build.kustomization import Kustomization, kustomization, write
from generator.build.kustomize import ORIGIN
from generator.build.offline import CUSTOM, SetAside, TakenOut, is_crd, reached, set_aside
from generator.errors import UsageError
from generator.model.fields import sequence

_COPIED = ("base", "workflows")
_SPLIT = ("overlays", "clusters")


@contextmanager
def temporary_folder() -> Iterator[Path]:
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
    if is_crd(Path(source)):
        Path(target).symlink_to(Path(source).absolute())
    else:
        shutil.copyfile(source, target)


def stage_application(folder: Path, copy: Path, earlier: dict[Path, TakenOut]) -> SetAside:
    """Set aside, in the folder of an Application in the staged `copy`, what Kustomize cannot or need not build; ask it
    for the origin of everything else. `earlier` is kept for all Applications in the copy. Raises BrokenError for a
    kustomization that cannot be read.
    """
    _unlinked(folder, copy)
    patched = patches_crds(folder)
    found = list(reached(folder, lambda each: _unlinked(each, copy), own=False))
    removed = set_aside(found, earlier, crds=not patched, charts=True)
    for one in found if patched else ():
        _copy_linked_crds(one)
    if top := kustomization(folder):
        metadata = sorted({ORIGIN, *map(str, sequence(top.content.get("buildMetadata")))})
        write(top.file, {**top.content, "buildMetadata": metadata})
    return removed


def patches_crds(folder: Path) -> bool:
    """Tell whether an Application's folder may patch a CRD; CRDs are then built with everything else."""
    files = (path for name in ("generated", CUSTOM) for path in sorted((folder / name).rglob("*")) if path.is_file())
    return any("CustomResourceDefinition" in path.read_text(errors="replace") for path in files)


def _copy_linked_crds(one: Kustomization) -> None:
    """Put copies in place of links to CRDs: Kustomize follows none that lead out of its folder."""
    for entry in sequence(one.content.get("resources")):
        file = one.folder / str(entry)
        if is_crd(file) and file.is_symlink():
            content = file.read_bytes()
            file.unlink()
            file.write_bytes(content)


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
