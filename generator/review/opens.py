"""What a change opens, told apart from what is felt of it: by rule, what must be approved first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from generator.model.change import Effect
from generator.model.opening import OpeningRule
from generator.review.judging import JudgedChange
from generator.review.report import ClusterReport, shown
from generator.review.rows import listed
from generator.review.values import one_line

HEADING = "what somebody may do afterwards that they could not"

OBJECTS = 8
"""Lines of one rule that a terminal shows; of what must be approved it shows all."""

GAINS = 4
"""Things gained by one object that are shown on its line."""

LONG = 160
"""Characters of one thing gained that are shown there."""

LOUD, QUIET = Effect.IMPOSSIBLE, Effect.UNKNOWN
"""The effects whose colours openings have: those that must be approved, and the others."""


class Opened(NamedTuple):
    """All that one rule says is opened on a cluster: each object with what is gained by it."""

    rule: OpeningRule
    by: list[tuple[JudgedChange, tuple[str, ...]]]

    @property
    def shade(self) -> Effect:
        """The effect whose colour it has."""
        return LOUD if self.rule.stops else QUIET

    @property
    def word(self) -> str:
        """What is opened: `rights`."""
        return self.rule.opens.value

    @property
    def shown(self) -> list[tuple[str, tuple[str, ...]]]:
        """What is shown of it: objects, with what happens to them, and what is gained. Those by which the same is
        gained are shown together, but where each must be approved.
        """
        groups: dict[tuple[int, str, tuple[str, ...]], list[JudgedChange]] = {}
        for number, (judged, gains) in enumerate(self.by):
            alone = number if self.rule.stops else -1
            groups.setdefault((alone, judged.change.happened, gains), []).append(judged)
        return [(_titles(several), gains) for (_, _, gains), several in groups.items()]


def opened(judged: Iterable[JudgedChange]) -> list[Opened]:
    """Return what changes open, by rule: those first that must be approved, then in the order of codes."""
    found: dict[str, Opened] = {}
    for each in judged:
        for opening in each.opens:
            found.setdefault(opening.rule.code, Opened(opening.rule, [])).by.append((each, opening.gains))
    return sorted(found.values(), key=lambda one: (not one.rule.stops, one.rule.code))


def gained(gains: tuple[str, ...]) -> str:
    """Return what is gained by one object, on one line."""
    more = f" and {len(gains) - GAINS} more" if len(gains) > GAINS else ""
    return one_line("; ".join(_short(one) for one in gains[:GAINS])) + more


def _short(text: str) -> str:
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."


def title(each: JudgedChange) -> str:
    """Return the object and what happens to it: `RoleBinding shop/all changed`."""
    return _titles([each])


def _titles(several: list[JudgedChange]) -> str:
    return one_line(f"{listed([shown(each) for each in several])} {several[0].change.happened}")


def brief_lines(found: Iterable[ClusterReport]) -> Iterator[str]:
    """Yield one line for each object that opens what must be approved, and one that counts the others."""
    others: Counter[str] = Counter()
    for one in found:
        for each in opened(one.judged):
            if not each.rule.stops:
                others[each.word] += len(each.by)
                continue
            for judged, gains in each.by:
                yield f"opens {each.word}: {one_line(one.found.cluster)}: {title(judged)}: {gained(gains)}"
    if others:
        yield counted(others)


def counted(others: Mapping[str, int]) -> str:
    """Return how many objects open what: `opens: 2 admission, 1 code`."""
    return f"opens: {', '.join(f'{number} {word}' for word, number in others.items())}"


def lines(found: Opened) -> Iterator[str]:
    """Yield what one rule says, then each object with what is gained by it."""
    yield f"{found.rule.reason} ({found.rule.code})"
    every = found.shown
    most = len(every) if found.rule.stops else OBJECTS
    for text, gains in every[:most]:
        yield f"  {text}: {gained(gains)}"
    if len(every) > most:
        yield f"  and {len(every) - most} more: --output html shows all"
    if found.rule.instead:
        yield f"instead: {found.rule.instead}"
