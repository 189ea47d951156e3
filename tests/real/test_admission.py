"""What the API server itself says to jobs, pods and PodGroups in a team's namespace."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from documented import blocks, of_teams
from msgspec import structs
from reference import ROOT

from generator.components import JOBS as JOB_KINDS
from generator.components.ceph_cluster.buckets import team_claims
from generator.components.ceph_cluster.datasets import datasets as in_ceph
from generator.components.common import OIDC_PREFIX
from generator.components.datasets import LABEL
from generator.components.kueue import TEAM as TEAM_LABEL
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.components.tenants.datasets import claims
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Dataset
from generator.model.teams import TeamBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
TEAM, OTHER, TRUSTED = "vision", "platform", "trusted"
QUEUE = {"kueue.x-k8s.io/queue-name": "default"}
GATED = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
GPU = {"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "4", "memory": "8Gi"}}}

ALICE = ("oidc:alice", (OIDC_PREFIX + TEAM, "system:authenticated"))
ADMIN = ("bob", ("platform", "system:authenticated"))


def account(namespace: str, name: str) -> "Identity":
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return f"system:serviceaccount:{namespace}:{name}", groups


JOBS = account("kube-system", "job-controller")
KUEUE = account("kueue-system", "kueue-controller-manager")
CRON = account("kube-system", "cronjob-controller")
JOBSETS = account("jobset-system", "jobset-controller-manager")
ARGO_CD = account("argocd", "argocd-application-controller")
ROOK = account("rook-ceph", "rook-ceph-system")
VOLCANO = account("volcano-system", "volcano-controllers")
# Accounts with nothing but the rights that Kubernetes or an administrator gave to them.
JOB_CONTROLLER = ("system:serviceaccount:kube-system:job-controller", ("system:authenticated",))
REPLICAS = ("system:serviceaccount:kube-system:replicaset-controller", ("system:authenticated",))
OTHER_TEAMS = ("system:serviceaccount:language:default", ("system:serviceaccounts:language", "system:authenticated"))
ADMIN_CONF = ("kubernetes-admin", ("kubeadm:cluster-admins", "system:authenticated"))
OWN_ACCOUNT = (f"system:serviceaccount:{TEAM}:default", (f"system:serviceaccounts:{TEAM}", "system:authenticated"))


@pytest.fixture(scope="module")
def team(api: "ApiServer", ml50: Cluster) -> Iterator["ApiServer"]:
    """The team's namespace as `gen` makes it, and one that is no team's."""
    component, shared = tenants(ml50, JOB_KINDS), queues(ml50)
    api.install("kueue/v0.18.3/crds", "volcano/v1.14.1/crds", "cilium/1.20.0/crds", "jobset/v0.12.0/crds")
    api.define(ROOT.parent / "shared/upstream/rook/v1.20.6/crds/objectbucket.io_objectbucketclaims.yaml")
    api.namespace(OTHER)
    api.namespace(TEAM)
    api.namespace(TRUSTED, {TEAM_LABEL: TRUSTED, "pod-security.kubernetes.io/enforce": "privileged"})
    # From before the rules.
    api.apply(deployment("older"))
    greedy = job(container={"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}})
    api.apply(greedy | {"metadata": greedy["metadata"] | {"name": "greedy"}})
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
    api.apply(runtime | {"handler": "nvidia"})  # as the GPU operator makes it
    for namespace in component.namespaces:
        security = {"pod-security.kubernetes.io/enforce": namespace.security or "privileged"}
        api.namespace(namespace.name, namespace.labels | security)
    for manifest in (*shared.objects, *component.base, *component.objects):
        api.apply(manifest)
    for name, group in (("admins", "platform"), ("controllers", "system:serviceaccounts")):
        api.apply(bind(name, "cluster-admin", group))
    api.apply(bind("team-account", "gen:team-member", f"system:serviceaccounts:{TEAM}", TEAM))
    api.apply(bind("other-account", "cluster-admin", "system:serviceaccounts:language", TEAM))
    api.apply(bind("admin-conf", "cluster-admin", "kubeadm:cluster-admins"))
    wait_for_rules(api)
    yield api
    # Other modules ask the same server who may what.
    for name in ("admins", "controllers", "admin-conf"):
        api.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/test-{name}")


def bind(name: str, role: str, group: str, namespace: str = "") -> Object:
    api_group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{api_group}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": f"test-{name}"} | ({"namespace": namespace} if namespace else {}),
        "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": api_group, "kind": "Group", "name": group}],
    }


def wait_for_rules(api: "ApiServer") -> None:
    """The API server reads its rules a moment after they were stored, each by itself."""
    wrong = (
        job(labels={}),
        job(spec={"schedulerName": "other"}),
        pod(spec={"schedulerName": "other"}),
        cron_job({"schedulerName": "other"}),
        vcjob(),
        pod_group(),
        bucket_claim(),
    )
    api.wait("the rules hold", lambda: all(api.create(manifest, by=ADMIN)[0] == 422 for manifest in wrong))


def pod(labels: Object | None = None, spec: Object | None = None, container: Object | None = None) -> Object:
    requests = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}}
    main = {"name": "main", "image": "example.org/train:1"} | (requests if container is None else container)
    secure = {"containers": [main], "restartPolicy": "Never"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": TEAM, "labels": labels or {}},
        "spec": secure | (spec or {}),
    }


def job(labels: Object | None = None, spec: Object | None = None, container: Object | None = None) -> Object:
    template = pod(spec=spec, container=container)["spec"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "one", "namespace": TEAM, "labels": QUEUE if labels is None else labels},
        "spec": {"template": {"spec": template}},
    }


def cron_job(spec: Object | None = None, container: Object | None = None) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "one", "namespace": TEAM},
        "spec": {"schedule": "0 2 * * *", "jobTemplate": {"spec": job(spec=spec, container=container)["spec"]}},
    }


def deployment(name: str = "one", labels: Object | None = None, spec: Object | None = None) -> Object:
    app = {"app": name}
    template = {"metadata": {"labels": app}, "spec": pod(spec=spec)["spec"] | {"restartPolicy": "Always"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": TEAM, "labels": labels or {}},
        "spec": {"selector": {"matchLabels": app}, "template": template},
    }


def job_set(labels: Object) -> Object:
    workers = {"name": "workers", "template": {"spec": job()["spec"]}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "one", "namespace": TEAM, "labels": labels},
        "spec": {"replicatedJobs": [workers]},
    }


def pod_group() -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "one", "namespace": TEAM},
        "spec": {"minMember": 2},
    }


def bucket_claim(bucket: str = "datasets") -> Object:
    """A claim of a bucket that may be another's."""
    return {
        "apiVersion": "objectbucket.io/v1alpha1",
        "kind": "ObjectBucketClaim",
        "metadata": {"name": "mine", "namespace": TEAM},
        "spec": {"bucketName": bucket, "storageClassName": "datasets-bucket"},
    }


