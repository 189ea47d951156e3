"""Quotas add up, can be borrowed as the cluster file says, and come back."""

from collections.abc import Iterator

import pytest
from msgspec import structs
from reference import with_hardware

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.queues import BATCH, COHORT, TOPOLOGY, queues
from generator.components.queues import DEFINITION as QUEUES
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.nodes import Gpus, Machine, Mig
from generator.model.quantity import Quantity
from generator.model.teams import Department, Quota, Scheduling, Team
from generator.model.text import Taint

GPU = "nvidia.com/gpu"
Numbers = dict[str, int]


def written(cluster: Cluster, kind: str) -> dict[str, Manifest]:
    component = queues(cluster)
    return {item["metadata"]["name"]: item for item in component.objects if item["kind"] == kind}


def entries(item: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Every quota entry of a queue or cohort, with its flavor."""
    for group in item["spec"]["resourceGroups"]:
        for flavor in group["flavors"]:
            for entry in flavor["resources"]:
                yield flavor["name"], entry


def numbers(item: Manifest, flavor: str, resource: str) -> Numbers:
    """The limits on one flavor and resource, in thousandths."""
    entry = next(entry for name, entry in entries(item) if (name, entry["name"]) == (flavor, resource))
    return {key: Quantity.parse(amount).milli for key, amount in entry.items() if key != "name"}


def potential(cluster: Cluster, team: str, flavor: str, resource: str) -> int:
    """The most a team can ever use, by Kueue's own arithmetic (facts: scheduling 2.3), in thousandths."""
    everyone = {name: numbers(item, flavor, resource) for name, item in written(cluster, "ClusterQueue").items()}
    shared = numbers(written(cluster, "Cohort")[COHORT], flavor, resource)["nominalQuota"]
    kept = {name: held(queue) for name, queue in everyone.items()}
    whole = shared + sum(queue["nominalQuota"] - kept[name] for name, queue in everyone.items())
    mine = everyone[team]
    reach = kept[team] + whole
    return min(reach, mine["nominalQuota"] + mine["borrowingLimit"]) if "borrowingLimit" in mine else reach


def held(queue: Numbers) -> int:
    return max(0, queue["nominalQuota"] - queue["lendingLimit"]) if "lendingLimit" in queue else 0


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_quotas_add_up_to_what_the_nodes_give(name: str, request: pytest.FixtureRequest) -> None:
    cluster: Cluster = request.getfixturevalue(name)
    holders = [*written(cluster, "ClusterQueue").values(), *written(cluster, "Cohort").values()]
    for pool in written(cluster, "ResourceFlavor"):
        capacity = flavor_capacity(cluster, pool)
        whole = {"cpu": capacity.milli_cpu, "memory": capacity.memory * 1000, "pods": capacity.pods * 1000}
        whole[GPU] = capacity.devices.get(GPU, 0) * 1000
        for resource, most in whole.items():
            given = sum(numbers(holder, pool, resource)["nominalQuota"] for holder in holders)
            assert given <= most
            assert given >= most * 0.99 or resource == "pods"  # rounding down costs little
        assert sum(numbers(holder, pool, GPU)["nominalQuota"] for holder in holders) == whole[GPU]


@pytest.mark.parametrize(
    ("team", "flavor", "gpus"),
    [
        ("vision", "gpu-training", 56),  # 40 of its own and 16 borrowed
        ("recommender", "gpu-training", 96),  # no limit: whatever is idle
        ("serving", "gpu-training", 96),
        ("vision", "gpu-inference", 8),  # what serving lends
        ("serving", "gpu-inference", 24),
        ("vision", "cpu", 0),
    ],
)
def test_a_team_can_use_as_many_gpus_as_the_file_says(ml50: Cluster, team: str, flavor: str, gpus: int) -> None:
    assert potential(ml50, team, flavor, GPU) == gpus * 1000


def test_cpu_and_memory_follow_borrowed_gpus(ml50: Cluster) -> None:
    # Whole nodes of 8 GPUs: 56 GPUs are 7 nodes, and a gang may ask for all of their CPUs and memory.
    node = flavor_capacity(ml50, "gpu-training").milli_cpu // 12
    assert potential(ml50, "vision", "gpu-training", "cpu") == 7 * node


def test_a_queue_names_the_resources_of_all_flavors_in_one_order(ml50: Cluster) -> None:
    for item in (*written(ml50, "ClusterQueue").values(), *written(ml50, "Cohort").values()):
        (group,) = item["spec"]["resourceGroups"]
        for flavor in group["flavors"]:
            assert [entry["name"] for entry in flavor["resources"]] == group["coveredResources"]
        assert {flavor["name"] for flavor in group["flavors"]} == set(written(ml50, "ResourceFlavor"))


def test_flavors_without_gpus_come_first_and_a_team_s_own_before_others(ml50: Cluster) -> None:
    queue = written(ml50, "ClusterQueue")["serving"]
    assert list(dict.fromkeys(name for name, _ in entries(queue))) == ["cpu", "gpu-inference", "gpu-training"]
    assert numbers(queue, "cpu", GPU)["nominalQuota"] == 0


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_quantities_are_as_the_api_server_writes_them(name: str, request: pytest.FixtureRequest) -> None:
    cluster = request.getfixturevalue(name)
    for item in (*written(cluster, "ClusterQueue").values(), *written(cluster, "Cohort").values()):
        for _, entry in entries(item):
            for amount in [amount for key, amount in entry.items() if key != "name"]:
                assert isinstance(amount, str)
                assert str(Quantity.parse(amount)) == amount
                assert entry["name"] != "memory" or amount == "0" or amount.endswith("i")


def test_a_queue_is_open_to_its_team_only(ml50: Cluster) -> None:
    for name, item in written(ml50, "ClusterQueue").items():
        (chosen,) = item["spec"]["namespaceSelector"]["matchExpressions"]
        assert chosen == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [name]}


