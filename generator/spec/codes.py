"""What `gen explain` tells about the findings of the reader, of the schema and of the repository."""

from pathlib import Path

import msgspec


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A finding's code, the rule in a few words, why it exists, and a wrong and a right piece of a cluster file."""

    code: str
    title: str
    why: str
    wrong: str
    right: str


def explanations() -> dict[str, Explained]:
    """Return what every code of a cluster file means that is not the code of a rule."""
    return table(Path(__file__).with_name("codes.yaml"))


def table(file: Path) -> dict[str, Explained]:
    """Return the explanations in a file, by code."""
    return {one.code: one for one in msgspec.yaml.decode(file.read_bytes(), type=list[Explained])}