def vcjob() -> Object:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "one", "namespace": TEAM},
        "spec": {"minAvailable": 1},
    }


def owned(manifest: Object, kind: str, version: str = "jobset.x-k8s.io/v1alpha2") -> Object:
    owner = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "0" * 8, "controller": True}
    return manifest | {"metadata": manifest["metadata"] | {"ownerReferences": [owner]}}


def gang(
    parallelism: int, members: str | None, container: Object | None = None, completions: int | None = None
) -> Object:
    made = job(spec={"schedulerName": "volcano"}, container=GPU if container is None else None)
    made["metadata"]["annotations"] = {} if members is None else {GANG: members}
    made["spec"] |= {"parallelism": parallelism} | ({"completions": completions} if completions else {})
    return made


def template_labels(manifest: Object, labels: Object) -> Object:
    found = deepcopy(manifest)
    found["spec"]["template"].setdefault("metadata", {})["labels"] = labels
    return found


def elsewhere(manifest: Object, namespace: str = OTHER) -> Object:
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}


def annotated(manifest: Object) -> Object:
    return manifest | {"metadata": manifest["metadata"] | {"labels": {}, "annotations": QUEUE}}


def mounted(*volumes: Object) -> Object:
    """Return the part of a pod's spec that has volumes."""
    return {"volumes": [{"name": f"v{number}"} | one for number, one in enumerate(volumes)]}


def asking(cpu: str, memory: str, limits: Object | None = None) -> Object:
    """Return the part of a container that requests something, and may use no more memory unless `limits` say so."""
    given = {"memory": memory} if limits is None else limits
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": given}}


