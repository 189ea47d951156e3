"""Times as clusters write them (RFC 3339)."""

from datetime import UTC, datetime


def moment(text: str) -> datetime | None:
    """Return the time that a text says, as one of UTC where it names no zone; None where it says none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
