"""A copy of a repository in which Kustomize needs no network: charts, remote resources and CRDs are set aside."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from generator.rendered.faults import BrokenError, unreadable
from generator.rendered.kustomize import NAMES, ORIGIN
from generator.rendered.manifests import documents
from generator.rendered.reading import UnreadableError

__all__ = ["Aside", "aside", "stage", "targets", "unpatched"]

_REMOTE = re.compile(r"[\w+.-]+://|git@|git::|[\w-]+(\.[\w-]+)+/")
_CRD = "customresourcedefinition-"
_COPIED = ("base", "workflows")
_SPLIT = ("overlays", "clusters")


class Aside(Struct, frozen=True):
    """What was set aside of an Application: files with CRDs, and what nobody can see without network."""

    crds: tuple[Path, ...] = ()
    charts: tuple[str, ...] = ()


def stage(root: Path, cluster: str, copy: Path) -> None:
    """Fill the empty folder `copy` with what stands in the repository for one cluster; what is not to be changed is
    linked, and so are CRDs, which are most of it.
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
    if Path(source).name.startswith(_CRD):
        Path(target).symlink_to(Path(source).absolute())
    else:
        shutil.copyfile(source, target)


def aside(folder: Path, copy: Path) -> Aside:
    """Set aside, in the folder of an Application in the staged `copy`, what Kustomize cannot or need not build; ask it
    for the origin of everything else. Raises BrokenError for a kustomization that cannot be read.
    """
    _unlinked(folder, copy)
    keep_crds = any("CustomResourceDefinition" in path.read_text(errors="replace") for path in _patching(folder))
    found = list(_aside(folder, copy, set(), keep_crds=keep_crds))
    path, content = _kustomization(folder)
    metadata = sorted({ORIGIN, *map(str, _list(content.get("buildMetadata")))})
    _write(path, {**content, "buildMetadata": metadata})
    return Aside(
        tuple(one for one in found if isinstance(one, Path)), tuple(one for one in found if isinstance(one, str))
    )


def _patching(folder: Path) -> Iterator[Path]:
    """Yield the files that may patch a CRD; CRDs are then built with everything else."""
    for name in ("generated", "custom"):
        yield from (path for path in sorted((folder / name).rglob("*")) if path.is_file())


def _aside(folder: Path, copy: Path, seen: set[Path], *, keep_crds: bool) -> Iterator[Path | str]:
    path, content = _kustomization(folder)
    if path is None or path in seen:
        return
    seen.add(path)
    kept = []
    for entry in _list(content.get("resources")):
        local = folder / str(entry)
        if local.name.startswith(_CRD) and local.is_file() and not keep_crds:
            yield local
        elif not local.exists() and _REMOTE.match(str(entry)):
            yield str(entry)
        else:
            kept.append(entry)
            _seen_by_kustomize(local)
    yield from (str(_name(chart)) for chart in _list(content.get("helmCharts")))
    if kept != _list(content.get("resources")) or "helmCharts" in content:
        _write(path, {**{key: content[key] for key in content if key != "helmCharts"}, "resources": kept})
    for entry in (*kept, *_list(content.get("components"))):
        if (folder / str(entry)).is_dir():
            below = _unlinked(folder / str(entry), copy)
            yield from _aside(below, copy, seen, keep_crds=keep_crds) if below else ()


def _seen_by_kustomize(local: Path) -> None:
    """Put a copy in place of the link to a CRD: Kustomize follows none that lead out of its folder."""
    if local.name.startswith(_CRD) and local.is_symlink() and local.is_file():
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


def _name(chart: Any) -> Any:
    return chart.get("name", "") if isinstance(chart, dict) else chart


def targets(folder: Path, below: str = "") -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the target of each patch in the kustomizations of a staged folder: the file, the patch's number in it, and
    the target. Only patches that name a target: Kustomize itself refuses others that match nothing.
    """
    path, content = _kustomization(folder / below)
    for index, patch in enumerate(_list(content.get("patches"))):
        if path is not None and isinstance(patch, dict) and isinstance(patch.get("target"), dict):
            said = {str(key): str(value) for key, value in patch["target"].items()}
            yield f"{below}{path.name}", index, said
    for entry in (*_list(content.get("resources")), *_list(content.get("components"))):
        inner = os.path.normpath(str(entry))
        if inner != "." and ".." not in inner and (folder / below / inner).is_dir():
            yield from targets(folder, f"{below}{inner}/")


def unpatched(folder: Path) -> bool:
    """Take the patches out of the user's corner of a staged folder; tell whether there were any."""
    path, content = _kustomization(folder / "custom")
    kept = {key: value for key, value in content.items() if not key.startswith(("patches", "replacements"))}
    if path is None or kept == content:
        return False
    _write(path, {"resources": [], **kept})
    return True


def _kustomization(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        return None, {}
    try:
        content = documents(path.read_bytes())
    except UnreadableError as error:
        raise BrokenError(unreadable(str(path), error, path.read_bytes())) from None
    return path, content[0] if content and isinstance(content[0], dict) else {}


def _write(path: Path | None, content: dict[str, Any]) -> None:
    # JSON is YAML; a link is replaced by a file, so that nothing behind it changes.
    if path is not None:
        path.unlink()
        path.write_text(json.dumps(content))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
