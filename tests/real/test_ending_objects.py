"""What members of a team may say of objects that end, and how long what ends may take: on the real API server."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from generator.components import JOBS as JOB_KINDS
from generator.components.common import OIDC_PREFIX, TRACKING
from generator.components.tenants import tenants
from generator.components.tenants.pods import GRACE
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

    from generator.model.teams import Team

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
TEAM = "endings"
ALICE: "Identity" = ("oidc:alice", (OIDC_PREFIX + TEAM, "system:authenticated"))
ADMIN: "Identity" = ("bob", ("platform", "system:authenticated"))
KUEUE: "Identity" = ("system:serviceaccount:kueue-system:kueue-controller-manager", ("system:authenticated",))
JOB_CONTROLLER: "Identity" = ("system:serviceaccount:kube-system:job-controller", ("system:authenticated",))
KEPT = ["example.org/kept"]
QUEUE = {"kueue.x-k8s.io/queue-name": "default"}
CLASS = {**QUEUE, "kueue.x-k8s.io/priority-class": "normal"}


@pytest.fixture(scope="module")
def team(api: "ApiServer", ml50: Cluster) -> Iterator["ApiServer"]:
    """A team's namespace with its rights and rules, and a job from before these."""
    component = tenants(with_team(ml50), JOB_KINDS)
    api.install("jobset/v0.12.0/crds", "kubeflow-trainer/v2.2.1/crds", "argo-workflows/v4.0.2/crds")
    (space,) = component.namespaces
    api.namespace(space.name)
    api.apply(job("older", labels={}) | {"metadata": {"name": "older", "namespace": TEAM, "finalizers": KEPT}})
    on_a_node(api, older_pod(), "older")
    api.namespace(space.name, {**space.labels, "pod-security.kubernetes.io/enforce": "baseline"})
    rights = [one for one in component.objects if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
    for manifest in (*component.base, *rights):
        api.apply(manifest)
    for name, subject in (("admins", ADMIN[1][0]), ("kueue", KUEUE[0])):
        api.apply(cluster_admin(name, subject))
    wrong = (job("one", labels={}), pod(terminationGracePeriodSeconds=10**6), service(externalIPs=["192.0.2.1"]))
    api.wait("the rules hold", lambda: all(api.create(one, by=ALICE)[0] == 422 for one in wrong))
    yield api
    for name in ("admins", "kueue"):
        api.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/endings-{name}")


def with_team(cluster: Cluster) -> Cluster:
    (vision,) = (one for one in cluster.teams if one.name == "vision")
    members = tuple(structs.replace(one, group=TEAM) for one in vision.members[:1])
    only: Team = structs.replace(vision, name=TEAM, members=members, buckets=())
    return structs.replace(cluster, teams=(only,))


def cluster_admin(name: str, subject: str) -> Object:
    group = "rbac.authorization.k8s.io"
    kind = "User" if subject.startswith("system:") else "Group"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"endings-{name}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": kind, "name": subject}],
    }


def made(version: str, kind: str, spec: Object, name: str = "one", **metadata: Any) -> Object:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": TEAM, **metadata},
        "spec": spec,
    }


def template(**spec: Any) -> Object:
    asked = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    main = {"name": "main", "image": "example.org/train:1", "resources": asked}
    return {"containers": [main], "restartPolicy": "Never", **spec}


def pod(**spec: Any) -> Object:
    return made("v1", "Pod", template(**spec))


def job(name: str = "one", labels: Object | None = None, **spec: Any) -> Object:
    told = QUEUE if labels is None else labels
    return made("batch/v1", "Job", {"suspend": True, "template": {"spec": template(**spec)}}, name, labels=told)


def service(**spec: Any) -> Object:
    return made("v1", "Service", {"ports": [{"port": 443}], **spec})


def budget(**spec: Any) -> Object:
    selected = {"selector": {"matchLabels": {"app": "one"}}, "unhealthyPodEvictionPolicy": "AlwaysAllow", **spec}
    return made("policy/v1", "PodDisruptionBudget", selected)


def workflow_template(**spec: Any) -> Object:
    steps = [{"name": "main", "container": {"image": "example.org/train:1"}}]
    told = {"podMetadata": {"labels": QUEUE}, "serviceAccountName": "pipeline", "templates": steps, **spec}
    return made("argoproj.io/v1alpha1", "WorkflowTemplate", told)


