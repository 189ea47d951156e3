"""Benchmarks on a real API server with the rules of teams: what its account and people may, and its steps to the end.
The kubelet and the controllers are not there: the log of a pod, and how Jobs and pods go, are said here.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mlperf_logs import printed

from generator.components import JOBS
from generator.components.mlperf import mlperf
from generator.components.mlperf.names import NAMESPACE
from generator.components.mlperf.template import scripts, workflow_template
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
JOB_CONTROLLER = ("system:serviceaccount:kube-system:job-controller", ("system:authenticated",))
# Not of system:serviceaccounts: other files that share the API server give that group rights.
ACCOUNT = (f"system:serviceaccount:{NAMESPACE}:mlperf", ("system:authenticated",))
MEMBER = ("oidc:somebody", ("oidc:mlperf", "system:authenticated"))
OTHER = ("oidc:somebody-else", ("oidc:vision", "system:authenticated"))
TEAM, STRICT = "mlperf", "mlperf-restricted"
CONTROLLER = "cluster-admin"
# The kubelet is not there: what it would answer lies in a file.
STARTS = """
import os, runpy, sys
sys.path.insert(0, os.environ["SCRIPTS"])
import api
asked = api.Api.send
def send(self, method, path, *more):
    if "/log?" not in path:
        return asked(self, method, path, *more)
    assert asked(self, "GET", path.split("/log?")[0].rpartition("/")[0] + "?limit=1") is not None
    return open(os.environ["LOG"], "rb").read()