def test_nobody_lends_more_than_it_owns(ml50: Cluster) -> None:
    # Little memory for its CPUs: a share of the pool in proportion to 90 CPUs would be more than all it owns.
    quota = Quota(cpus=100, memory=Quantity.parse("100Gi"), lend=90)
    changed = structs.replace(ml50, teams=(Team(name="batch", quotas={"cpu": quota}),))
    for _, entry in entries(written(changed, "ClusterQueue")["batch"]):
        if "lendingLimit" in entry:
            assert Quantity.parse(entry["lendingLimit"]).milli <= Quantity.parse(entry["nominalQuota"]).milli
    assert numbers(written(changed, "ClusterQueue")["batch"], "cpu", "cpu")["lendingLimit"] == 90_000


@pytest.mark.parametrize(
    ("scheduling", "reclaim", "threshold"),
    [
        (Scheduling(), "Any", 1000),
        (Scheduling(reclaim="lower-priority"), "LowerPriority", 1000),
        (Scheduling(reclaim="never"), "Never", None),
        (Scheduling(priorities={"only": 5}), "Any", None),
        # Kueue does not combine it with fair sharing.
        (Scheduling(fair_sharing=True), "Any", None),
    ],
)
def test_who_stops_for_whom(ml50: Cluster, scheduling: Scheduling, reclaim: str, threshold: int | None) -> None:
    rules = written(structs.replace(ml50, scheduling=scheduling), "ClusterQueue")["vision"]["spec"]["preemption"]
    assert rules["reclaimWithinCohort"] == reclaim
    borrowing = rules.get("borrowWithinCohort")
    # Kueue refuses the latter with reclaimWithinCohort Never.
    assert (borrowing and borrowing["maxPriorityThreshold"]) == threshold


def with_departments(cluster: Cluster, *, fair_sharing: bool) -> Cluster:
    """Put vision, with a weight, into a department, and leave the other teams in none."""
    vision, *others = cluster.teams
    assert vision.name == "vision"
    teams = (structs.replace(vision, department="research", weight=2), *others)
    departments = {"research": Department(weight=1000), "product": Department()}
    scheduling = structs.replace(cluster.scheduling, fair_sharing=fair_sharing, departments=departments)
    return structs.replace(cluster, teams=teams, scheduling=scheduling)


