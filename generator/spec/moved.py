"""What a cluster file said once in another way: keys that stand elsewhere today, and the versions of its form.

A key that moves is one more entry of `MOVED`, which `gen check` tells and `gen migrate` makes; what cannot be said so
any more is only told. A version that takes the place of today's is one more of `API_VERSIONS`, at its end: entries of
`MOVED` name the place of today, so that a file of any older version needs one step.
"""

import re
from typing import Any, NamedTuple

from generator.model.finding import Edit, Finding, Path, dotted, put, remove
from generator.model.rule import Explained
from generator.spec.document import Document

API_VERSIONS = ("gen/v1alpha1",)
"""The values of `apiVersion` that there were, today's last."""

MOVED_KEY = Explained(
    code="GEN-SCHEMA-010",
    title="keys where they stand today",
    text="""
    What an older gen read there is read elsewhere now, and `gen migrate` moves it: every other line of the file stays
    as it is. Read as an unknown key it would be dropped, and the default used instead of what was meant.

    Wrong:
        pools:
          gpu: {hardware: {gpu: {mig: {strategy: mixed, profile: all-1g.6gb}}}}
    Right:
        gpus: {migStrategy: mixed}
        pools:
          gpu: {hardware: {gpu: {mig: {profile: all-1g.6gb}}}}
    """,
)
UNKNOWN_VERSION = Explained(
    code="GEN-SCHEMA-011",
    title="an apiVersion that this gen reads",
    text="""
    The version says what the keys below it mean. `gen migrate` brings a file of an older version to today's. One of a
    newer version needs the gen that knows it: read by this one, keys would mean something else or nothing.

    Wrong:
        apiVersion: gen/v2
    Right:
        apiVersion: gen/v1alpha1
    """,
)
STEPS = frozenset({MOVED_KEY.code, UNKNOWN_VERSION.code})
"""Codes of findings whose edits bring a file of an older gen to today's."""


class MovedKey(NamedTuple):
    """The key of the file that says now what another one said: the values it takes, and the one it has when nobody
    says it.
    """

    at: Path
    choices: tuple[str, ...]
    default: str

    def worth_saying(self, value: Any, document: Document) -> bool:
        """Tell whether a value must be written at the new place: the default need not be said there, and must not undo
        what another place says; and what the new place says already counts.
        """
        return value in self.choices and value != self.default and not document.has(self.at)


MOVED = {("Mig", "strategy"): MovedKey(("spec", "gpus", "migStrategy"), ("single", "mixed"), "single")}
"""Keys that were elsewhere once, by the type they were of."""


def moved(document: Document, at: Path, now: MovedKey, value: Any) -> tuple[str, str, tuple[Edit, ...]]:
    """Return the message, the fix and the edits for a key that stands elsewhere today; paths are those of the file."""
    message = f"`{at[-1]}` is one for the whole cluster now: `{dotted(now.at[1:])}`"
    if not now.worth_saying(value, document):
        return message, "remove it; `gen migrate` does", remove(at)
    *_, section, key = now.at
    fix = f"remove it, and write `{section}: {{{key}: {value}}}` once below `spec`; `gen migrate` does both"
    return message, fix, (*remove(at), *put(now.at, value))


def other_version(document: Document) -> Finding | None:
    """Return what is wrong with a file of another version, older or newer; None for today's and for what is none."""
    given, today = document.value.get("apiVersion"), API_VERSIONS[-1]
    at: Path = ("apiVersion",)
    if given in API_VERSIONS[:-1]:
        text = f"apiVersion {given} is older than {today}, which this gen reads"
        edits = put(at, today)
        return UNKNOWN_VERSION.complete(
            Finding(at=at, message=text, fix="`gen migrate` brings the file to it", edits=edits)
        )
    if _order(given) > _order(today):
        text = f"apiVersion {given} is newer than {today}, the newest that this gen reads"
        return UNKNOWN_VERSION.complete(
            Finding(at=at, message=text, fix="install the gen that wrote it, or a newer one")
        )
    return None


def _order(version: object) -> tuple[int, int, int]:
    """Return a key that orders versions as Kubernetes does: v1alpha1, v1beta1, v1; all 0 for what is no version."""
    found = re.fullmatch(r"gen/v(\d{1,4})(?:(alpha|beta)(\d{1,4}))?", str(version))
    if not found:
        return 0, 0, 0
    stage = {"alpha": 1, "beta": 2, None: 3}[found[2]]
    return int(found[1]), stage, int(found[3] or 0)