api.Api.send = send
runpy.run_path(os.environ["SCRIPTS"] + "/mlperf.py", run_name="__main__")
"""


class Site:
    """The API server, and what runs steps there as pods of the operation do."""

    def __init__(self, api: "ApiServer", cluster: Cluster, folder: Path) -> None:
        self.api, self.cluster, self.folder = api, cluster, folder
        self.plans = folder / "plans"
        self.plans.mkdir()
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)
        (benchmarks,) = [one for one in mlperf(cluster).objects if one["metadata"]["name"] == "mlperf-benchmarks"]
        for name, text in benchmarks["data"].items():
            (self.plans / name).write_text(text)
        (folder / "start.py").write_text(STARTS)
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/mlperf/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        status, answer = api.request("POST", path, asked)
        assert status == 201, answer
        (folder / "token").write_text(answer["status"]["token"])
        (folder / "ca.crt").write_bytes(api.certificate.read_bytes())

    def plan(self, name: str) -> Object:
        found: Object = json.loads((self.plans / f"{name}.json").read_text())
        return found

    def begin(self, step: str, benchmark: str, run: str, **told: str) -> "subprocess.Popen[str]":
        """Begin a step."""
        env = {
            "PATH": os.environ["PATH"],
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": self.api.url.rpartition(":")[2],
            "ACCOUNT": str(self.folder),
            "SCRIPTS": str(self.folder),
            "PLANS": str(self.plans),
            "TOLD": str(self.folder),
            "LOG": str(self.folder / "log"),
            "BENCHMARK": benchmark,
            "RUN": run,
            "WAIT_SECONDS": "120",
            "ACCEPT": "no",
            "MOMENT": "0.1",
        }
        command = [sys.executable, "-B", str(self.folder / "start.py"), step]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=env | told, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def ended(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        said, _ = process.communicate(timeout=240)
        assert "Traceback" not in said, said
        return process.returncode, said

    def record(self, benchmark: str, value: float, **told: str) -> tuple[int, str]:
        """Run the step that compares."""
        return self.ended(self.begin("record", benchmark, "mlperf-x", VALUE=str(value), P99="0.0118", **told))

    def recorded(self) -> Object:
        """Return the last good run of each benchmark."""
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/mlperf-records"
        return {name: json.loads(text) for name, text in self.api.request("GET", path)[1]["data"].items()}

    def job(self, name: str) -> Object | None:
        status, found = self.api.request("GET", f"/apis/batch/v1/namespaces/{TEAM}/jobs/{name}")
        return found if status == 200 else None

    def runs(self, name: str, run: str, log: str, how: str = "Complete", code: int = 0) -> None:
        """Let the Job that a step makes run: its first pod prints `log` and ends with this code."""
        self.api.wait(f"{name} is made", lambda: bool(self.job(name)))
        (self.folder / "log").write_text(log)
        made = self.job(name)
        assert made
        assert made["metadata"]["labels"]["gen.internal/mlperf-run"] == run
        template = made["spec"]["template"]
        labels = template["metadata"]["labels"] | {"kueue.x-k8s.io/podset": "main"}
        index = {"batch.kubernetes.io/job-completion-index": "0"}
        metadata = {"name": f"{run}-0", "namespace": TEAM, "labels": labels, "annotations": index}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        assert self.api.create(pod, by=JOB_CONTROLLER, dry=False) == (201, "")
        state = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}}
        container = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        phase = "Succeeded" if code == 0 else "Failed"
        self.status(f"/api/v1/namespaces/{TEAM}/pods/{run}-0", {"phase": phase, "containerStatuses": [container]})
        when = "2026-01-02T03:04:05Z"
        kinds = ("SuccessCriteriaMet", "Complete") if how == "Complete" else ("FailureTarget", "Failed")
        conditions = [{"type": kind, "status": "True", "lastTransitionTime": when} for kind in kinds]
        ended = {"completionTime": when, "succeeded": made["spec"]["completions"]} if how == "Complete" else {}
        self.status(
            f"/apis/batch/v1/namespaces/{TEAM}/jobs/{name}", {"startTime": when, "conditions": conditions, **ended}
        )

    def status(self, path: str, status: Object) -> None:
        code, answer = self.api.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
        assert code == 200, answer

    def clear(self) -> None:
        """Let nothing of earlier runs be there."""
        for path in (f"/apis/batch/v1/namespaces/{TEAM}/jobs", f"/api/v1/namespaces/{TEAM}/pods"):
            for one in self.api.request("GET", path)[1]["items"]:
                at = f"{path}/{one['metadata']['name']}"
                self.api.request("PATCH", at, {"metadata": {"finalizers": None}}, patch="merge-patch+json")
                self.api.request("DELETE", at, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        self.api.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/configmaps/mlperf-records")


@pytest.fixture(scope="module")
def server(api: "ApiServer", a30: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The namespaces of the team and of the operation, with all that gen puts there."""
    api.install("kueue/v0.18.3/crds", "volcano/v1.14.1/crds", "argo-workflows/v4.0.2/crds")
    component, made = tenants(a30, JOBS), mlperf(a30)
    for space in (*component.namespaces, *made.namespaces):
        api.namespace(space.name, space.labels | {"pod-security.kubernetes.io/enforce": space.security or ""})
    api.namespace(STRICT, {"pod-security.kubernetes.io/enforce": "restricted"})
    for one in (*queues(a30).objects, *component.base, *component.objects, *made.base, *made.objects):
        api.apply(one)
    for one in (workflow_template(), scripts(), *bound_job_controller()):
        api.apply(one)
    site = Site(api, a30, tmp_path_factory.mktemp("mlperf"))
    unqueued = site.plan("resnet50-offline")["job"]
    del unqueued["metadata"]["labels"]
    api.wait("the rules hold", lambda: api.create(unqueued, by=MEMBER)[0] == 422)
    odd = workflow("mlperf-odd")
    odd["spec"]["suspend"] = True
    api.wait("its own hold", lambda: api.create(odd, by=MEMBER)[0] == 422)
    return site


def bound_job_controller() -> Iterator[Object]:
    group = "rbac.authorization.k8s.io"
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "test-mlperf-job-controller"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": CONTROLLER},
        "subjects": [{"apiGroup": group, "kind": "User", "name": JOB_CONTROLLER[0]}],
    }


@pytest.fixture
def site(server: Site) -> Site:
    server.clear()
    return server


NAMES = ("resnet50-offline", "resnet50-server", "resnet50-offline-both", "retinanet-server-both")


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_of_teams_take_each_job_and_its_pods(site: Site, name: str) -> None:
    job = site.plan(name)["job"]
    assert site.api.create(job, by=ACCOUNT) == (201, "")
    labels = {"kueue.x-k8s.io/podset": "main"}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": job["spec"]["template"]["spec"]}
    for space, by in ((TEAM, JOB_CONTROLLER), (STRICT, None)):
        metadata = {"name": "one", "namespace": space, "labels": labels}
        assert site.api.create(pod | {"metadata": metadata}, by=by) == (201, ""), space


