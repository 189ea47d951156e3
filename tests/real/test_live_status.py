"""`gen status` and `gen drift` on a cluster that Argo CD really syncs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from generator.live.identity import record

if TYPE_CHECKING:
    from argocd.argo import Argo

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
ROOT = Path(__file__).parents[2]
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/vision"
QUOTA = "/api/v1/namespaces/vision/resourcequotas/team"
POLICY = "/apis/networking.k8s.io/v1/namespaces/language/networkpolicies/default-deny"
PODS = "/api/v1/namespaces/volcano-system/pods"
SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def gen(argo: "Argo", *words: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run gen in a clone of what Argo CD reads."""
    config = kubeconfig or argo.api.address.folder / "admin.kubeconfig"
    command = [sys.executable, "-P", "-m", "generator", *words, "--kubeconfig", str(config)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=argo.repository.published, env=env, capture_output=True, text=True, check=False)


def seen(argo: "Argo", verb: str) -> Object:
    """Return what a verb tells as JSON."""
    done = gen(argo, verb, "--output", "json")
    assert done.returncode in {0, 1}, done.stderr
    found: Object = json.loads(done.stdout)
    assert done.returncode == int(found["state"] in {"differs", "not well"})
    return found


def causes(argo: "Argo") -> set[tuple[str, str, str]]:
    """Return what is told to be stuck: component, objects, why."""
    return {(one["component"], ", ".join(one["objects"]), one["why"]) for one in seen(argo, "status")["causes"]}


