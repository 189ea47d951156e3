"""What may be asked of a volume's way back, and what VolSync's word of success is worth."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from reference import load
from volumebackups import NIGHTLY as HOME

from generator.cli.restore_volume import asked_for
from generator.day2.volume_restore import asked, filled
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.live.running import RunningCluster

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_the_newest_backup_into_a_claim_with_the_date_unless_said_otherwise() -> None:
    found = asked(HOME, NOW, at=None, into=None)
    assert (found.into, found.at) == ("home-restored-20260601", NOW)


@pytest.mark.parametrize(
    ("at", "into", "why"),
    [
        ("2026-06-02T00:00:00Z", None, "say a time that has passed"),
        ("yesterday", None, "say a time that has passed"),
        (None, "home", "that is the live claim"),
        (None, "Home!", "cannot be the name of a claim"),
    ],
)
def test_what_cannot_be_is_refused(at: str | None, into: str | None, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        asked(HOME, NOW, at=at, into=into)


def test_a_claim_is_not_switched() -> None:
    with pytest.raises(UsageError, match="name the new claim in what uses it"):
        asked_for(load("ml50"), HOME, NOW, at=None, into=None, switch="all")


class Told:
    """Answers with one object, whatever is asked."""

    def __init__(self, status: dict[str, Any]) -> None:
        self.status = status

    def get(self, _path: str) -> dict[str, Any]:
        return {"status": self.status}


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        ({}, None),
        ({"lastManualSync": "2026-05-01T00:00:00Z"}, None),
        ({"lastManualSync": "2026-06-01T12:00:00Z", "latestMoverStatus": {"result": "Successful"}}, ""),
        (
            {
                "lastManualSync": "2026-06-01T12:00:00Z",
                "latestMoverStatus": {
                    "result": "Successful",
                    "logs": "No eligible snapshots found\n=== No data will be restored ===\n",
                },
            },
            "no backup had been made by 2026-06-01T12:00:00Z",
        ),
        (
            {"latestMoverStatus": {"result": "Failed", "logs": "ERROR: failure locking repository\n"}},
            "the mover failed: ERROR: failure locking repository",
        ),
    ],
)
def test_a_success_that_brought_nothing_back_is_none(status: dict[str, Any], wrong: str | None) -> None:
    one = asked(HOME, NOW, at=None, into=None)
    assert filled(cast("RunningCluster", Told(status)), one) == wrong
