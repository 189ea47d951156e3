"""What teams of `ml50` may rely on, on real schedulers: Kueue, Volcano and the queues as they are rendered.

Training has 12 nodes and 96 GPUs: vision and language own 40 each, recommender owns 8, nobody owns 8. Inference has 3
nodes and 24 GPUs: serving owns them and lends 8.
"""

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twin.fixtures import Twin
    from twin.team import Member

    Members = Callable[[str], Member]

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

TRAINING = "gpu-training"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
NEVER = 5.0
"""Seconds in which what must not happen would have happened: see the controls."""


def test_every_queue_is_active(twin: "Twin") -> None:
    from twin.fixtures import inactive

    assert not inactive(twin.api)
    # The one of acceptance is not a team's: it comes with the operation, in a later wave.
    teams = {queue["metadata"]["name"] for queue in twin.api.items(f"{KUEUE}/clusterqueues")}
    assert teams == set(twin.teams) - {"acceptance-jobs"}
    assert len(teams) == 4


def test_flavors_find_nodes_and_know_their_taints(twin: "Twin") -> None:
    for flavor in twin.api.items(f"{KUEUE}/resourceflavors"):
        nodes = of_flavor(twin, flavor)
        assert nodes, flavor["metadata"]["name"]
        for node in nodes:
            assert node["spec"].get("taints", []) == flavor["spec"].get("nodeTaints", [])


def test_quotas_are_not_more_than_what_nodes_have(twin: "Twin") -> None:
    from twin.nodes import number

    quotas = given(twin)
    for flavor in twin.api.items(f"{KUEUE}/resourceflavors"):
        name = flavor["metadata"]["name"]
        for resource in ("cpu", "memory", "pods", "nvidia.com/gpu"):
            has = sum(number(node["status"]["allocatable"].get(resource, 0)) for node in of_flavor(twin, flavor))
            assert quotas[name, resource] <= has, (name, resource)
    assert quotas[TRAINING, "nvidia.com/gpu"] == 96


