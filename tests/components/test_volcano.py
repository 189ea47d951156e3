"""Volcano places gangs and queues nothing."""

import pytest
import yaml
from msgspec import structs

from generator.components.component import Component
from generator.components.static import read_text
from generator.components.volcano import DEFINITION as VOLCANO
from generator.components.volcano import volcano
from generator.model.cluster import Adopt, Cluster, ComponentSettings
from generator.model.monitoring import Monitoring

SCHEDULER_CONF = read_text("volcano/scheduler.yaml")
CONFIGURATION = yaml.load(SCHEDULER_CONF, yaml.CSafeLoader)


def made(cluster: Cluster) -> Component:
    return volcano(cluster)


def plugins() -> set[str]:
    return {plugin["name"] for tier in CONFIGURATION["tiers"] for plugin in tier["plugins"]}


def test_nothing_queues_or_stops_jobs_beside_kueue() -> None:
    actions = set(CONFIGURATION["actions"].split(", "))
    assert actions == {"allocate", "backfill"}
    assert not plugins() & {
        "overcommit",
        "proportion",
        "capacity",
        "drf",
        "resourcequota",
        "sla",
        "tdm",
        "rescheduling",
    }


def test_gangs_nodes_and_taints_are_respected() -> None:
    assert plugins() >= {"gang", "predicates"}


def test_what_speaks_against_a_node_for_one_pod_does_not_for_all() -> None:
    """Each pod of a gang has a node of its own from Kueue."""
    said = {one["name"]: one["arguments"]["predicateErrorCacheEnable"] for one in CONFIGURATION["configurations"]}
    assert said == dict.fromkeys(CONFIGURATION["actions"].split(", "), False)


def test_the_scheduler_gets_the_configuration_and_stops_where_it_is_wrong(ml50: Cluster) -> None:
    component = made(ml50)
    assert component.releases[0].values["custom"]["scheduler_config_override"] == SCHEDULER_CONF
    patch = next(patch for patch in component.patches if patch.target["name"] == "volcano-scheduler")
    assert patch.operations[0]["value"] == "--disable-default-scheduler-config=true"
    # Before the chart's own arguments, the last of which is `2>&1`.
    assert patch.operations[0]["path"].endswith("/args/0")


def test_an_adopted_volcano_is_held_to_the_configuration_too(ml50: Cluster) -> None:
    settings = ComponentSettings(adopt=Adopt(release="old", namespace="batch"))
    component = made(structs.replace(ml50, components={"volcano": settings}))
    targets = {(patch.target["namespace"], patch.target["name"]) for patch in component.patches}
    assert targets == {("batch", "old-scheduler"), ("batch", "old-controllers")}
    assert {manifest["metadata"]["namespace"] for manifest in component.objects} == {"batch"}


@pytest.mark.parametrize(("name", "replicas"), [("ml50", 2), ("a30", 1)])
def test_replicas_elect_a_leader_and_are_kept_apart(name: str, replicas: int, request: pytest.FixtureRequest) -> None:
    component = made(request.getfixturevalue(name))
    values = component.releases[0].values["custom"]
    assert values["scheduler_replicas"] == values["controller_replicas"] == replicas
    assert values["leader_elect_enable"] is True
    budgets = [item for item in component.objects if item["kind"] == "PodDisruptionBudget"]
    assert len(budgets) == (2 if replicas > 1 else 0)


def test_budgets_and_spreading_select_the_same_pods(ml50: Cluster) -> None:
    component = made(ml50)
    values = component.releases[0].values["custom"]
    spread = {
        term["podAffinityTerm"]["labelSelector"]["matchLabels"]["app"]
        for key in ("scheduler_affinity", "controller_affinity")
        for term in values[key]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    }
    budgets = [item for item in component.objects if item["kind"] == "PodDisruptionBudget"]
    assert spread == {item["spec"]["selector"]["matchLabels"]["app"] for item in budgets}


def test_images_are_of_the_chart_s_version(ml50: Cluster) -> None:
    component = made(ml50)
    assert component.releases[0].values["basic"]["image_tag_version"] == component.version


def test_monitors_only_where_prometheus_is(ml50: Cluster, a30: Cluster) -> None:
    for cluster, monitored, needs in ((ml50, False, ()), (a30, True, ("prometheus-crds",))):
        component = made(cluster)
        assert ("ServiceMonitor" in {item["kind"] for item in component.objects}) is monitored
        assert component.needs == needs
    bare = made(structs.replace(a30, monitoring=Monitoring())).objects
    assert {item["kind"] for item in bare} == {"NetworkPolicy"}


def test_no_teams_no_scheduler(a30: Cluster) -> None:
    assert not VOLCANO.wanted(structs.replace(a30, teams=()))
