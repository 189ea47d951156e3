"""What Applications are built of, as it stands in a repository: what decides what becomes of them."""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from generator.build.broken import BrokenError
from generator.build.offline import is_crd, reached
from generator.build.stage import patches_crds


class _UntoldError(Exception):
    """What becomes of something in a copy cannot be told: a link leads to a folder whose own links may lead elsewhere
    there, or there is something else than files.
    """


class Sources:
    """The sources of a cluster's Applications, asked for in the order in which they are staged: of a folder that
    several are built of, the first decides whether its CRDs are set aside.
    """

    def __init__(self, root: Path, command: list[str]) -> None:
        program = Path(command[0]).stat()
        self._root = root.resolve()
        self._program = f"{command} {program.st_size} {program.st_mtime_ns}".encode()
        self._patched: dict[Path, bool] = {}

    def of(self, component: str, place: str, staged: Collection[str]) -> list[bytes] | None:
        """Return what decides what becomes of the Application in a folder: the program, each file that it is built of
        by its place, and which folders are `staged` as Applications. Of CRDs that are set aside, and read where they
        are, only the place counts. None where it cannot be told: for what is not there or cannot be read, where a
        link leads to a folder, and with pipes and the like.
        """
        try:
            folder = self._followed(self._root / place)
            patched = folder is not None and patches_crds(folder)
            found = {one.folder for one in reached(folder, self._followed, own=False)} if folder else set()
            whole = {self._place(each): self._patched.setdefault(each, patched) for each in found}
            said = [f"{each} {whole[each]} {each in staged}" for each in sorted(whole)]
            files = self._files(found, crds=any(whole.values()))
            return [self._program, os.fsencode("\n".join([component, place, *said])), *files] if found else None
        except (BrokenError, OSError, _UntoldError):
            return None

    def _place(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _followed(self, folder: Path) -> Path | None:
        place = Path(os.path.normpath(folder))
        if not place.is_relative_to(self._root):
            return None
        if any(each.is_symlink() for each in (place, *place.parents) if each.is_relative_to(self._root)):
            raise _UntoldError
        return place

    def _files(self, folders: Iterable[Path], *, crds: bool) -> Iterator[bytes]:
        """Yield the place and the content of each file below folders, each once; of a link where it leads."""
        for file in sorted({file for each in folders for file in _below(str(each))}):
            path = Path(file)
            yield os.fsencode(os.path.relpath(file, self._root))
            if path.is_symlink():
                yield b"to " + os.fsencode(path.readlink())
            elif crds or not is_crd(path):
                yield path.read_bytes()


def _below(folder: str) -> Iterator[str]:
    """Yield the files and links below a folder. Raises OSError, and _UntoldError for anything else."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
            elif entry.is_symlink() or entry.is_file():
                yield entry.path
            else:
                raise _UntoldError
