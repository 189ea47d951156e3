"""The steps of acceptance, run as processes with the rights of their ServiceAccount, against a real API server with the
policies of teams. Played are controllers (they make pods, and tell how a job ended) and kubelets (they give logs).
"""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from acceptanceoutputs import GOOD_FIO, GOOD_OBJECTS, answered, burnt, links, nccl, trained
from auditing import betrayed, executor, flags, stored, unused, written
from kubeletplayed import LOGS, kubelet, node
from msgspec import structs
from ports import free_port
from reference import load

from generator.components import JOBS as KINDS
from generator.components.acceptance import acceptance
from generator.components.acceptance.names import JOBS, NAMESPACE
from generator.components.acceptance.pools import BY_JOBS
from generator.components.acceptance.templates import scripts
from generator.components.jobs import PODSET
from generator.components.queues import queues
from generator.components.tenants import tenants
from generator.model.acceptance import Acceptance
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
ACCOUNT = f"{NAMESPACE}:acceptance"
POOL = "gpu-training"
KEY = "key-of-a-store-0123456789"
NODES = ("gpu-01", "gpu-02", "gpu-03")
CONTROLLER = ("system:serviceaccount:kube-system:job-controller", ("system:authenticated",))
MPI = f"/apis/kubeflow.org/v2beta1/namespaces/{JOBS}/mpijobs"
PLAIN = f"/apis/batch/v1/namespaces/{JOBS}/jobs"


