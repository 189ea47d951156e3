"""What the API server itself says to jobs of operators in a team's namespace, and to the runtimes of the cluster."""

import copy
from typing import TYPE_CHECKING, Any

import pytest
from documented import of_operators
from test_admission import ALICE, OTHER_TEAMS, QUEUE, TEAM, account, bind

from generator.components import JOBS
from generator.components.jobs import OPERATORS_OWN
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.components.training_runtimes import training_runtimes
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
LABELS = QUEUE | {"kueue.x-k8s.io/priority-class": "low"}
CRDS = (
    *("kueue/v0.18.3/crds", "volcano/v1.14.1/crds", "cilium/1.20.0/crds", "jobset/v0.12.0/crds"),
    *("kubeflow-trainer/v2.2.1/crds", "mpi-operator/v0.8.2/crds", "kuberay/v1.7.0/crds"),
)
GANG = "scheduling.volcano.sh/group-min-member"
TRAINER = account("kubeflow-system", "kubeflow-trainer-controller-manager")


@pytest.fixture(scope="module")
def team(api: "ApiServer", ml50: Cluster) -> "ApiServer":
    """The team's namespace as `gen` makes it."""
    component = tenants(ml50, JOBS)
    from apiserver import SHARED

    api.install(*CRDS)
    # Without all that lies beside them: another MPIJob.
    of_kubeflow = SHARED / "kubeflow-training-operator/v1.9.4/crds"
    api.define(*(of_kubeflow / f"kubeflow.org_{name}.yaml" for name in ("tfjobs", "pytorchjobs")))
    for namespace in component.namespaces:
        security = {"pod-security.kubernetes.io/enforce": namespace.security or "privileged"}
        api.namespace(namespace.name, namespace.labels | security)
    for manifest in (*queues(ml50).objects, *component.base, *component.objects):
        api.apply(manifest)
    api.apply(bind("controllers", "cluster-admin", "system:serviceaccounts"))
    api.apply(bind("other-account", "cluster-admin", "system:serviceaccounts:language", TEAM))
    late = mpi_job({"launcherCreationPolicy": "WaitForWorkersReady"})
    wrong = (
        job_set(gang=None),
        train_job({}),
        ray_job({}),
        late,
        tf_job({}),
        pytorch_job({"runPolicy": {}}),
        ray_cluster(workers(1, 60, 60)),
    )
    api.wait("the rules hold", lambda: all(api.create(one, by=ALICE)[0] == 422 for one in wrong))
    return api


def template(gpus: int = 8) -> Object:
    limits = {"cpu": "8", "memory": "32Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    container = {"name": "main", "image": "registry.example.org/train:1", "resources": {"limits": limits}}
    return {"spec": {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [container]}}


def made(api_version: str, kind: str, spec: Object) -> Object:
    metadata = {"name": "one", "namespace": TEAM, "labels": LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def job_set(  # noqa: PLR0913 - what differs between them
    pods: int = 4,
    *,
    gang: str | None = "4",
    replicas: int = 1,
    needed: int = 0,
    pod: Object | None = None,
    more: Object | None = None,
) -> Object:
    annotations = {"annotations": {GANG: gang}} if gang else {}
    spec = {"parallelism": pods, "completions": needed or pods, "template": pod or template()}
    first = {"name": "workers", "replicas": replicas, "template": {"metadata": annotations, "spec": spec}}
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [first, *([more] if more else [])]})


def beside(gpus: int) -> Object:
    return {"name": "driver", "replicas": 1, "template": {"spec": {"template": template(gpus)}}}


def train_job(trainer: Object, kind: str = "ClusterTrainingRuntime") -> Object:
    ref = {"name": "torch-gpu-training", "kind": kind}
    return made("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": ref, "trainer": {"numNodes": 2, **trainer}})


HTTP = {"submissionMode": "HTTPMode"}
HEAD: Object = {"rayStartParams": {}}


def workers(replicas: int, least: int, most: int) -> Object:
    group = {"groupName": "w", "rayStartParams": {}, "template": template()}
    counts = {"replicas": replicas, "minReplicas": least, "maxReplicas": most}
    return {"workerGroupSpecs": [group | counts]}


def ray(**more: Any) -> Object:
    return {"headGroupSpec": {**HEAD, "template": template(0)}, **more}


def ray_job(spec: Object, **cluster: Any) -> Object:
    said = {"entrypoint": "true", "shutdownAfterJobFinishes": True, "rayClusterSpec": ray(**cluster)}
    return made("ray.io/v1", "RayJob", said | spec)


def ray_cluster(cluster: Object) -> Object:
    return made("ray.io/v1", "RayCluster", ray(**cluster))


