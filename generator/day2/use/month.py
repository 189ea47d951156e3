"""Months, as `gen use` takes them."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

from generator.errors import UsageError


class Month(NamedTuple):
    """A calendar month, in UTC."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def start(self) -> datetime:
        """When it begins."""
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """When the next one begins."""
        return self.shifted(1).start

    def shifted(self, months: int) -> "Month":
        """Return the month so many later."""
        years, month = divmod(self.year * 12 + self.number - 1 + months, 12)
        return Month(years, month + 1)


def month_of(text: str | None, now: datetime) -> Month:
    """Return the month that is asked for: the last whole one where none is. Raises UsageError."""
    if text is None:
        return Month(now.year, now.month).shifted(-1)
    match = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
    # Before 2000 nothing was recorded, and after 9998 the next month has no date.
    if not match or not 2000 <= int(match[1]) < 9999:
        raise UsageError(f"--month {text}: say it as {now.year:04}-{now.month:02}")
    month = Month(int(match[1]), int(match[2]))
    if month.start >= now:
        raise UsageError(f"--month {text}: it has not begun")
    return month
