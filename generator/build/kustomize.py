"""Kustomize: where the program is, and what it makes of a folder."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from generator.build.broken import BrokenError, unbuilt
from generator.build.cache import remembered
from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents, is_manifest
from generator.components.component import Manifest
from generator.errors import CommandError, UsageError
from generator.process import cache_home, run

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""How the file of a kustomization may be called."""

ORIGIN = "originAnnotations"
"""What `buildMetadata` of a kustomization must hold for `run_kustomize`."""

_ORIGIN = "config.kubernetes.io/origin"
_FILE = re.compile(r"^(?:path|configuredIn): (.+)$", re.MULTILINE)


def program() -> list[str]:
    """Return the command that builds a folder: of $GEN_KUSTOMIZE, gen's cache, `kustomize` or `kubectl` on PATH the
    first that is there. Raises UsageError.
    """
    given = os.environ.get("GEN_KUSTOMIZE")
    if given and not shutil.which(given):
        raise UsageError(f"GEN_KUSTOMIZE: {given} is not a program; correct it or unset it")
    usual = [*((str(path), "build") for path in _cached()), ("kustomize", "build"), ("kubectl", "kustomize")]
    for name, verb in [(given, "build")] if given else usual:
        if path := shutil.which(name):
            return [path, verb]
    raise UsageError("Kustomize was not found; install `kustomize` or `kubectl`, or name one in GEN_KUSTOMIZE")


def _cached() -> list[Path]:
    with suppress(UsageError):
        return sorted((cache_home() / "bin").glob("kustomize*/kustomize"), reverse=True)
    return []


def build_folder(
    command: list[str], folder: Path, read: Iterable[Path], place: str, component: str = ""
) -> list[tuple[Manifest, str]]:
    """Do as `run_kustomize`, or remember what came of it: the folders `read` hold all that the build reads."""
    build = partial(run_kustomize, command, folder, place, component)
    return remembered(_inputs(command, folder, read), build, list[tuple[dict[str, Any], str]])


def _inputs(command: list[str], folder: Path, read: Iterable[Path]) -> Iterator[bytes]:
    """Yield what decides a build: the program, and each file by its place. Where a link leads out of what is read,
    nobody follows it: CRDs that were set aside.
    """
    program = Path(command[0]).stat()
    yield f"{command} {program.st_size} {program.st_mtime_ns}".encode()
    for file in sorted({file for each in read for file in each.rglob("*") if file.is_symlink() or file.is_file()}):
        yield os.fsencode(os.path.relpath(file, folder))
        yield os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()


def run_kustomize(command: list[str], folder: Path, place: str, component: str = "") -> list[tuple[Manifest, str]]:
    """Return the objects that Kustomize builds from a folder, each with its file relative to the folder (empty where
    it is not told). The folder's kustomization asks for `ORIGIN`. Raises BrokenError that names `place`, the folder
    of `component` where there is one.
    """
    try:
        found = documents(run([*command, str(folder)]))
    except CommandError as error:
        words = error.output.strip().replace(f"{folder}{os.sep}", "").replace(str(folder), place)
        if (copy := str(folder).removesuffix(place)) != str(folder):
            words = words.replace(copy, "")
        raise BrokenError(unbuilt(place, f"Kustomize cannot build it: {words}", component)) from None
    except UnreadableError as error:
        raise BrokenError(unbuilt(place, f"what Kustomize makes of it cannot be read: {error}", component)) from None
    return [(one, _origin(one)) for one in found if is_manifest(one)]


def _origin(manifest: Manifest) -> str:
    """Take the annotation out again that says where an object comes from, and return the file."""
    annotations = manifest["metadata"].get("annotations") or {}
    found = _FILE.search(str(annotations.pop(_ORIGIN, "")))
    if not annotations:
        manifest["metadata"].pop("annotations", None)
    return found[1] if found else ""
