"""`gen bootstrap`, run as a person runs it, on a control plane with nodes that `kubeadm` just made."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bootstrapped import Bare

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/gen-bootstrap"
RECORD = "/api/v1/namespaces/kube-system/configmaps/gen"
SITE_CA = "/api/v1/namespaces/cert-manager/secrets/site-ca"
REPOSITORY = "/api/v1/namespaces/argocd/secrets/repository"
ARGO = "/apis/argoproj.io/v1alpha1/namespaces/argocd"
COLLECTIONS = (
    "/api/v1/namespaces",
    "/api/v1/namespaces/argocd/configmaps",
    "/api/v1/namespaces/argocd/secrets",
    "/api/v1/namespaces/argocd/services",
    "/api/v1/namespaces/argocd/serviceaccounts",
    "/api/v1/namespaces/cert-manager/secrets",
    "/apis/apps/v1/namespaces/argocd/deployments",
    "/apis/apps/v1/namespaces/argocd/statefulsets",
    "/apis/networking.k8s.io/v1/namespaces/argocd/networkpolicies",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/argocd/rolebindings",
    f"{ARGO}/appprojects",
    f"{ARGO}/applications",
)
STEPS = (
    "recorded that this is small",
    "applied Namespace argocd",
    "namespaces     done",
    "cert-manager/site-ca: encrypted copy",
    "cert-manager/site-ca: made",
    "secrets        done",
    "applied CustomResourceDefinition topologies.kueue.x-k8s.io",
    "applied CustomResourceDefinition jobs.batch.volcano.sh",
    "definitions    done",
    "applied CustomResourceDefinition applicationsets.argoproj.io",
    "applied Deployment argocd/argocd-redis",
    "argo-cd        done",
    "applied AppProject argocd/root",
)
"""What is said in the middle and at the end of each step."""


@pytest.fixture(scope="module")
def bare() -> Iterator["Bare"]:
    """A cluster that one test after the other brings further."""
    from bootstrapped import bare

    with bare() as made:
        yield made


@pytest.fixture(scope="module")
def done(bare: "Bare") -> "Bare":
    """A cluster that is bootstrapped."""
    ended = bare.bootstrap("--apply", "--no-wait")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return bare


def test_without_apply_nothing_is_changed_and_all_is_told(bare: "Bare") -> None:
    before = seen(bare)
    told = bare.bootstrap()
    assert told.returncode == 1
    assert "would do       identity" in told.stdout
    assert "cert-manager/site-ca: made, of what is given, with a copy" in told.stdout
    assert "definitions   22 kinds that the cluster does not know" in told.stdout
    assert "argo-cd       59 objects that the cluster does not have" in told.stdout
    assert seen(bare) == before
    assert bare.api.get(RECORD) is None


def test_nothing_is_done_while_a_secret_is_missing(bare: "Bare") -> None:
    told = bare.bootstrap("--apply", GEN_REPOSITORY_PASSWORD="")
    assert told.returncode == 2
    assert "argocd/repository: password is missing" in told.stderr
    assert bare.api.get(RECORD) is None


def test_a_cluster_with_other_nodes_is_refused(bare: "Bare") -> None:
    text = bare.file.read_text()
    bare.file.write_text(text.replace("name: cp1", "name: a1").replace("name: gpu", "name: b"))
    try:
        told = bare.bootstrap()
    finally:
        bare.file.write_text(text)
    assert told.returncode == 2
    assert "has none of the nodes of small, but cp1, gpu1, gpu2" in told.stderr


def test_what_is_not_committed_or_not_pushed_is_refused(bare: "Bare") -> None:
    file = bare.tree / "overlays/small/namespaces/namespace-argocd.yaml"
    mine = bare.tree / "overlays/small/namespaces/custom/kustomization.yaml"
    for path, why in ((file, "gen render"), (mine, "not committed")):
        text = path.read_text()
        path.write_text(f"{text}# mine\n")
        told = bare.bootstrap("--apply")
        path.write_text(text)
        assert (told.returncode, why in told.stderr) == (2, True), told.stderr
    mine.write_text(f"{text}# mine\n")
    bare.git("commit", "--quiet", "--all", "--message=mine")
    told = bare.bootstrap("--apply")
    bare.git("reset", "--quiet", "--hard", "HEAD~1")
    assert "git push" in told.stderr
    assert bare.api.get(RECORD) is None


def test_what_nodes_lack_is_told_and_set_and_what_is_others_stays(bare: "Bare") -> None:
    path = "/api/v1/nodes/gpu1"
    theirs = {"key": "example.org/burn-in", "value": "yes", "effect": "NoSchedule"}
    change = {"metadata": {"labels": {"gen.internal/pool": None, "gen.internal/scratch": "true", "row": "a"}}}
    merge(bare, path, {**change, "spec": {"taints": [theirs]}})
    assert bare.api.request("DELETE", "/api/v1/nodes/gpu2")[0] == 200
    told = bare.bootstrap().stdout
    assert "gpu1: label gen.internal/pool=bench, without label gen.internal/scratch, taint nvidia.com/gpu=" in told
    assert "later          nodes         gpu2: not joined yet" in told


def test_all_is_made_as_a_person_with_the_readme_would(done: "Bare") -> None:
    api = done.api
    assert api.get(RECORD)["data"]["cluster"] == "small"
    node = api.get("/api/v1/nodes/gpu1")
    assert {"gen.internal/pool": "bench", "row": "a"}.items() <= node["metadata"]["labels"].items()
    assert "gen.internal/scratch" not in node["metadata"]["labels"]
    assert {one["key"] for one in node["spec"]["taints"]} == {"example.org/burn-in", "nvidia.com/gpu"}
    repository = api.get(REPOSITORY)
    assert repository["metadata"]["labels"] == {"argocd.argoproj.io/secret-type": "repository"}
    assert values(repository)["password"] == "a word of ann's"
    assert values(api.get(SITE_CA)) == {"tls.crt": "a certificate\nin two lines\n", "tls.key": "its key"}
    managers = {one["manager"] for one in api.get(f"{ARGO}/applications/root")["metadata"]["managedFields"]}
    assert managers == {"argocd-controller"}
    assert api.get(LEASE) is None


def test_a_secret_with_which_data_is_lost_is_kept_encrypted_and_noted(done: "Bare") -> None:
    (copy,) = done.copies()
    assert values(copy) == values(done.api.get(SITE_CA))
    assert "its key" not in done.escrow.read_text()
    assert done.api.get(RECORD)["data"]["data-secret.cert-manager.site-ca"] == "made"
    assert base64.b64encode(b"its key").decode() not in json.dumps(done.api.get(RECORD))


def test_a_second_time_nothing_is_left_to_do(done: "Bare") -> None:
    told = done.bootstrap()
    assert told.returncode == 0, told.stdout
    assert "would do" not in told.stdout
    before = versions(done)
    again = done.bootstrap("--apply", "--no-wait")
    assert again.returncode == 0
    assert "applied" not in again.stdout
    assert versions(done) == before


def test_what_argo_cd_wrote_to_its_objects_stays(done: "Bare") -> None:
    """Argo CD applies under the same name with an annotation that is in no file."""
    path = "/api/v1/namespaces/vision"
    space = done.api.get(path)
    annotations = {**space["metadata"]["annotations"], "argocd.argoproj.io/tracking-id": "namespaces:/Namespace:vision"}
    metadata = {
        "name": "vision",
        "labels": space["metadata"]["labels"] | {"gen": "by-hand"},
        "annotations": annotations,
    }
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    status, answer = done.api.request("PATCH", f"{path}?fieldManager=argocd-controller&force=true", body)
    assert status == 200, answer
    assert "namespaces    1 object not as in Git" in done.bootstrap().stdout
    assert "applied Namespace vision" in done.bootstrap("--apply", "--no-wait").stdout
    found = done.api.get(path)["metadata"]
    assert "gen" not in found["labels"]
    assert found["annotations"]["argocd.argoproj.io/tracking-id"] == "namespaces:/Namespace:vision"


def test_a_secret_that_lacks_a_key_stops_everything(done: "Bare") -> None:
    password = done.api.get(REPOSITORY)["data"]["password"]
    merge(done, REPOSITORY, {"data": {"password": None}})
    told = done.bootstrap("--apply")
    merge(done, REPOSITORY, {"data": {"password": password}})
    assert told.returncode == 2
    assert "argocd/repository is there and lacks password" in told.stderr


def test_another_cluster_is_refused(done: "Bare") -> None:
    merge(done, RECORD, {"data": {"cluster": "other"}})
    told = done.bootstrap("--apply")
    merge(done, RECORD, {"data": {"cluster": "small"}})
    assert told.returncode == 2
    assert "is the cluster other, not small" in told.stderr


def test_who_may_not_is_told_in_one_sentence(done: "Bare") -> None:
    kubeconfig = str(done.api.account("default", "default"))
    for words in ((), ("--apply",)):
        told = done.bootstrap(*words, kubeconfig=kubeconfig)
        assert told.returncode == 2
        assert "does not let you" in told.stderr
        assert "Traceback" not in told.stderr


def test_a_wrong_kubeconfig_is_one_sentence(done: "Bare") -> None:
    unknown = str(done.api.address.kubeconfig("nobody", "no-token-of-anybody"))
    away = done.folder / "away.kubeconfig"
    away.write_text(Path(done.kubeconfig).read_text().replace(str(done.api.address.port), "1"))
    for kubeconfig, why in ((unknown, "does not know who we are"), (str(away), "is the server running")):
        told = done.bootstrap("--apply", kubeconfig=kubeconfig)
        assert (told.returncode, why in told.stderr) == (2, True), told.stderr
        assert "Traceback" not in told.stderr


def test_credentials_that_ended_are_one_sentence(done: "Bare", tmp_path: Path) -> None:
    from apiserver import start

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
    openssl("req", *new, "-keyout", "ann.key", "-out", "ann.csr", "-subj", "/O=system:masters/CN=ann")
    (tmp_path / "server").mkdir()
    with start(tmp_path / "server", f"--client-ca-file={tmp_path / 'ca.pem'}") as api:
        for days, why in (("-1", "does not know who we are"), ("1", "has no nodes yet")):
            by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
            openssl("x509", "-req", "-in", "ann.csr", *by, "-days", days, "-out", "ann.pem")
            kubeconfig = done.address(api, tmp_path / "ann.pem", tmp_path / "ann.key")
            told = done.bootstrap(kubeconfig=kubeconfig)
            assert (told.returncode, why in told.stderr) == (2, True), told.stderr


def test_the_second_of_two_at_once_is_told_of_the_first(done: "Bare") -> None:
    merge(done, RECORD, {"data": {"repository": "https://git.example.org/former"}})
    held = {**lease("ann@host 1"), "metadata": {"name": "gen-bootstrap", "namespace": "kube-system"}}
    assert done.api.request("POST", LEASE.rpartition("/")[0], held)[0] == 201
    with done.started("--apply", "--no-wait") as second:
        for turn in range(40):
            merge(done, LEASE, {"spec": {"leaseTransitions": turn + 1}})
            time.sleep(0.5)
            if second.poll() is not None:
                break
        out, err = second.communicate(timeout=60)
    assert second.returncode == 2, out + err
    assert "another `gen bootstrap` is at work here: ann@host 1" in err
    assert "recorded" not in out


def test_who_is_dead_is_taken_over_and_two_who_begin_together_end_well(done: "Bare") -> None:
    assert done.api.get(LEASE)
    with done.started("--apply", "--no-wait") as one, done.started("--apply", "--no-wait") as two:
        ended = [(process.communicate(timeout=240), process.returncode) for process in (one, two)]
    assert sorted(code for _, code in ended) == [0, 2], ended
    assert "another `gen bootstrap` is at work here" in "".join(err for (_, err), code in ended if code)
    assert done.api.get(LEASE) is None
    assert done.bootstrap().returncode == 0


def lease(holder: str) -> Object:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 12}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}


def test_killed_at_every_step_and_run_again_it_ends_as_if_never_killed(done: "Bare") -> None:
    from bootstrapped import bare

    with bare() as killed:
        for index, step in enumerate(STEPS):
            assert killed.killed(step), step
            if index:  # once its end is waited for
                killed.api.request("DELETE", LEASE)
        told = killed.bootstrap("--apply", "--no-wait")
        assert told.returncode == 0, told.stdout + told.stderr
        assert killed.bootstrap().returncode == 0
        mine = {key: plainly(one, killed) for key, one in seen(killed).items()}
        assert {values(copy)["tls.key"] for copy in killed.copies()} == {"its key"}
    theirs = {key: plainly(one, done) for key, one in seen(done).items()}
    assert mine == theirs


def plainly(found: Object, cluster: "Bare") -> Object:
    """Return what was seen without what is each cluster's own."""
    port = cluster.file.read_text().split("127.0.0.1:")[1].split("/")[0]
    plain: Object = json.loads(json.dumps(found).replace(port, "PORT"))
    return plain


