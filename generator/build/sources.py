"""What Applications are built of, as it stands in a repository: what decides what becomes of them."""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from generator.build.broken import BrokenError
from generator.build.offline import is_named_as_crd, reached
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
        self._plain: set[str] = set()
        self._untold = False

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
            files = self._files(found, place, crds=any(whole.values()))
            return [self._program, os.fsencode("\n".join([component, place, *said])), *files] if found else None
        except _UntoldError:
            # Nor can be told of which CRDs it decides whether they are set aside.
            self._untold = True
            return None
        except (BrokenError, OSError):
            return None

    def _place(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _followed(self, folder: Path) -> Path | None:
        """Return a folder by its place, None outside of the repository."""
        place, root = os.path.normpath(folder), str(self._root)
        if not f"{place}/".startswith(f"{root}/"):
            return None
        while place != root and place not in self._plain:
            if os.path.islink(place):  # noqa: PTH114 - called often
                raise _UntoldError
            self._plain.add(place)
            place = os.path.dirname(place)  # noqa: PTH120 - as above
        return Path(os.path.normpath(folder))

    def _files(self, folders: Iterable[Path], own: str, *, crds: bool) -> Iterator[bytes]:
        """Yield the place and the content of each file below folders, each once; of a link where it leads as well. Of
        CRDs only the place, but for those that are built.
        """
        before = len(f"{self._root}/")
        found = {path: is_link for each in _outermost(folders) for path, is_link in _below(each)}
        for path, is_link in sorted(found.items()):
            yield os.fsencode(path[before:])
            if is_link:
                yield b"to " + os.fsencode(os.readlink(path))  # noqa: PTH115 - called often
            is_crd = is_named_as_crd(os.path.basename(path))  # noqa: PTH119 - as above
            if is_crd and self._untold and not path[before:].startswith(f"{own}/"):
                raise _UntoldError
            # Kustomizations and CRDs are taken from behind a link.
            if (crds or not is_crd) and (not is_link or os.path.isfile(path)):  # noqa: PTH113 - as above
                yield Path(path).read_bytes()


def _outermost(folders: Iterable[Path]) -> Iterator[str]:
    """Yield those that lie below none of the others."""
    last = ""
    for folder in sorted(f"{each}/" for each in folders):
        if not last or not folder.startswith(last):
            last = folder
            yield folder.rstrip("/")


def _below(folder: str) -> Iterator[tuple[str, bool]]:
    """Yield the files below a folder, and whether each is a link. Raises OSError, and _UntoldError for a pipe."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path)
            elif entry.is_symlink() or entry.is_file():
                yield entry.path, entry.is_symlink()
            else:
                raise _UntoldError
