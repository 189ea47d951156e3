"""Approvals of what loses data or is refused: each for one effect on one object."""

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from generator.errors import UsageError
from generator.repository.folders import within
from generator.repository.history import History, Trailer

KEY = "Gen-Allow"
"""The key of the trailer, in the message of a commit, that approves something."""

WHY = "WHY"
"""Stands for the reason in what is shown."""

_FORM = re.compile(r"(GEN-CHG-\d+):(\S+)")
_TRAILER = re.compile(r"(GEN-CHG-\d+:\S+)(?:\s+(.*))?", re.DOTALL)


class Approval(Struct, frozen=True, kw_only=True):
    """What somebody approved, as `CODE:cluster/Kind/namespace/name`, and why. `commit` is the one whose message says
    so, with its author; both are empty where the command line did. `later` are the files that changed since.
    """

    text: str
    reason: str = ""
    commit: str = ""
    author: str = ""
    later: frozenset[str] = frozenset()

    @property
    def where(self) -> str:
        """Where it was found."""
        return f"commit {self.commit[:9]} by {self.author}" if self.commit else "--allow"

    def outdated(self, files: Collection[str]) -> bool:
        """Tell whether one of these files, or of the files below these folders, changed after it was given."""
        return any(within(path, files) for path in self.later)


def given(texts: Iterable[str]) -> list[Approval]:
    """Return the approvals of the command line. Raises UsageError for one that has not the form."""
    texts = tuple(texts)
    if wrong := next((text for text in texts if not _FORM.fullmatch(text)), None):
        raise UsageError(f"--allow {wrong}: write it as gen diff shows it: CODE:cluster/Kind/namespace/name")
    return [Approval(text=text) for text in texts]


def in_commits(history: History, base: str, head: str, touched: Iterable[str]) -> tuple[Approval, ...]:
    """Return the approvals in the messages of the commits after `base` up to `head`; `touched` are files that changed
    after all of them. Raises UsageError for one without a reason.
    """
    since, trailers = frozenset(touched), history.trailers(base, head, KEY)
    later = {commit: since | history.differing(commit, head) for commit in {one.commit for one in trailers}}
    return tuple(_approval(one, later[one.commit]) for one in trailers)


def reason_in(text: str) -> str:
    """Return the reason that somebody gave, in one line; empty where it is none."""
    reason = " ".join(text.split()).strip("-:. ")
    return reason if reason != WHY and any(map(str.isalnum, reason)) else ""


def _approval(trailer: Trailer, later: frozenset[str]) -> Approval:
    found = _TRAILER.fullmatch(trailer.value.strip())
    if not found:
        raise UsageError(
            f"commit {trailer.commit[:9]}: `{KEY}: {trailer.value.strip()}`: write it as gen diff shows it: "
            f"`{KEY}: CODE:cluster/Kind/namespace/name` and your reason"
        )
    reason = reason_in(found[2] or "")
    if not reason:
        raise UsageError(
            f"commit {trailer.commit[:9]}: {KEY}: {found[1]}: say why, behind it, in the message of the commit; "
            "`git commit --amend` changes the last one"
        )
    return Approval(text=found[1], reason=reason, commit=trailer.commit, author=trailer.author, later=later)
