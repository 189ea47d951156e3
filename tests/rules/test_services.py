"""Services that grow: further than their team can, or by a metric that nobody serves."""

from typing import Any

import pytest
from manifests import built, container, found, manifest, ml50, reached, seen, workload
from msgspec import structs
from reference import load

from generator.components.queues.reach import reach
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.extras import Extra
from generator.model.teams import Quota
from generator.rules import services

REACH, METRICS, ROLLOUT = services.within_reach, services.served_metrics, services.room_for_a_new_one
TOLD = services.told
CLUSTER = load("gpu-serving")
SLICE, GPU = "nvidia.com/mig-2g.20gb", "nvidia.com/gpu"


def service(replicas: int, resource: str = SLICE, much: int = 1, team: str = "assistant", pool: str = "") -> Any:
    selector: dict[str, Any] = {"nodeSelector": {"gen.internal/pool": pool}} if pool else {}
    keys = ("nvidia.com/gpu", "gen.internal/inference", "gen.internal/training", "gen.internal/turns")
    return workload(
        namespace=team,
        replicas=replicas,
        containers=[container(resources={"limits": {resource: much}})],
        tolerations=[{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys],
        **selector,
    )


def template(one: Any) -> Any:
    return one["spec"]["template"]


def scaler(most: int, team: str = "assistant", *metrics: Any) -> Any:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    spec = {"scaleTargetRef": target, "maxReplicas": most, "metrics": list(metrics)}
    return manifest("HorizontalPodAutoscaler", "autoscaling/v2", namespace=team, spec=spec)


MOST = [
    # 16 of its own and 8 that team search lends.
    ("assistant", SLICE, 1, "a100-slices", 24),
    # 4 of its own, and borrows 4; elsewhere t4 would take it as well.
    ("search", GPU, 1, "l4", 8),
    ("search", GPU, 1, "t4", 32),
    ("search", GPU, 1, "", 32 + 8 + 32),
    ("search", GPU, 3, "l4", 2),
    # What search has of t4 it lends to nobody.
    ("speech", GPU, 1, "t4", 0),
    ("robotics", GPU, 8, "a100", 3),
]


@pytest.mark.parametrize(("team", "resource", "much", "pool", "most"), MOST)
def test_a_service_may_be_as_large_as_its_team_can_make_it(
    team: str, resource: str, much: int, pool: str, most: int
) -> None:
    assert found(REACH, service(most, resource, much, team, pool), cluster=CLUSTER) == []
    (problem,) = found(REACH, service(most + 1, resource, much, team, pool), cluster=CLUSTER)
    assert problem.at == ("spec", "replicas")
    assert f"{(most + 1) * much} {resource}" in problem.message
    assert problem.fix.startswith(f"replicas: {most}" if most else "give the team a quota")
    reached(problem)


def test_what_an_autoscaler_may_make_of_it_counts() -> None:
    small = service(1)
    whole = built(small, scaler(25), cluster=CLUSTER)
    (problem,) = seen(REACH, whole)
    assert problem.at == ("spec", "maxReplicas")
    assert problem.fix.startswith("maxReplicas: 24")
    assert seen(REACH, built(small, scaler(24), cluster=CLUSTER)) == []
    assert seen(REACH, built(service(30), scaler(24), cluster=CLUSTER)) == []


def test_who_tolerates_no_node_with_gpus_needs_no_quota() -> None:
    """What keeps the pods off is told, and not that the team had no GPUs."""
    one = service(2, GPU)
    one["spec"]["template"]["spec"]["tolerations"] = []
    assert found(REACH, one, cluster=CLUSTER) == []


def rolled(replicas: int, **strategy: Any) -> Any:
    one = service(replicas, GPU, 1, "search", "l4")
    return one | {"spec": one["spec"] | ({"strategy": strategy} if strategy else {})}


STUCK: list[dict[str, Any]] = [
    {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "12%"}},
    {"rollingUpdate": {"maxUnavailable": "0%"}},
]
FREE: list[dict[str, Any]] = [
    {},
    {"type": "Recreate"},
    {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    {"rollingUpdate": {"maxUnavailable": "13%"}},
    {"rollingUpdate": {"maxUnavailable": "?"}},
]


@pytest.mark.parametrize("strategy", STUCK)
def test_a_new_version_starts_where_the_old_one_has_all_there_is_only_if_one_may_go(strategy: dict[str, Any]) -> None:
    """Team search can have eight there."""
    (problem,) = found(ROLLOUT, rolled(8, **strategy), cluster=CLUSTER)
    assert problem.at == ("spec", "strategy", "rollingUpdate", "maxUnavailable")
    assert problem.message.startswith("while there are 8 replicas, a new version waits for ever")
    reached(problem)
    assert found(ROLLOUT, rolled(7, **strategy), cluster=CLUSTER) == []
    (of_scaler,) = seen(ROLLOUT, built(rolled(1, **strategy), scaler(8, "search"), cluster=CLUSTER))
    assert of_scaler.message == problem.message


@pytest.mark.parametrize("strategy", FREE)
def test_a_new_version_waits_for_nothing_where_one_may_go(strategy: dict[str, Any]) -> None:
    assert found(ROLLOUT, rolled(8, **strategy), cluster=CLUSTER) == []


def test_by_default_none_of_three_replicas_goes_first() -> None:
    (problem,) = found(ROLLOUT, service(3, GPU, 8, "robotics", "a100"), cluster=CLUSTER)
    assert problem.at == ("spec",)
    stateful = service(3, GPU, 8, "robotics", "a100") | {"kind": "StatefulSet"}
    assert found(ROLLOUT, stateful, cluster=CLUSTER) == []
    assert found(ROLLOUT, service(99, GPU, 1, "speech", "t4"), cluster=CLUSTER) == []


def test_others_are_not_judged() -> None:
    job = service(99)
    job |= {"kind": "Job", "apiVersion": "batch/v1"}
    for one in (job, service(99, team="tools"), service(99, resource="cpu"), service(99, pool="none")):
        assert found(REACH, one, cluster=CLUSTER) == []
    assert found(REACH, service(99)) == []


@pytest.mark.parametrize(
    ("team", "pool", "most"),
    [
        ("vision", "gpu-training", 40 + 16),
        ("language", "gpu-training", 40 + 32),
        # Without a bound: what nobody owns, and all that the two others own.
        ("recommender", "gpu-training", 8 + 8 + 40 + 40),
        ("serving", "gpu-inference", 24),
        ("vision", "gpu-inference", 8),
        ("vision", "cpu", None),
        ("vision", "nas", None),
    ],
)
def test_a_team_reaches_what_it_owns_and_what_others_lend(team: str, pool: str, most: int | None) -> None:
    (mine,) = (one for one in ml50().teams if one.name == team)
    assert reach(ml50(), mine, pool).devices == ({} if most is None else {GPU: most})


def test_of_a_pool_without_quotas_nobody_reaches_anything() -> None:
    teams = tuple(structs.replace(one, quotas={"a100": Quota(gpus=8)}) for one in CLUSTER.teams)
    assert reach(structs.replace(CLUSTER, teams=teams), teams[0], "t4").devices == {}


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
QUEUE = {"type": "Pods", "pods": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "1"}}}
OUTSIDE = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}}


