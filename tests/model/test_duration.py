"""Durations of the cluster file."""

import pytest

from generator.model.monitoring import seconds


@pytest.mark.parametrize(("duration", "wanted"), [("30s", 30), ("15m", 900), ("2h", 7200), ("7d", 604800)])
def test_durations_in_seconds(duration: str, wanted: int) -> None:
    assert seconds(duration) == wanted


def test_a_duration_of_thousands_of_digits_is_long() -> None:
    assert seconds(f"{'9' * 5000}s") > 10**17