def ray_service(spec: Object) -> Object:
    said = {"rayClusterConfig": ray(**workers(1, 1, 1)), "upgradeStrategy": {"type": "None"}}
    return made("ray.io/v1", "RayService", said | spec)


CLEAN = {"cleanPodPolicy": "Running"}


def mpi_job(spec: Object) -> Object:
    replicas = {
        "Launcher": {"replicas": 1, "template": template(0)},
        "Worker": {"replicas": 2, "template": template()},
    }
    return made("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas, "runPolicy": CLEAN, **spec})


def tf_job(policy: Object, **metadata: Any) -> Object:
    pods = template()
    pods["spec"]["containers"][0]["name"] = "tensorflow"
    replicas = {"Worker": {"replicas": 2, "template": pods | metadata}}
    return made("kubeflow.org/v1", "TFJob", {"tfReplicaSpecs": replicas, "runPolicy": policy})


def pytorch_job(spec: Object) -> Object:
    pods = template()
    pods["spec"]["containers"][0]["name"] = "pytorch"
    replicas = {"Master": {"replicas": 1, "template": pods}}
    return made("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": replicas, "runPolicy": CLEAN, **spec})


def marked(pod: Object, **metadata: Any) -> Object:
    return {**pod, "metadata": metadata}


IMAGE = {"image": "registry.example.org/train:1"}
DEMANDING = {one.kind: one for kinds in JOBS for one in kinds}
MINIMUM = {"runPolicy": CLEAN | {"schedulingPolicy": {"minAvailable": 1}}}
URGENT = {"runPolicy": CLEAN | {"schedulingPolicy": {"priorityClass": "system-node-critical"}}}
ANOTHER = {"scheduling.k8s.io/group-name": "another"}
LET_IN = {"kueue.x-k8s.io/podset": "w"}


@pytest.mark.parametrize(
    ("manifest", "by"),
    [
        pytest.param(job_set(), ALICE, id="a JobSet that is a gang"),
        pytest.param(job_set(1, gang=None), ALICE, id="a JobSet of one pod"),
        pytest.param(job_set(gang="2", needed=2), ALICE, id="a JobSet that needs fewer pods than may run"),
        pytest.param(job_set(more=beside(0)), ALICE, id="a gang and a driver without GPUs"),
        pytest.param(job_set(gang=None), TRAINER, id="a JobSet that Trainer makes, whose gang it makes as well"),
        pytest.param(train_job(IMAGE), ALICE, id="a TrainJob"),
        pytest.param(train_job({}, "TrainingRuntime"), ALICE, id="a TrainJob of a runtime that has an image"),
        pytest.param(ray_job(HTTP, **workers(3, 3, 3)), ALICE, id="a RayJob that the operator submits"),
        pytest.param(
            ray_job(HTTP | {"ttlSecondsAfterFinished": 60}), ALICE, id="a RayJob that is looked at for a minute"
        ),
        pytest.param(ray_cluster(workers(3, 3, 3)), ALICE, id="a RayCluster"),
        pytest.param(ray_service({}), ALICE, id="a RayService"),
        pytest.param(tf_job(CLEAN), ALICE, id="a TFJob"),
        pytest.param(ray_job({"submitterPodTemplate": template(0)}), ALICE, id="a RayJob whose submitter is described"),
        pytest.param(mpi_job({}), ALICE, id="an MPIJob"),
        pytest.param(pytorch_job({}), ALICE, id="a PyTorchJob"),
    ],
)
def test_a_right_job_is_taken(team: "ApiServer", manifest: Object, by: "Identity") -> None:
    assert team.create(manifest, by=by) == (201, "")
    assert by != ALICE or [*DEMANDING[manifest["kind"]].broken(manifest)] == []


@pytest.mark.parametrize("kind", of_operators())
def test_what_teams_are_told_to_write_is_taken(team: "ApiServer", kind: str) -> None:
    manifest = of_operators()[kind]
    manifest["metadata"]["namespace"] = TEAM
    assert team.create(manifest, by=ALICE) == (201, "")


NO_GANG, TWO_JOBS = "without it a part of them starts", "the pods of two Jobs do not start together"
NO_SUBMITTER, WAITS = "give spec.submitterPodTemplate", "leave launcherCreationPolicy out"


