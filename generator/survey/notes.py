"""What whoever gets a surveyed cluster file must know: what to fill in, and what was found besides."""

from typing import Any, TypeAlias

from msgspec import Struct

from generator.model.finding import Path

Plain: TypeAlias = dict[str, Any]
RIGHTS = "rights"
"""What notes are about that no section is to blame for: what one was not let read."""


class Note(Struct, frozen=True, kw_only=True):
    """One remark on a place of the file below `spec`. `unknown`: what stands there is a guess, or nothing."""

    at: Path
    text: str
    unknown: bool

    @property
    def line(self) -> str:
        """As it stands in a comment."""
        return f"not known: {self.text}" if self.unknown else self.text


class Notes:
    """Remarks, in the order in which they were made, none twice."""

    def __init__(self) -> None:
        self._notes: dict[tuple[Path, str], Note] = {}
        self.drafts: dict[str, Plain] = {}
        """Sections as they would be with what is not known: they stand in the file as comments."""

    def unknown(self, at: Path, text: str) -> None:
        """Note what nobody could read in the cluster."""
        self._notes[at, text] = Note(at=at, text=text, unknown=True)

    def found(self, at: Path, text: str) -> None:
        """Note what is in the cluster and not, or not so, in the file."""
        self._notes[at, text] = Note(at=at, text=text, unknown=False)

    def at(self, path: Path) -> list[Note]:
        """Return the remarks on one place."""
        return [note for note in self._notes.values() if note.at == path]

    def below(self, path: Path) -> bool:
        """Tell whether there are remarks on what is within a place."""
        return any(note.at[: len(path)] == path and note.at != path for note in self._notes.values())

    def groups(self) -> dict[str, list[Note]]:
        """Return all by the section that they are about."""
        grouped: dict[str, list[Note]] = {}
        for note in self._notes.values():
            grouped.setdefault(str(note.at[0]), []).append(note)
        return grouped
