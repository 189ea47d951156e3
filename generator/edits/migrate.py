"""A cluster file that an older gen read, brought to what today's reads: the edits of what `gen check` tells of it."""

from msgspec import Struct

from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding
from generator.spec.decode import decode
from generator.spec.document import from_the_top
from generator.spec.edit import opened
from generator.spec.edit_keys import put_value, remove_key
from generator.spec.moved import STEPS


class Migrated(Struct, frozen=True):
    """The text as it is read today, and the findings that it had no more for it: none where it was so already."""

    text: str
    steps: tuple[Finding, ...] = ()


def migrate(text: str) -> Migrated:
    """Return the text with every key where it stands today; no other line changes. Raises UsageError where the text
    cannot be read or a line can only be edited by hand, which it names.
    """
    found: list[Finding] = []
    while step := _next(text):
        for edit in step.edits:
            text = _edited(text, edit)
        found.append(step)
    return Migrated(text, tuple(found))


def _edited(text: str, edit: Edit) -> str:
    at = from_the_top(edit.at)
    return remove_key(text, at) if edit.do == "remove" else put_value(text, at, edit.value)


def _next(text: str) -> Finding | None:
    document = opened(text)
    mistakes = decode(document)
    if isinstance(mistakes, Cluster):
        return None
    return next((one for one in mistakes if one.code in STEPS and one.edits), None)