@pytest.mark.parametrize(
    ("manifest", "by", "told"),
    [
        pytest.param(job_set(gang=None), ALICE, NO_GANG, id="a JobSet that is no gang"),
        pytest.param(job_set(gang="2"), ALICE, NO_GANG, id="a gang of a part"),
        pytest.param(job_set(needed=2), ALICE, NO_GANG, id="a gang of more pods than there will be"),
        pytest.param(
            job_set(pod=marked(template(), annotations=ANOTHER)),
            ALICE,
            "Kueue and Volcano write them",
            id="another gang",
        ),
        pytest.param(
            job_set(pod=marked(template(), annotations={"kueue.x-k8s.io/workload": "x"})),
            ALICE,
            "name a PodGroup or a Workload",
            id="another job",
        ),
        pytest.param(job_set(replicas=2), ALICE, TWO_JOBS, id="two Jobs, each a gang of its own"),
        pytest.param(job_set(more=beside(8)), ALICE, TWO_JOBS, id="a second role with GPUs"),
        pytest.param(job_set(gang=None), OTHER_TEAMS, NO_GANG, id="another team's account"),
        pytest.param(train_job({}), ALICE, "name an image", id="a TrainJob without an image"),
        pytest.param(ray_job({}), ALICE, NO_SUBMITTER, id="a RayJob that leaves its submitter to KubeRay"),
        pytest.param(ray_job({"submissionMode": "SidecarMode"}), ALICE, NO_SUBMITTER, id="a submitter in the head"),
        pytest.param(
            ray_job({"submitterPodTemplate": {"spec": {"containers": [{"name": "a", "image": "b:1"}]}}}),
            ALICE,
            NO_SUBMITTER,
            id="a submitter without resources",
        ),
        pytest.param(ray_job(HTTP, **workers(1, 60, 60)), ALICE, "one number as replicas", id="more than is counted"),
        pytest.param(ray_cluster(workers(1, 1, 60)), ALICE, "one number as replicas", id="a cluster that grows"),
        pytest.param(
            ray_cluster({"enableInTreeAutoscaling": True}),
            ALICE,
            "one number as replicas",
            id="an autoscaler of its own",
        ),
        pytest.param(
            ray_job(HTTP | {"clusterSelector": {"ray.io/cluster": "other"}}),
            ALICE,
            "leave clusterSelector out",
            id="a RayJob that Kueue passes over",
        ),
        pytest.param(
            ray_job(HTTP | {"ttlSecondsAfterFinished": 2000000000}),
            ALICE,
            "would run on",
            id="a cluster that outlives its job",
        ),
        pytest.param(
            ray_cluster({"headGroupSpec": {**HEAD, "enableIngress": True, "template": template(0)}}),
            ALICE,
            "leave enableIngress out",
            id="an Ingress",
        ),
        pytest.param(
            ray_cluster({"networkPolicy": {"head": {"egressRules": [{}]}}}),
            ALICE,
            "leave networkPolicy out",
            id="policies of Ray's",
        ),
        pytest.param(
            ray_cluster({"headGroupSpec": {**HEAD, "template": marked(template(0), labels=LET_IN)}}),
            ALICE,
            "Kueue and Volcano write them",
            id="a Ray head that counts as let in",
        ),
        pytest.param(
            ray_service({"upgradeStrategy": {"type": "NewCluster"}}),
            ALICE,
            "a second cluster",
            id="two clusters",
        ),
        pytest.param(tf_job({}), ALICE, "say runPolicy.cleanPodPolicy", id="a TFJob whose pods outlive it"),
        pytest.param(
            tf_job(CLEAN, metadata={"annotations": ANOTHER}), ALICE, "Kueue and Volcano write them", id="another's gang"
        ),
        pytest.param(
            pytorch_job({"runPolicy": {}}),
            ALICE,
            "say runPolicy.cleanPodPolicy",
            id="a PyTorchJob whose pods outlive it",
        ),
        pytest.param(
            pytorch_job({"elasticPolicy": {"maxReplicas": 60}}), ALICE, "leave elasticPolicy out", id="one that grows"
        ),
        pytest.param(mpi_job({"runPolicy": {}}), ALICE, "say runPolicy.cleanPodPolicy", id="workers that outlive it"),
        pytest.param(mpi_job(URGENT), ALICE, "with the priority of its queue", id="a priority of Volcano's own"),
        pytest.param(mpi_job({"launcherCreationPolicy": "WaitForWorkersReady"}), ALICE, WAITS, id="a late launcher"),
        pytest.param(mpi_job(MINIMUM), ALICE, "all pods of a job start together", id="a part of an MPIJob"),
    ],
)
def test_a_wrong_job_is_refused_with_what_to_do(team: "ApiServer", manifest: Object, by: "Identity", told: str) -> None:
    status, message = team.create(manifest, by=by)
    assert status == 422
    assert told in message
    # `gen check` says the same without a server; what templates say it tells of pods.
    without_a_server = [OPERATORS_OWN, *(text for _, text in DEMANDING[manifest["kind"]].broken(manifest))]
    assert by != ALICE or any(told in text for text in without_a_server)


