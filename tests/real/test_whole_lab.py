"""The cluster `lab`, all of it: the components that no reference cluster has, installed by Argo CD itself as
`test_whole.py` has the others. VolSync's manager runs as Kueue does. Upstream's own are the definitions of the
autoscaler, of Envoy Gateway and of the Gateway API, and VolSync's chart; the two controllers and Ceph are played.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from test_whole import (
    test_a_hard_refresh_finds_no_difference,
    test_all_is_synced_and_well,
    test_drift_finds_nothing,
    test_nothing_came_before_what_it_waits_for,
    test_status_says_that_all_is_well,
    test_the_bootstrap_finds_nothing_left_to_do,
)

from generator.components.common import POOL

if TYPE_CHECKING:
    from twin.team import Member
    from whole import Whole

__all__ = [
    "test_a_hard_refresh_finds_no_difference",
    "test_all_is_synced_and_well",
    "test_drift_finds_nothing",
    "test_nothing_came_before_what_it_waits_for",
    "test_status_says_that_all_is_well",
    "test_the_bootstrap_finds_nothing_left_to_do",
]

MADE = "2026-01-01T00:00:00Z"
pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin


@pytest.fixture(scope="module")
def installed() -> Iterator["Whole"]:
    """The cluster with all of it there, and its volume backed up."""
    from labcluster import lab
    from labsite import SOURCE, Backups
    from whole import whole
    from wholeshop import whole_shop

    from generator.model.fields import dig

    with whole(lab(), whole_shop("minimal"), Backups) as made:
        made.install()
        made.until(lambda _: bool(dig(made.bare.api.get(SOURCE), "status", "lastSyncTime")))
        yield made


def test_a_job_is_let_in_when_its_machines_are_there(installed: "Whole") -> None:
    """Kueue asks for them as the rendered queues say; what the autoscaler would answer is played."""
    from twin.team import Member, job

    from generator.components.cluster_autoscaler.names import CLASS, GROUP

    api, member = installed.bare.api, Member(installed.bare.api, "search")
    place = f"/apis/{GROUP}/v1/namespaces/search/provisioningrequests"
    assert member.submit(job("train", 2, gpus=0)) == (201, "")
    installed.until(lambda _: bool(api.items(place)))
    (asked,) = api.items(place)
    assert asked["spec"]["provisioningClassName"] == CLASS
    assert [one["count"] for one in asked["spec"]["podSets"]] == [2]
    assert member.pods("train") == []
    told = {"type": "Provisioned", "status": "True", "reason": "Provisioned", "message": "", "lastTransitionTime": MADE}
    path = f"{place}/{asked['metadata']['name']}/status"
    assert api.request("PATCH", path, {"status": {"conditions": [told]}}, patch="merge-patch+json")[0] == 200
    # Volcano, which would place them, is KWOK's pod here.
    installed.until(lambda _: len(ungated(member)) == 2)
    assert {pod["spec"]["nodeSelector"][POOL] for pod in ungated(member)} == {"burst"}


def ungated(member: "Member") -> list[dict[str, Any]]:
    """Return the pods of the job that a scheduler may place."""
    return [pod for pod in member.pods("train") if not pod["spec"].get("schedulingGates")]


def test_the_mover_of_a_volume_went_through_the_queue_of_its_team(installed: "Whole") -> None:
    from labsite import BACKUP, SOURCE, TEAM

    api = installed.bare.api
    assert api.get(SOURCE)["status"]["latestMoverStatus"]["result"] == "Successful"
    events = api.items(f"/api/v1/namespaces/{TEAM}/events")
    let_in = [one["involvedObject"]["name"] for one in events if one["reason"] == "Admitted"]
    assert [name for name in let_in if name.startswith(f"job-volsync-src-{BACKUP}")]