@pytest.mark.parametrize(
    ("where", "key", "told"),
    [
        (("metadata", "labels"), "kueue.x-k8s.io/queue-name", "queue-name"),
        (("metadata", "annotations"), "scheduling.volcano.sh/group-min-member", "group-min-member"),
        (("spec", "template", "spec"), "schedulerName", "schedulerName"),
    ],
)
def test_the_operation_has_no_way_round_them(site: Site, where: tuple[str, ...], key: str, told: str) -> None:
    job = deepcopy(site.plan("resnet50-offline-both")["job"])
    inner = job
    for step in where:
        inner = inner[step]
    del inner[key]
    status, said = site.api.create(job, by=ACCOUNT)
    assert (status, told in said) == (422, True), said


def a_pod(space: str, **limits: str) -> Object:
    spec = deepcopy(
        {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.org/any:1",
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi", **limits}},
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                }
            ],
            "securityContext": {"runAsNonRoot": True, "runAsUser": 8737, "seccompProfile": {"type": "RuntimeDefault"}},
        }
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "namespace": space}, "spec": spec}


def test_whoever_makes_pods_by_a_workflow_gets_no_gpu(site: Site) -> None:
    """What a workflow's author may bring into its pods, Argo's controller makes: only the quota stands before it."""
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/mlperf"
    hard = site.api.request("GET", path)[1]["spec"]["hard"]
    site.status(path, {"hard": hard, "used": dict.fromkeys(hard, "0")})
    assert site.api.create(a_pod(NAMESPACE)) == (201, "")
    status, said = site.api.create(a_pod(NAMESPACE, **{"nvidia.com/gpu": "1"}))
    assert (status, "exceeded quota: mlperf, requested: requests.nvidia.com/gpu=1" in said) == (403, True), said


def workflow(name: str = "mlperf-one") -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "workflowTemplateRef": {"name": "mlperf"},
            "arguments": {"parameters": [{"name": "benchmark", "value": "resnet50-offline"}]},
        },
    }


def test_members_start_runs_and_may_touch_nothing_else_there(site: Site) -> None:
    assert site.api.create(workflow(), by=MEMBER) == (201, "")
    assert site.api.create(workflow(), by=OTHER)[0] == 403
    record = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mlperf-records", "namespace": NAMESPACE}}
    assert site.api.create(record, by=MEMBER)[0] == 403
    assert site.api.create(a_pod(NAMESPACE), by=MEMBER)[0] == 403
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflowtemplates/mlperf"
    assert site.api.request("GET", path, by=MEMBER)[0] == 200
    changed = {"spec": {"entrypoint": "record"}}
    assert site.api.request("PATCH", path, changed, by=MEMBER, patch="merge-patch+json")[0] == 403


POD = {"name": "own", "container": {"image": "registry.example.org/any:1", "command": ["id"]}}
GAUGE = {"name": "backup_last_success_seconds", "help": "of backups", "gauge": {"realtime": False, "value": "4e9"}}


@pytest.mark.parametrize(
    "more",
    [
        {"status": {"storedWorkflowTemplateSpec": {"entrypoint": "own", "templates": [POD]}}},
        {"spec": {"entrypoint": "record"}},
        {"spec": {"entrypoint": "own", "templates": [POD]}},
        {"spec": {"metrics": {"prometheus": [GAUGE]}}},
        {"spec": {"suspend": True}},
        {"spec": {"priority": 1000}},
        {"spec": {"podSpecPatch": "{}"}},
        {"spec": {"serviceAccountName": "default"}},
        {"spec": {"workflowTemplateRef": {"name": "other"}}},
        {"spec": {"workflowTemplateRef": {"name": "mlperf", "clusterScope": True}}},
    ],
    ids=str,
)
def test_a_run_brings_nothing_but_its_arguments(site: Site, more: Object) -> None:
    """Whoever may create workflows could make any pod, and write any metric, in the platform's name."""
    plain = workflow("mlperf-two")
    code, said = site.api.create({**plain, **more, "spec": {**plain["spec"], **more.get("spec", {})}}, by=MEMBER)
    assert code == 422, said
    assert "gen-mlperf-runs" in said
    assert "gen workflow submit mlperf" in said


