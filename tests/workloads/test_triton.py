"""Triton for a team: what its manifests say on the reference clusters, and what is refused."""

from typing import Any

import pytest
from msgspec import structs
from reference import load
from validation.schemas import refused as against_schemas

from generator.components.kube_prometheus_stack import SCRAPED
from generator.components.queues.reach import reach
from generator.errors import UsageError
from generator.model.capacity import allocatable
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.quantity import Quantity
from generator.model.storage import ObjectUser
from generator.model.teams import TeamBucket
from generator.workloads import Workload, workload
from generator.workloads.wanted import Serving, Wanted

Object = dict[str, Any]
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-2g.20gb"
BUCKET = "s3://models/asr"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load("gpu-serving")


@pytest.fixture(scope="module")
def ml50() -> Cluster:
    return load("ml50")


def made(
    cluster: Cluster,
    least: int = 1,
    most: int = 4,
    *,
    models: str = BUCKET,
    credentials: str | None = "keys",
    **more: Any,
) -> Workload:
    given = {key: more.pop(key, None) for key in ("ca", "host", "scale_on")}
    serving = Serving(models=models, least=least, most=most, credentials=credentials, **given)
    asked: dict[str, Any] = {"team": "search", "pool": "l4", "gpus": 1} | more
    return workload(cluster, "triton", Wanted(name="asr", image="example.org/triton:26.07", serving=serving, **asked))


def of_kind(one: Workload, kind: str) -> Object:
    (found,) = (manifest for manifest in one.manifests if manifest["kind"] == kind)
    return found


def pod(one: Workload) -> Object:
    spec: Object = of_kind(one, "Deployment")["spec"]["template"]["spec"]
    return spec


def container(one: Workload) -> Object:
    (found,) = pod(one)["containers"]
    return dict(found)


def environment(one: Workload) -> dict[str, Any]:
    return {each["name"]: each.get("value") or each["valueFrom"]["secretKeyRef"] for each in container(one)["env"]}


def refused(cluster: Cluster, **more: Any) -> str:
    with pytest.raises(UsageError) as raised:
        made(cluster, **more)
    return str(raised.value)


# What it is


def test_a_replica_starts_through_the_queue_on_the_team_s_nodes(cluster: Cluster) -> None:
    one = made(cluster, priority="serving")
    deployment = of_kind(one, "Deployment")
    assert deployment["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    assert deployment["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "serving"
    assert (pod(one)["schedulerName"], pod(one)["nodeSelector"]) == ("volcano", {"gen.internal/pool": "l4"})
    assert {each["key"] for each in pod(one)["tolerations"]} == {"nvidia.com/gpu", "gen.internal/inference"}
    assert container(one)["resources"]["limits"][GPU] == "1"


def test_all_replicas_fit_into_the_nodes_and_the_quota(cluster: Cluster) -> None:
    one = made(cluster, most=8)
    limits = container(one)["resources"]["limits"]
    room = reach(cluster, one.place.team, "l4")
    node = min((allocatable(each, cluster) for each in one.place.machines), key=lambda share: share.memory)
    for key, available, whole in (("cpu", room.milli_cpu, node.milli_cpu), ("memory", room.memory, node.memory)):
        each = Quantity.parse(limits[key])
        number = each.milli if key == "cpu" else each.value
        assert 8 * number <= available
        assert 4 * number <= whole * 7 // 8, "four of them have a node's four GPUs"


def test_an_instance_of_a_split_gpu_is_a_replica_s(cluster: Cluster) -> None:
    one = made(cluster, most=24, team="assistant", pool="a100-slices")
    assert container(one)["resources"]["limits"][SLICE] == "1"
    assert any("8 of nvidia.com/mig-2g.20gb" in note for note in one.notes), "16 are its own"


@pytest.mark.parametrize("name", ["Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"])
def test_everything_is_about_the_same_pods(cluster: Cluster, name: str) -> None:
    one = made(cluster)
    labels = of_kind(one, "Deployment")["spec"]["template"]["metadata"]["labels"]
    spec = of_kind(one, name)["spec"]
    if name == "HorizontalPodAutoscaler":
        assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "asr"}
        return
    selector = spec["selector"].get("matchLabels", spec["selector"])
    assert selector.items() <= labels.items()
    assert selector == of_kind(one, "Deployment")["spec"]["selector"]["matchLabels"]
    assert SCRAPED.labels.items() <= labels.items()


def test_ports_are_led_to_by_their_names(cluster: Cluster) -> None:
    one = made(cluster)
    named = {each["name"]: each["containerPort"] for each in container(one)["ports"]}
    assert named == {"http": 8000, "grpc": 8001, "metrics": 8002}
    assert {each["targetPort"] for each in of_kind(one, "Service")["spec"]["ports"]} == set(named)


def test_models_have_as_long_to_load_as_kueue_gives_a_job(cluster: Cluster) -> None:
    probe = container(made(cluster))["startupProbe"]
    assert probe["httpGet"]["path"] == "/v2/health/ready"
    assert probe["periodSeconds"] * probe["failureThreshold"] == cluster.scheduling.start_minutes * 60
    assert "--strict-readiness=true" in container(made(cluster))["args"], "all models, with what warms them up"
    assert container(made(cluster))["livenessProbe"]["httpGet"]["path"] == "/v2/health/live"


