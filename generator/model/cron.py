"""Schedules in the form of cron, as the workflow controller reads them."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise

from msgspec import Struct

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# Name, lowest and highest value, and the words for values.
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(WEEKDAYS)}),
)
# Any leap year's first day.
_FIRST = date(2024, 1, 1).toordinal()
LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Schedule(Struct, frozen=True, dict=True):
    """When something starts. A set of days that is whole does not limit: as in every cron, a day counts when it is
    in either set if both limit.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    @property
    def any_day(self) -> bool:
        """Whether the days of the month do not limit."""
        return len(self.days) == 31

    @property
    def any_weekday(self) -> bool:
        """Whether the days of the week do not limit."""
        return len(self.weekdays) == 7

    @property
    def never(self) -> bool:
        """Whether there is no such day, as the 30th of February."""
        return self.any_weekday and all(min(self.days) > LONGEST[month - 1] for month in self.months)

    @cached_property
    def longest_gap(self) -> int:
        """The longest time between two starts, in seconds; 0 where there are none. Two weeks hold every case of days
        of the week alone, eight years every other but a 29th of February around 2100.
        """
        span = 14 if self.any_day and len(self.months) == 12 else 8 * 366
        days = [day for day in range(_FIRST, _FIRST + span) if self.on(date.fromordinal(day))]
        times = sorted(hour * 60 + minute for hour in self.hours for minute in self.minutes)
        nights = [(later - day) * 1440 + times[0] - times[-1] for day, later in pairwise(days)]
        return 60 * max([*nights, *(later - time for time, later in pairwise(times))]) if nights else 0

    def starts(self, first: int, last: int) -> Iterator[int]:
        """Yield when something starts from the first of these days to before the last, counted from a leap year's
        beginning; in minutes from there, in order.
        """
        times = sorted(hour * 60 + minute for hour in self.hours for minute in self.minutes)
        for day in range(first, last):
            if self.on(date.fromordinal(_FIRST + day)):
                yield from (day * 1440 + time for time in times)

    def on(self, day: date) -> bool:
        """Whether something starts on this day."""
        within = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        limited = not (self.any_day or self.any_weekday)
        return day.month in self.months and (any(within) if limited else all(within))

    def meets(self, other: "Schedule") -> bool:
        """Whether both start at the same minute on some day."""
        apart = self.any_weekday and other.any_weekday and not self.days & other.days
        apart |= self.any_day and other.any_day and not self.weekdays & other.weekdays
        shared = self.minutes & other.minutes and self.hours & other.hours and self.months & other.months
        return bool(shared) and not apart


@lru_cache(maxsize=256)
def parse(text: str) -> Schedule:
    """Read five fields, as in `0 17 * * mon-fri`; raises ValueError that says which field is wrong. Sunday is 0, and
    7 is not a day: the controller refuses it.
    """
    words = text.split()
    if len(words) != 5:
        count = f"{len(words)} field{'s' * (len(words) != 1)}"
        raise ValueError(f"`{text}` has {count}, and a schedule has 5")
    return Schedule(*(_field(word, *field) for word, field in zip(words, FIELDS, strict=True)))


def in_numbers(text: str) -> str:
    """Return a schedule without names of months and days: the CRD of CronWorkflows takes none (Argo v4.0.2)."""
    fields = zip(text.split(), FIELDS, strict=False)  # a rule tells of more or fewer than five
    return " ".join(_without_names(word, words) for word, (*_, words) in fields)


def _without_names(word: str, words: dict[str, int]) -> str:
    return re.sub("[A-Za-z]+", lambda found: str(words.get(found[0].lower(), found[0])), word)


def _field(word: str, name: str, low: int, high: int, words: dict[str, int]) -> frozenset[int]:
    return frozenset(number for part in word.split(",") for number in _part(part, name, low, high, words))


def _part(part: str, name: str, low: int, high: int, words: dict[str, int]) -> range:
    span, slash, step = part.partition("/")
    first, dash, last = span.partition("-")
    if span in {"*", "?"}:
        start, end = low, high
    else:
        start = _number(first, part, name, words)
        end = _number(last, part, name, words) if dash else high if slash else start
    if not low <= start <= end <= high:
        raise ValueError(f"`{part}` is not within {low} to {high}, for the {name}")
    width = _number(step, part, name, {}) if slash else 1
    if width == 0:
        raise ValueError(f"`{part}` has a step of 0, for the {name}")
    return range(start, end + 1, width)


def _number(text: str, part: str, name: str, words: dict[str, int]) -> int:
    if text.lower() in words:
        return words[text.lower()]
    if not re.fullmatch("[0-9]{1,4}", text):
        raise ValueError(f"`{part}` is not a {name}")
    return int(text)