def api(group: str) -> Any:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1beta1.{group}"},
        "spec": {"group": group, "version": "v1beta1"},
    }


def by(name: str, kind: str = "Pods") -> Any:
    return {"type": kind, kind.lower(): {"metric": {"name": name}, "target": {"type": "Value", "value": "1"}}}


def test_a_metric_comes_from_what_serves_it() -> None:
    asking = scaler(2, "serving", CPU, QUEUE, OUTSIDE)
    both = seen(METRICS, built(asking, cluster=ml50()))
    assert [one.at for one in both] == [("spec", "metrics", 1, "type"), ("spec", "metrics", 2, "type")]
    assert "there is no monitoring.prometheus" in both[0].fix
    (left,) = seen(METRICS, built(asking, api("custom.metrics.k8s.io"), cluster=ml50()))
    assert left.at == ("spec", "metrics", 2, "type")
    assert "external.metrics.k8s.io" in left.message
    every = (api("custom.metrics.k8s.io"), api("external.metrics.k8s.io"))
    assert seen(METRICS, built(asking, *every, cluster=ml50())) == []
    assert seen(METRICS, built(scaler(2, "serving", CPU), cluster=ml50())) == []


def test_what_our_adapter_serves_is_asked_for_by_its_name() -> None:
    """Whether its chart is vendored or not: the component itself says what it serves."""
    asking = scaler(2, "assistant", by("triton_queue_seconds"), by("gpu_engine_active"), by("triton_queue_second"))
    (wrong,) = seen(METRICS, built(asking, cluster=CLUSTER))
    assert reached(wrong) == "triton_queue_second"
    assert wrong.fix == "did you mean triton_queue_seconds?"
    (other,) = seen(METRICS, built(scaler(2, "assistant", by("requests")), cluster=CLUSTER))
    assert other.fix == "there are triton_queue_seconds, gpu_engine_active"
    (outside,) = seen(METRICS, built(scaler(2, "assistant", by("requests", "External")), cluster=CLUSTER))
    assert outside.at == ("spec", "metrics", 0, "type")


