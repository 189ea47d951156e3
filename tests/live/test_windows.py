"""Maintenance windows, as Argo CD's own code reads them."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from generator.errors import UsageError
from generator.live.applications import application
from generator.live.lists import Listed
from generator.live.windows import about, blocked, shut_out, windows

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)  # a Wednesday


def project(*said: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "storage"}, "spec": {"syncWindows": [*said]}}


def window(**more: Any) -> dict[str, Any]:
    return {"kind": "allow", "schedule": "0 22 * * *", "duration": "4h", "applications": ["*"], **more}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_windows_nothing_is_in_the_way() -> None:
    assert blocked(windows(project()), NOON, person=False) is None


def test_an_allow_window_that_is_closed_blocks_until_it_opens() -> None:
    found = blocked(windows(project(window(description="nights only"))), NOON, person=False)
    assert found is not None
    assert found.why == "the window allow `0 22 * * *` UTC for 4h of project storage (nights only) is closed"
    assert found.opens == at("2026-11-18T22:00")
    assert not found.manual


@pytest.mark.parametrize("moment", ["2026-11-18T22:01", "2026-11-19T01:59"])
def test_an_open_allow_window_lets_through_past_midnight(moment: str) -> None:
    assert blocked(windows(project(window())), at(moment), person=False) is None


def test_it_is_closed_when_its_time_is_over() -> None:
    assert blocked(windows(project(window())), at("2026-11-19T02:00"), person=False)


def test_one_open_allow_window_is_enough() -> None:
    found = windows(project(window(), window(schedule="0 11 * * *", duration="90m")))
    assert blocked(found, NOON, person=False) is None


def test_a_deny_window_wins_over_an_open_allow_window() -> None:
    day = window(schedule="0 8 * * *", duration="12h")
    freeze = window(kind="deny", schedule="0 0 * * wed", duration="24h")
    found = blocked(windows(project(day, freeze)), NOON, person=False)
    assert found is not None
    assert "deny" in found.why
    assert found.opens == at("2026-11-19T08:00"), "after the freeze the day has to begin"


def test_people_pass_only_where_every_window_in_the_way_lets_them() -> None:
    lets, stops = window(manualSync=True), window(schedule="0 23 * * *")
    assert blocked(windows(project(lets)), NOON, person=True) is None
    assert blocked(windows(project(lets, stops)), NOON, person=True)
    said = blocked(windows(project(lets)), NOON, person=False)
    assert said is not None
    assert said.manual


def test_a_schedule_is_of_its_zone() -> None:
    seoul = windows(project(window(timeZone="Asia/Seoul")))
    assert blocked(seoul, at("2026-11-18T13:30"), person=False) is None
    assert blocked(seoul, at("2026-11-18T12:59"), person=False)


def test_no_zone_of_that_name_is_utc_as_for_argo_cd() -> None:
    assert blocked(windows(project(window(timeZone="Mars/Base"))), at("2026-11-18T22:30"), person=False) is None


@pytest.mark.parametrize("wrong", [{"schedule": "0 25 * * *"}, {"duration": "4 hours"}, {"duration": ""}])
def test_one_that_cannot_be_read_is_told(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"project storage: .* cannot be read"):
        windows(project(window(**wrong)))


def applies(said: dict[str, Any]) -> bool:
    destination = {"server": "https://kubernetes.default.svc", "namespace": "rook-ceph"}
    one = application({"metadata": {"name": "rook-ceph"}, "spec": {"destination": destination}})
    return bool(about(windows(project({**window(), "applications": [], **said})), one))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({}, False),
        ({"applications": ["rook-*"]}, True),
        ({"applications": ["minio"]}, False),
        ({"applications": ["minio"], "namespaces": ["rook-ceph"]}, True),
        ({"applications": ["minio"], "namespaces": ["rook-ceph"], "andOperator": True}, False),
        ({"applications": ["rook-ceph"], "clusters": ["https://kubernetes.*"], "andOperator": True}, True),
        ({"clusters": ["in-cluster"]}, False),
    ],
)
def test_which_applications_a_window_is_for(said: dict[str, Any], *, meant: bool) -> None:
    assert applies(said) is meant


def test_a_window_that_never_ends_has_no_end_in_sight() -> None:
    found = blocked(windows(project(window(kind="deny", schedule="* * * * *", duration="1h"))), NOON, person=False)
    assert found is not None
    assert found.opens is None


@pytest.mark.parametrize("manual", [True, False])
def test_who_is_kept_waiting_is_told_how_people_may_go_on(*, manual: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first installation waits for a window, too: until Saturday, if nobody knows better."""
    never = {"kind": "deny", "schedule": "0 0 * * *", "duration": "24h", "applications": ["*"], "manualSync": manual}
    monkeypatch.setattr("generator.live.windows.lists", lambda *_: [Listed(items=(project(never),))])
    one = application(
        {
            "metadata": {"name": "cilium"},
            "spec": {"project": "storage", "syncPolicy": {"automated": {}}},
            "status": {"sync": {"status": "OutOfSync"}},
        }
    )
    (told,) = shut_out(cast("Any", None), [one]).values()
    assert told.endswith(", or at once by `gen sync cilium --now`") is manual