@pytest.mark.parametrize("fair_sharing", [True, False])
def test_a_department_is_a_cohort_below_that_of_all(ml50: Cluster, *, fair_sharing: bool) -> None:
    changed = with_departments(ml50, fair_sharing=fair_sharing)
    cohorts = {name: item["spec"].get("parentName") for name, item in written(changed, "Cohort").items()}
    assert cohorts == {COHORT: None, "department-research": COHORT, "department-product": COHORT}
    queues = {name: item["spec"]["cohortName"] for name, item in written(changed, "ClusterQueue").items()}
    assert queues == dict.fromkeys(queues, COHORT) | {"vision": "department-research"}


def test_weights_are_written_with_fair_sharing_only(ml50: Cluster) -> None:
    def weights(*, fair_sharing: bool) -> dict[str, object]:
        changed = with_departments(ml50, fair_sharing=fair_sharing)
        items = [*written(changed, "ClusterQueue").values(), *written(changed, "Cohort").values()]
        return {item["metadata"]["name"]: item["spec"].get("fairSharing") for item in items}

    # As quantities are written, or Kueue would write them anew: 1000 is 1k. Of 1 nobody need speak.
    given = {"vision": {"weight": "2"}, "department-research": {"weight": "1k"}}
    assert weights(fair_sharing=True) == dict.fromkeys(weights(fair_sharing=False)) | given
    assert set(weights(fair_sharing=False).values()) == {None}


def test_a_department_owns_nothing_itself(ml50: Cluster) -> None:
    changed = with_departments(ml50, fair_sharing=True)
    assert written(changed, "Cohort")[COHORT] == written(ml50, "Cohort")[COHORT]
    assert "resourceGroups" not in written(changed, "Cohort")["department-research"]["spec"]


def test_the_queueing_of_the_team_is_the_queue_s(a30: Cluster) -> None:
    assert written(a30, "ClusterQueue")["mlperf"]["spec"]["queueingStrategy"] == "StrictFIFO"