class Site:
    """The API server with what is rendered, and what runs steps there."""

    def __init__(self, api: "ApiServer", folder: Path) -> None:
        self.api, self.folder = api, folder
        self.runs = 0
        self.said: list[str] = []
        for name, text in scripts()["data"].items():
            (folder / name).write_text(text)

    def install(self, cluster: Cluster, port: int) -> None:
        """Store what is rendered but Argo's kinds, and nodes whose kubelet is the one at this port."""
        ours = ("kueue/v0.18.3/crds", "volcano/v1.14.1/crds", "mpi-operator/v0.8.2/crds")
        self.api.install(*ours, "cert-manager/v1.21.1/crds", "rook/v1.20.6/crds")
        made, rules = acceptance(cluster), tenants(cluster, KINDS)
        for space in made.namespaces:
            labels = space.labels | {"pod-security.kubernetes.io/enforce": str(space.security)}
            self.api.namespace(space.name, labels)
        shared = [one for each in made.operations for one in each.templates if one["kind"] == "ConfigMap"]
        for one in (*queues(cluster).objects, *rules.base, *made.base, *made.objects, *shared):
            self.api.apply(one)
        for store in made.secrets:
            metadata = {"name": store.name, "namespace": store.namespace}
            data = dict.fromkeys(store.keys, KEY)
            self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
        for name in NODES:
            node(self.api, name, port)
        self.account()
        stray = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "stray", "namespace": JOBS}}
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example.org/any:1"}]}
        unqueued = {**stray, "spec": {"template": {"spec": pod}}}
        self.api.wait("the policies hold", lambda: self.api.create(unqueued)[0] == 422)

    def renew(self, cluster: Cluster) -> None:
        """Store what pools are tried by, and what the steps may, as another cluster file says."""
        for one in acceptance(cluster).objects:
            if one["kind"] in ("ConfigMap", "Role"):
                self.api.apply(one)

    def account(self) -> None:
        """Write what a pod of the ServiceAccount is given."""
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/acceptance/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        code, answer = self.api.request("POST", path, request)
        assert code == 201, answer
        (self.folder / "token").write_text(answer["status"]["token"])
        (self.folder / "ca.crt").write_bytes(self.api.certificate.read_bytes())

    def may_ask_for_mpijobs(self) -> bool:
        """Tell whether the account of the steps may."""
        what = {"group": "kubeflow.org", "resource": "mpijobs", "verb": "list", "namespace": JOBS}
        spec = {"user": f"system:serviceaccount:{ACCOUNT}", "resourceAttributes": what}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        code, answer = self.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        assert code == 201, answer
        return bool(answer["status"]["allowed"])

    def status(self, path: str, status: Object) -> None:
        """Set what only controllers say of an object."""
        code, answer = self.api.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
        assert code == 200, answer

    def get(self, path: str) -> Any:
        """Return what is there, None where nothing is."""
        code, answer = self.api.request("GET", path)
        return answer if code == 200 else None

    def run(self) -> str:
        """Return the name of a new run."""
        self.runs += 1
        return f"acceptance-x{self.runs}"

    def begin(self, run: str, step: str, **told: str) -> "subprocess.Popen[str]":
        """Begin a step of a run."""
        env = {
            **os.environ,
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": self.api.url.rpartition(":")[2],
            "ACCOUNT": str(self.folder),
            "MOMENT": "0.1",
            "RUN": run,
            "STATUS": "Succeeded",
            "POOL": POOL,
            "TESTS": ",".join(BY_JOBS),
            "NODES": "3",
            "THRESHOLDS": "",
            "WAIT_SECONDS": "60",
            "TRY_SECONDS": "660",
            "BURN_SECONDS": "60",
            "SETTLE_SECONDS": "3",
            **told,
        }
        command = [sys.executable, "-B", str(self.folder / "acceptance.py"), step]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def step(self, run: str, step: str, play: Callable[[], None] = lambda: None, /, **told: str) -> tuple[int, str]:
        """Run a step to its end, while controllers are played; its exit code, and what it said. Trouble that may pass
        is tried again, as Argo does.
        """
        process = self.begin(run, step, **told)
        try:
            play()
            said, _ = process.communicate(timeout=120)
        finally:
            process.kill()
        self.said.append(said)
        assert "Traceback" not in said, said
        return self.step(run, step, **told) if process.returncode == 1 else (process.returncode, said)

    def pods(self, job: Object, spec: Object, texts: list[str], **labels: str) -> None:
        """Let controllers make pods of a job, each on a node of its own, and have them said something."""
        for place, text in enumerate(texts):
            name = f"{job['metadata']['name']}-{place}"
            LOGS[name] = text
            metadata = {
                "name": name,
                "namespace": JOBS,
                "labels": {**labels, "gen.internal/run": job["metadata"]["labels"]["gen.internal/run"], PODSET: "main"},
                "annotations": {"batch.kubernetes.io/job-completion-index": str(place)},
            }
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            assert self.api.create(pod, by=CONTROLLER, dry=False) == (201, "")
            target = {"apiVersion": "v1", "kind": "Node", "name": NODES[place]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            code, answer = self.api.request("POST", f"/api/v1/namespaces/{JOBS}/pods/{name}/binding", binding)
            assert code == 201, answer

    def there(self, path: str) -> Object:
        """Return an object as soon as it is there."""
        self.api.wait(path, lambda: self.get(path) is not None)
        found: Object = self.get(path)
        return found

    def play(self, run: str, test: str, texts: list[str], ended: str = "Complete") -> None:
        """Let a Job run: its pods say these texts, and it ends."""
        path = f"{PLAIN}/{run}-{test}"
        job = self.there(path)
        assert job["spec"]["completions"] == len(texts)
        if subdomain := job["spec"]["template"]["spec"].get("subdomain"):
            service = self.get(f"/api/v1/namespaces/{JOBS}/services/{subdomain}")
            assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": f"{run}-{test}"}
        self.pods(job, job["spec"]["template"]["spec"], texts, **{"batch.kubernetes.io/job-name": f"{run}-{test}"})
        self.status(path, {"startTime": "2026-11-23T12:00:00Z", "active": len(texts), "ready": len(texts)})
        first = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[ended]
        conditions = [condition(first), condition(ended)]
        done: Object = {"active": 0, "ready": 0, "conditions": conditions}
        if ended == "Complete":
            places = f"0-{len(texts) - 1}" if len(texts) > 1 else "0"
            done |= {"completionTime": "2026-11-23T12:05:00Z", "succeeded": len(texts), "completedIndexes": places}
        self.status(path, done)

    def play_mpi(self, run: str, text: str, ended: str = "Succeeded") -> None:
        """Let the MPIJob run: its launcher says this text, and it ends."""
        path = f"{MPI}/{run}-nccl"
        job = self.there(path)
        spec = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"] | {"restartPolicy": "Never"}
        labels = {"training.kubeflow.org/job-name": f"{run}-nccl", "training.kubeflow.org/job-role": "launcher"}
        self.pods(job, spec, [text], **labels)
        self.status(path, {"conditions": [condition(ended)]})


def condition(kind: str) -> Object:
    when = "2026-11-23T12:05:00Z"
    return {"type": kind, "status": "True", "lastTransitionTime": when, "lastProbeTime": when, "reason": "Played"} | (
        {} if kind in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget") else {"lastUpdateTime": when}
    )


def tried(**changes: Any) -> Cluster:
    """Return ml50 with what tries its pools, and with changes."""
    image = Acceptance(image="registry.ml50.example.org/platform/acceptance:2026.11")
    return structs.replace(load("ml50"), acceptance=image, **changes)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    from apiserver import start

    folder = tmp_path_factory.mktemp("steps")
    with start(folder, *flags(folder, ACCOUNT)) as api, kubelet(api.certificate) as port:
        made = Site(api, folder)
        made.install(tried(), port)
        yield made


def records(site: Site, run: str) -> dict[str, Any]:
    """Return what was kept of a run, by test."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps?labelSelector=gen.internal%2Facceptance%3Drecord"
    found = [json.loads(one["data"]["record"]) for one in site.get(path)["items"]]
    return {one["test"]: one for one in found if one["run"] == run}


def test_a_good_pool_is_accepted_and_nothing_is_left(site: Site) -> None:
    run = site.run()
    assert site.step(run, "preflight")[0] == 0
    code, said = site.step(run, "nccl", partial(site.play_mpi, run, nccl(91.0, nodes=3)))
    assert (code, "nccl: passed" in said) == (0, True), said
    code, said = site.step(run, "pairs", partial(site.play, run, "pairs", ["", links(0), links(1)]))
    assert (code, "pairs: passed" in said) == (0, True), said
    any_rate = {"THRESHOLDS": "burn-tflops=0,training-samples=0,inference-samples=0"}
    whole = {"burn": [burnt(8)] * 3, "training": [trained(24), "", ""], "inference": [answered(24), "", ""]}
    for test, said_by_pods in whole.items():
        code, said = site.step(run, test, partial(site.play, run, test, said_by_pods), **any_rate)
        assert (code, f"{test}: passed" in said) == (0, True), said
    slow_enough = {"THRESHOLDS": "read-gbytes=1,write-gbytes=1,random-reads=1e5,random-writes=1e5"}
    code, said = site.step(run, "scratch", partial(site.play, run, "scratch", [GOOD_FIO] * 3), **slow_enough)
    assert (code, "scratch: passed" in said) == (0, True), said
    assert site.step(run, "shared", partial(site.play, run, "shared", [GOOD_FIO] * 3))[0] == 0
    read = GOOD_OBJECTS + GOOD_OBJECTS.replace("minio", "ceph-datasets")
    said_by_run = {"THRESHOLDS": "put-mbytes=90,get-mbytes=90"}
    code, said = site.step(run, "objects", partial(site.play, run, "objects", [read] * 3), **said_by_run)
    assert (code, "objects: passed" in said) == (0, True), said
    kept = records(site, run)
    assert (sorted(kept), [one["wrong"] for one in kept.values()]) == (sorted(BY_JOBS), [[]] * len(BY_JOBS))
    assert records(site, run)["pairs"]["on"] == list(NODES)
    code, said = site.step(run, "verdict")
    assert (code, "pool gpu-training is accepted, 3 nodes" in said) == (0, True), said
    code, said = site.step(run, "report")
    assert code == 0, said
    for path in (f"{MPI}/{run}-nccl", f"{PLAIN}/{run}-pairs", f"/api/v1/namespaces/{JOBS}/services/{run}-pairs"):
        found = site.get(path)
        assert found is None or "deletionTimestamp" in found["metadata"], path


def test_a_pool_that_is_slow_or_goes_another_way_is_not_accepted(site: Site) -> None:
    run, tests = site.run(), {"TESTS": "nccl,pairs"}
    said_by_it = nccl(91.0, nodes=3, ways=("Socket/0", "Socket/1"))
    code, said = site.step(run, "nccl", partial(site.play_mpi, run, said_by_it), **tests)
    assert (code, "data went by Socket between nodes" in said) == (2, True), said
    slow = ["", links(0), links(1, 190.0)]
    code, said = site.step(run, "pairs", partial(site.play, run, "pairs", slow), **tests)
    assert (code, "gpu-02 - gpu-03 mlx5_0 host: 190 Gbit/s, less than 380" in said) == (2, True), said
    code, said = site.step(run, "scratch", **tests)
    assert (code, "nobody asked for it" in said) == (0, True), said
    code, said = site.step(run, "verdict", **tests)
    assert code == 2
    assert "is not accepted" in said
    assert "Socket" in said
    assert "190 Gbit/s" in said


def test_a_step_that_is_tried_again_measures_nothing_twice(site: Site) -> None:
    run = site.run()
    play = partial(site.play_mpi, run, nccl(91.0, nodes=3))
    assert site.step(run, "nccl", play)[0] == 0
    assert site.step(run, "report")[0] == 0
    code, said = site.step(run, "nccl")
    assert (code, "nccl: passed" in said, "is made" in said) == (0, True, False), said


def test_what_failed_is_told_though_its_job_ended_well_or_not(site: Site) -> None:
    run = site.run()
    play = partial(site.play_mpi, run, "ORTE was unable to reliably start one or more daemons.\n", "Failed")
    code, said = site.step(run, "nccl", play)
    assert (code, "it ended before its result: ORTE was unable" in said) == (2, True), said
    run = site.run()
    code, said = site.step(run, "nccl", partial(site.play_mpi, run, nccl(91.0, nodes=3), "Failed"))
    assert (code, "its job failed, though it had measured all" in said) == (2, True), said


def test_a_job_that_finds_no_room_is_told_with_the_queue_s_words(site: Site) -> None:
    run = site.run()
    words = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor gpu"

    def hold() -> None:
        job = site.there(f"{PLAIN}/{run}-pairs")
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job["metadata"]["name"],
            "uid": job["metadata"]["uid"],
        }
        container = {"name": "main", "image": "registry.example.org/any:1"}
        podset = {"name": "main", "count": 3, "template": {"spec": {"containers": [container]}}}
        workload = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": f"job-{run}", "namespace": JOBS, "ownerReferences": [owner]},
            "spec": {"queueName": "default", "podSets": [podset]},
        }
        assert site.api.create(workload, dry=False) == (201, "")
        waits = {**condition("QuotaReserved"), "status": "False", "message": words, "reason": "Pending"}
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{JOBS}/workloads/job-{run}"
        waits = {key: waits[key] for key in ("type", "status", "message", "reason", "lastTransitionTime")}
        site.status(path, {"conditions": [waits]})

    code, said = site.step(run, "pairs", hold, WAIT_SECONDS="5")
    assert (code, f"has not started in 5 s: {words}" in said) == (2, True), said
    assert "pairs" not in records(site, run)
    code, said = site.step(run, "verdict", TESTS="pairs")
    assert (code, "it has no result" in said) == (2, True), said


def test_without_the_mpi_operator_a_job_does_it_and_nobody_asks_for_mpijobs(site: Site) -> None:
    site.renew(tried(frameworks=()))
    site.api.wait("the right is gone", lambda: not site.may_ask_for_mpijobs())
    try:
        run, tests = site.run(), {"TESTS": "nccl"}
        play = partial(site.play, run, "nccl", [nccl(91.0, nodes=3), "", ""])
        code, said = site.step(run, "nccl", play, **tests)
        assert (code, "nccl: passed" in said) == (0, True), said
        code, said = site.step(run, "report", **tests)
        assert (code, f"Job {run}-nccl is taken away" in said) == (0, True), said
        assert f"Service {run}-nccl is taken away" in said
    finally:
        site.renew(tried())
        site.api.wait("the right is back", site.may_ask_for_mpijobs)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"POOL": "cpu"}, "There are gpu-inference, gpu-training"),
        (
            {"TESTS": "nccl,fio"},
            "tests: fio; there are nccl, pairs, burn, training, inference, scratch, shared, objects, vip",
        ),
        ({"TESTS": " "}, "tests: nothing"),
        ({"BURN_SECONDS": "61"}, "burn-seconds: 61: say 10 to 60"),
        ({"NODES": "13"}, "nodes: 13: say how many, 12 at most"),
        ({"POOL": "gpu-inference", "NODES": "2"}, "nodes: 2: say how many, 1 at most, or 0 for that: of 3 nodes"),
        ({"NODES": "gpu-13"}, "nodes: gpu-13: say how many"),
        ({"THRESHOLDS": "nccl=80"}, "thresholds: nccl is none of nccl-gbytes"),
        ({"THRESHOLDS": "nccl-gbytes=fast"}, "say a number"),
        ({"TESTS": "pairs", "NODES": "1"}, "nothing of this can be tried on 1 nodes"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_waits(site: Site, told: dict[str, str], words: str) -> None:
    code, said = site.step(site.run(), "preflight", **told)
    assert (code, words in said) == (2, True), said


class Front:
    """The API server as a control-plane node shows it at the address: with a certificate that has the node's name."""

    def __init__(self, site: Site, node: str, port: int) -> None:
        self.site, self.port, self.open = site, port, True
        names = ["-subj", "/CN=kube-apiserver", "-addext", f"subjectAltName=DNS:{node},IP:127.0.0.1"]
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        own = site.folder / f"{node}.crt", site.folder / f"{node}.key"
        command = [*new, "-out", str(own[0]), "-keyout", str(own[1]), *names]
        subprocess.run(command, check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*own)
        self.certificate = own[0].read_bytes()
        self.pairs: list[socket.socket] = []

    def serve(self) -> None:
        """Take the address."""
        self.listening = socket.create_server(("127.0.0.1", self.port))
        Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Join each connection with one to the API server."""
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self.listening.accept()
                Thread(target=self.join, args=(raw,), daemon=True).start()

    def join(self, raw: socket.socket) -> None:
        """Carry what both sides say."""
        self.pairs.append(raw)
        trust = ssl.create_default_context(cafile=str(self.site.api.certificate))
        with contextlib.suppress(OSError, ValueError):
            near = self.context.wrap_socket(raw, server_side=True)
            port = int(self.site.api.url.rpartition(":")[2])
            far = trust.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
            self.pairs += [near, far]
            asked = near.recv(65536)
            far.sendall(asked)
            while said := far.recv(65536):
                near.sendall(said)
            near.unwrap()

    def leave(self) -> None:
        """Go, with all connections."""
        for one in (self.listening, *self.pairs):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                one.close()


def test_who_takes_the_address_over_is_measured_and_recorded(site: Site) -> None:
    port = free_port()
    ml50 = load("ml50")
    endpoint = structs.replace(ml50.kubernetes.endpoint, address=f"127.0.0.1:{port}")
    site.renew(tried(kubernetes=structs.replace(ml50.kubernetes, endpoint=endpoint)))
    fronts = [Front(site, one.name, port) for one in ml50.control_plane[:2]]
    known = (site.folder / "ca.crt").read_bytes()
    (site.folder / "ca.crt").write_bytes(b"".join([known, *(one.certificate for one in fronts)]))
    try:
        code, said = site.step(site.run(), "vip", TESTS="vip")
        assert (code, "not Ready" in said) == (2, True), said
        for machine in ml50.control_plane:
            site.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": machine.name}})
            ready = {
                "type": "Ready",
                "status": "True",
                "lastTransitionTime": "2026-11-23T12:05:00Z",
                "reason": "Played",
            }
            site.status(f"/api/v1/nodes/{machine.name}", {"conditions": [ready]})
        fronts[0].serve()
        run = site.run()

        def move() -> None:
            time.sleep(3)
            fronts[0].leave()
            time.sleep(2)
            fronts[1].serve()

        code, said = site.step(run, "vip", move, TESTS="vip")
        assert (code, "vip: passed" in said, "cp-1 holds 127.0.0.1" in said) == (0, True, True), said
        kept = records(site, run)["vip"]
        assert kept["on"] == ["cp-1", "cp-2"]
        values = kept["figures"]["cp-1 to cp-2"]
        assert 1.8 < values["vip-seconds"] < 5, values
        assert (values["failed-requests"] >= 10, values["watch-breaks"]) == (True, 1.0), values
        still = site.run()
        code, said = site.step(still, "vip", TESTS="vip", WAIT_SECONDS="4")
        assert (code, "held 127.0.0.1 all the time" in said, records(site, still)) == (2, True, {}), said
    finally:
        for one in fronts:
            if hasattr(one, "listening"):
                one.leave()
        (site.folder / "ca.crt").write_bytes(known)
        site.renew(tried())


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others: what is left is Argo's executor's, which runs no process here."""
    assert unused(site.api, site.folder, ACCOUNT) == executor(ACCOUNT)


def test_no_token_and_no_key_of_a_store_is_told(site: Site) -> None:
    """After all others: in nothing that steps said, asked or kept."""
    token = (site.folder / "token").read_text()
    assert site.api.request("GET", f"/api/v1/namespaces/{JOBS}/secrets")[1]["items"]
    places = [*stored(site.api), *written(site.folder), *(("what a step said", text) for text in site.said)]
    for where, words in (("/configmaps", "is made"), ("audit.log", ACCOUNT), ("what a step said", "nccl: passed")):
        assert any(where in place and words in text for place, text in places), where
    assert betrayed(places, [token, KEY]) == []