def unasked_job_set() -> Object:
    """A JobSet, in whose Jobs containers request nothing."""
    found = job_set(QUEUE | {PRIORITY_LABEL: "low"})
    found["spec"]["replicatedJobs"][0]["template"]["spec"] = job(container={})["spec"]
    return found


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLCANO_PLACES = {"schedulerName": "volcano"}
GANG = "scheduling.volcano.sh/group-min-member"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
URGENT = QUEUE | {PRIORITY_LABEL: "urgent"}
ADMITTED = {"kueue.x-k8s.io/podset": "main"}
LIMITS_ONLY = {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
MOUNTABLE: list[Object] = [
    {"configMap": {"name": "one"}},
    {"csi": {"driver": "x.example.org"}},
    {"downwardAPI": {"items": []}},
    {"emptyDir": {}},
    {"ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
    {"image": {"reference": "example.org/data:1"}},
    {"persistentVolumeClaim": {"claimName": "one"}},
    {"projected": {"sources": []}},
    {"secret": {"secretName": "one"}},
    {},
]
NODE_PATH: Object = {"hostPath": {"path": "/dev"}}
SERVERS: dict[str, Object] = {
    "nfs": {"nfs": {"server": "10.10.0.171", "path": "/"}},
    "iscsi": {"iscsi": {"targetPortal": "10.10.0.171:3260", "iqn": "iqn.2026-01.org.example:one", "lun": 0}},
    "fc": {"fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0}},
    "cephfs": {"cephfs": {"monitors": ["10.10.0.131:6789"]}},
    "rbd": {"rbd": {"monitors": ["10.10.0.131:6789"], "image": "one"}},
    "glusterfs": {"glusterfs": {"endpoints": "one", "path": "one"}},
    "flexVolume": {"flexVolume": {"driver": "example.org/one"}},
}
SLICE = {"resources": {"limits": {"nvidia.com/mig-1g.6gb": "1", "cpu": "1", "memory": "1Gi"}}}
GPU_FIRST = {"initContainers": [{"name": "init", "image": "example.org/train:1"} | GPU]}


@pytest.mark.parametrize(
    ("manifest", "who"),
    [
        pytest.param(job(), ALICE, id="a job in the queue"),
        pytest.param(job(spec=VOLCANO_PLACES, container=GPU), ALICE, id="a job with GPUs in the queue"),
        pytest.param(job(spec={"priorityClassName": "batch-urgent"}), ALICE, id="a job with a priority of ours"),
        pytest.param(deployment(labels=QUEUE), ALICE, id="a service in the queue"),
        pytest.param(cron_job(), ALICE, id="a CronJob, whose jobs are asked"),
        pytest.param(owned(job(labels={}), "JobSet"), JOBSETS, id="a part of a JobSet"),
        pytest.param(elsewhere(job(labels={})), ADMIN, id="a job outside the teams' namespaces"),
        pytest.param(elsewhere(pod(container=GPU)), ADMIN, id="a GPU pod outside the teams' namespaces"),
        pytest.param(pod(), ALICE, id="a pod"),
        pytest.param(pod(container=LIMITS_ONLY), ALICE, id="a pod with limits only"),
        pytest.param(pod(spec={"priorityClassName": "batch-low"}), ALICE, id="a pod with a priority of ours"),
        pytest.param(pod(spec=VOLCANO_PLACES), ALICE, id="a CPU pod of a gang"),
        pytest.param(pod(spec=VOLCANO_PLACES | GATED, container=GPU), ALICE, id="a GPU pod that Kueue holds"),
        pytest.param(pod(ADMITTED, VOLCANO_PLACES, GPU), JOBS, id="a GPU pod of a job that Kueue let in"),
        pytest.param(job(URGENT), ALICE, id="an urgent job of a team that may"),
        pytest.param(job(container=LIMITS_ONLY), ALICE, id="a job with limits only"),
        pytest.param(gang(2, "2"), ALICE, id="a gang"),
        pytest.param(gang(4, "2", completions=2), ALICE, id="a gang of which some pods are never made"),
        pytest.param(gang(3, None, {}), ALICE, id="many pods without GPUs"),
        pytest.param(owned(gang(2, None), "JobSet"), JOBSETS, id="a part of a JobSet, which is no gang by itself"),
        pytest.param(owned(pod(), "Job", "batch/v1"), JOBS, id="a pod of a job"),
        pytest.param(job_set(QUEUE | {PRIORITY_LABEL: "low"}), ALICE, id="a JobSet of a class that the team may use"),
        pytest.param(pod_group(), VOLCANO, id="a PodGroup that Volcano makes"),
        pytest.param(pod(spec=mounted(*MOUNTABLE)), ALICE, id="volumes by which a pod reaches no server"),
        pytest.param(job(spec=mounted(*MOUNTABLE)), ALICE, id="a job with such volumes"),
        pytest.param(elsewhere(pod(spec=mounted(SERVERS["nfs"]))), ADMIN, id="a server outside the teams' namespaces"),
        pytest.param(
            elsewhere(pod(spec=mounted(NODE_PATH)), TRUSTED), ADMIN, id="a path of the node in a privileged team"
        ),
        pytest.param(elsewhere(job(spec=mounted(NODE_PATH)), TRUSTED), ADMIN, id="a job with one there"),
        pytest.param(pod(container=asking("1n", "1")), ALICE, id="a pod that requests little and may use no more"),
        pytest.param(job(container=asking("8", "0.5Gi", {"memory": "512Mi"})), ALICE, id="the same in other units"),
        pytest.param(owned(pod(ADMITTED), "Job", "batch/v1"), JOB_CONTROLLER, id="a pod of Kubernetes' own controller"),
        pytest.param(owned(pod(), "ReplicaSet", "apps/v1"), REPLICAS, id="a pod of a service"),
        pytest.param(owned(pod(ADMITTED), "Job", "batch/v1"), ADMIN_CONF, id="what admin.conf makes in an emergency"),
        pytest.param(pod_group(), ADMIN_CONF, id="a PodGroup that admin.conf makes"),
        pytest.param(unasked_job_set(), ALICE, id="a JobSet whose Jobs will be refused"),
    ],
)
def test_a_way_through_the_queue_is_open(team: "ApiServer", manifest: Object, who: "Identity") -> None:
    assert team.create(manifest, by=who) == (201, "")


NO_QUEUE = "put the label kueue.x-k8s.io/queue-name: default on it"
NO_VOLCANO = "set schedulerName: volcano where GPUs are asked for"
NOT_HELD = "a pod with GPUs starts through Kueue"
FOREIGN = "schedulerName may be volcano or left out"
PRIORITY = "priorityClassName may be one that begins with batch-"


NOT_OWNER = "leave ownerReferences with controller: true to controllers"
MARKED = "leave the label kueue.x-k8s.io/podset out"
NO_SERVERS = "mount claims, not servers"
NO_REQUESTS = "give every container requests"
NO_LIMIT = "give every container a limit for memory, and no smaller request"
RUNTIME = "leave runtimeClassName out"
CLASS = "put the label kueue.x-k8s.io/priority-class on it"
POD_CLASS = "priorityClassName is of a class that this team may not use"
CLASS_LABEL = "the label kueue.x-k8s.io/priority-class names a class that this team may not use"
NO_GANG = "put the annotation scheduling.volcano.sh/group-min-member on the Job"


def devices(manifest: Object) -> Object:
    annotations = {"nvidia.cdi.k8s.io/container.main": "management.nvidia.com/gpu=all"}
    return manifest | {"metadata": manifest["metadata"] | {"annotations": annotations}}


def inner_labels(manifest: Object, labels: Object) -> Object:
    found = deepcopy(manifest)
    found["spec"]["jobTemplate"]["metadata"] = {"labels": labels}
    return found


def resized(manifest: Object) -> Object:
    found = deepcopy(manifest)
    found["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = "1"
    return found


def each_hour(inner: Object) -> Object:
    """A CronJob of a job."""
    found = cron_job()
    found["spec"]["jobTemplate"] = {
        "metadata": {"annotations": inner["metadata"]["annotations"]},
        "spec": inner["spec"],
    }
    return found


@pytest.mark.parametrize(
    ("manifest", "who", "told"),
    [
        pytest.param(job(labels={}), ALICE, NO_QUEUE, id="a job without a queue"),
        pytest.param(job(labels={"kueue.x-k8s.io/queue-name": ""}), ALICE, NO_QUEUE, id="a queue without a name"),
        pytest.param(annotated(job()), ALICE, NO_QUEUE, id="a queue as an annotation"),
        pytest.param(job_set({PRIORITY_LABEL: "low"}), ALICE, NO_QUEUE, id="a JobSet without a queue"),
        pytest.param(deployment(), ALICE, NO_QUEUE, id="a service without a queue"),
        pytest.param(job(labels={}), ADMIN, NO_QUEUE, id="an administrator's job without a queue"),
        pytest.param(owned(job(), "JobSet"), ALICE, NOT_OWNER, id="a person's part of a JobSet"),
        pytest.param(owned(job(), "JobSet"), OWN_ACCOUNT, NOT_OWNER, id="a part made by the team's account"),
        pytest.param(owned(job(labels={}), "CronJob", "batch/v1"), CRON, NO_QUEUE, id="a CronJob's job"),
        pytest.param(job(container=GPU), ALICE, NO_VOLCANO, id="a GPU job for the default scheduler"),
        pytest.param(job(spec=GPU_FIRST), ALICE, NO_VOLCANO, id="GPUs of an init container"),
        pytest.param(job(container=SLICE), ALICE, NO_VOLCANO, id="a slice of a GPU"),
        pytest.param(cron_job(container=GPU), ALICE, NO_VOLCANO, id="a CronJob with GPUs for the default scheduler"),
        pytest.param(job(spec={"schedulerName": "mine"}), ALICE, FOREIGN, id="a foreign scheduler"),
        pytest.param(cron_job({"schedulerName": "mine"}), ALICE, FOREIGN, id="a CronJob placed elsewhere"),
        pytest.param(cron_job({"priorityClassName": "high"}), ALICE, PRIORITY, id="a CronJob above others"),
        pytest.param(
            deployment("two", QUEUE, {"schedulerName": "mine"}), ALICE, FOREIGN, id="a service placed elsewhere"
        ),
        pytest.param(
            job(spec={"priorityClassName": "system-cluster-critical"}), ALICE, PRIORITY, id="a job above the cluster"
        ),
        pytest.param(
            pod(spec={"priorityClassName": "system-cluster-critical"}), ALICE, PRIORITY, id="a pod above the cluster"
        ),
        pytest.param(pod(spec={"schedulerName": "mine"}), ALICE, FOREIGN, id="a pod for a foreign scheduler"),
        pytest.param(pod(spec={"nodeName": "gpu-01"}), ALICE, "leave nodeName to the scheduler", id="a chosen node"),
        pytest.param(pod(spec=GATED, container=GPU), ALICE, NO_VOLCANO, id="a GPU pod for the default scheduler"),
        pytest.param(pod(spec=VOLCANO_PLACES, container=GPU), ALICE, NOT_HELD, id="a loose GPU pod"),
        pytest.param(pod(ADMITTED, VOLCANO_PLACES, GPU), ALICE, NOT_HELD, id="a GPU pod that says it was let in"),
        pytest.param(pod(ADMITTED, VOLCANO_PLACES, GPU), OWN_ACCOUNT, NOT_HELD, id="the same of the team's account"),
        pytest.param(pod({}, VOLCANO_PLACES, GPU), JOBS, NOT_HELD, id="a GPU pod of a job that Kueue never saw"),
        pytest.param(owned(job(), "Job", "batch/v1"), ALICE, NOT_OWNER, id="a job that claims an owner"),
        pytest.param(owned(pod(), "Job", "batch/v1"), ALICE, NOT_OWNER, id="a pod that claims an owner"),
        pytest.param(owned(cron_job(), "Job", "batch/v1"), ALICE, NOT_OWNER, id="a CronJob that claims an owner"),
        pytest.param(owned(job(), "Job", "batch/v1"), OWN_ACCOUNT, NOT_OWNER, id="the same of the team's account"),
        pytest.param(template_labels(job(), ADMITTED), ALICE, MARKED, id="a job whose pods say they were let in"),
        pytest.param(pod(ADMITTED), ALICE, MARKED, id="a pod without GPUs that says it was let in"),
        pytest.param(job(container={}), ALICE, NO_REQUESTS, id="a job that requests nothing"),
        pytest.param(pod(container={}), ALICE, NO_REQUESTS, id="a pod that requests nothing"),
        pytest.param(pod(spec={"runtimeClassName": "nvidia"}), ALICE, RUNTIME, id="a pod with the GPUs' runtime"),
        pytest.param(job(spec={"runtimeClassName": "nvidia"}), ALICE, RUNTIME, id="a job with the GPUs' runtime"),
        pytest.param(cron_job({"runtimeClassName": "x"}), ALICE, RUNTIME, id="a CronJob with any runtime"),
        pytest.param(devices(pod()), ALICE, "leave annotations of cdi.k8s.io out", id="a pod that asks CDI itself"),
        pytest.param(job(QUEUE | {PRIORITY_LABEL: "top"}), ALICE, CLASS, id="a class that is not the team's"),
        pytest.param(job(spec={"priorityClassName": "batch-top"}), ALICE, POD_CLASS, id="such a class of pods"),
        pytest.param(template_labels(job(), {PRIORITY_LABEL: "top"}), ALICE, CLASS_LABEL, id="such a label of pods"),
        pytest.param(pod({PRIORITY_LABEL: "top"}), ALICE, CLASS_LABEL, id="such a label of a pod"),
        pytest.param(inner_labels(cron_job(), {PRIORITY_LABEL: "top"}), ALICE, CLASS, id="such a label of its jobs"),
        pytest.param(job(QUEUE | {PRIORITY_LABEL: "top"}), CRON, CLASS, id="such a class of a CronJob's job"),
        pytest.param(job_set(QUEUE), ALICE, CLASS, id="a JobSet that leaves its class to its pods"),
        pytest.param(gang(2, None), ALICE, NO_GANG, id="many pods with GPUs and no gang"),
        pytest.param(gang(3, "2"), ALICE, NO_GANG, id="a gang that is less than its pods"),
        pytest.param(resized(gang(2, "2")), ALICE, "leave kueue.x-k8s.io/job-min-par", id="a gang of many sizes"),
        pytest.param(each_hour(gang(2, None)), ALICE, NO_GANG, id="the same each hour"),
        pytest.param(vcjob(), ADMIN, "Kueue cannot hold Volcano's own jobs back", id="a job of Volcano's"),
        pytest.param(pod_group(), ADMIN, "PodGroups are made from jobs", id="a person's PodGroup"),
        pytest.param(pod(container=asking("0", "1Gi")), ALICE, NO_REQUESTS, id="a request for no CPU"),
        pytest.param(pod(container=asking("1", "0")), ALICE, NO_REQUESTS, id="a request for no memory"),
        pytest.param(
            pod(container=asking("0", "1Gi", {"cpu": "8", "memory": "1Gi"})),
            ALICE,
            NO_REQUESTS,
            id="a limit, and no request",
        ),
        pytest.param(
            pod(container={"resources": {"limits": {"cpu": "0", "memory": "0"}}}),
            ALICE,
            NO_REQUESTS,
            id="limits of nothing",
        ),
        pytest.param(
            pod(spec={"initContainers": [{"name": "i", "image": "x"} | asking("0", "1Gi")]}),
            ALICE,
            NO_REQUESTS,
            id="an init container that requests nothing",
        ),
        pytest.param(job(container=asking("0", "0")), ALICE, NO_REQUESTS, id="a job that requests zero"),
        pytest.param(
            job(container={"resources": {"limits": {"cpu": "0m", "memory": "0Gi"}}}),
            ALICE,
            NO_REQUESTS,
            id="a job with limits of nothing",
        ),
        pytest.param(cron_job(container=asking("0.0", "1Gi")), ALICE, NO_REQUESTS, id="the same every night"),
        pytest.param(owned(job(container={}), "JobSet"), JOBSETS, NO_REQUESTS, id="what a JobSet makes of nothing"),
        pytest.param(pod(container=asking("1n", "1m", {})), ALICE, NO_LIMIT, id="tiny requests and no limit"),
        pytest.param(pod(container=asking("1", "1Gi", {"cpu": "8"})), ALICE, NO_LIMIT, id="a limit for CPU alone"),
        pytest.param(pod(container=asking("1", "1Gi", {"memory": "1025Mi"})), ALICE, NO_LIMIT, id="a little above"),
        pytest.param(job(container=asking("1n", "1m", {"memory": "1Ti"})), ALICE, NO_LIMIT, id="a job far above"),
        pytest.param(cron_job(container=asking("1", "1Gi", {})), ALICE, NO_LIMIT, id="a CronJob without a limit"),
        pytest.param(
            job(spec={"initContainers": [{"name": "i", "image": "x"} | asking("1", "1Gi", {})]}),
            ALICE,
            NO_LIMIT,
            id="an init container without a limit",
        ),
        # As docs/teams.md says of what KubeRay and training-operator add.
        pytest.param(
            owned(job(container=asking("500m", "200Mi", {"cpu": "1", "memory": "1Gi"})), "RayJob", "ray.io/v1"),
            JOBSETS,
            NO_LIMIT,
            id="the submitter of a RayJob that nobody described",
        ),
        pytest.param(
            pod(spec={"initContainers": [{"name": "i", "image": "x"} | asking("50m", "10Mi", {"memory": "20Mi"})]}),
            JOBSETS,
            NO_LIMIT,
            id="what waits in a worker of a PyTorchJob",
        ),
        pytest.param(owned(job(), "JobSet"), OTHER_TEAMS, NOT_OWNER, id="a part made by another team's account"),
        pytest.param(pod(ADMITTED), OTHER_TEAMS, MARKED, id="a pod of another team's account that says it was let in"),
        pytest.param(pod_group(), OTHER_TEAMS, "PodGroups are made from jobs", id="a PodGroup of such an account"),
    ],
)
def test_a_way_round_the_queue_is_closed(team: "ApiServer", manifest: Object, who: "Identity", told: str) -> None:
    status, message = team.create(manifest, by=who)
    assert status == 422
    assert told in message


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("ownerReferences", [{"kind": "Job", "name": "owner", "controller": True}], NOT_OWNER),
        ("labels", QUEUE | {PRIORITY_LABEL: "top"}, CLASS),
        ("annotations", {GANG: "1"}, NO_GANG),
    ],
)
def test_what_was_refused_cannot_be_written_later(team: "ApiServer", field: str, value: Any, told: str) -> None:
    later = stored_job(team, f"later-{field.lower()}")
    if field == "ownerReferences":
        value = [value[0] | {"apiVersion": "batch/v1", "uid": "0" * 8}]
    later["metadata"][field] = value
    status, message = team.update(later, by=ALICE)
    assert (status, told in message) == (422, True), message


def stored_job(team: "ApiServer", name: str) -> Object:
    """Store a gang that waits, and return it as the API server has it."""
    made = gang(2, "2")
    made["metadata"]["name"] = name
    made["spec"]["suspend"] = True
    team.apply(made)
    found: Object = team.request("GET", f"/apis/batch/v1/namespaces/{TEAM}/jobs/{name}")[1]
    return found


def test_a_controller_writes_what_it_will(team: "ApiServer") -> None:
    """Kueue puts its label into the template of what it lets in, also of what is from before the rules."""
    stored = stored_job(team, "admitted")
    stored["spec"]["template"]["metadata"] = {"labels": stored["spec"]["template"]["metadata"]["labels"] | ADMITTED}
    assert team.update(stored, by=KUEUE) == (200, "")
    assert MARKED in team.update(stored, by=ALICE)[1]


def test_what_was_there_before_can_still_be_changed(team: "ApiServer") -> None:
    older = deployment("older")
    older["spec"]["replicas"] = 3
    assert team.update(older, by=ALICE) == (200, "")


def test_a_queue_cannot_be_taken_off_again(team: "ApiServer") -> None:
    queued = deployment("queued", QUEUE)
    team.apply(queued)
    loose = deepcopy(queued)
    loose["metadata"]["labels"] = {}
    status, message = team.update(loose, by=ALICE)
    assert (status, NO_QUEUE in message) == (422, True)


@pytest.mark.parametrize("manifest", [pod_group(), vcjob()], ids=["PodGroup", "Volcano Job"])
def test_members_have_no_right_to_volcanos_objects(team: "ApiServer", manifest: Object) -> None:
    assert team.create(manifest, by=ALICE)[0] == 403


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("made", [pod, job, cron_job])
def test_a_node_connects_to_no_server_for_a_pod(team: "ApiServer", made: "Callable[..., Object]", kind: str) -> None:
    """Kubelet would, with the node's own address, which servers of storage trust."""
    status, message = team.create(made(spec=mounted(SERVERS[kind])), by=ALICE)
    assert (status, NO_SERVERS in message) == (422, True), message


TOPOLOGY = {"name": "kueue.x-k8s.io/topology"}
HELD_PATH = f"/api/v1/namespaces/{TEAM}/pods/held"


@pytest.fixture(scope="module")
def held(team: "ApiServer") -> Object:
    """A GPU pod that Kueue holds, in a team whose account may change pods, as an operator's Role lets it."""
    gates = {"schedulingGates": [*GATED["schedulingGates"], TOPOLOGY, SITES]}
    made = pod(QUEUE | ADMITTED, VOLCANO_PLACES | gates, GPU)
    made["metadata"] |= {"name": "held", "finalizers": ["batch.kubernetes.io/job-tracking"]}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "autoscaler", "namespace": TEAM},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch", "update"]}],
    }
    team.apply(role)
    binding = bind("autoscaler", "autoscaler", f"system:serviceaccounts:{TEAM}", TEAM)
    team.apply(binding | {"roleRef": binding["roleRef"] | {"kind": "Role"}})
    assert team.create(made, by=KUEUE, dry=False) == (201, "")
    found: Object = team.request("GET", HELD_PATH)[1]
    free = found | {"spec": found["spec"] | {"schedulingGates": []}}
    team.wait("the rule holds", lambda: team.update(free, by=OWN_ACCOUNT)[0] == 422)
    return found