def test_pods_that_need_no_gpu_are_kept_off_gpu_nodes_and_training_off_those_that_serve(ml50: Cluster) -> None:
    flavors = written(ml50, "ResourceFlavor")
    for purpose in ("training", "inference"):
        assert flavors[f"gpu-{purpose}"]["spec"] == {
            "nodeLabels": {POOL: f"gpu-{purpose}"},
            "nodeTaints": [
                {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                {"key": f"gen.internal/{purpose}", "value": "present", "effect": "NoSchedule"},
            ],
            "topologyName": TOPOLOGY,
        }
    assert flavors["cpu"]["spec"] == {"nodeLabels": {POOL: "cpu"}, "topologyName": TOPOLOGY}


def test_every_flavor_has_the_topology_of_nodes(ml50: Cluster) -> None:
    """One without would turn the look at nodes off for all jobs of its queues that do not ask for it."""
    (one,) = written(ml50, "Topology").values()
    assert one["spec"]["levels"] == [{"nodeLabel": "kubernetes.io/hostname"}]
    assert {item["spec"]["topologyName"] for item in written(ml50, "ResourceFlavor").values()} == {TOPOLOGY}


def with_taints(cluster: Cluster, pool: str, *taints: str, one: str = "") -> Cluster:
    """Give a pool's nodes taints, and its first node one more."""
    machines = list(cluster.machines)
    first = True
    for index, machine in enumerate(machines):
        if machine.pool == pool:
            more = (*taints, one) if first and one else taints
            machines[index] = structs.replace(machine, taints=tuple(Taint.parse(text) for text in more))
            first = False
    return structs.replace(cluster, machines=tuple(machines))


def test_kueue_adds_the_tolerations_of_a_pool_without_gpus(ml50: Cluster) -> None:
    changed = with_taints(ml50, "cpu", "team=only:NoSchedule", "slow:PreferNoSchedule")
    spec = written(changed, "ResourceFlavor")["cpu"]["spec"]
    assert spec["tolerations"] == [{"key": "team", "operator": "Exists", "effect": "NoSchedule"}]
    assert "nodeTaints" not in spec


def test_one_node_s_taint_is_no_rule_for_the_pool(ml50: Cluster) -> None:
    changed = with_taints(ml50, "gpu-training", "gpu:NoExecute", one="repair:NoSchedule")
    spec = written(changed, "ResourceFlavor")["gpu-training"]["spec"]
    assert spec["nodeTaints"] == [{"key": "gpu", "effect": "NoExecute"}]
    assert "nodeTaints" not in written(with_taints(ml50, "gpu-training"), "ResourceFlavor")["gpu-training"]["spec"]


def test_priorities_of_pods_never_stop_other_pods(ml50: Cluster) -> None:
    jobs, classes = written(ml50, "WorkloadPriorityClass"), written(ml50, "PriorityClass")
    assert {f"{BATCH}{name}": item["value"] for name, item in jobs.items()} == {
        name: item["value"] for name, item in classes.items()
    }
    assert {item["preemptionPolicy"] for item in classes.values()} == {"Never"}


def test_teams_without_quotas_have_queues_that_let_nothing_in(a30: Cluster) -> None:
    changed = structs.replace(a30, teams=(Team(name="guests"),))
    assert written(changed, "ClusterQueue")["guests"]["spec"]["resourceGroups"] == []
    assert not QUEUES.wanted(structs.replace(a30, teams=()))


def test_only_the_health_of_queues_needs_telling(ml50: Cluster) -> None:
    component = queues(ml50)
    assert [(health.group, health.kind) for health in component.health] == [("kueue.x-k8s.io", "ClusterQueue")]
    assert component.needs == ("kueue",)


def split(cluster: Cluster, pool: str, profile: str, **quota: object) -> Cluster:
    """Split the GPUs of a pool, offered by name, and give the first team this quota on it alone."""

    def one(machine: Machine) -> Machine:
        gpu = machine.hardware.gpu
        if machine.pool != pool or gpu is None:
            return machine
        return with_hardware(machine, gpu=structs.replace(gpu, mig=Mig(profile=profile)))

    machines = tuple(one(machine) for machine in cluster.machines)
    teams = tuple(
        structs.replace(team, quotas={key: each for key, each in team.quotas.items() if key != pool})
        for team in cluster.teams
    )
    owner = structs.replace(teams[0], quotas=teams[0].quotas | {pool: Quota(**quota)})  # type: ignore[arg-type]
    strategy = Gpus(mig_strategy="mixed")
    return structs.replace(cluster, gpus=strategy, machines=machines, teams=(owner, *teams[1:]))


SMALL, LARGE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"


def test_instances_offered_by_name_are_resources_of_every_queue(ml50: Cluster) -> None:
    pool, nodes = "gpu-inference", len(ml50.in_pools("gpu-inference"))
    gpus = ml50.in_pools(pool)[0].gpus
    cluster = split(ml50, pool, "all-balanced", instances={"1g.10gb": 4, "3g.40gb": 2}, borrow=1)
    cohort = written(cluster, "Cohort")[COHORT]
    owner = written(cluster, "ClusterQueue")[cluster.teams[0].name]
    for item in (cohort, *written(cluster, "ClusterQueue").values()):
        (one,) = item["spec"]["resourceGroups"]
        assert {GPU, SMALL, LARGE} <= set(one["coveredResources"])
        assert all(
            [each["name"] for each in flavor["resources"]] == one["coveredResources"] for flavor in one["flavors"]
        )
    assert numbers(owner, pool, SMALL) == {"nominalQuota": 4000, "borrowingLimit": 1000}
    assert numbers(owner, pool, LARGE) == {"nominalQuota": 2000, "borrowingLimit": 1000}
    assert numbers(cohort, pool, SMALL)["nominalQuota"] == (nodes * gpus * 2 - 4) * 1000
    assert numbers(cohort, pool, GPU)["nominalQuota"] == 0
    assert numbers(cohort, "gpu-training", SMALL)["nominalQuota"] == 0


def test_cpus_follow_instances_by_their_slices(ml50: Cluster) -> None:
    pool = "gpu-inference"
    small = split(ml50, pool, "all-balanced", instances={"1g.10gb": 3})
    large = split(ml50, pool, "all-balanced", instances={"3g.40gb": 1})
    cpus = [numbers(written(one, "ClusterQueue")[one.teams[0].name], pool, "cpu") for one in (small, large)]
    assert cpus[0] == cpus[1]
    assert cpus[0]["nominalQuota"] > 0