def merge(cluster: "Bare", path: str, change: Object) -> None:
    status, answer = cluster.api.request("PATCH", path, change, patch="merge-patch+json")
    assert status == 200, answer


def values(secret: Object) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}


def seen(cluster: "Bare") -> dict[str, Object]:
    """Return what the steps make, less what a server adds and what is random."""
    found = {}
    for path in COLLECTIONS:
        answer = cluster.api.get(path)
        items = answer["items"] if answer else []
        found[path] = {
            one["metadata"]["name"]: essence(one) for one in items if one["metadata"]["name"] != "kube-root-ca.crt"
        }
    return found


def essence(one: Object) -> Object:
    metadata = {key: one["metadata"].get(key) for key in ("name", "labels", "annotations")}
    written = ("deployment.kubernetes.io", "tracking-id")  # by controllers, and by a test that plays one
    annotations = metadata["annotations"] or {}
    metadata["annotations"] = {
        key: value for key, value in annotations.items() if not any(word in key for word in written)
    }
    content = {key: value for key, value in one.items() if key not in {"metadata", "status"}}
    if "data" in content and "type" in content:
        content["data"] = sorted(content["data"])
    if "clusterIP" in content.get("spec", {}):
        content["spec"] = {key: value for key, value in content["spec"].items() if not key.startswith("clusterIP")}
    managers = sorted({field["manager"] for field in one["metadata"].get("managedFields", [])} & {"argocd-controller"})
    return {"metadata": metadata, "managers": managers, **content}


def versions(cluster: "Bare") -> dict[str, dict[str, str]]:
    kinds = [path for path in COLLECTIONS if "apps" not in path]
    return {
        path: {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in cluster.api.items(path)}
        for path in kinds
    }