def without_gate(manifest: Object, name: str) -> None:
    gates = manifest["spec"]["schedulingGates"]
    manifest["spec"]["schedulingGates"] = [one for one in gates if one["name"] != name]


SITES = {"name": "example.org/quota"}
GATES, LABELS = "leave gates that begin", "leave labels that begin"
HOLDS: "dict[str, tuple[Callable[[Object], object], str]]" = {
    "the gate of admission": (lambda one: without_gate(one, GATED["schedulingGates"][0]["name"]), GATES),
    "the gate of topology": (lambda one: without_gate(one, TOPOLOGY["name"]), GATES),
    "a label that goes": (lambda one: one["metadata"]["labels"].pop("kueue.x-k8s.io/podset"), LABELS),
    "a label that changes": (lambda one: one["metadata"]["labels"].update(dict.fromkeys(QUEUE, "x")), LABELS),
    "a label that comes": (lambda one: one["metadata"]["labels"].update({"kueue.x-k8s.io/managed": "true"}), LABELS),
    "another job": (
        lambda one: one["metadata"].update(annotations={"kueue.x-k8s.io/workload": "x"}),
        "leave the annotation kueue.x-k8s.io/workload as it is",
    ),
    "devices": (lambda one: one["metadata"].update(devices(one)["metadata"]), "leave annotations of cdi.k8s.io out"),
}