def test_runtimes_are_stored_as_they_stand_in_git(team: "ApiServer", ml50: Cluster) -> None:
    """What the API server filled in would differ from Git for ever."""
    for manifest in training_runtimes(ml50).objects:
        team.apply(manifest)
        _, stored = team.request("GET", team.path(manifest, named=True))
        assert stored["spec"] == manifest["spec"]


def test_members_see_runtimes_and_write_none(team: "ApiServer", ml50: Cluster) -> None:
    manifest = training_runtimes(ml50).objects[0]
    path = team.path(manifest)
    assert team.request("GET", path, by=ALICE)[0] == 200
    assert team.create({**manifest, "metadata": {"name": "mine"}}, by=ALICE)[0] == 403


def stored(team: "ApiServer", manifest: Object, **metadata: Any) -> Object:
    """Have an object as it is while it runs, and return it as the API server has it."""
    team.apply({**manifest, "metadata": manifest["metadata"] | metadata})
    status, found = team.request("GET", team.path(manifest | {"metadata": manifest["metadata"] | metadata}, named=True))
    assert status == 200
    return dict(found)


def put(team: "ApiServer", manifest: Object) -> tuple[int, str]:
    return team.update(manifest, by=ALICE)


RUNNING = [
    pytest.param(ray_cluster(workers(1, 1, 1)), ("workerGroupSpecs", 0), workers(9, 9, 9), id="RayCluster"),
    pytest.param(
        ray_job(HTTP, **workers(1, 1, 1)), ("rayClusterSpec", "workerGroupSpecs", 0), workers(9, 9, 9), id="RayJob"
    ),
    pytest.param(ray_service({}), ("rayClusterConfig", "workerGroupSpecs", 0), workers(9, 9, 9), id="RayService"),
    pytest.param(mpi_job({}), ("mpiReplicaSpecs", "Worker"), {"replicas": 60}, id="MPIJob"),
    pytest.param(tf_job(CLEAN), ("tfReplicaSpecs", "Worker"), {"replicas": 60}, id="TFJob"),
]
"""Of a TrainJob and a JobSet their own definitions let nobody change what counts."""


@pytest.mark.parametrize(("manifest", "at", "change"), RUNNING)
def test_what_was_let_in_stays_as_it_was_and_what_waits_may_change(
    team: "ApiServer", manifest: Object, at: tuple[str | int, ...], change: Object
) -> None:
    def changed(one: Object) -> Object:
        made = copy.deepcopy(one)
        place = made["spec"]
        for step in at:
            place = place[step]
        place |= change.get("workerGroupSpecs", [change])[0]
        return made

    running = stored(team, manifest, name=f"runs-{manifest['kind'].lower()}")
    status, message = put(team, changed(running))
    assert (status, "quotas count it so" in message) == (422, True), message
    waiting = copy.deepcopy(manifest)
    (waiting["spec"]["runPolicy"] if "runPolicy" in waiting["spec"] else waiting["spec"])["suspend"] = True
    held = stored(team, waiting, name=f"waits-{manifest['kind'].lower()}")
    assert put(team, changed(held)) == (200, "")


def test_what_a_service_serves_may_change_as_it_runs(team: "ApiServer") -> None:
    running = stored(team, ray_service({"serveConfigV2": "a"}), name="serves")
    running["spec"]["serveConfigV2"] = "b"
    assert put(team, running) == (200, "")


@pytest.mark.parametrize(
    ("part", "owner"),
    [
        pytest.param(ray_cluster(workers(1, 1, 1)), "RayJob", id="a RayJob's cluster"),
        pytest.param(
            made("batch/v1", "Job", {"parallelism": 1, "suspend": True, "template": template(0)}),
            "MPIJob",
            id="a launcher",
        ),
    ],
)
def test_a_part_of_a_job_is_its_operators(team: "ApiServer", part: Object, owner: str) -> None:
    reference = {"apiVersion": "x/v1", "kind": owner, "name": "whole", "uid": "1", "controller": True}
    child = stored(team, part, name=f"part-of-{owner.lower()}", ownerReferences=[reference])
    child["spec"]["suspend"] = not child["spec"].get("suspend", False)
    status, message = put(team, child)
    # What its own kind demands is said as well, and the server tells one of both.
    told = ("change the job that it is a part of", "it was let in as it is")
    assert (status, any(one in message for one in told)) == (422, True), message
