"""Schedules are read as the workflow controller reads them."""

import pytest

from generator.model.cron import in_numbers, parse

EVERY_HOUR = frozenset(range(24))


@pytest.mark.parametrize(
    ("text", "minutes", "hours"),
    [
        ("0 17 * * *", {0}, {17}),
        ("*/20 * * * *", {0, 20, 40}, EVERY_HOUR),
        ("5,10-12 */12 * * *", {5, 10, 11, 12}, {0, 12}),
        ("50/5 0-6/3 ? * ?", {50, 55}, {0, 3, 6}),
        ("  00   07 * * *  ", {0}, {7}),
    ],
)
def test_fields_hold_numbers_lists_ranges_and_steps(text: str, minutes: set[int], hours: set[int]) -> None:
    schedule = parse(text)
    assert (set(schedule.minutes), set(schedule.hours)) == (minutes, hours)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0 17 * * *", "0 17 * * *"), ("5 3 1 Jan,jul MON-fri/2", "5 3 1 1,7 1-5/2"), ("0 4 ? * sun", "0 4 ? * 0")],
)
def test_names_are_written_as_numbers(text: str, numbers: str) -> None:
    assert in_numbers(text) == numbers
    assert parse(in_numbers(text)) == parse(text)


def test_months_and_weekdays_have_names() -> None:
    schedule = parse("0 0 1 jan,DEC mon-Fri")
    assert schedule.months == {1, 12}
    assert schedule.weekdays == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "0 fields"),
        ("0", "1 field,"),
        ("@daily", "1 field,"),
        ("0 0 * * * *", "6 fields"),
        ("60 * * * *", "`60`"),
        ("0 24 * * *", "`24`"),
        ("0 0 0 * *", "`0`"),
        ("0 0 32 * *", "`32`"),
        ("0 0 * 13 *", "`13`"),
        ("0 0 * * 7", "`7`"),
        ("0 0 * * sunday", "`sunday`"),
        ("0 0 jan * *", "`jan`"),
        ("9-5 * * * *", "`9-5`"),
        ("*/0 * * * *", "`*/0`"),
        ("*/ * * * *", "`*/`"),
        ("1, * * * *", "``"),
        ("1--2 * * * *", "`1--2`"),
        ("-1 * * * *", "`-1`"),
        ("1.5 * * * *", "`1.5`"),
        ("\u0661 * * * *", "`\u0661`"),
        ("9" * 5000 + " * * * *", "is not a minute"),
    ],
)
def test_what_the_controller_refuses_is_refused_with_the_part_that_is_wrong(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=r"field|minute|hour|day|month") as error:
        parse(text)
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("0 0 30 2 *", True),
        ("0 0 31 4,6,9,11 *", True),
        ("0 0 29 2 *", False),
        ("0 0 30,1 2 *", False),
        ("0 0 31 4,5 *", False),
        ("0 0 30 2 mon", False),
    ],
)
def test_a_day_that_no_month_has_never_comes(text: str, *, never: bool) -> None:
    assert parse(text).never is never


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        ("0 17 * * *", "0 17 * * *", True),
        ("0 17 * * *", "*/30 * * * *", True),
        ("0 17 * * *", "0 18 * * *", False),
        ("0 17 * * *", "1 17 * * *", False),
        ("0 17 * * mon", "0 17 * * tue", False),
        ("0 17 1 * *", "0 17 15 * *", False),
        ("0 17 1 * *", "0 17 * * mon", True),
        ("0 17 1 * mon", "0 17 2 * tue", True),
        ("0 17 1 * mon", "0 17 2 * mon", True),
        ("0 17 * 1 *", "0 17 * 2 *", False),
    ],
)
def test_two_schedules_meet_where_they_share_a_minute(one: str, other: str, *, meets: bool) -> None:
    assert parse(one).meets(parse(other)) is meets
    assert parse(other).meets(parse(one)) is meets


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("0 17 * * *", 24),
        ("*/20 * * * *", 1 / 3),
        ("0 6,18 * * *", 12),
        ("0 1,2 * * *", 23),
        ("0 3 * * 0", 7 * 24),
        ("0 3 * * mon-fri", 3 * 24),
        ("30 4 1 * *", 31 * 24),
        # In either set where both limit: the 1st, and every Sunday.
        ("0 3 1 * 0", 7 * 24),
        ("0 0 29 2 *", (3 * 365 + 366) * 24),
        ("0 0 30 2 *", 0),
    ],
)
def test_the_longest_time_between_two_starts(text: str, hours: float) -> None:
    assert parse(text).longest_gap == hours * 3600


def test_starts_are_told_in_order_in_minutes_from_the_first_day() -> None:
    # The first day is a Monday.
    assert list(parse("30 6,22 * * mon,wed").starts(0, 7)) == [390, 1350, 2 * 1440 + 390, 2 * 1440 + 1350]
    assert list(parse("0 0 29 feb *").starts(0, 5 * 366)) == [59 * 1440, (59 + 1461) * 1440]