def test_requests_that_it_has_are_answered_before_it_ends(cluster: Cluster) -> None:
    one = made(cluster)
    (told,) = (each for each in container(one)["args"] if each.startswith("--exit-timeout-secs="))
    drain = container(one)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert drain + int(told.partition("=")[2]) < pod(one)["terminationGracePeriodSeconds"]


def test_its_number_follows_what_the_cluster_serves(cluster: Cluster) -> None:
    one = made(cluster, 2, 6)
    spec = of_kind(one, "HorizontalPodAutoscaler")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 6)
    (metric,) = spec["metrics"]
    assert metric["pods"]["metric"] == {"name": "triton_queue_seconds"}
    assert "replicas" not in of_kind(one, "Deployment")["spec"], "the autoscaler's, which an apply would set back"


def test_its_number_may_follow_the_use_of_gpus(cluster: Cluster) -> None:
    """Of whole ones, and of instances; where pods take turns the exporter names one of them."""
    ways: list[dict[str, Any]] = [{}, {"team": "assistant", "pool": "a100-slices"}]
    for asked in ways:
        (metric,) = of_kind(made(cluster, scale_on="gpu", **asked), "HorizontalPodAutoscaler")["spec"]["metrics"]
        target = {"type": "AverageValue", "averageValue": "700m"}
        assert metric == {"type": "Pods", "pods": {"metric": {"name": "gpu_engine_active"}, "target": target}}
    waiting = of_kind(made(cluster, scale_on="queue"), "HorizontalPodAutoscaler")
    assert waiting == of_kind(made(cluster), "HorizontalPodAutoscaler")
    assert "take turns on the GPUs of pool t4" in refused(cluster, scale_on="gpu", pool="t4")
    assert "4 replicas follow nothing" in refused(cluster, least=4, most=4, scale_on="gpu")


def test_a_fixed_number_needs_no_autoscaler(ml50: Cluster) -> None:
    one = made(ml50, 2, 2, models="pvc://repository/asr", team="serving", pool=None)
    assert of_kind(one, "Deployment")["spec"]["replicas"] == 2
    assert not [each for each in one.manifests if each["kind"] == "HorizontalPodAutoscaler"]
    assert SCRAPED.labels.keys().isdisjoint(of_kind(one, "Deployment")["spec"]["template"]["metadata"]["labels"])


@pytest.mark.parametrize(("most", "surge"), [(3, 1), (4, 0), (7, 0)])
def test_a_new_version_does_not_wait_for_a_quota_that_old_ones_or_owners_hold(
    cluster: Cluster, most: int, surge: int
) -> None:
    """Team search owns 4 GPUs there, and can have 8 while nobody else wants them."""
    rolling = of_kind(made(cluster, most=most), "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": surge, "maxUnavailable": 1 - surge}


def test_the_api_server_s_schemas_take_it(cluster: Cluster) -> None:
    for manifest in (*made(cluster).manifests, *made(cluster, models="pvc://repository").manifests):
        assert against_schemas(manifest, ()) == [], manifest["kind"]


# Where models are


def test_a_bucket_of_ceph_is_read_where_its_store_answers(cluster: Cluster) -> None:
    one = made(cluster)
    (repository,) = (each for each in container(one)["args"] if "repository" in each)
    assert repository == "--model-repository=s3://https://rook-ceph-rgw-store.rook-ceph.svc:8443/models/asr"
    assert environment(one)["AWS_ACCESS_KEY_ID"] == {"name": "keys", "key": "accessKey"}
    assert environment(one)["AWS_SECRET_ACCESS_KEY"] == {"name": "keys", "key": "secretKey"}
    assert any("--ca CONFIGMAP names the CA" in note for note in one.notes)


def test_the_ca_of_a_store_stands_where_the_image_reads_whom_to_trust(cluster: Cluster) -> None:
    """One file, so that the links beside it stay: by them Python and libcurl go on to trust public CAs."""
    one = made(cluster, ca="s3-ca")
    file = {"mountPath": "/etc/ssl/certs/ca-certificates.crt", "subPath": "ca.crt", "readOnly": True}
    assert {"name": "ca", **file} in container(one)["volumeMounts"]
    assert {"name": "ca", "configMap": {"name": "s3-ca"}} in pod(one)["volumes"]
    assert not [note for note in one.notes if "TLS" in note]


def test_the_team_s_own_user_of_minio_reads_its_bucket(ml50: Cluster) -> None:
    objects = ml50.storage.objects
    assert objects
    bucket = objects.buckets[0].name
    user = ObjectUser(name="serving-models", buckets=(bucket,), team="serving")
    others = ObjectUser(name="others", buckets=(bucket,), team="vision")
    storage = structs.replace(ml50.storage, objects=structs.replace(objects, users=(others, user)))
    asked: dict[str, Any] = {"models": f"s3://{bucket}", "credentials": None, "team": "serving", "pool": None}
    one = made(structs.replace(ml50, storage=storage), 1, 1, **asked)
    assert f"--model-repository=s3://https://minio.minio.svc:9000/{bucket}" in container(one)["args"]
    assert environment(one)["AWS_ACCESS_KEY_ID"]["name"] == "minio-user-serving-models"
    without = structs.replace(ml50, storage=structs.replace(ml50.storage, objects=objects))
    assert "gen knows no keys of team serving" in refused(without, least=1, most=1, **asked)


