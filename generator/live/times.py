"""Times as clusters write them (RFC 3339), and as people read them."""

from datetime import UTC, datetime

from generator.model.plural import plural


def moment(text: str) -> datetime | None:
    """Return the time that a text says, as one of UTC where it names no zone; None where it says none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def stamp(time: datetime) -> str:
    """Return a time as clusters write it, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def minutes(seconds: float) -> str:
    """Return a length of time in words, to the minute."""
    return plural(max(1, round(seconds / 60)), "minute")