@pytest.mark.parametrize(("change", "told"), HOLDS.values(), ids=HOLDS)
def test_an_account_that_may_change_pods_does_not_let_them_in(
    team: "ApiServer", held: Object, change: "Callable[[Object], object]", told: str
) -> None:
    changed = deepcopy(held)
    change(changed)
    for who in (OWN_ACCOUNT, OTHER_TEAMS, ADMIN):
        status, message = team.update(changed, by=who)
        assert (status, told in message) == (422, True), message


@pytest.mark.parametrize("who", [OWN_ACCOUNT, ADMIN, JOBS], ids=["the team's account", "a person", "a controller"])
def test_everybody_may_change_what_is_not_kueues(team: "ApiServer", held: Object, who: "Identity") -> None:
    changed = deepcopy(held)
    without_gate(changed, SITES["name"])
    changed["metadata"]["labels"]["app"] = "train"
    changed["metadata"]["annotations"] = {"example.org/note": "x"}
    changed["metadata"]["finalizers"] = []
    assert team.update(changed, by=who) == (200, "")


BELOW: dict[str, Object] = {
    "ephemeralcontainers": {"spec": {"ephemeralContainers": [{"name": "debug", "image": "example.org/debug:1"}]}},
    "resize": {
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "5"}, "requests": {"cpu": "5"}}}]}
    },
    "status": {"status": {"message": "waits"}},
}


