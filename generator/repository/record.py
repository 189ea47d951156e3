"""What gen wrote last, kept in the Git folder: a file that still reads so was not touched by a person."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from generator.errors import UsageError
from generator.repository.git_folder import locate
from generator.repository.plan import Change


class Record:
    """Digests of what gen wrote, by path from the working tree's root.

    While a write is under way a path has two, the new content's and the old one's, so that a killed run's files
    are still known as gen's own. Outside of Git there is no record, and nothing is known.
    """

    def __init__(self, file: Path | None, prefix: str, entries: dict[str, list[str]] | None) -> None:
        self._file = file
        self._prefix = prefix
        self._entries = entries or {}
        self._expected: dict[str, tuple[str | None, str | None]] = {}
        self.exists = entries is not None

    @classmethod
    def load(cls, root: Path) -> "Record":
        """Read the record of the repository at `root`; one that cannot be read counts as none."""
        place = locate(root)
        if place is None:
            return cls(None, "", None)
        file = place.git_dir / "gen" / "written.json"
        entries = None
        with suppress(OSError, ValueError):
            entries = msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
        return cls(file, place.prefix, entries)

    def knows(self, path: str, content: bytes) -> bool:
        """Whether gen wrote this content to `path` last."""
        return _digest(content) in self._entries.get(self._prefix + path, ())

    def expect(self, changes: Iterable[Change]) -> None:
        """Note what is about to be written and what it replaces."""
        self._expected = {self._prefix + change.path: (_digest(change.new), _digest(change.old)) for change in changes}
        expected = {path: [digest for digest in both if digest] for path, both in self._expected.items()}
        self._save(self._entries | expected)

    def settle(self) -> None:
        """Note that all that was expected was written: what was replaced is no longer gen's own."""
        for path, (new, _) in self._expected.items():
            if new is None:
                self._entries.pop(path, None)
            else:
                self._entries[path] = [new]
        self._save(self._entries)

    def restore(self) -> None:
        """Put back the record as it was loaded."""
        if self.exists:
            self._save(self._entries)
        elif self._file is not None:
            self._file.unlink(missing_ok=True)

    def _save(self, entries: dict[str, list[str]]) -> None:
        """Write the record whole. Raises UsageError."""
        if self._file is None:
            return
        temporary = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(exist_ok=True)
            temporary.write_bytes(msgspec.json.encode(entries))
            temporary.replace(self._file)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise UsageError(
                f"{self._file}: cannot be written: {error.strerror}; without it gen cannot tell hand edits later"
            ) from None


def _digest(content: bytes | None) -> str | None:
    from hashlib import blake2b  # noqa: PLC0415 - slow to import, and an unchanged render needs none

    return None if content is None else blake2b(content, digest_size=10).hexdigest()
