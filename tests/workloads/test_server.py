"""A service on nodes without GPUs: what its manifests say on the reference clusters, and what is refused."""

import re
from typing import Any

import pytest
from manifests import built
from msgspec import structs
from reference import load
from validation.schemas import refused as against_schemas

from generator.components.queues import nominal
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.rules.services import served_metrics
from generator.rules.team_routes import by_own_hosts, by_the_gateway, to_own_services
from generator.workloads.server import Server, server

Object = dict[str, Any]
ASKED: dict[str, Any] = {"name": "tagger", "team": "speech", "image": "example.org/tagger:1", "port": 8080}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load("gpu-serving")


def made(cluster: Cluster, least: int = 2, most: int = 6, **more: Any) -> tuple[dict[str, Object], list[str]]:
    manifests, notes = server(cluster, Server(**ASKED | {"least": least, "most": most} | more))
    return {one["kind"]: one for one in manifests}, notes


def pod(objects: dict[str, Object]) -> Object:
    return dict(objects["Deployment"]["spec"]["template"]["spec"])


def container(objects: dict[str, Object]) -> Object:
    (found,) = pod(objects)["containers"]
    return dict(found)


def refused(cluster: Cluster, **more: Any) -> str:
    with pytest.raises(UsageError) as raised:
        made(cluster, **more)
    return str(raised.value)


