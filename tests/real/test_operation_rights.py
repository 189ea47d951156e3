"""What the API server lets accounts of operations make: the Jobs of their steps, and no other, whoever has a token."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.settings import setup_job
from generator.components.node_operations import node_operations
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
)
from generator.components.node_operations.templates import (
    ask_ceph_job,
    ask_minio_job,
    burn_in_job,
    burn_in_nccl_job,
)
from generator.components.python_steps import IMAGE
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]


def account(name: str) -> "Identity":
    return f"system:serviceaccount:{NAMESPACE}:{name}", ("system:serviceaccounts", "system:authenticated")


@pytest.fixture(scope="module")
def server(api: "ApiServer", ml50: Cluster) -> Iterator["ApiServer"]:
    made = node_operations(ml50)
    for name in (NAMESPACE, ROOK, MINIO):
        api.namespace(name)
    group = "rbac.authorization.k8s.io"
    subject = {"apiGroup": group, "kind": "Group", "name": "system:serviceaccounts"}
    # Whatever somebody may bind these accounts to: the rules are judged here, and not the roles.
    everything = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "test-operations"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    for one in (*[one for one in made.objects if one["kind"].startswith("ValidatingAdmission")], everything):
        api.apply(one)
    wrong = (pod(), ask_ceph(args=["sh"]), burn_in(args=["sh"]), nccl("a", args=["sh"]), ask_minio(ml50, "sh"))
    makers = (EXPANSION, OSD_REPLACEMENT, EXPANSION, EXPANSION, DRIVE_REPLACEMENT)
    pairs = [*zip(wrong, makers, strict=True)]
    api.wait("the rules hold", lambda: all(api.create(one, by=account(who))[0] == 422 for one, who in pairs))
    yield api
    api.request("DELETE", f"/apis/{group}/v1/clusterrolebindings/test-operations")


ACCEPTANCE = "registry.ml50.example.org/platform/acceptance"


def pod() -> Object:
    spec = {"containers": [{"name": "main", "image": IMAGE}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": NAMESPACE}, "spec": spec}


def ask_ceph(**container: Any) -> Object:
    job = copy.deepcopy(ask_ceph_job())
    job["metadata"]["name"] = "ask-ceph-sys-1"
    spec = job["spec"]["template"]["spec"]
    for one in (*spec["initContainers"], *spec["containers"]):
        one["image"] = "docker.io/rook/ceph:v1.20.5"
    spec["containers"][0] |= {"args": ["ceph", "osd", "out", "1", "2"], **container}
    return job


def burn_in(disks: int = 2, **container: Any) -> Object:
    job = copy.deepcopy(burn_in_job())
    job["metadata"]["name"], job["spec"]["activeDeadlineSeconds"] = "burn-in-gpu-r1-01", 3600
    spec = job["spec"]["template"]["spec"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": "gpu-r1-01"}
    (main,) = spec["containers"]
    main |= {"image": IMAGE, "env": [{"name": "EXPECTED", "value": "{}"}]}
    main["resources"]["limits"] |= {"nvidia.com/gpu": "8", "rdma/hca": "1", "memory": "507Gi"}
    main["resources"]["requests"]["memory"] = "507Gi"
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"spec": {**asked, "storageClassName": "scratch-nvme"}}
    for number in range(disks):
        main["volumeMounts"].append({"name": f"disk-{number}", "mountPath": f"/disks/{number}"})
        spec["volumes"].append({"name": f"disk-{number}", "ephemeral": {"volumeClaimTemplate": claim}})
    main |= container
    return job


def at(job: Object, name: str, node: str) -> Object:
    """Give a burn-in another name and another node."""
    job["metadata"]["name"] = name
    job["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return job


def nccl(*nodes: str, **container: Any) -> Object:
    job = copy.deepcopy(burn_in_nccl_job())
    job["metadata"]["name"] = f"burn-in-nccl-{len(nodes)}-{nodes[0]}"
    job["spec"] |= {"activeDeadlineSeconds": 900, "parallelism": len(nodes), "completions": len(nodes)}
    spec = job["spec"]["template"]["spec"]
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    term["matchExpressions"][0]["values"] = [*nodes]
    (main,) = spec["containers"]
    main |= {"image": f"{ACCEPTANCE}:2026.10", "env": [{"name": "EXPECTED", "value": "{}"}]}
    main["resources"]["limits"] |= {"nvidia.com/gpu": "8", "rdma/hca": "1"}
    main |= container
    return job


def ask_minio(cluster: Cluster, *words: str, **container: Any) -> Object:
    assert cluster.storage.objects
    job = ask_minio_job()
    pod = setup_job(cluster, cluster.storage.objects)["spec"]["template"]["spec"]
    (setup,), (asking,) = pod["containers"], job["spec"]["template"]["spec"]["containers"]
    job["metadata"] = {**job["metadata"], "name": "ask-minio-nas-1"}
    spec = {**pod, "containers": [{**setup, **asking, "args": [*words], **container}]}
    job["spec"]["template"] = {**job["spec"]["template"], "spec": spec}
    return copy.deepcopy(job)


def note(operation: str, **data: str) -> Object:
    metadata = {
        "name": f"{operation}-nas-1", "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": NAMESPACE},
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"begun": "now", **data}}


CEPH = ["out 1 2", "down 7", "purge osd.7", "find 7 --format json", "metadata 7 --format json"]
CEPH = [*(f"ceph osd {one}" for one in (*CEPH, "safe-to-destroy 1 2 3 --format json")), "room 7", "room 1 2 3"]


def test_what_the_steps_make_is_taken(server: "ApiServer", ml50: Cluster) -> None:
    for words in CEPH:
        for who in (REPLACEMENT, OSD_REPLACEMENT, REMOVAL):
            assert server.create(ask_ceph(args=words.split()), by=account(who)) == (201, "")
    for who in (DRIVE_REPLACEMENT, MINIO_EXPANSION, REPLACEMENT, UPGRADE, MAINTENANCE):
        for words in ("drives", "drives minio-nas-2-1 0", "sample 20"):
            assert server.create(ask_minio(ml50, *words.split()), by=account(who)) == (201, "")
    for who in (EXPANSION, REPLACEMENT, DRIVER_UPGRADE):
        for disks in (0, 8):
            assert server.create(burn_in(disks), by=account(who)) == (201, "")
        for nodes in (("gpu-01",), ("gpu-01", "gpu-02")):
            assert server.create(nccl(*nodes), by=account(who)) == (201, "")
    for name in ("burn-in-gpu-01-rack-1-example-org-0a1b2c3d", "burn-in-gpu-01.rack-1.example.org"):
        assert server.create(at(burn_in(), name, "gpu-01.rack-1.example.org"), by=account(EXPANSION)) == (201, "")
    notes = {REPLACEMENT: {"osds": "{}", "uid": "", "machine": ""}, OSD_REPLACEMENT: {"osd-7": "{}"}}
    notes[REMOVAL] = {"osds": "{}"}
    notes |= {DRIVE_REPLACEMENT: {"drive": "0", "server": "", "healing": ""}, MINIO_EXPANSION: {"servers": "{}"}}
    for who, data in notes.items():
        assert server.create(note(who, **data), by=account(who)) == (201, "")


def spec_of(job: Object) -> Object:
    found: Object = job["spec"]["template"]["spec"]
    return found


def changed(**fields: Any) -> Callable[[Object], None]:
    """Return what sets fields of the Job's pod."""
    return lambda job: spec_of(job).update(fields)