def workflow(**status: Any) -> Object:
    found = made("argoproj.io/v1alpha1", "Workflow", {"workflowTemplateRef": {"name": "one"}})
    return {**found, "status": status} if status else found


BACKUPS = {"mutexes": [{"name": "backup", "namespace": "argo"}]}
HELD: Object = {"mutex": {"holding": [{"mutex": "argo/Mutex/backup", "holder": "one"}]}}
SAID: dict[str, tuple[Object, Object, str]] = {
    "addresses": (service(), service(externalIPs=["10.96.0.10"]), "leave externalIPs out"),
    "a budget": (budget(maxUnavailable=1), budget(maxUnavailable=0), "say spec.maxUnavailable"),
    "locks": (workflow_template(), workflow_template(synchronization=BACKUPS), "leave the namespace of locks out"),
    "a status": (workflow(), workflow(synchronization=HELD), "leave the status to the controller"),
}


@pytest.mark.parametrize(("first", "then", "told"), SAID.values(), ids=SAID)
def test_what_ends_says_nothing_else(team: "ApiServer", first: Object, then: Object, told: str) -> None:
    """With a finalizer its maker keeps it as long as he likes, and whoever goes by it does so until it is gone."""
    by = ALICE if not first["apiVersion"].startswith("argoproj") else ADMIN
    kept = {**first, "metadata": {**first["metadata"], "finalizers": KEPT}}
    assert team.create(kept, by=by, dry=False) == (201, "")
    path = team.path(first, named=True)
    assert team.request("DELETE", path, by=by)[0] == 200
    ending = team.request("GET", path)[1]
    assert ending["metadata"]["deletionTimestamp"]
    status, message = team.update({**ending, **merged(ending, then)}, by=by)
    assert (status, told in message) == (422, True), message
    assert end(team, path, by) == 200


def merged(stored: Object, said: Object) -> Object:
    """Return what an object says, into what the API server has stored."""
    return {part: {**stored.get(part, {}), **said[part]} for part in ("spec", "status") if part in said}


def end(team: "ApiServer", path: str, by: "Identity") -> int:
    """Take the finalizers off."""
    body = {"metadata": {"finalizers": None}}
    status: int = team.request("PATCH", path, body, by=by, patch="merge-patch+json")[0]
    return status


def test_what_is_from_before_the_rules_can_end(team: "ApiServer") -> None:
    path = team.path(job("older"), named=True)
    assert team.request("DELETE", f"{path}?propagationPolicy=Background", by=ALICE)[0] == 200
    assert end(team, path, ALICE) == 200
    assert team.request("GET", path)[0] == 404


def test_nobody_keeps_a_job_that_is_deleted(team: "ApiServer") -> None:
    """Kueue stops such a job no more: what it borrowed would stay with it."""
    told = "leave finalizers to controllers"
    kept = job("kept")
    kept["metadata"]["finalizers"] = KEPT
    status, message = team.create(kept, by=ALICE)
    assert (status, told in message) == (422, True), message
    assert team.create(kept, by=KUEUE) == (201, "")
    team.apply(job("kept"))
    stored = team.request("GET", team.path(kept, named=True))[1]
    status, message = team.update({**stored, "metadata": {**stored["metadata"], "finalizers": KEPT}}, by=ALICE)
    assert (status, told in message) == (422, True), message
    assert team.update(stored, by=ALICE) == (200, "")


@pytest.mark.parametrize("make", [pod, job])
def test_pods_end_in_a_time_that_others_can_wait_for(team: "ApiServer", make: Callable[..., Object]) -> None:
    assert team.create(make(terminationGracePeriodSeconds=GRACE), by=ALICE) == (201, "")
    status, message = team.create(make(terminationGracePeriodSeconds=GRACE + 1), by=ALICE)
    assert (status, f"say terminationGracePeriodSeconds: {GRACE} or less" in message) == (422, True), message


