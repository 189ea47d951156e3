"""The API server, with the rules of teams, takes what `gen workload new` writes."""

import re
import subprocess
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from reference import ROOT, load

from generator.components import JOBS
from generator.components.component import Tier
from generator.components.definition import Definition
from generator.components.jobs import JobKind
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.layout.emit import emit
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.workloads import KINDS, workload
from generator.workloads.ingest import Ingest, ingest
from generator.workloads.server import Server
from generator.workloads.server import server as serve
from generator.workloads.wanted import Serving, Wanted
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
JOB_CONTROLLER = ("system:serviceaccount:kube-system:job-controller", ("system:authenticated",))
STRICT = "workload-restricted"
ASKED = [
    ("vision", 16), ("vision", 2), ("serving", 24), ("mlperf", 2), ("mlperf", 1), ("speech", 16), ("robotics", 2)
]  # fmt: skip

OPERATORS = [
    Definition(name=name, tier=Tier.SCHEDULING, jobs=(JobKind(group="", kind=name, framework=name),))
    for name in ("RayJob", "MPIJob")
]

each = pytest.mark.parametrize(("team", "gpus"), ASKED)
# What has steps is tried with the controller that makes pods of them: test_twin_pipelines.py.
each_kind = pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if not (one.serves or one.stepwise)])


@pytest.fixture(scope="module")
def server(api: "ApiServer", ml50: Cluster, a30: Cluster) -> "ApiServer":
    """The namespaces of both clusters' teams, with what gen puts there, and one that Pod Security restricts."""
    api.install("kueue/v0.18.3/crds", "volcano/v1.14.1/crds", "cilium/1.20.0/crds")
    api.install("kuberay/v1.7.0/crds", "mpi-operator/v0.8.2/crds")
    api.define(ROOT.parent / "shared/upstream/rook/v1.20.6/crds/objectbucket.io_objectbucketclaims.yaml")
    for cluster in (ml50, a30, load("gpu-serving")):
        component = tenants(cluster, JOBS)
        for space in component.namespaces:
            api.namespace(space.name, space.labels | {"pod-security.kubernetes.io/enforce": space.security or ""})
        for manifest in (*queues(cluster).objects, *component.base, *component.objects):
            api.apply(manifest)
    api.namespace(STRICT, {"pod-security.kubernetes.io/enforce": "restricted"})
    unqueued = job(ml50, "vision", 8, "jax")
    del unqueued["metadata"]["labels"]
    api.wait("the rules hold", lambda: api.create(unqueued, by=member("vision"))[0] == 422)
    return api


def member(team: str) -> "Identity":
    return f"oidc:{team}-member", (f"oidc:{team}", "system:authenticated")


def manifests(cluster: Cluster, team: str, gpus: int, kind: str) -> list[Object]:
    wanted = Wanted(name="bert", team=team, gpus=gpus, image="example.org/train:1")
    made = workload(cluster, kind, wanted, OPERATORS)
    return deepcopy(made.manifests)


def job(cluster: Cluster, team: str, gpus: int, kind: str) -> Object:
    return manifests(cluster, team, gpus, kind)[-1]


@pytest.fixture
def cluster(team: str, ml50: Cluster, a30: Cluster) -> Cluster:
    whole = (one for one in (ml50, a30, load("gpu-serving")) if team in {each.name for each in one.teams})
    return next(whole)


@each
@each_kind
def test_a_member_may_create_all_of_it(server: "ApiServer", cluster: Cluster, team: str, gpus: int, kind: str) -> None:
    for manifest in manifests(cluster, team, gpus, kind):
        assert server.create(manifest, by=member(team)) == (201, ""), manifest["kind"]


def test_what_gen_says_runs_a_job_again_and_keeps_its_checkpoints(server: "ApiServer", ml50: Cluster) -> None:
    """By the two commands of its note, as a member types them; `kubectl create` a second time says what is there."""
    wanted = Wanted(name="again", team="vision", gpus=16, image="example.org/train:1")
    made = workload(ml50, "pytorch", wanted)
    user, (group, *_) = member("vision")
    asks = ["--server", server.url, "--certificate-authority", str(server.certificate), "--token", server.token]
    asks += ["--as", user, "--as-group", group, "--as-group", "system:authenticated"]

    def kubectl(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [program("kubectl"), *asks, "--namespace", "vision", *words]
        given = "---\n".join(map(emit, made.manifests))
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=120)

    claim = f"{server.path(made.manifests[2])}/again-checkpoints"
    try:
        assert kubectl("create", "--filename", "-").returncode == 0
        first = server.request("GET", claim)[1]["metadata"]["uid"]
        second = kubectl("create", "--filename", "-")
        assert (second.returncode, second.stderr.count("already exists")) == (1, 4)
        (note,) = (one for one in made.notes if one.startswith("to run it again"))
        delete = re.search(r"kubectl (delete job again --ignore-not-found), then kubectl apply", note)
        assert delete
        assert kubectl(*delete[1].split()).stdout.startswith('job.batch "again" deleted')
        applied = kubectl("apply", "--filename", "-")
        assert (applied.returncode, "job.batch/again created" in applied.stdout) == (0, True), applied.stderr
        assert server.request("GET", claim)[1]["metadata"]["uid"] == first
    finally:
        for manifest in made.manifests:
            server.request("DELETE", server.path(manifest, named=True) + "?propagationPolicy=Background")