def in_main(**fields: Any) -> Callable[[Object], None]:
    """Return what sets fields of the Job's main container."""
    return lambda job: spec_of(job)["containers"][0].update(fields)


def in_job(**fields: Any) -> Callable[[Object], None]:
    """Return what sets fields of the Job."""
    return lambda job: job["spec"].update(fields)


def about(**fields: Any) -> Callable[[Object], None]:
    """Return what sets metadata of the Job."""
    return lambda job: job["metadata"].update(fields)


def mounted(volume: Object, **mount: Any) -> Callable[[Object], None]:
    """Return what adds a volume, and mounts it."""

    def add(job: Object) -> None:
        spec = spec_of(job)
        spec["volumes"].append({"name": "more", **volume})
        spec["containers"][0]["volumeMounts"].append({"name": "more", "mountPath": "/more", **mount})

    return add


def replaced(volume: Object) -> Callable[[Object], None]:
    """Return what puts another volume in place of the first one."""

    def put(job: Object) -> None:
        volumes = spec_of(job)["volumes"]
        volumes[0] = {"name": volumes[0]["name"], **volume}

    return put


def template(**fields: Any) -> Callable[[Object], None]:
    """Return what sets metadata of the Job's pod."""
    return lambda job: job["spec"]["template"]["metadata"].update(fields)