def workload(kind: str, name: str, annotations: dict[str, str], **requests: str) -> Object:
    """Return a workload of one pod in Volcano's namespace."""
    container = {
        "name": "x",
        "image": "example.org/x:1",
        "securityContext": SECURITY,
        "resources": {"requests": requests},
    }
    template: Object = {
        "metadata": {"labels": {"a": name}, "annotations": annotations},
        "spec": {"containers": [container]},
    }
    spec: Object = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec["backoffLimit"] = 0
    else:
        spec["selector"] = {"matchLabels": {"a": name}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": name, "namespace": "volcano-system"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def bad(argo: "Argo") -> Iterator[Callable[[str, str, Object], None]]:
    """Add objects to components, and take them out again at the end."""
    with ExitStack() as stack:

        def add(component: str, name: str, manifest: Object) -> None:
            folder = argo.repository.overlay(component) / "custom"
            stack.enter_context(argo.corner(folder, name, manifest))

        yield add
    argo.settled(*argo.applications(), revision=argo.push())


def test_a_cluster_that_is_well_but_for_what_it_lacks(argo: "Argo") -> None:
    """Nobody runs cert-manager here."""
    argo.until(
        "all have looked at the newest commit",
        lambda: {one["behind"] for one in seen(argo, "status")["components"]} == {0},
    )
    found = seen(argo, "status")
    assert {one["component"] for one in found["components"] if not one["well"]} <= {"issuers"}
    assert {one["component"] for one in found["causes"]} == {"issuers"}
    assert [one["wave"] for one in found["components"]] == sorted(one["wave"] for one in found["components"])
    assert (found["nodes"], found["soon"], found["unread"]) == ([], [], [])


def test_nothing_drifts_where_nobody_touched_anything(argo: "Argo") -> None:
    found = seen(argo, "drift")
    assert found["drifts"] == []
    assert found["objects"] > 100
    assert found["namespaces"] == []


def test_a_bad_commit_is_told_in_words_and_a_fix_in_git_ends_it(
    argo: "Argo", bad: Callable[[str, str, Object], None]
) -> None:
    from test_argocd import binding, unserved

    bad("queues", "unserved", unserved("kueue-system"))
    bad("tenants", "binding", binding("kube-system"))
    bad("volcano", "huge", workload("Deployment", "huge", {}, cpu="1000"))
    bad("volcano", "fails", workload("Job", "fails", {"twin.test/fail": "yes"}, cpu="10m"))
    argo.push()
    defined = "nothing in the cluster defines Unserved of example.org/v1: its definition is not installed (yet)"
    wanted = {
        ("queues", "", defined),
        ("tenants", "RoleBinding kube-system/extra", "its project tenants does not permit kube-system"),
        ("volcano", "Job volcano-system/fails", "its container x failed (exit code 1)"),
    }

    def told() -> bool:
        found = causes(argo)
        unscheduled = [why for _, name, why in found if name == "Deployment volcano-system/huge"]
        return {each[2] for each in wanted} <= {each[2] for each in found} and any(
            "no node takes its pod: 0/3 nodes are available" in why and "Insufficient cpu" in why for why in unscheduled
        )

    argo.until("all of it is told", told)


def test_a_container_that_ends_again_and_again_is_told(argo: "Argo") -> None:
    """With a status as kubelet v1.35 writes it: here nobody runs containers."""
    pod = next(one for one in argo.api.items(PODS) if one["metadata"]["name"].startswith("volcano-scheduler"))
    name, before = pod["metadata"]["name"], pod["status"]
    ended = {"exitCode": 2, "reason": "Error", "message": "no such flag"}
    waiting = {"reason": "CrashLoopBackOff", "message": f"back-off 5m0s restarting failed container=x pod={name}"}
    container = {
        **before["containerStatuses"][0],
        "ready": False,
        "state": {"waiting": waiting},
        "lastState": {"terminated": ended},
    }
    conditions = [
        {**one, "status": "False"} if one["type"] in {"Ready", "ContainersReady"} else one
        for one in before["conditions"]
    ]
    status(argo, f"{PODS}/{name}", {"conditions": conditions, "containerStatuses": [container]})
    why = f"its container {container['name']} ends again and again (exit code 2: no such flag)"
    argo.until("it is told", lambda: ("volcano", "Deployment volcano-system/volcano-scheduler", why) in causes(argo))
    status(argo, f"{PODS}/{name}", {key: before[key] for key in ("conditions", "containerStatuses")})
    argo.until("it is well again", lambda: not any(each[0] == "volcano" for each in causes(argo)))


def status(argo: "Argo", path: str, change: Object) -> None:
    """Change an object's status."""
    argo.merge(f"{path}/status", {"status": change})


def test_a_queue_on_hold_is_told_and_found_with_who_did_it(argo: "Argo") -> None:
    """Argo CD sees no difference in what Git does not name."""
    argo.merge(f"{QUEUE}?fieldManager=kubectl-edit", {"spec": {"stopPolicy": "Hold"}})
    argo.until("it is told", lambda: seen(argo, "status")["held"])
    (held,) = seen(argo, "status")["held"]
    assert (held["component"], held["objects"]) == ("queues", ["ClusterQueue vision"])
    (found,) = seen(argo, "drift")["drifts"]
    assert (found["how"], found["component"], found["name"]) == ("added", "queues", "ClusterQueue vision")
    (field,) = found["fields"]
    assert (field["field"], field["git"], field["cluster"]) == ("spec.stopPolicy", "nothing", "Hold")
    assert field["by"].startswith("kubectl edit, 20")
    argo.merge(f"{QUEUE}?fieldManager=kubectl-edit", {"spec": {"stopPolicy": "None"}})
    assert seen(argo, "drift")["drifts"] == [], "a default is no drift, whoever wrote it"


def test_hand_edits_leftovers_and_what_is_missing_are_found(argo: "Argo") -> None:
    with argo.patched("Application", "tenants", {"op": "remove", "path": "/spec/syncPolicy/automated"}):
        argo.settled("root", revision=argo.push())
        argo.merge(f"{QUOTA}?fieldManager=kubectl-edit", {"spec": {"hard": {"count/jobs.batch": "9"}}})
        assert argo.api.request("DELETE", POLICY)[0] == 200
        tracked = {"argocd.argoproj.io/tracking-id": "tenants:/ConfigMap:vision/old"}
        metadata = {"name": "old", "namespace": "vision", "annotations": tracked}
        argo.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        argo.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
        found = seen(argo, "drift")
    assert {(one["how"], one["name"]) for one in found["drifts"]} == {
        ("differs", "ResourceQuota vision/team"),
        ("missing", "NetworkPolicy language/default-deny"),
        ("leftover", "ConfigMap vision/old"),
    }
    (field,) = next(one["fields"] for one in found["drifts"] if one["how"] == "differs")
    assert field["field"] == "spec.hard[count/jobs.batch]"
    assert field["cluster"] == "9"
    assert field["by"].startswith("kubectl edit, 20")
    assert found["namespaces"] == ["mine"]
    argo.settled("root", "tenants", revision=argo.push())
    argo.until(
        "all is as in Git", lambda: not any(one["component"] == "tenants" for one in seen(argo, "drift")["drifts"])
    )
    assert argo.api.request("DELETE", "/api/v1/namespaces/mine")[0] == 200


@pytest.mark.parametrize("verb", ["status", "drift"])
def test_who_may_not_gets_one_sentence(argo: "Argo", verb: str) -> None:
    done = gen(argo, verb, kubeconfig=argo.api.account("vision", "default"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not let you read" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", ["status", "drift"])
def test_another_cluster_or_none_gets_one_sentence(argo: "Argo", verb: str, tmp_path: Path) -> None:
    from reference import load

    made = record(load("ml50"))
    path = "/api/v1/namespaces/kube-system/configmaps"
    assert argo.api.request("POST", path, made)[0] == 201
    done = gen(argo, verb)
    assert argo.api.request("DELETE", f"{path}/gen")[0] == 200
    assert done.returncode == 2
    assert "is the cluster ml50, not small" in done.stderr
    config = yaml.load((argo.api.address.folder / "admin.kubeconfig").read_bytes(), yaml.CSafeLoader)
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "away").write_text(yaml.safe_dump(config))
    done = gen(argo, verb, kubeconfig=tmp_path / "away")
    assert done.returncode == 2
    assert "is the server running and reachable from here?" in done.stderr
    assert len(done.stderr.splitlines()) == 1