def test_a_replica_starts_through_the_queue_on_nodes_without_gpus(cluster: Cluster) -> None:
    objects, _ = made(cluster)
    labels = objects["Deployment"]["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "default"
    assert labels["kueue.x-k8s.io/priority-class"] == "normal"
    assert (pod(objects)["schedulerName"], pod(objects)["nodeSelector"]) == (
        "volcano",
        {"gen.internal/pool": "storage"},
    )
    assert container(objects)["resources"] == {"limits": {"cpu": "4", "memory": "8Gi"}}
    assert not any(one.hardware.gpu for one in cluster.in_pools("storage"))


def test_its_number_follows_its_cpus_alone(cluster: Cluster) -> None:
    objects, _ = made(cluster)
    scaler = objects["HorizontalPodAutoscaler"]
    assert scaler["apiVersion"] == "autoscaling/v2"
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 6)
    (metric,) = scaler["spec"]["metrics"]
    assert metric["type"] == "Resource"
    assert metric["resource"] == {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    assert "replicas" not in objects["Deployment"]["spec"]
    assert list(served_metrics.findings(built(*objects.values(), cluster=cluster))) == []


def test_a_fixed_number_needs_no_autoscaler(cluster: Cluster) -> None:
    objects, _ = made(cluster, 3, 3)
    assert objects["Deployment"]["spec"]["replicas"] == 3
    assert "HorizontalPodAutoscaler" not in objects


def test_everything_is_about_the_same_pods(cluster: Cluster) -> None:
    objects, _ = made(cluster)
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert objects["Service"]["spec"]["selector"].items() <= labels.items()
    assert objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert objects["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == "tagger"
    (port,) = objects["Service"]["spec"]["ports"]
    assert container(objects)["ports"] == [{"name": port["targetPort"], "containerPort": 8080}]


def test_requests_come_when_it_says_so_and_it_lives_while_it_listens(cluster: Cluster) -> None:
    found = container(made(cluster, ready="/healthz")[0])
    for probe in ("startupProbe", "readinessProbe"):
        assert found[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert found["livenessProbe"]["tcpSocket"] == {"port": "http"}
    start = found["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] == cluster.scheduling.start_minutes * 60
    objects, notes = made(cluster)
    assert container(objects)["readinessProbe"]["tcpSocket"] == {"port": "http"}
    assert any("--ready names the path" in note for note in notes)


def test_libraries_take_as_many_threads_as_it_has_cpus(cluster: Cluster) -> None:
    env = {one["name"]: one["value"] for one in container(made(cluster, cpus=7)[0])["env"]}
    assert env["OMP_NUM_THREADS"] == "7"
    assert "MODELS" not in env


def test_a_claim_is_mounted_and_not_written(cluster: Cluster) -> None:
    objects, notes = made(cluster, models="pvc://dataset-voices/tagger")
    assert {"name": "models", "mountPath": "/models", "readOnly": True} in container(objects)["volumeMounts"]
    assert {"name": "MODELS", "value": "/models/tagger"} in container(objects)["env"]
    assert any("dataset-voices" in note for note in notes)


def test_a_new_version_does_not_wait_for_the_quota_that_the_old_one_holds(cluster: Cluster) -> None:
    (team,) = (one for one in cluster.teams if one.name == "speech")
    most = nominal(cluster, team, "storage").milli_cpu // 1000 // 10
    for copies, surge in ((most, 0), (most - 1, 1)):
        objects, _ = made(cluster, 1, copies, cpus=10, memory=Quantity.parse("1Gi"))
        rolling = objects["Deployment"]["spec"]["strategy"]["rollingUpdate"]
        assert rolling == {"maxSurge": surge, "maxUnavailable": 1 - surge}


def test_what_is_borrowed_is_told(cluster: Cluster) -> None:
    (team,) = (one for one in cluster.teams if one.name == "speech")
    own = nominal(cluster, team, "storage").milli_cpu // 1000
    assert not [note for note in made(cluster, 2, own // 4)[1] if "borrowed" in note]
    assert any(note.startswith("4 CPUs at the most are borrowed") for note in made(cluster, 2, own // 4 + 1)[1])


def test_a_host_of_the_team_leads_to_it(cluster: Cluster) -> None:
    objects, _ = made(cluster, team="search", host="search.apps.serving.example.org")
    (behind,) = objects["HTTPRoute"]["spec"]["rules"][0]["backendRefs"]
    assert behind == {"name": "tagger", "port": 8080}
    whole = built(*objects.values(), cluster=cluster)
    assert [f.message for rule in (by_own_hosts, by_the_gateway, to_own_services) for f in rule.findings(whole)] == []


def test_the_api_server_s_schemas_take_it(cluster: Cluster) -> None:
    for manifest in made(cluster, models="pvc://dataset-voices")[0].values():
        assert against_schemas(manifest, ()) == [], manifest["kind"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"most": 500}, "team speech can never have 500 replicas of 4 CPUs on pool storage"),
        ({"most": 500}, "and Kueue would let some wait for ever; take "),
        ({"cpus": 500}, "a pod of team speech can never have 500 CPUs on pool storage"),
        ({"memory": Quantity.parse("9Ti")}, "can never have 9216 GiB of memory"),
        ({"most": 40, "memory": Quantity.parse("64Gi")}, "can never have 40 replicas of 64 GiB of memory"),
        ({"pool": "l4"}, "team speech has no quota on pool l4 without GPUs; it has on storage"),
        ({"priority": "urgent"}, "team speech may not use the priority class urgent"),
        ({"port": 80}, "--port 80: its pods run as no root"),
        ({"ready": "healthz"}, "--ready healthz: a path of the service begins with /"),
        ({"models": "s3://models"}, "--models s3://models: say pvc://CLAIM/PATH"),
        ({"host": "search.apps.serving.example.org"}, "is not a host of team speech"),
        ({"name": "Tagger"}, "`Tagger` cannot be the name of a job"),
    ],
)
def test_what_can_never_be_is_told(cluster: Cluster, asked: Any, told: str) -> None:
    assert told in refused(cluster, **asked)


def test_a_team_that_has_gpus_alone_is_told(cluster: Cluster) -> None:
    quotas = {"l4": next(one for one in cluster.teams if one.name == "search").quotas["l4"]}
    teams = [structs.replace(one, quotas=quotas) if one.name == "search" else one for one in cluster.teams]
    told = refused(structs.replace(cluster, teams=tuple(teams)), team="search")
    assert told == "team search has a quota on no pool of gpu-serving without GPUs"


def test_as_many_replicas_as_are_told_can_be_had(cluster: Cluster) -> None:
    told = re.search(r"take (\d+) replicas at most$", refused(cluster, most=500))
    assert told
    most = int(told[1])
    assert made(cluster, most=most)
    assert f"take {most} replicas at most" in refused(cluster, most=most + 1)