SHELL = {"name": "more", "image": "docker.io/library/python:3", "command": ["sh", "-c", "id"]}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "0b1e6c9a-0000-4000-8000-000000000000"}
NODE_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["control-1"]}]}
]}}  # fmt: skip
HOSTILE: dict[str, Callable[[Object], None]] = {
    "another image": in_main(image="evil.example.org/rook/ceph:v1.20.6"),
    "an image below the repository": in_main(image="docker.io/rook/ceph/evil:v1"),
    "an image that begins so": in_main(image="docker.io/library/python-evil:3"),
    "another command": in_main(command=["sh", "-c", "id"]),
    "a loader's variable": in_main(env=[{"name": "LD_PRELOAD", "value": "/tmp/evil.so"}]),
    "the shell's variable": in_main(env=[{"name": "BASH_ENV", "value": "/proc/self/environ"}]),
    "Python's variable": in_main(env=[{"name": "EXPECTED", "value": "{}"}, {"name": "PYTHONPATH", "value": "/a"}]),
    "variables of a Secret": in_main(envFrom=[{"secretRef": {"name": "rook-ceph-mon"}}]),
    "privileged": in_main(securityContext={"privileged": True}),
    "capabilities": in_main(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
    "no security context": in_main(securityContext={}),
    "a working folder": in_main(workingDir="/disks/0"),
    "a hook": in_main(lifecycle={"postStart": {"exec": {"command": ["id"]}}}),
    "a probe": in_main(livenessProbe={"exec": {"command": ["id"]}}),
    "a way in": in_main(stdin=True, tty=True),
    "words that end elsewhere": in_main(terminationMessagePath="/tmp/keyring"),
    "a container beside": lambda job: spec_of(job)["containers"].append(SHELL),
    "an init container": lambda job: spec_of(job).setdefault("initContainers", []).append(SHELL),
    "root": changed(securityContext={"runAsUser": 0}),
    "the host's processes": changed(hostPID=True),
    "the host's network": changed(hostNetwork=True),
    "the host's memory": changed(hostIPC=True),
    "another account": changed(serviceAccountName="rook-ceph-system"),
    "a token": changed(automountServiceAccountToken=True),
    "a node": changed(nodeName="control-1"),
    "another place": changed(affinity={"nodeAffinity": NODE_AFFINITY}),
    "tolerations": changed(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]),
    "a priority": changed(priorityClassName="system-node-critical"),
    "a runtime": changed(runtimeClassName="nvidia"),
    "another scheduler": changed(schedulerName="evil"),
    "another server of names": changed(dnsPolicy="None", dnsConfig={"nameservers": ["203.0.113.9"]}),
    "names of hosts": changed(hostAliases=[{"ip": "203.0.113.9", "hostnames": ["minio.minio.svc"]}]),
    "pull secrets": changed(imagePullSecrets=[{"name": "rook-ceph-mon"}]),
    "shared processes": changed(shareProcessNamespace=True),
    "a restart": changed(restartPolicy="OnFailure"),
    "a folder of the host": mounted({"hostPath": {"path": "/"}}),
    "a folder of the host in place of a volume": replaced({"hostPath": {"path": "/etc"}}),
    "another Secret": mounted({"secret": {"secretName": "rook-ceph-admin-keyring"}}),
    "another Secret in place of a volume": replaced({"secret": {"secretName": "rook-ceph-admin-keyring"}}),
    "another ConfigMap in place of a volume": replaced({"configMap": {"name": "evil"}}),
    "a token as a file": mounted({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}),
    "a volume of a server": mounted({"nfs": {"server": "203.0.113.9", "path": "/"}}),
    "an image as a volume": mounted({"image": {"reference": "evil.example.org/a:1"}}),
    "a mount over the scripts": lambda job: spec_of(job)["containers"][0]["volumeMounts"].append(
        {"name": spec_of(job)["volumes"][-1]["name"], "mountPath": "/usr/local/bin"}
    ),
    "suspended": in_job(suspend=True),
    "many pods": in_job(parallelism=50, completions=50),
    "an index": in_job(completionMode="Indexed"),
    "many tries": in_job(backoffLimit=99),
    "replaced while it ends": in_job(podReplacementPolicy="Failed"),
    "a policy of failures": in_job(
        podFailurePolicy={"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}
    ),
    "another controller": in_job(managedBy="evil.example.org/controller"),
    "no deadline": lambda job: job["spec"].pop("activeDeadlineSeconds"),
    "kept for long": in_job(ttlSecondsAfterFinished=99999999),
    "an owner": about(ownerReferences=[OWNER]),
    "a finalizer": about(finalizers=["example.org/stays"]),
    "an annotation": about(annotations={"argocd.argoproj.io/hook": "PreSync"}),
    "another label": about(labels={"app.kubernetes.io/name": "rook-ceph-operator"}),
    "another name": about(name="minio-setup"),
    "a label of its pod": template(labels={"app": "rook-ceph-mon"}),
    "an annotation of its pod": template(annotations={"k8s.v1.cni.cncf.io/networks": "kube-system/any"}),
}  # fmt: skip


@pytest.mark.parametrize("which", ["ceph", "minio", "burn-in", "nccl"])
def test_nothing_else_is_a_job_of_an_operation(server: "ApiServer", ml50: Cluster, which: str) -> None:
    makers = {"ceph": OSD_REPLACEMENT, "minio": DRIVE_REPLACEMENT, "burn-in": EXPANSION, "nccl": EXPANSION}
    taken = {}
    made = {"ceph": ask_ceph, "burn-in": burn_in, "nccl": lambda: nccl("gpu-01", "gpu-02")}
    # How many pods with places it may have is held in a test of its own.
    of_others = {"an index"} if which == "nccl" else set()
    for name in HOSTILE.keys() - of_others:
        job, spoil = made.get(which, lambda: ask_minio(ml50, "drives"))(), HOSTILE[name]
        spoil(job)
        status, message = server.create(job, by=account(makers[which]))
        if status != 422 or "ValidatingAdmissionPolicy" not in message:
            taken[name] = (status, message)
    assert taken == {}


def test_a_burn_in_is_on_the_node_that_its_name_says(server: "ApiServer") -> None:
    for name in ("burn-in-gpu-01", "burn-in-gpu-r1-01-0a1b2c3", "burn-in-any-0a1b2c3d", "ask-0a1b2c3d"):
        status, message = server.create(at(burn_in(), name, "gpu-r1-01"), by=account(EXPANSION))
        assert (status, "ValidatingAdmissionPolicy" in message) == (422, True), message


def test_gpus_are_tried_together_on_the_nodes_that_the_name_says(server: "ApiServer") -> None:
    def more(job: Object) -> Object:
        job["spec"] |= {"parallelism": 3, "completions": 3}
        return job

    def renamed(job: Object) -> Object:
        job["metadata"]["name"] = "burn-in-nccl-1-gpu-09"
        return job

    def relabelled(job: Object) -> Object:
        job["metadata"]["labels"] = {"app.kubernetes.io/name": "burn-in", "app.kubernetes.io/part-of": NAMESPACE}
        return job

    one = "gpu-01"
    for job in (more(nccl(one)), nccl(one, "gpu-02", "gpu-03"), renamed(nccl(one)), relabelled(nccl(one)),
                nccl(one, image="docker.io/library/python:3")):  # fmt: skip
        status, message = server.create(job, by=account(EXPANSION))
        assert (status, "ValidatingAdmissionPolicy" in message) == (422, True), message


WORDS = (
    "ceph auth get client.admin", "ceph osd purge osd.1 --force", "ceph osd purge osd.1 --yes-i-really-mean-it",
    "sh -c id", "ceph osd out 1 --id admin", "ceph -c /tmp/x osd out 1", "ceph osd pool delete a a",
    "room", "room 1;id", "room -c id", "room 1 --conf /x", "ceph osd tree --format json",
    "ceph config-key dump", "ceph osd find 7 --format json --conf /x", "ceph osd destroy 1", "ceph osd out all",
)  # fmt: skip


def test_ceph_and_minio_are_asked_nothing_else(server: "ApiServer", ml50: Cluster) -> None:
    asked = [(ask_ceph(args=one.split()), OSD_REPLACEMENT) for one in WORDS]
    foreign = ("fail 0", "field a b", "sample 20;id", "drives x", "drives x * 0")
    asked += [(ask_minio(ml50, *one.split()), UPGRADE) for one in foreign]
    asked += [(ask_ceph(args=one.split()), REMOVAL) for one in WORDS]
    asked += [(ask_ceph(args=[]), REPLACEMENT), (ask_minio(ml50), UPGRADE)]
    for job, who in asked:
        status, message = server.create(job, by=account(who))
        assert (status, "ValidatingAdmissionPolicy" in message) == (422, True), (job, message)


def test_no_account_makes_the_jobs_of_another_one_or_elsewhere(server: "ApiServer", ml50: Cluster) -> None:
    minio = ask_minio(ml50, "drives")
    others = ("gpu-care", "gpu-drain", "burn-in", "default")
    for who in (UPGRADE, MAINTENANCE, DRIVER_UPGRADE, EXPANSION, DRIVE_REPLACEMENT, *others):
        assert server.create(ask_ceph(), by=account(who))[0] == 422, who
    for who in (REMOVAL, DRIVER_UPGRADE, EXPANSION, OSD_REPLACEMENT, "gpu-care", "default"):
        assert server.create(minio, by=account(who))[0] == 422, who
    for who in (REMOVAL, UPGRADE, MAINTENANCE, OSD_REPLACEMENT, DRIVE_REPLACEMENT, "gpu-drain", "burn-in"):
        assert server.create(burn_in(), by=account(who))[0] == 422, who
    for job, who in ((ask_ceph(), OSD_REPLACEMENT), (minio, DRIVE_REPLACEMENT), (burn_in(), EXPANSION)):
        for space in {"kube-system", ROOK, MINIO, NAMESPACE} - {job["metadata"]["namespace"]}:
            elsewhere = {**job, "metadata": {**job["metadata"], "namespace": space}}
            assert server.create(elsewhere, by=account(who))[0] == 422, space
        unnamed = {key: value for key, value in job["metadata"].items() if key != "name"}
        assert server.create({**job, "metadata": {**unnamed, "generateName": "ask-ceph-"}}, by=account(who))[0] == 422


def others() -> Iterator[Object]:
    """Yield what makes pods, or gives rights."""
    metadata = {"name": "ask-ceph-a", "namespace": ROOK}
    selector = {"matchLabels": {"a": "b"}}
    own = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    sized = {"selector": selector, "template": own}
    yield pod()
    yield {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": {
        "schedule": "* * * * *", "jobTemplate": {"spec": ask_ceph()["spec"]},
    }}  # fmt: skip
    for kind in ("Deployment", "DaemonSet", "ReplicaSet"):
        yield {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": sized}
    yield {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {**sized, "serviceName": "a"}}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    who = [{"kind": "ServiceAccount", "name": OSD_REPLACEMENT, "namespace": NAMESPACE}]
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        named = metadata if kind == "RoleBinding" else {"name": "a"}
        yield {"apiVersion": f"{group}/v1", "kind": kind, "metadata": named, "roleRef": role, "subjects": who}


def test_nothing_else_that_runs_pods_or_gives_rights_is_made(server: "ApiServer") -> None:
    for one in others():
        for who in (OSD_REPLACEMENT, REPLACEMENT, UPGRADE, MAINTENANCE):
            status, message = server.create(one, by=account(who))
            assert (status, "ValidatingAdmissionPolicy" in message) == (422, True), (one["kind"], message)


def planted(**changes: Any) -> Object:
    made = note(REPLACEMENT, uid="a")
    return {**made, **changes, "metadata": {**made["metadata"], **changes.get("metadata", {})}}


def test_no_note_is_taken_for_a_fact(server: "ApiServer") -> None:
    facts = {"labels": {"app.kubernetes.io/part-of": NAMESPACE, "gen.internal/facts": "nodes"}}
    wrong = [
        planted(metadata=facts),
        planted(metadata={"labels": {}}),
        planted(metadata={"name": "nodes-gpu"}),
        planted(metadata={"name": "osd-replacement-nas-1"}),
        planted(metadata={"namespace": ROOK}),
        planted(metadata={"ownerReferences": [OWNER]}),
        planted(data={"_pool": "{}"}),
        planted(metadata={"name": "node-removal-nas-1"}),
        planted(binaryData={"a": "AAAA"}),
        planted(immutable=True),
    ]
    for one in wrong:
        status, message = server.create(one, by=account(REPLACEMENT))
        assert (status, "ValidatingAdmissionPolicy" in message) == (422, True), (one, message)
    for who in (UPGRADE, MAINTENANCE, EXPANSION, OSD_REPLACEMENT, "gpu-care"):
        assert server.create(planted(), by=account(who))[0] == 422, who


def change(server: "ApiServer", path: str, body: Object, who: str) -> int:
    return server.request("PATCH", f"{path}?dryRun=All", body, by=account(who), patch="merge-patch+json")[0]


def test_nothing_is_changed_afterwards(server: "ApiServer", ml50: Cluster) -> None:
    facts = {"metadata": {"labels": {"gen.internal/facts": "nodes"}}}
    for job, who in ((ask_ceph(), OSD_REPLACEMENT), (ask_minio(ml50, "drives"), UPGRADE), (burn_in(), REPLACEMENT)):
        assert server.create(job, by=account(who), dry=False) == (201, "")
        path = server.path(job, named=True)
        bodies: list[Object] = [{"metadata": {"labels": {"a": "b"}}}, {"spec": {"suspend": True}}]
        for body in (*bodies, {"spec": {"parallelism": 9}}):
            assert change(server, path, body, who) == 422, body
        assert change(server, f"{path}/status", {"status": {"active": 9}}, who) == 422
        assert server.request("DELETE", path, by=account(who))[0] == 200
    kept = note(REPLACEMENT, uid="a")
    assert server.create(kept, by=account(REPLACEMENT), dry=False) == (201, "")
    path = server.path(kept, named=True)
    assert change(server, path, {"data": {"osds": "{}"}}, REPLACEMENT) == 200
    for told in (facts, {"data": {"_pool": "{}"}}, {"metadata": {"finalizers": ["example.org/stays"]}}):
        assert change(server, path, told, REPLACEMENT) == 422, told
    assert change(server, path, {"data": {"osds": "{}"}}, OSD_REPLACEMENT) == 422
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "any", "namespace": ROOK}})
    at = f"/api/v1/namespaces/{ROOK}/serviceaccounts/any/token"
    assert server.request("POST", at, token, by=account(REPLACEMENT))[0] == 422
    assert server.request("DELETE", path, by=account(OSD_REPLACEMENT))[0] == 422
    assert server.request("DELETE", path, by=account(REPLACEMENT))[0] == 200