@pytest.mark.parametrize("part", BELOW)
@pytest.mark.parametrize("who", [ADMIN, JOBS], ids=["a person", "a controller"])
def test_the_rule_of_changes_leaves_parts_of_a_pod(team: "ApiServer", held: Object, part: str, who: "Identity") -> None:
    assert held["metadata"]["name"] == "held"
    path = f"{HELD_PATH}/{part}?dryRun=All"
    status, answer = team.request("PATCH", path, BELOW[part], by=who, patch="strategic-merge-patch+json")
    assert status == 200, answer


@pytest.mark.parametrize("key", ["labels", "annotations"])
def test_nor_does_one_that_may_say_how_pods_are(team: "ApiServer", held: Object, key: str) -> None:
    """The API server stores labels and annotations of a pod with its status, too."""
    changed, told = {
        "labels": ({"kueue.x-k8s.io/podset": "x"}, LABELS),
        "annotations": (devices(held)["metadata"]["annotations"], "leave annotations of cdi.k8s.io out"),
    }[key]
    path = f"{HELD_PATH}/status?dryRun=All"
    status, answer = team.request("PATCH", path, {"metadata": {key: changed}}, by=ADMIN, patch="merge-patch+json")
    assert (status, told in answer.get("message", "")) == (422, True), answer


def test_kueue_lets_a_pod_in(team: "ApiServer", held: Object) -> None:
    changed = deepcopy(held)
    changed["spec"]["schedulingGates"] = []
    changed["metadata"]["labels"]["kueue.x-k8s.io/tas"] = "true"
    assert team.update(changed, by=KUEUE) == (200, "")


def test_members_cannot_take_the_gate_off_a_pod(team: "ApiServer") -> None:
    held = pod(spec=VOLCANO_PLACES | GATED, container=GPU)
    team.create(held, dry=False)
    free = pod(spec=VOLCANO_PLACES | {"schedulingGates": []}, container=GPU)
    assert team.update(free, by=ALICE)[0] == 403


@pytest.mark.parametrize(("role", "seen"), [("vision", 200), ("sre", 403)])
def test_only_members_read_secrets(team: "ApiServer", role: str, seen: int) -> None:
    namespace = TEAM if role == TEAM else "serving"
    who: Identity = ("someone", (OIDC_PREFIX + role, "system:authenticated"))
    assert team.request("GET", f"/api/v1/namespaces/{namespace}/secrets", by=who)[0] == seen
    assert team.request("GET", f"/api/v1/namespaces/{namespace}/pods", by=who)[0] == 200
    assert team.request("GET", "/api/v1/namespaces/kube-system/pods", by=who)[0] == 403


