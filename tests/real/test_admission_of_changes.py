"""What the API server says to a change of a Job that waits: from Kubernetes 1.36 on, its resources may be changed."""

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING

import pytest
from test_admission import ALICE, GPU, TEAM, Object, gang
from test_admission import team as team  # noqa: PLC0414 - a fixture

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real
JOB = f"/apis/batch/v1/namespaces/{TEAM}/jobs/grows"
SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "JobSuspended",
    "message": "",
    "lastTransitionTime": "2026-11-22T00:00:00Z",
    "lastProbeTime": "2026-11-22T00:00:00Z",
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    """A server that behaves as 1.36 does (KEP-5440)."""
    from apiserver import start

    with start(
        tmp_path_factory.mktemp("changes"), "--feature-gates=MutablePodResourcesForSuspendedJobs=true"
    ) as running:
        yield running


@pytest.fixture
def waiting(team: "ApiServer") -> Iterator["ApiServer"]:
    """A Job of four pods without GPUs, suspended by Kueue."""
    made = gang(4, None, {})
    made["metadata"]["name"] = "grows"
    made["spec"]["suspend"] = True
    assert team.create(made, by=ALICE, dry=False)[0] == 201
    stored = team.request("GET", JOB)[1]
    assert team.request("PUT", f"{JOB}/status", {**stored, "status": {"conditions": [SUSPENDED]}})[0] == 200
    yield team
    team.request("DELETE", f"{JOB}?propagationPolicy=Background")


def changed(api: "ApiServer", **annotations: str) -> tuple[int, str]:
    """Return what the server says when a member lets each pod ask for GPUs."""
    more: Object = deepcopy(api.request("GET", JOB)[1])
    more["spec"]["template"]["spec"]["containers"][0]["resources"] = deepcopy(GPU["resources"])
    more["metadata"]["annotations"] = {**more["metadata"].get("annotations", {}), **annotations}
    status, answer = api.request("PUT", f"{JOB}?dryRun=All", more, by=ALICE)
    return status, answer.get("message", "")


def test_gpus_that_come_later_make_a_gang_as_well(waiting: "ApiServer") -> None:
    status, message = changed(waiting)
    assert status == 422
    assert "scheduling.volcano.sh/group-min-member" in message


def test_a_gang_may_ask_for_gpus_later(waiting: "ApiServer") -> None:
    assert changed(waiting, **{"scheduling.volcano.sh/group-min-member": "4"})[0] == 200


def test_a_gang_is_not_made_smaller_once_it_waits(team: "ApiServer") -> None:
    made = gang(4, "4")
    made["metadata"]["name"] = "whole"
    made["spec"]["suspend"] = True
    assert team.create(made, by=ALICE, dry=False)[0] == 201
    stored = team.request("GET", JOB.replace("grows", "whole"))[1]
    stored["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = "2"
    status, answer = team.request("PUT", f"{JOB.replace('grows', 'whole')}?dryRun=All", stored, by=ALICE)
    assert status == 422
    assert "a gang keeps its number of pods" in answer["message"]


@pytest.mark.parametrize("key", ["scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"])
def test_pods_of_a_gang_name_no_group_of_another(team: "ApiServer", key: str) -> None:
    """Volcano makes no PodGroup for them: they would start one by one in one that is full."""
    made = gang(4, "4")
    made["spec"]["template"].setdefault("metadata", {})["annotations"] = {key: "podgroup-of-another"}
    status, message = team.create(made, by=ALICE)
    assert status == 422
    assert "start without their gang" in message


def test_a_job_says_not_by_which_admission_its_pods_run(team: "ApiServer") -> None:
    """Who empties a node would stop the job that it names, and wait for a pod that does not end with it."""
    made = gang(4, "4")
    made["spec"]["template"].setdefault("metadata", {})["annotations"] = {"kueue.x-k8s.io/workload": "job-of-another"}
    status, message = team.create(made, by=ALICE)
    assert status == 422
    assert "leave the annotation kueue.x-k8s.io/workload out of pods and templates" in message