@pytest.mark.parametrize(
    ("path", "method"),
    [
        (f"/api/v1/namespaces/{TEAM}/secrets", "GET"),
        (f"/api/v1/namespaces/{TEAM}/pods", "POST"),
        (f"/api/v1/namespaces/{NAMESPACE}/configmaps/mlperf-scripts", "GET"),
        (f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", "POST"),
        ("/api/v1/nodes", "GET"),
    ],
)
def test_the_account_may_nothing_else(site: Site, path: str, method: str) -> None:
    assert site.api.request(method, path, {} if method == "POST" else None, by=ACCOUNT)[0] == 403


def benchmark(site: Site, name: str, log: str, **how: Any) -> tuple[int, str]:
    """Run a benchmark whose first pod prints this."""
    run = how.pop("run", "mlperf-x7k2p")
    process = site.begin("benchmark", name, run)
    site.runs(f"mlperf-{name}", run, log, **how)
    return site.ended(process)


def test_a_valid_run_is_measured_and_written_down(site: Site) -> None:
    code, said = benchmark(site, "resnet50-server", printed("server-valid"))
    assert code == 0, said
    assert "VALID: 15988.4 samples/s" in said
    assert (site.folder / "value").read_text() == "15988.41"
    assert (site.folder / "p99").read_text() == "0.011873920"
    assert site.record("resnet50-server", 15988.41)[0] == 0
    found = site.recorded()["resnet50-server"]
    assert (found["value"], found["unit"], found["p99"], found["run"]) == (15988.41, "samples/s", 0.0118, "mlperf-x")


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (printed("server-over-latency"), "INVALID: the result is INVALID: not satisfied: performance constraints"),
        (printed("offline-valid"), "INVALID: Scenario is Offline, and not Server"),
        (printed("server-truncated"), "no result: the summary is not whole: it has no part `Test Parameters Used`"),
        (
            printed("server-valid").replace("Completed samples", "Some samples"),
            "no result: `Completed samples per second` is not in the summary: no figure to count",
        ),
        ("Killed\n", "no result: the log of the pod has no summary of LoadGen's"),
    ],
)
def test_what_is_no_result_ends_the_run(site: Site, log: str, told: str) -> None:
    code, said = benchmark(site, "resnet50-server", log)
    assert (code, told in said) == (2, True), said


def test_a_job_that_failed_says_why(site: Site) -> None:
    code, said = benchmark(site, "resnet50-server", "", how="Failed", code=3)
    assert code == 2
    assert "mlperf-resnet50-server failed: mlperf-x7k2p-0 ended with 3 (Error)" in said
    assert "in another compute mode" in said


def test_a_drop_is_told_and_does_not_lower_what_is_compared_with(site: Site) -> None:
    assert site.record("resnet50-server", 16000)[0] == 0
    assert site.record("resnet50-server", 15300)[0] == 0, "within 5 %"
    for _ in range(2):
        code, said = site.record("resnet50-server", 14500)
        assert (code, "resnet50-server dropped: 14500 samples/s, 5.2 % below 15300" in said) == (2, True), said
    assert site.recorded()["resnet50-server"]["value"] == 15300
    assert site.record("resnet50-server", 14500, ACCEPT="yes")[0] == 0
    assert site.recorded()["resnet50-server"]["value"] == 14500
    assert site.record("resnet50-offline", 100)[0] == 0, "another benchmark is another figure"
    assert site.recorded().keys() == {"resnet50-server", "resnet50-offline"}


def test_a_run_waits_for_no_other_and_takes_up_its_own(site: Site) -> None:
    first = site.begin("benchmark", "resnet50-server", "mlperf-aaaaa")
    site.api.wait("the Job is made", lambda: bool(site.job("mlperf-resnet50-server")))
    code, said = site.ended(site.begin("benchmark", "resnet50-server", "mlperf-bbbbb"))
    assert (code, "Job mlperf-resnet50-server of an earlier run is not over" in said) == (2, True), said
    first.kill()
    first.communicate(timeout=60)
    again = site.begin("benchmark", "resnet50-server", "mlperf-aaaaa")
    site.runs("mlperf-resnet50-server", "mlperf-aaaaa", printed("server-valid"))
    assert site.ended(again)[0] == 0


def test_a_run_that_is_not_over_in_time_takes_its_job_away(site: Site) -> None:
    code, said = site.ended(site.begin("benchmark", "resnet50-server", "mlperf-x7k2p", WAIT_SECONDS="1"))
    assert (code, "was not over after 1 s (`wait-seconds`) and is deleted" in said) == (2, True), said
    job = site.job("mlperf-resnet50-server")
    assert job is None or job["metadata"]["deletionTimestamp"]


def test_a_benchmark_that_the_file_has_not_is_named(site: Site) -> None:
    code, said = site.ended(site.begin("benchmark", "resnet", "mlperf-x7k2p"))
    assert (code, f"has no benchmark resnet; it has {', '.join(sorted(NAMES))}" in said) == (2, True), said