NAMESPACED = f"/api/v1/namespaces/{TEAM}"
CLAIMS = f"/apis/objectbucket.io/v1alpha1/namespaces/{TEAM}/objectbucketclaims"
RIGHTS = [
    ("PATCH", f"{NAMESPACED}/pods/one", "change a pod, and with it Kueue's gate"),
    ("PATCH", f"{NAMESPACED}/pods/one/ephemeralcontainers", "add a container to a pod that runs"),
    ("PATCH", f"{NAMESPACED}/pods/one/resize", "give a pod more than was counted"),
    ("PATCH", f"{NAMESPACED}/pods/one/status", "say that a pod is done"),
    ("POST", f"{NAMESPACED}/pods/one/binding", "place a pod"),
    ("PATCH", f"/apis/batch/v1/namespaces/{TEAM}/jobs/one/status", "say that a job is done"),
    ("PATCH", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads/one", "change what is counted"),
    ("PATCH", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads/one/status", "let a job in"),
    ("DELETE", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads/one", "take away what is counted"),
    ("POST", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads", "bring a Workload that is let in"),
    ("POST", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/localqueues", "lead to another team's quota"),
    ("PATCH", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/vision", "own more"),
    ("POST", "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses", "make a class of their own"),
    ("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", "make such a class for pods"),
    ("PATCH", f"/api/v1/namespaces/{TEAM}", "give the team a class by the namespace's label"),
    ("POST", f"{NAMESPACED}/serviceaccounts", "make an account that counts as nobody's"),
    ("POST", f"{NAMESPACED}/serviceaccounts/default/token", "act as the team's account"),
    ("POST", "/api/v1/namespaces/kueue-system/serviceaccounts/kueue-controller-manager/token", "act as Kueue"),
    ("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{TEAM}/rolebindings", "give rights to an account"),
    ("POST", f"/apis/apps/v1/namespaces/{TEAM}/replicasets", "make what Kueue takes for a part of a service"),
    ("POST", f"/apis/apps/v1/namespaces/{TEAM}/daemonsets", "run on every node"),
    ("POST", f"{NAMESPACED}/replicationcontrollers", "run what Kueue does not know"),
    ("POST", f"/apis/resource.k8s.io/v1/namespaces/{TEAM}/resourceclaims", "claim devices past the quotas"),
    ("POST", f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{TEAM}/podgroups", "make a gang by hand"),
    ("PATCH", f"{NAMESPACED}/resourcequotas/team", "have more volumes"),
    ("POST", f"/apis/networking.k8s.io/v1/namespaces/{TEAM}/networkpolicies", "open the network"),
    ("POST", f"/apis/networking.k8s.io/v1/namespaces/{TEAM}/ingresses", "be reached from outside"),
    ("POST", f"/apis/gateway.networking.k8s.io/v1/namespaces/{TEAM}/httproutes", "be reached through a gateway"),
    ("POST", f"/apis/discovery.k8s.io/v1/namespaces/{TEAM}/endpointslices", "send others' traffic elsewhere"),
    ("POST", f"{CLAIMS}", "claim the bucket of another team"),
    ("PATCH", f"{CLAIMS}/ceph-bucket-mine", "have a larger bucket"),
    ("DELETE", f"{CLAIMS}/ceph-bucket-mine", "leave a bucket behind that nobody counts"),
    ("GET", "/apis/objectbucket.io/v1alpha1/objectbuckets", "see whose buckets there are"),
    ("POST", f"/apis/ceph.rook.io/v1/namespaces/{TEAM}/cephobjectstoreusers", "make a user of Ceph"),
    ("POST", "/apis/node.k8s.io/v1/runtimeclasses", "make a runtime class"),
    ("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", "write rules"),
    ("GET", "/api/v1/namespaces/language/pods", "see what another team runs"),
    ("POST", "/apis/batch/v1/namespaces/language/jobs", "run on another team's quota"),
    ("POST", "/api/v1/namespaces/language/pods/one/exec", "enter another team's pods"),
    ("POST", "/api/v1/namespaces/gpu-operator/pods/one/exec", "enter the pods that see all devices"),
    ("GET", "/api/v1/nodes/gpu-01/proxy/pods", "ask a node itself"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "to"), RIGHTS, ids=[to for _, _, to in RIGHTS])
def test_members_have_no_right_to(team: "ApiServer", method: str, path: str, to: str) -> None:
    """A right is asked before the object is looked for: 404 would mean that they may."""
    status, answer = team.request(method, path, {} if method in {"POST", "PATCH"} else None, by=ALICE)
    assert status == 403, (to, answer)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"hostPID": True}, "hostPID"),
        ({"volumes": [{"name": "disk", "hostPath": {"path": "/dev"}}]}, "hostPath"),
        ({"containers": [{"securityContext": {"privileged": True}}]}, "privileged"),
        ({"containers": [{"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]}, "SYS_ADMIN"),
        ({"containers": [{"ports": [{"containerPort": 1, "hostPort": 1}]}]}, "hostPort"),
    ],
    ids=["network", "processes", "paths", "privileges", "capabilities", "ports"],
)
def test_members_get_nothing_of_the_host(team: "ApiServer", spec: Object, told: str) -> None:
    made = pod()
    made["spec"] |= {key: value for key, value in spec.items() if key != "containers"}
    for changes in spec.get("containers", []):
        made["spec"]["containers"][0] |= changes
    status, message = team.create(made, by=ALICE)
    assert (status, told in message) == (403, True), message


OUTWARD = {"type": "ClusterIP", "ports": [{"port": 443}]}


def service(spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one", "namespace": TEAM}, "spec": spec}


def secret(kind: str) -> Object:
    annotations = {"kubernetes.io/service-account.name": "default"}
    metadata = {"name": "one", "namespace": TEAM, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind}


def test_a_service_takes_no_address_of_others(team: "ApiServer") -> None:
    """CVE-2020-8554: nodes would send what is for that address to the team's pods."""
    assert team.create(service(OUTWARD), by=ALICE) == (201, "")
    status, message = team.create(service(OUTWARD | {"externalIPs": ["10.10.0.2"]}), by=ALICE)
    assert (status, "leave externalIPs out" in message) == (422, True), message


@pytest.mark.parametrize("who", [ADMIN, OWN_ACCOUNT, OTHER_TEAMS], ids=["a person", "the team's", "another team's"])
def test_a_bucket_is_claimed_by_nobody_who_may_write_here(team: "ApiServer", who: "Identity") -> None:
    """Rook would give it the bucket: of whoever may make claims here, only accounts that may everywhere are heard."""
    if who == OWN_ACCOUNT:
        team.apply(bind("claims", "cluster-admin", f"system:serviceaccounts:{TEAM}", TEAM))
        team.wait("the right is known", lambda: team.create(bucket_claim(), by=who)[0] != 403)
    status, message = team.create(bucket_claim(), by=who)
    team.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{TEAM}/rolebindings/test-claims")
    assert status == 422, message
    assert "declared in the cluster file" in message


def test_what_gen_declares_is_claimed_and_bound(team: "ApiServer", ml50: Cluster) -> None:
    """Argo CD makes the claim, Rook writes into it which bucket it is and its finalizer; nobody else changes it."""
    bucket = TeamBucket(name="vision-raw", store="datasets", size=Quantity.parse("1Ti"))
    (claim,) = team_claims(ml50, structs.replace(ml50.teams[0], buckets=(bucket,)))
    assert team.create(claim, by=ARGO_CD) == (201, "")
    team.apply(claim)
    stored = team.request("GET", team.path(claim, named=True))[1]
    bound = stored | {"spec": stored["spec"] | {"objectBucketName": "obc-vision-ceph-bucket-vision-raw"}}
    bound["metadata"] = bound["metadata"] | {"finalizers": ["objectbucket.io/finalizer"]}
    assert team.update(bound, by=ROOK) == (200, "")
    status, message = team.update(bound, by=ADMIN)
    assert (status, "declared in the cluster file" in message) == (422, True)


@pytest.fixture(scope="module")
def dataset(team: "ApiServer", ml50: Cluster) -> Object:
    """A team's claim of a dataset that it reads, and its volume."""
    scans = Dataset(name="scans", filesystem="shared", size=Quantity.parse("2Ti"), readers=(TEAM,))
    cluster = structs.replace(ml50, storage=structs.replace(ml50.storage, datasets=(scans,)))
    (claim,) = claims(cluster)
    _, volume = in_ceph(cluster)
    for manifest in (volume, claim):
        assert team.create(manifest, by=ARGO_CD) == (201, "")
        team.apply(manifest)
    stored: Object = team.request("GET", team.path(claim, named=True))[1]
    return stored


TURNS = {
    "for writing": lambda claim: claim["spec"] | {"accessModes": ["ReadWriteMany"]},
    "to another volume": lambda claim: claim["spec"] | {"volumeName": "dataset-scans.language"},
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_member_turns_no_claim_of_a_dataset(team: "ApiServer", dataset: Object, turn: str) -> None:
    status, message = team.update(dataset | {"spec": TURNS[turn](dataset)}, by=ALICE)
    assert status == 422, message
    assert "claims of datasets" in message or "immutable" in message


def test_a_member_does_not_take_a_dataset_from_the_team(team: "ApiServer", dataset: Object) -> None:
    """A volume whose claim is gone is given to no other: the whole team would be without."""
    path = f"{team.path(dataset, named=True)}?dryRun=All"
    for who in (ALICE, OWN_ACCOUNT, OTHER_TEAMS):
        status, answer = team.request("DELETE", path, by=who)
        assert (status, "claims of datasets" in answer["message"]) == (422, True), answer
    assert team.request("DELETE", path, by=ADMIN)[0] == 200, "an administrator of the cluster may"
    assert team.request("DELETE", path, by=ARGO_CD)[0] == 200


def test_a_member_takes_no_mark_off_a_claim_and_puts_none_on(team: "ApiServer", dataset: Object) -> None:
    plain = dataset | {"metadata": {**dataset["metadata"], "labels": {}}}
    status, message = team.update(plain, by=ALICE)
    assert (status, "claims of datasets" in message) == (422, True)
    own = {**volume_claim("mine"), "metadata": {"name": "mine", "namespace": TEAM, "labels": {LABEL: "scans"}}}
    assert "claims of datasets" in team.create(own, by=ALICE)[1]
    assert team.create(volume_claim("mine"), by=ALICE) == (201, "")


def test_a_member_makes_no_volume_that_would_be_mounted_for_writing(team: "ApiServer", dataset: Object) -> None:
    status, _ = team.request("POST", "/api/v1/persistentvolumes", {}, by=ALICE)
    assert status == 403
    name = dataset["spec"]["volumeName"]
    assert team.request("PATCH", f"/api/v1/persistentvolumes/{name}", {}, by=ALICE)[0] == 403


def volume_claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": name, "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def test_a_token_of_an_account_never_becomes_a_secret(team: "ApiServer") -> None:
    assert team.create(secret("Opaque"), by=ALICE) == (201, "")
    status, message = team.create(secret("kubernetes.io/service-account-token"), by=ALICE)
    assert (status, "tokens of accounts end with their pods" in message) == (422, True), message


def budget(**spec: Any) -> Object:
    metadata = {"name": "one", "namespace": TEAM}
    selected = {"selector": {"matchLabels": {"app": "one"}}} | spec
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": selected}


ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}


@pytest.mark.parametrize("most", [1, 12, "1%", "100%"])
def test_a_budget_that_lets_pods_go_is_a_team_s_to_make(team: "ApiServer", most: int | str) -> None:
    assert team.create(budget(maxUnavailable=most, **ALWAYS), by=ALICE) == (201, "")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"maxUnavailable": 0, **ALWAYS}, "say spec.maxUnavailable: 1 or more"),
        ({"maxUnavailable": "0%", **ALWAYS}, "say spec.maxUnavailable: 1 or more"),
        ({"maxUnavailable": "00%", **ALWAYS}, "say spec.maxUnavailable: 1 or more"),
        ({"minAvailable": 1, **ALWAYS}, "say spec.maxUnavailable: 1 or more"),
        (ALWAYS, "say spec.maxUnavailable: 1 or more"),
        ({"maxUnavailable": 1}, "AlwaysAllow"),
        ({"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "IfHealthyBudget"}, "AlwaysAllow"),
    ],
)
def test_a_budget_never_stops_a_drain_for_ever(team: "ApiServer", spec: Object, told: str) -> None:
    status, message = team.create(budget(**spec), by=ALICE)
    assert (status, told in message) == (422, True), message


@pytest.mark.parametrize("name", of_teams())
def test_what_teams_are_told_to_write_is_taken(team: "ApiServer", name: str) -> None:
    manifest = of_teams()[name]
    manifest["metadata"]["namespace"] = TEAM
    assert team.create(manifest, by=ALICE) == (201, "")


BROUGHT = {
    "gang-missing": "put the annotation scheduling.volcano.sh/group-min-member on the Job",
    "gpu-request-unlike-limit": "must be equal to nvidia.com/gpu limit",
    "gpu-request-without-limit": "Limit must be set for non overcommitable resources",
    "gpu-without-its-domain": "must be a standard resource for containers",
    "pod-with-gpus": "a pod with GPUs starts through Kueue",
    "queue-in-an-annotation": "put the label kueue.x-k8s.io/queue-name: default on it",
    "queue-missing": "put the label kueue.x-k8s.io/queue-name: default on it",
    "requests-missing": "give every container requests for cpu and memory",
    "scheduler-of-its-own": "schedulerName may be volcano or left out",
    "scheduler-of-its-own-without-gpus": "schedulerName may be volcano or left out",
}
"""What `gen check PATH` tells of these files, in the server's own words."""


def brought(name: str) -> Object:
    manifest: Object = next(yaml.load_all((ROOT / f"tests/wrong/brought/{name}.yaml").read_text(), yaml.CSafeLoader))
    manifest["metadata"]["namespace"] = TEAM
    return manifest


@pytest.mark.parametrize("name", BROUGHT)
def test_what_is_told_of_what_teams_bring_is_refused(team: "ApiServer", name: str) -> None:
    status, message = team.create(brought(name), by=ALICE)
    assert (status, BROUGHT[name] in message) == (422, True), message


@pytest.mark.parametrize(
    "name", ["default-namespace", "namespace-of-its-own", "queues-of-its-own", "rights-of-its-own", "volume-of-its-own"]
)
def test_what_people_are_told_not_to_make_is_forbidden(team: "ApiServer", name: str) -> None:
    manifest = brought(name)
    for key in ("namespace",) if manifest["kind"] in {"Namespace", "PersistentVolume", "ResourceFlavor"} else ():
        del manifest["metadata"][key]
    manifest["metadata"] |= {"namespace": "default"} if name == "default-namespace" else {}
    status, message = team.create(manifest, by=ALICE)
    assert (status, "forbidden" in message) == (403, True), message


@pytest.mark.parametrize("name", ["right/job", "right/service", "right/claim"])
def test_what_is_told_to_be_right_is_taken(team: "ApiServer", name: str) -> None:
    assert team.create(brought(name), by=ALICE) == (201, "")


LISTED = {"batch/v1": ("cronjobs", "jobs"), "apps/v1": ("deployments", "statefulsets")}


def listed(team: "ApiServer") -> Object:
    """Return what `kubectl get` of several kinds prints."""
    items = []
    for version, kinds in LISTED.items():
        for kind in kinds:
            found = team.request("GET", f"/apis/{version}/{kind}")[1]
            items += [
                one | {"apiVersion": version, "kind": found["kind"].removesuffix("List")} for one in found["items"]
            ]
    return {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}}


def test_what_a_stricter_rule_would_refuse_is_found(team: "ApiServer", tmp_path: Path) -> None:
    """With the command of docs/operations.md, in which a file stands for `kubectl get`."""
    if not shutil.which("jq"):
        pytest.skip("jq is absent")
    stored_job(team, "good")
    (command,) = (block for block in blocks("operations.md", "sh") if "ValidatingAdmissionPolicy" in block)
    ask, create = command.split(">asked.json\n")
    assert create.startswith("kubectl create --dry-run=server --filename asked.json")
    (tmp_path / "file").write_text(json.dumps(listed(team)))
    ask = f"cat {tmp_path}/file {ask[ask.index('| jq') :]}"
    done = subprocess.run(["sh", "-c", ask], check=True, stdout=subprocess.PIPE, text=True)
    told = {one["metadata"]["name"]: team.create(one, by=ADMIN_CONF) for one in json.loads(done.stdout)["items"]}
    assert {name for name, (status, _) in told.items() if status != 201} == {"asked-older", "asked-greedy"}
    assert all("ValidatingAdmissionPolicy" in told[name][1] for name in ("asked-older", "asked-greedy"))
    assert (NO_QUEUE in told["asked-older"][1], NO_LIMIT in told["asked-greedy"][1]) == (True, True)
    assert told["asked-good"] == (201, "")
