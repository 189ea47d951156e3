"""The cluster files of a repository, brought to what today's gen reads."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from generator.edits.migrate import migrate
from generator.errors import UsageError
from generator.model.cluster import cluster_file
from generator.model.finding import Finding
from generator.repository.cluster_files import Loaded, content_of, load
from generator.repository.places import names


class MigratedFile(Struct, frozen=True):
    """One cluster file: both texts, and what was found in the old one that the new one has no more."""

    path: str
    old: str
    new: str
    steps: tuple[Finding, ...]


class MigratedRepository(Struct, frozen=True):
    """The files that change, and all clusters asked for as they are after it."""

    files: tuple[MigratedFile, ...]
    loaded: tuple[Loaded, ...]

    @property
    def contents(self) -> dict[str, bytes]:
        """What is to be written, by path."""
        return {one.path: one.new.encode() for one in self.files}


def migrated(root: Path, wanted: Sequence[str] = ()) -> MigratedRepository:
    """Return the clusters named, or all, as they are once their files are migrated. Nothing is written. Raises
    UsageError where a line can only be edited by hand, and as `load`.
    """
    found = [_migrated(root, cluster_file(name)) for name in names(root) if not wanted or name in wanted]
    files = tuple(one for one in found if one and one.steps)
    instead = {one.path: one.new.encode() for one in files}
    return MigratedRepository(files, tuple(load(root, wanted, instead)))


def _migrated(root: Path, file: str) -> MigratedFile | None:
    """Return what becomes of one file; None for one that is no text, which `load` tells."""
    try:
        old = content_of(root, file).decode()
    except UnicodeDecodeError:
        return None
    try:
        done = migrate(old)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    return MigratedFile(file, old, done.text, done.steps)