@pytest.mark.parametrize("source", ["s3://speech-recordings/2026", "pvc://old/scans"])
def test_a_member_may_bring_data(server: "ApiServer", source: str) -> None:
    wanted = Ingest(
        name="bring",
        team="speech",
        source=source,
        target="pvc://dataset-voices",
        scratch=Quantity.parse("10Gi"),
        ca="ca",
    )
    for manifest in ingest(load("gpu-serving"), wanted):
        assert server.create(manifest, by=member("speech")) == (201, ""), manifest["kind"]
        for spec in pods(manifest):
            alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": STRICT}, "spec": spec}
            assert server.create(alone) == (201, "")


def pods(manifest: Object) -> list[Object]:
    """Return the spec of each pod that comes of a job, as it says it."""
    if "containers" in manifest:
        return [manifest]
    below = [each for each in manifest.values() if isinstance(each, dict)]
    below += [each for some in manifest.values() if isinstance(some, list) for each in some if isinstance(each, dict)]
    return [found for each in below for found in pods(each)]


@each
@each_kind
def test_its_pods_are_taken_once_kueue_has_let_them_in(
    server: "ApiServer", cluster: Cluster, team: str, gpus: int, kind: str
) -> None:
    server.apply(bind_job_controller())
    found = pods(job(cluster, team, gpus, kind))
    assert found
    for spec in found:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bert-0", "namespace": team, "labels": {"kueue.x-k8s.io/podset": "main"}},
            "spec": spec | {"restartPolicy": "Never"},
        }
        assert server.create(pod, by=JOB_CONTROLLER) == (201, "")
        pod["metadata"] = {"name": "bert-0", "namespace": STRICT}
        assert server.create(pod) == (201, ""), "Pod Security restricts, and takes it as well"


SERVED = [
    ("serving", {"models": "pvc://repository/asr", "least": 3, "most": 3}),
    ("assistant", {"models": "s3://models/asr", "least": 1, "most": 8, "credentials": "keys"}),
]


@pytest.mark.parametrize(("serves", "asked"), SERVED)
def test_a_service_and_its_replicas_are_taken(server: "ApiServer", serves: str, asked: Any, ml50: Cluster) -> None:
    whole = ml50 if serves == "serving" else load("gpu-serving")
    wanted = Wanted(name="asr", team=serves, gpus=1, image="example.org/triton:26.07", serving=Serving(**asked))
    made = workload(whole, "triton", wanted).manifests
    assert [one["kind"] for one in made][:3] == ["Service", "PodDisruptionBudget", "Deployment"]
    for manifest in made:
        assert server.create(manifest, by=member(serves)) == (201, ""), manifest["kind"]
    server.apply(bind_job_controller())
    labels = {"kueue.x-k8s.io/queue-name": "default", "kueue.x-k8s.io/podset": "main"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asr-0", "namespace": serves, "labels": labels}}
    assert server.create(pod | {"spec": made[2]["spec"]["template"]["spec"]}, by=JOB_CONTROLLER) == (201, "")


def test_a_service_on_cpus_and_its_replicas_are_taken(server: "ApiServer") -> None:
    asked = Server(name="tagger", team="search", image="example.org/t:1", port=8080, least=1, most=4)
    made, _ = serve(load("gpu-serving"), asked)
    assert [one["kind"] for one in made][2:] == ["Deployment", "HorizontalPodAutoscaler"]
    for manifest in made:
        assert server.create(manifest, by=member("search")) == (201, ""), manifest["kind"]
    alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tagger", "namespace": STRICT}}
    assert server.create(alone | {"spec": made[2]["spec"]["template"]["spec"]}) == (201, "")


def bind_job_controller() -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "test-workload-job-controller"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": JOB_CONTROLLER[0]}],
    }


def test_without_its_gang_or_queue_it_would_be_refused(server: "ApiServer", ml50: Cluster) -> None:
    """The rules are there that it keeps to."""
    for where, told in (("annotations", "group-min-member"), ("labels", "queue-name")):
        wrong = job(ml50, "vision", 16, "jax")
        del wrong["metadata"][where]
        status, said = server.create(wrong, by=member("vision"))
        assert (status, told in said) == (422, True), said
