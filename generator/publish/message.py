"""The message of a commit: what the change means for the running clusters."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from generator.errors import UsageError
from generator.model.change import Effect
from generator.model.plural import plural
from generator.review.approvals import KEY, reason_in
from generator.review.opens import gained, opened
from generator.review.report import ClusterReport, Report
from generator.review.rows import listed, rows, titles
from generator.review.text import meant, objects, why

LONGEST = 72
"""Characters of a subject: what Git, GitHub, GitLab and Gitea show of it in one line."""
ROWS = 6
"""Changes with one meaning that a message names."""
NAMED = 3
_ALLOWED = re.compile(r"(\S+)(?:\s+(.+))?", re.DOTALL)


class Allowed(Struct, frozen=True):
    """An approval, `CODE:cluster/Kind/namespace/name`, and why it was given."""

    text: str
    reason: str


class Message(Struct, frozen=True):
    """A commit's message: its first line, and what follows."""

    subject: str
    body: str

    @property
    def text(self) -> str:
        """Return all of it."""
        return f"{self.subject}\n\n{self.body}".rstrip() + "\n"


def allowed(given: Iterable[str]) -> tuple[Allowed, ...]:
    """Read approvals, each with its reason. Raises UsageError for one without."""
    return tuple(map(_allowed, given))


def _allowed(text: str) -> Allowed:
    found = _ALLOWED.fullmatch(text.strip())
    reason = reason_in(found[2] or "") if found else ""
    if found is None or not reason:
        what = found[1] if found else text.strip()
        raise UsageError(f"--allow {text}: say why as well, it stays in the history: --allow '{what} the reason'")
    return Allowed(found[1], reason)


def message(found: Report, clusters: Sequence[str], approved: Sequence[Allowed], said: str = "") -> Message:
    """Make the message of a change: `clusters` are those whose files it holds, `said` the user's own words, whose first
    line becomes the subject.
    """
    first, _, rest = said.strip().partition("\n")
    rows = [*([rest.strip(), ""] if rest.strip() else []), *_body(found)]
    trailers = [f"{KEY}: {one.text} {one.reason}" for one in approved]
    body = "\n".join([*rows, *([""] if rows and trailers else []), *trailers])
    return Message(first or _subject(found, clusters), body.strip())


def branch_name(found: Report, clusters: Sequence[str]) -> str:
    """Return a name for a branch with this change."""
    names = [one.found.cluster for one in found.clusters] or [*clusters]
    words = [*names, *_applications(found)] if len(names) == 1 else names
    return f"gen/{'-'.join(words[:NAMED]) or 'render'}"


def _subject(found: Report, clusters: Sequence[str]) -> str:
    names = [one.found.cluster for one in found.clusters] or [*clusters]
    if not found.clusters:
        return _short(f"{_few(names, 'cluster')}: nothing that is applied changes" if names else "Render again")
    what = _few(_applications(found), "component")
    effects = [each.effect for one in found.clusters for each in one.judged]
    loudest = max(effects, key=lambda effect: effect.loudness, default=Effect.NONE)
    about = f" ({loudest.value})" if loudest is not Effect.NONE else ""
    return _short(f"{_few(names, 'cluster')}: {_verb(found)} {what}{about}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3].rstrip()}..."


def _few(names: Sequence[str], kind: str) -> str:
    return ", ".join(names) if len(names) <= NAMED else plural(len(names), kind)


def _applications(found: Report) -> list[str]:
    names = (each.change.application for one in found.clusters for each in one.judged)
    return [*dict.fromkeys(filter(None, names))]


def _verb(found: Report) -> str:
    ways = {each.change.happened for one in found.clusters for each in one.judged}
    return {"added": "add to", "removed": "remove from"}.get(next(iter(ways)), "change") if len(ways) == 1 else "change"


def _body(found: Report) -> Iterator[str]:
    for number, one in enumerate(found.clusters):
        if number:
            yield ""
        yield from _cluster(one)


def _cluster(one: ClusterReport) -> Iterator[str]:
    yield f"{one.found.cluster}: {objects(one)}"
    for each in opened(one.judged):
        yield f"- opens {each.word}: {listed([f'{text}: {gained(gains)}' for text, gains in each.shown], ROWS)}"
        yield f"  {each.rule.reason} ({each.rule.code})"
    for meaning, its in meant(rows(one)).values():
        yield f"- {meaning.effect.word}: {titles(its, ROWS, lambda row: f'{row.title} {row.done}')}"
        yield f"  {why(meaning)}"
    if one.found.unseen:
        yield f"- not seen: {', '.join(one.found.unseen)}: not vendored"
    for finding in one.found.findings:
        yield f"- not built: {finding.file}"