def test_pods_ask_for_what_they_tell_to_be_read() -> None:
    """Where the platform measures it they need not."""
    asking = scaler(2, "assistant", by("triton_queue_seconds"), by("triton_queue_seconds"))
    bare = service(1, GPU, 1, "assistant", "a100")
    label, port = seen(TOLD, built(bare, asking, cluster=CLUSTER))
    assert "gen.internal/metrics: scraped" in label.message
    assert "none of its ports is called metrics" in port.message
    assert (reached(label), reached(port)) == (
        template(bare)["metadata"]["labels"],
        template(bare)["spec"]["containers"][0],
    )
    whole = service(1, GPU, 1, "assistant", "a100")
    template(whole)["metadata"]["labels"]["gen.internal/metrics"] = "scraped"
    (left,) = seen(TOLD, built(whole, asking, cluster=CLUSTER))
    assert left.message == port.message
    template(whole)["spec"]["containers"][0]["ports"] = [{"name": "metrics", "containerPort": 8002}]
    assert seen(TOLD, built(whole, asking, cluster=CLUSTER)) == []
    assert seen(TOLD, built(bare, cluster=CLUSTER)) == []
    assert seen(TOLD, built(bare, scaler(2, "assistant", by("gpu_engine_active")), cluster=CLUSTER)) == []
    elsewhere = (service(1, GPU, 1, "default", "a100"), scaler(2, "default", by("triton_queue_seconds")))
    assert seen(TOLD, built(*elsewhere, cluster=CLUSTER)) == []


@pytest.mark.parametrize(
    "settings", [ComponentSettings(values={"rules": {"custom": []}}), ComponentSettings(managed=False)]
)
def test_an_adapter_that_others_set_up_may_serve_anything(settings: ComponentSettings) -> None:
    theirs = structs.replace(CLUSTER, components={"prometheus-adapter": settings})
    assert seen(METRICS, built(scaler(2, "assistant", by("requests")), cluster=theirs)) == []


def test_who_may_serve_it_and_is_not_seen_is_believed() -> None:
    asking = scaler(2, "assistant", QUEUE)
    (problem,) = unseen(asking, CLUSTER, "kube-prometheus-stack")
    reached(problem)
    adapter = Extra(namespace="adapter", tier="monitoring")
    assert unseen(asking, structs.replace(CLUSTER, extras={"adapter": adapter}), "adapter") == []
    assert seen(METRICS, built(asking)) == []


def unseen(one: Any, cluster: Cluster, name: str) -> list[Any]:
    return seen(METRICS, structs.replace(built(one, cluster=cluster), unseen=(name,)))