def deployment(name: str, app: str) -> Object:
    metadata = {"name": name, "namespace": ROOK, "labels": {"app": app}}
    own = {"metadata": {"labels": {"app": app}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": app}}, "template": own}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_only_what_is_theirs_is_deleted(server: "ApiServer", ml50: Cluster) -> None:
    assert ml50.storage.objects
    osd, monitor = deployment("rook-ceph-osd-7", "rook-ceph-osd"), deployment("rook-ceph-mon-a", "rook-ceph-mon")
    prepare = {**ask_ceph(), "metadata": {"name": "rook-ceph-osd-prepare-a", "namespace": ROOK}}
    setup = setup_job(ml50, ml50.storage.objects)
    for one in (osd, monitor, prepare, setup):
        assert server.create(one, dry=False)[0] == 201
    for one in (monitor, prepare, setup):
        for who in (OSD_REPLACEMENT, REPLACEMENT, REMOVAL, DRIVE_REPLACEMENT):
            assert server.request("DELETE", server.path(one, named=True), by=account(who))[0] == 422, one
    for who, status in ((UPGRADE, 422), (DRIVE_REPLACEMENT, 422), (OSD_REPLACEMENT, 200), (REMOVAL, 200)):
        path = server.path(osd, named=True)
        assert server.request("DELETE", f"{path}?dryRun=All", by=account(who))[0] == status, who


def server_pod(name: str, space: str, app: str) -> Object:
    metadata = {"name": name, "namespace": space, "labels": {"app.kubernetes.io/name": app}}
    return {**pod(), "metadata": metadata}


def test_only_who_grows_minio_ends_its_servers_and_no_other_pod(server: "ApiServer") -> None:
    own = server_pod("minio-0", MINIO, "minio")
    others = [server_pod("setup", MINIO, "minio-setup"), server_pod("minio-0", ROOK, "minio")]
    for one in (own, *others):
        assert server.create(one, dry=False)[0] == 201
    for one in others:
        assert server.request("DELETE", server.path(one, named=True), by=account(MINIO_EXPANSION))[0] == 422, one
    for who in (DRIVE_REPLACEMENT, REPLACEMENT, MAINTENANCE, EXPANSION):
        assert server.request("DELETE", server.path(own, named=True), by=account(who))[0] == 422, who
    assert server.request("DELETE", server.path(own, named=True), by=account(MINIO_EXPANSION))[0] == 200


def test_nobody_else_is_held(server: "ApiServer") -> None:
    """A rule that fails stops operations, and nothing else."""
    free = {**ask_ceph(), "metadata": {"name": "any", "namespace": ROOK}}
    for name in ("system:serviceaccount:rook-ceph:rook-ceph-system", "system:serviceaccount:node-operations2:any"):
        assert server.create(free, by=(name, ("system:serviceaccounts", "system:authenticated"))) == (201, "")
    text = json.dumps([one for one in server.request("GET", POLICIES)[1]["items"] if one["metadata"]["name"] in OWN])
    assert text.count("request.userInfo.username.startsWith('system:serviceaccount:node-operations:')") == len(OWN)


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
OWN = ("gen-operations", "gen-burn-in", "gen-burn-in-nccl", "gen-ask-ceph", "gen-ask-minio")
