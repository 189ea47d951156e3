"""Approvals of what loses data or is refused: each for one effect on one object."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from generator.errors import UsageError

_FORM = re.compile(r"(GEN-CHG-\d+):(\S+)")
_TRAILER = re.compile(r"^Gen-Allow: *(GEN-CHG-\d+:\S+)(?: +(?:- *)?(.+))?$", re.MULTILINE)


class Approval(Struct, frozen=True):
    """What somebody approved, as `CODE:cluster/Kind/namespace/name`, and why. `where` says where it was found."""

    text: str
    reason: str
    where: str


def approvals(allowed: Iterable[str], messages: str) -> list[Approval]:
    """Return the approvals of the command line and of the messages of commits. Raises UsageError for one that has not
    the form, and for a trailer without a reason.
    """
    return [*map(_given, allowed), *_trailers(messages)]


def _given(text: str) -> Approval:
    if not _FORM.fullmatch(text):
        raise UsageError(f"--allow {text}: write it as gen diff shows it: CODE:cluster/Kind/namespace/name")
    return Approval(text, "", "--allow")


def _trailers(messages: str) -> Iterator[Approval]:
    for found in _TRAILER.finditer(messages):
        if not found[2]:
            raise UsageError(f"Gen-Allow: {found[1]}: say why, behind it, in the message of the commit")
        yield Approval(found[1], found[2].strip(), "a commit")