def test_the_team_s_own_bucket_in_ceph_is_opened_by_the_keys_that_rook_made(cluster: Cluster) -> None:
    bucket = TeamBucket(name="asr-models", store="store", size=Quantity.parse("1Ti"))
    teams = [structs.replace(one, buckets=(bucket,)) if one.name == "search" else one for one in cluster.teams]
    own = structs.replace(cluster, teams=tuple(teams))
    one = made(own, models="s3://asr-models/v1", credentials=None)
    where = "--model-repository=s3://https://rook-ceph-rgw-store.rook-ceph.svc:8443/asr-models/v1"
    assert where in container(one)["args"]
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert environment(one)[key] == {"name": "ceph-bucket-asr-models", "key": key}
    # Another team's bucket is none of those that one may load from.
    told = refused(own, team="assistant", models="s3://asr-models", credentials=None)
    assert "gpu-serving has no bucket asr-models" in told


@pytest.mark.parametrize("place", ["https://s3.example.org:443/models", "s3.example.org:9000/models/asr"])
def test_a_bucket_elsewhere_is_taken_as_it_is(cluster: Cluster, place: str) -> None:
    assert f"--model-repository=s3://{place}" in container(made(cluster, models=f"s3://{place}"))["args"]


def test_a_claim_is_mounted_and_not_written(cluster: Cluster) -> None:
    one = made(cluster, models="pvc://repository/asr", credentials=None)
    assert "--model-repository=/models/asr" in container(one)["args"]
    assert {"name": "models", "mountPath": "/models", "readOnly": True} in container(one)["volumeMounts"]
    claimed = {"claimName": "repository", "readOnly": True}
    assert {"name": "models", "persistentVolumeClaim": claimed} in pod(one)["volumes"]
    assert "AWS_ACCESS_KEY_ID" not in environment(one)
    assert any("ReadWriteMany" in note for note in one.notes)


# What is refused


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"ca": "s3-ca", "models": "pvc://models"}, "--ca s3-ca: a claim is not read over TLS"),
        ({"models": "pvc://the models/x"}, "--models: no object is named `the models`"),
        ({"models": "pvc://models/../x"}, "--models pvc://models/../x: say pvc://CLAIM/PATH"),
        ({"credentials": "A b"}, "--credentials: no object is named `A b`"),
        ({"ca": "s3-ca", "models": "s3://http://10.9.9.9:80/models"}, "models is not read over TLS; leave it out"),
        ({"most": 9}, "team search can never have 9 of nvidia.com/gpu on pool l4: 8 are all"),
        ({"most": 9}, "take 8 replicas at most"),
        ({"gpus": 4, "most": 3}, "take 2 replicas at most"),
        ({"gpus": 8, "most": 1}, "a replica is one pod"),
        ({"team": "speech", "pool": "l4"}, "team speech has no quota on pool l4"),
        ({"priority": "urgent"}, "team search may not use the priority class urgent"),
        ({"models": "s3://modles"}, "gpu-serving has no bucket modles; did you mean models?"),
        ({"models": "models"}, "models lie in s3://BUCKET/PATH"),
        ({"credentials": None}, "--credentials SECRET"),
    ],
)
def test_what_can_never_be_is_told(cluster: Cluster, asked: Any, told: str) -> None:
    assert told in refused(cluster, **asked)


def test_without_a_metric_a_range_is_refused(ml50: Cluster, cluster: Cluster) -> None:
    told = refused(ml50, team="serving", pool=None, models="pvc://x")
    assert "nothing on ml50 serves triton_queue_seconds" in told
    assert "there is no monitoring.prometheus" in told
    assert told.endswith("--replicas 4")
    told = refused(ml50, team="serving", pool=None, models="pvc://x", scale_on="gpu")
    assert "nothing on ml50 serves gpu_engine_active" in told
    theirs = structs.replace(cluster, components={"prometheus-adapter": ComponentSettings(managed=False)})
    assert of_kind(made(theirs), "HorizontalPodAutoscaler"), "what others set up may serve it"


def test_a_job_is_no_service_and_a_service_no_job(cluster: Cluster) -> None:
    asked: dict[str, Any] = {"name": "x", "team": "search", "pool": "l4", "gpus": 1, "image": "example.org/x:1"}
    with pytest.raises(UsageError, match="--models says where they lie"):
        workload(cluster, "triton", Wanted(**asked))
    serving = Serving(models=BUCKET, least=1, most=1)
    with pytest.raises(UsageError, match="pytorch is a job"):
        workload(cluster, "pytorch", Wanted(**asked, serving=serving))