def of_flavor(twin: "Twin", flavor: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = flavor["spec"]["nodeLabels"].items()
    return [node for node in twin.api.items("/api/v1/nodes") if wanted <= node["metadata"]["labels"].items()]


def given(twin: "Twin") -> Counter[tuple[str, str]]:
    """Return what all queues own of each flavor's resources."""
    from twin.nodes import number

    found: Counter[tuple[str, str]] = Counter()
    for kind in ("clusterqueues", "cohorts"):
        for queue in twin.api.items(f"{KUEUE}/{kind}"):
            for group in queue["spec"].get("resourceGroups", []):
                for flavor in group["flavors"]:
                    for resource in flavor["resources"]:
                        # Bytes and thousandths of CPUs fit into whole numbers.
                        found[flavor["name"], resource["name"]] += int(number(resource["nominalQuota"]))
    return found


def test_a_gang_of_a_member_runs_on_nodes_of_its_flavor(twin: "Twin", member: "Members") -> None:
    vision = member("vision")
    vision.prepare("train", pods=3)
    assert vision.has("train", "Admitted")
    assert vision.nodes("train") < set(twin.pool(TRAINING))
    assert all(pod["spec"]["nodeSelector"]["gen.internal/pool"] == TRAINING for pod in vision.pods("train"))


@pytest.fixture
def by_sums(twin: "Twin") -> "Iterator[None]":
    """Let Kueue look at sums only, for what Volcano must promise by itself: nodes may go after Kueue has looked."""
    from twin.kueue import BY_SUMS

    with twin.kueue.changed(BY_SUMS):
        yield


@pytest.mark.usefixtures("by_sums")
def test_a_gang_starts_whole_or_not_at_all(twin: "Twin", member: "Members") -> None:
    from twin.team import eventually, most

    vision = member("vision")
    twin.leave(TRAINING, 2)
    vision.start("train", 3)
    eventually("three pods", lambda: len(vision.pods("train")) == 3)
    assert most(lambda: vision.bound("train"), NEVER) == 0
    twin.leave(TRAINING, 3)
    vision.runs("train", 3)


@pytest.mark.usefixtures("by_sums")
def test_without_a_gang_a_part_starts(twin: "Twin", member: "Members") -> None:
    """The control of the test above."""
    from twin.team import eventually, most

    vision = member("vision")
    twin.leave(TRAINING, 2)
    with twin.without("gen-gangs"):
        vision.start("train", 3, gang=False)
    eventually("a part", lambda: vision.bound("train") == 2, NEVER)
    assert most(lambda: vision.bound("train"), 1) == 2


@pytest.mark.usefixtures("by_sums")
def test_of_two_gangs_for_the_same_nodes_one_runs_whole(twin: "Twin", member: "Members") -> None:
    from twin.team import eventually

    teams = [member("vision"), member("language")]
    twin.leave(TRAINING, 6)
    for team in teams:
        team.start("train", 5)
    eventually("one runs", lambda: any(team.running("train") == 5 for team in teams))
    time.sleep(1)
    first, second = sorted(teams, key=lambda team: -team.bound("train"))
    assert (first.bound("train"), second.bound("train")) == (5, 0)
    first.complete("train")
    second.runs("train", 5)


@pytest.mark.usefixtures("by_sums")
def test_of_two_jobs_without_gangs_a_part_holds_nodes(twin: "Twin", member: "Members") -> None:
    """The control of the test above."""
    from twin.team import eventually

    teams = [member("vision"), member("language")]
    twin.leave(TRAINING, 6)
    with twin.without("gen-gangs"):
        for team in teams:
            team.start("train", 5, gang=False)
    eventually("all nodes are taken", lambda: sum(team.bound("train") for team in teams) == 6)
    assert any(0 < team.bound("train") < 5 for team in teams)


def test_a_team_borrows_up_to_its_limit(member: "Members") -> None:
    from twin.team import most

    vision = member("vision")
    member("serving").prepare("serve", pods=3)  # else the next GPU is lent from inference
    vision.prepare("own", pods=5)
    vision.prepare("borrowed", pods=2)
    vision.start("more", gpus=1)
    assert most(lambda: len(vision.pods("more")), NEVER) == 0
    vision.delete("borrowed")
    vision.runs("more", 1)


def test_what_is_lent_comes_back(member: "Members") -> None:
    from twin.team import eventually

    vision, language, recommender = member("vision"), member("language"), member("recommender")
    singles = ("one", "two", "three", "four", "five")
    member("serving").prepare("serve", pods=3)  # else what is evicted goes on in inference
    vision.prepare("own", pods=5)
    vision.prepare("borrowed", pods=2)
    recommender.prepare(*singles)
    language.start("train", 5)
    language.runs("train", 5)
    eventually("the others have 7 nodes", lambda: vision.running() + recommender.running() <= 7)
    told = [vision.conditions(name) for name in ("own", "borrowed")] + [recommender.conditions(one) for one in singles]
    reasons = {one["Preempted"][1] for one in told if one.get("Preempted", ("",))[0] == "True"}
    assert reasons == {"InCohortReclamation"}
    # Nobody fell below what the team owns.
    assert vision.running() >= 5
    assert recommender.running() >= 1


def test_urgent_work_takes_the_place_of_the_teams_own_low_work(member: "Members") -> None:
    from twin.team import eventually, most

    vision = fill(member)
    vision.start("equal", 7, priority="low")
    assert most(lambda: len(vision.pods("equal")), NEVER) == 0
    vision.delete("equal")
    vision.start("urgent", 7, priority="urgent")
    vision.runs("urgent", 7)
    eventually("low work is gone", lambda: not vision.pods("low"))
    assert vision.has("low", "Preempted", "InClusterQueue")


def fill(member: "Members") -> "Member":
    """Give all GPUs away, those of vision to work of low priority."""
    member("language").prepare("train", pods=5)
    member("serving").prepare("serve", pods=3)
    vision = member("vision")
    vision.prepare("low", pods=7, priority="low")
    return vision


def test_a_small_job_passes_a_big_one_that_waits(member: "Members") -> None:
    """The control of `a30-bench`, whose queue is strict."""
    vision = member("vision")
    vision.prepare("first", pods=6)
    vision.start("big", 2)
    vision.prepare("small")
    assert not vision.pods("big")


CHART_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def test_with_a_second_queue_in_volcano_urgent_work_never_starts(twin: "Twin", member: "Members") -> None:
    """The control of the test above: the configuration that Volcano's chart has by default."""
    from twin.team import eventually, most

    with twin.volcano.changed(CHART_CONF):
        vision = fill(member)
        vision.start("urgent", 7, priority="urgent")
        eventually("Kueue lets it in", lambda: vision.has("urgent", "Admitted"))
        assert most(lambda: vision.running("urgent"), 2 * NEVER) == 0


def test_work_without_gpus_runs_on_cpu_nodes(twin: "Twin", member: "Members") -> None:
    from twin.team import most

    vision = member("vision")
    vision.prepare("small", pods=2, gpus=0)
    assert vision.nodes("small") <= set(twin.pool("cpu"))
    assert vision.submit(many_cpus(230, {"requests": {"cpu": "8"}, "limits": {"memory": "1Gi"}})) == (201, "")
    assert most(lambda: len(vision.pods("many")), NEVER) == 0


def test_limits_count_as_the_requests_they_become(member: "Members") -> None:
    vision = member("vision")
    assert vision.submit(many_cpus(2, {"limits": {"cpu": "8", "memory": "1Gi"}})) == (201, "")
    vision.runs("many", 2)
    workload = vision.workload("many") or {}
    assert workload["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] == "16"


def many_cpus(pods: int, resources: dict[str, Any]) -> dict[str, Any]:
    from twin.team import job

    made = job("many", pods, gpus=0)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    return made


def test_a_job_that_does_not_tolerate_the_taint_waits(member: "Members") -> None:
    from twin.team import most

    vision = member("vision")
    vision.start("train", tolerations=[])
    assert most(lambda: len(vision.pods("train")), NEVER) == 0


def test_what_a_team_may_submit_is_always_a_gang(member: "Members") -> None:
    from twin.team import job

    status, message = member("vision").submit(job("train", 3, gang=False))
    assert (status, "group-min-member" in message) == (422, True)


def test_a_job_that_names_no_queue_goes_through_the_teams(member: "Members") -> None:
    """Kueue writes the name of the queue into it before the API server's rules look: LocalQueueDefaulting."""
    vision = member("vision")
    assert vision.submit(queueless("small", 2)) == (201, "")
    vision.runs("small", 2)
    assert vision.queue("small") == "default"
    assert vision.has("small", "Admitted")


def test_a_job_that_names_no_queue_gets_no_pod_beyond_what_the_team_may_have(member: "Members") -> None:
    """There are 12 nodes for training; the control is the test above."""
    from twin.team import most

    vision = member("vision")
    assert vision.submit(queueless("large", 13)) == (201, "")
    assert most(lambda: len(vision.pods("large")), NEVER) == 0
    assert vision.queue("large") == "default"
    assert not vision.has("large", "Admitted")


def test_while_kueue_is_down_a_job_that_names_no_queue_is_refused(twin: "Twin", member: "Members") -> None:
    """Nobody would write the queue into it: the webhook is asked, and fails closed."""
    twin.kueue.stop()
    try:
        status, message = member("vision").submit(queueless("early", 2))
    finally:
        twin.kueue.start()
    assert (status, "failed calling webhook" in message) == (500, True)


def queueless(name: str, pods: int) -> dict[str, Any]:
    from twin.team import QUEUE, job

    made = job(name, pods)
    del made["metadata"]["labels"][QUEUE]
    return made


def test_what_fits_the_sums_but_no_node_is_not_let_in(twin: "Twin", member: "Members") -> None:
    from twin.team import most

    language = too_large(twin, member)
    assert most(lambda: int(language.has("large", "Admitted")), NEVER) == 0
    member("vision").delete("uneven")
    language.runs("large", 1)


@pytest.mark.usefixtures("by_sums")
def test_by_sums_it_is_let_in_and_waits(twin: "Twin", member: "Members") -> None:
    """The control of the test above."""
    from twin.team import eventually, most

    language = too_large(twin, member)
    eventually("it is let in", lambda: language.has("large", "Admitted"))
    assert most(lambda: language.running("large"), NEVER) == 0


def too_large(twin: "Twin", member: "Members") -> "Member":
    """Leave 3 GPUs free on each of 4 nodes, and start a job that needs 8 on one."""
    vision, language = member("vision"), member("language")
    twin.leave(TRAINING, 4)
    member("serving").prepare("serve", pods=3)  # else a node is lent from inference
    vision.prepare("uneven", pods=4, gpus=5)
    language.start("large")
    return language


def test_urgent_is_for_those_who_may(member: "Members") -> None:
    from twin.team import job

    assert member("vision").submit(job("now", priority="urgent")) == (201, "")
    status, message = member("recommender").submit(job("now", priority="urgent"))
    assert (status, "a class that this team may use" in message) == (422, True)


def test_the_api_server_takes_the_rules_for_what_they_look_at(twin: "Twin") -> None:
    """It checks the types of all expressions when it stores them, and only warns."""
    found = twin.api.items("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")
    wrong = {one["metadata"]["name"]: one["status"]["typeChecking"] for one in found if one["status"]["typeChecking"]}
    assert found
    assert not wrong


def test_every_promise_of_the_queues_holds(twin: "Twin") -> None:
    """What `gen rehearse --promises` tells of `ml50`."""
    from generator.rehearsal.promises import Trial, promises

    found = [*promises(Trial(twin.api.real.cluster))]
    assert len(found) == 5
    assert {one.name: one.seen for one in found if not one.held} == {}


def test_control_a_promise_that_does_not_hold_is_told(twin: "Twin") -> None:
    """Each with what it depends on taken away."""
    from generator.rehearsal.promises import BrokenError, Trial, no_way_round, priority

    trial = Trial(twin.api.real.cluster)
    with twin.without("gen-gangs"), pytest.raises(BrokenError, match="a job of two pods that is no gang is taken"):
        no_way_round(trial)
    twin.clean()
    with twin.volcano.changed(CHART_CONF), pytest.raises(BrokenError, match="high: 5 pods run: not within"):
        priority(trial)


@pytest.mark.usefixtures("by_sums")
def test_control_a_gang_that_starts_in_part_is_told(twin: "Twin", monkeypatch: pytest.MonkeyPatch) -> None:
    from generator.rehearsal import promises
    from generator.rehearsal.jobs import job
    from generator.rehearsal.promises import BrokenError, Trial

    def loose(*given: Any) -> dict[str, Any]:
        made = job(*given)
        return made | {"metadata": made["metadata"] | {"annotations": {}}}

    monkeypatch.setattr(promises, "job", loose)
    with twin.without("gen-gangs"), pytest.raises(BrokenError, match="4 of 5 pods started where 4 have room"):
        promises.gang(Trial(twin.api.real.cluster))
