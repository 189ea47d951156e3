"""Times of changes: which project has which window, and what Argo CD is told of it."""

from typing import Any, get_args

import pytest
import yaml
from msgspec import structs
from reference import load

from generator.components.component import Tier
from generator.layout.tree import lay_out
from generator.layout.windows import go_duration
from generator.model.gitops import TierName, Window

ML50 = load("ml50")


def windows(*given: Window) -> dict[str, list[dict[str, Any]]]:
    """Return the sync windows of each project that has any."""
    cluster = structs.replace(ML50, gitops=structs.replace(ML50.gitops, windows=given))
    start = "clusters/ml50/argocd/appproject-"
    read = (
        yaml.load(text, yaml.CSafeLoader) for path, text in lay_out(cluster).files.items() if path.startswith(start)
    )
    return {one["metadata"]["name"]: one["spec"]["syncWindows"] for one in read if "syncWindows" in one["spec"]}


def window(**settings: Any) -> Window:
    return Window(**{"kind": "allow", "schedule": "0 22 * * sat", "duration": "4h", **settings})


def test_without_windows_no_project_says_anything_of_them() -> None:
    assert windows() == {}


def test_a_window_of_nothing_in_particular_is_for_all_tiers_and_never_for_root_or_namespaces() -> None:
    assert set(windows(window())) == {tier.value for tier in Tier}


def test_the_tiers_of_windows_are_those_of_components() -> None:
    assert set(get_args(TierName)) == {tier.value for tier in Tier}


def test_a_window_says_all_that_argo_cd_reads() -> None:
    given = window(kind="deny", duration="14d", timezone="Europe/Berlin", tiers=("gpu",), manual=True, reason="closed")
    expected = {
        "kind": "deny",
        "schedule": "0 22 * * sat",
        "duration": "336h",
        "timeZone": "Europe/Berlin",
        "applications": ["*"],
        "manualSync": True,
        "description": "closed",
    }
    assert windows(given) == {"gpu": [expected]}


def test_without_a_timezone_it_is_the_site_s() -> None:
    assert windows(window(tiers=("gpu",)))["gpu"][0]["timeZone"] == ML50.site.timezone != "Etc/UTC"


def test_components_are_closed_in_the_project_of_their_tier_beside_whole_tiers() -> None:
    found = windows(window(components=("kueue", "volcano", "rook-ceph"), tiers=("storage",)))
    assert {name: each[0]["applications"] for name, each in found.items()} == {
        "scheduling": ["kueue", "volcano"],
        "storage": ["*"],
    }


def test_a_sync_that_fails_for_ever_cannot_run_over_the_end_of_its_window() -> None:
    assert not any("syncOverrun" in each for found in windows(window(), window(kind="deny")).values() for each in found)


@pytest.mark.parametrize(("seconds", "text"), [(30, "30s"), (90, "90s"), (5400, "90m"), (7200, "2h"), (604800, "168h")])
def test_durations_are_as_go_reads_them(seconds: int, text: str) -> None:
    assert go_duration(seconds) == text
