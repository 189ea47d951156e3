"""Kueue holds the jobs of teams and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

from generator.components import JOBS
from generator.components.component import Component
from generator.components.kueue import DEFINITION as KUEUE
from generator.components.kueue import TEAM, kueue
from generator.components.tenants import tenants
from generator.model.cluster import Adopt, Cluster, ComponentSettings
from generator.model.teams import Scheduling, Team

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
DEFAULTS = [UPSTREAM / "kueue" / each.version / "values.yaml" for each in KUEUE.known]


def made(cluster: Cluster) -> Component:
    return kueue(cluster, JOBS)


def configuration(cluster: Cluster) -> Any:
    return yaml.load(made(cluster).releases[0].values["managerConfig"]["controllerManagerConfigYaml"], yaml.CSafeLoader)


def keys(value: object) -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key
        yield from keys(inner)


@pytest.mark.skipif(not UPSTREAM.exists(), reason="../shared is absent")
@pytest.mark.parametrize("file", DEFAULTS, ids=lambda file: file.parent.name)
def test_every_key_of_the_configuration_is_known_to_kueue(ml50: Cluster, file: Path) -> None:
    # The chart's own text names most keys, many of them in comments; Kueue exits at one that it does not know.
    text = yaml.load(file.read_text(), yaml.CSafeLoader)["managerConfig"]["controllerManagerConfigYaml"]
    named = {line.strip(" #-").split(":")[0] for line in text.splitlines()}
    assert set(keys(configuration(ml50))) - named == {"namespace"}


@pytest.mark.skipif(not UPSTREAM.exists(), reason="../shared is absent")
@pytest.mark.parametrize("file", DEFAULTS, ids=lambda file: file.parent.name)
def test_every_framework_is_one_that_kueue_has(ml50: Cluster, file: Path) -> None:
    text = yaml.load(file.read_text(), yaml.CSafeLoader)["managerConfig"]["controllerManagerConfigYaml"]
    assert all(f'"{name}"' in text for name in configuration(ml50)["integrations"]["frameworks"])


def test_webhooks_touch_only_namespaces_of_teams(ml50: Cluster) -> None:
    # The chart gives this selector to every webhook, and all of them fail closed.
    chosen = configuration(ml50)["managedJobsNamespaceSelector"]
    assert chosen == {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]}
    component = tenants(ml50, JOBS)
    assert all(TEAM in namespace.labels for namespace in component.namespaces)
    assert not any(TEAM in namespace.labels for namespace in made(ml50).namespaces)


def test_fair_sharing_is_there_only_where_it_is_wanted(ml50: Cluster) -> None:
    # Kueue takes the key for the wish, and wants the strategies with it (v1beta2).
    assert "fairSharing" not in configuration(ml50)
    fair = structs.replace(ml50, scheduling=structs.replace(ml50.scheduling, fair_sharing=True))
    strategies = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    assert configuration(fair) == configuration(ml50) | {"fairSharing": strategies}


def test_another_team_does_not_restart_kueue(ml50: Cluster) -> None:
    grown = structs.replace(ml50, teams=(*ml50.teams, Team(name="speech")))
    assert configuration(grown) == configuration(ml50)


def test_jobs_have_the_minutes_of_the_file_to_start(ml50: Cluster) -> None:
    patient = structs.replace(ml50, scheduling=Scheduling(start_minutes=45))
    waiting = configuration(patient)["waitForPodsReady"]
    assert waiting["timeout"] == waiting["recoveryTimeout"] == "45m"
    assert waiting["blockAdmission"] is False
    assert waiting["requeuingStrategy"]["backoffLimitCount"] > 0


def test_rdma_tickets_are_no_quota(ml50: Cluster) -> None:
    excluded = configuration(ml50)["resources"]["excludeResourcePrefixes"]
    assert ml50.fabric
    assert any(f"rdma/{ml50.fabric.rdma.resource}".startswith(prefix) for prefix in excluded)
    assert not any("nvidia.com/gpu".startswith(prefix) for prefix in excluded)


def test_the_image_is_a_released_one_of_this_version(ml50: Cluster) -> None:
    component = made(ml50)
    image = component.releases[0].values["controllerManager"]["manager"]["image"]
    assert image["repository"].startswith("registry.k8s.io/")
    assert image["tag"] == component.version


@pytest.mark.parametrize(("name", "replicas"), [("ml50", 2), ("a30", 1)])
def test_replicas_have_a_budget(name: str, replicas: int, request: pytest.FixtureRequest) -> None:
    values = made(request.getfixturevalue(name)).releases[0].values["controllerManager"]
    assert values["replicas"] == replicas
    assert values["podDisruptionBudget"]["enabled"] is (replicas > 1)
    assert bool(values["topologySpreadConstraints"]) is (replicas > 1)


def test_the_chart_s_secret_stays_as_a_placeholder_that_argo_cd_leaves_alone(ml50: Cluster) -> None:
    component = made(ml50)
    (secret,) = component.secrets
    assert component.releases[0].secrets == {secret.name: "placeholder"}
    assert any(
        item.kind == "Secret" and item.name == secret.name and "/data" in item.pointers for item in component.ignore
    )


def test_metrics_only_where_prometheus_is(ml50: Cluster, a30: Cluster) -> None:
    assert made(ml50).releases[0].values["enablePrometheus"] is False
    assert made(ml50).needs == ()
    assert made(a30).releases[0].values["enablePrometheus"] is True
    assert made(a30).needs == ("prometheus-crds",)


def test_an_adopted_kueue_keeps_its_namespace(ml50: Cluster) -> None:
    settings = ComponentSettings(adopt=Adopt(release="queueing", namespace="queueing"))
    adopted = structs.replace(ml50, components={"kueue": settings})
    assert configuration(adopted)["namespace"] == "queueing"
    assert configuration(ml50)["namespace"] == "kueue-system"


@pytest.mark.parametrize(("release", "secret"), [("old", "old-kueue-webhook-server-cert"), ("my-kueue", None)])
def test_an_adopted_kueue_keeps_its_certificate(ml50: Cluster, release: str, secret: str | None) -> None:
    settings = ComponentSettings(adopt=Adopt(release=release, namespace="queueing"))
    component = made(structs.replace(ml50, components={"kueue": settings}))
    # As the chart names it: by the release, and by the chart as well unless the release says it.
    name = secret or f"{release}-webhook-server-cert"
    assert component.releases[0].secrets == {name: "placeholder"}
    assert [(each.namespace, each.name) for each in component.secrets] == [("queueing", name)]


def test_no_teams_no_queues(a30: Cluster) -> None:
    assert not KUEUE.wanted(structs.replace(a30, teams=()))