def test_nobody_gives_a_pod_longer_who_deletes_it(team: "ApiServer") -> None:
    """A job has another pod at once: with each such deletion it would have one more."""
    path = on_a_node(team, pod(), "running")
    many = f"{path.rpartition('/')[0]}?fieldSelector=metadata.name=running&"
    for way in (f"{path}?", many):
        status, answer = team.request("DELETE", f"{way}gracePeriodSeconds={GRACE + 1}", by=ALICE)
        assert (status, "to end" in answer.get("message", "")) == (422, True), answer
    for seconds in ("", "gracePeriodSeconds=0", f"gracePeriodSeconds={GRACE}"):
        assert team.request("DELETE", f"{path}?dryRun=All&{seconds}", by=ALICE)[0] == 200


def test_a_pod_from_before_the_rules_ends_in_its_own_time(team: "ApiServer") -> None:
    path = team.path(older_pod(), named=True)
    assert team.request("DELETE", f"{path}?dryRun=All", by=ALICE)[0] == 200
    assert team.request("DELETE", f"{path}?dryRun=All", by=JOB_CONTROLLER)[0] == 200
    assert team.request("DELETE", f"{path}?dryRun=All&gracePeriodSeconds={8 * GRACE}", by=ALICE)[0] == 422


def older_pod() -> Object:
    return pod(terminationGracePeriodSeconds=4 * GRACE) | {"metadata": {"name": "older", "namespace": TEAM}}


def on_a_node(team: "ApiServer", made: Object, name: str) -> str:
    """Store a pod that runs at once, and return its path: one that waits for a node ends at once."""
    made["metadata"] = {"name": name, "namespace": TEAM}
    team.apply(made)
    path = team.path(made, named=True)
    bound = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "x"}}
    assert team.request("POST", f"{path}/binding", bound)[0] == 201
    return path


def test_nobody_calls_his_own_an_object_of_argo_cds(team: "ApiServer") -> None:
    """With `Prune=confirm` on it no sync of the Application would go on."""
    mine: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": TEAM}}
    named = {TRACKING: f"tenants:/ConfigMap:{TEAM}/one"}
    tracked = {**mine, "metadata": {**mine["metadata"], "annotations": named}}
    status, message = team.create(tracked, by=ALICE)
    assert (status, f"leave the annotation {TRACKING} to Argo CD" in message) == (422, True), message
    team.apply(mine)
    assert team.update(tracked, by=ALICE)[0] == 422
    team.apply(tracked)
    stored = team.request("GET", team.path(mine, named=True))[1]
    assert team.update({**stored, "data": {"mine": "1"}}, by=ALICE) == (200, "")
    assert team.update(tracked, by=KUEUE) == (200, "")


def train_job(manager: str, **metadata: Any) -> Object:
    pods = {"metadata": metadata, "spec": {"nodeSelector": {"x": "y"}}}
    patched = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": pods}}}]}
    return made(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {
            "suspend": True,
            "runtimeRef": {"name": "torch-gpu-training"},
            "trainer": {"image": "example.org/train:1"},
            "runtimePatches": [{"manager": manager, "trainingRuntimeSpec": {"template": {"spec": patched}}}],
        },
        labels=CLASS,
    )


OURS = "leave the label kueue.x-k8s.io/podset and annotations that name a PodGroup"


@pytest.mark.parametrize("manager", ["example.org/me", "kueue.x-k8s.io/manager"])
@pytest.mark.parametrize(
    "metadata",
    [{"labels": {"kueue.x-k8s.io/podset": "node"}}, {"annotations": {"scheduling.k8s.io/group-name": "other"}}],
    ids=["admission", "gang"],
)
def test_a_patch_of_a_runtime_says_nothing_that_is_kueues(team: "ApiServer", manager: str, metadata: Object) -> None:
    """The pods are made by a controller, which may say it."""
    assert team.create(train_job(manager, labels={"app": "one"}), by=ADMIN) == (201, "")
    status, message = team.create(train_job(manager, **metadata), by=ADMIN)
    assert (status, OURS in message) == (422, True), message


def test_what_kueue_says_in_a_patch_stays(team: "ApiServer") -> None:
    let_in = train_job("kueue.x-k8s.io/manager", labels={"kueue.x-k8s.io/podset": "node"})
    assert team.create(let_in, by=KUEUE, dry=False) == (201, "")
    stored = team.request("GET", team.path(let_in, named=True))[1]
    told = deepcopy(stored)
    told["metadata"]["labels"]["note"] = "mine"
    assert team.update(told, by=ADMIN) == (200, "")
