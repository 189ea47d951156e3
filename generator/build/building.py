"""What a staged folder becomes: read where that is enough, else built by Kustomize, and remembered."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from generator.build.cache import remembered
from generator.build.kustomize import run_kustomize
from generator.build.plain import plain_objects
from generator.components.component import Manifest


def build_folder(
    command: list[str], folder: Path, read: Iterable[Path], place: str, component: str = ""
) -> list[tuple[Manifest, str]]:
    """Do as `run_kustomize`, without the program where it would change nothing, or remember what came of it: the
    folders `read` hold all that the build reads.
    """

    def build() -> list[tuple[Manifest, str]]:
        found = plain_objects(folder)
        return run_kustomize(command, folder, place, component) if found is None else found

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
