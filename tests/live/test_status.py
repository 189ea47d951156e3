"""How a cluster does, as Applications, pods and nodes on a fake of an API server tell."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, forbidden, living
from reference import ROOT, load

from generator.cli import run
from generator.cli import status as verb
from generator.components import compose
from generator.errors import UsageError
from generator.layout.argocd import application, root
from generator.layout.waves import needed, waves
from generator.live import api
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.live.status import status as module
from generator.live.status.status import Status, status
from generator.live.status.text import lines

Object = dict[str, Any]
CLUSTER = load("a30-bench")
COMPONENTS = compose(CLUSTER)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
HEAD, BEFORE = "b" * 40, "a" * 40


def made(name: str, wave: int, *, gates: bool = True) -> Object:
    """Return an Application of which nothing is wrong."""
    one = root(CLUSTER) if name == "root" else application(CLUSTER, name, "platform", wave, name, [f"overlays/{name}"])
    if not gates:
        one["metadata"]["annotations"]["argocd.argoproj.io/ignore-healthcheck"] = "true"
    one["status"] = {
        "sync": {"status": "Synced", "revision": HEAD},
        "health": {"status": "Healthy"},
        "operationState": {"phase": "Succeeded", "syncResult": {"revision": HEAD}},
        "history": [{"revision": BEFORE}, {"revision": HEAD}],
        "resources": [],
    }
    return one


@pytest.fixture
def there(tmp_path: Path) -> Iterator[tuple[LiveCluster, RunningCluster]]:
    gating = needed(COMPONENTS)
    every = {"root": 0, "namespaces": 0, **waves(COMPONENTS)}
    apps = [made(name, wave, gates=name in {*gating, "namespaces"}) for name, wave in every.items()]
    with living(tmp_path, *apps, record(CLUSTER)) as both:
        yield both


def look(running: RunningCluster) -> Status:
    return status(running, CLUSTER, NOW, lambda _old, _new: 3)


def change(cluster: LiveCluster, name: str, **state: Any) -> Object:
    one = cluster.get("Application", name)
    one["status"].update(state)
    return one


def resource(kind: str, name: str, **more: Any) -> Object:
    return {"kind": kind, "name": name, "namespace": "shop", "version": "v1", "status": "Synced", **more}


def test_a_cluster_that_is_well(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    found = look(running)
    assert all(one.well for one in found.rows)
    assert found.causes == found.held == found.soon == ()
    assert found.wanted == HEAD
    assert [one.wave for one in found.rows] == sorted(one.wave for one in found.rows)
    assert found.rows[0].component == "root"
    assert not [asked for asked in cluster.asked if asked.method != "GET"]


def test_it_costs_few_requests(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    look(running)
    assert len(cluster.asked) == 8
    change(cluster, "kueue", health={"status": "Degraded"}, resources=[BROKEN])
    cluster.asked.clear()
    look(running)
    assert len(cluster.asked) == 10


BROKEN = resource("Deployment", "web", group="apps", health={"status": "Degraded", "message": "exceeded its progress"})
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1-x",
        "namespace": "shop",
        "labels": {"pod-template-hash": "1"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1"}],
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
    },
}


def test_what_stands_behind_a_workload_is_told_and_not_its_own_words(
    there: tuple[LiveCluster, RunningCluster],
) -> None:
    cluster, running = there
    change(cluster, "kueue", health={"status": "Degraded"}, resources=[BROKEN])
    (cause,) = look(running).causes
    assert cause.why == "exceeded its progress"
    cluster.add(POD)
    (cause,) = look(running).causes
    assert (cause.component, cause.objects) == ("kueue", ("Deployment shop/web",))
    assert cause.why == "no node takes its pod: 0/3 nodes are available"


def test_pods_that_may_not_even_be_made_are_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    change(cluster, "kueue", health={"status": "Progressing"}, resources=[BROKEN])
    said = 'pods "web-1-" is forbidden: exceeded quota: team, requested: pods=1, used: pods=5, limited: pods=5'
    cluster.add(event("ReplicaSet", "web-1", "FailedCreate", said))
    (cause,) = look(running).causes
    assert cause.why == "the quota team is used up: pods=1 asked for, pods=5 used of pods=5"


def event(kind: str, name: str, reason: str, message: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "shop"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": kind, "name": name, "namespace": "shop"},
    }


def test_a_volume_that_is_not_made_is_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    claim = resource("PersistentVolumeClaim", "data", health={"status": "Progressing"})
    change(cluster, "kueue", health={"status": "Progressing"}, resources=[claim])
    said = 'storageclass.storage.k8s.io "nowhere" not found'
    cluster.add(event("PersistentVolumeClaim", "data", "ProvisioningFailed", said))
    (cause,) = look(running).causes
    assert cause.why == f"its volume is not made: {said}"


def test_pods_of_an_operator_are_told_where_its_object_is_not_well(there: tuple[LiveCluster, RunningCluster]) -> None:
    """And pods that another Application holds are not told twice."""
    cluster, running = there
    owned = resource(
        "CephCluster", "ceph", group="ceph.rook.io", health={"status": "Degraded", "message": "HEALTH_ERR"}
    )
    change(cluster, "kueue", health={"status": "Degraded"}, resources=[owned])
    cluster.add(POD)
    whys = {one.objects[0]: one.why for one in look(running).causes}
    assert whys == {
        "Deployment shop/web": "no node takes its pod: 0/3 nodes are available",
        "CephCluster shop/ceph": "HEALTH_ERR",
    }
    change(cluster, "volcano", resources=[{**BROKEN, "health": {"status": "Healthy"}}])
    assert [one.objects for one in look(running).causes] == [("CephCluster shop/ceph",)]


def test_argo_cd_that_says_nothing_more_is_told_first(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    change(cluster, "kueue", reconciledAt="2026-05-31T23:50:00Z")
    assert look(running).causes == ()
    change(cluster, "kueue", reconciledAt="2026-05-31T23:40:00Z", health={"status": "Degraded", "message": "no"})
    cluster.add({**POD, "metadata": {**POD["metadata"], "namespace": "argocd"}})
    silent, pod, other = look(running).causes
    assert silent.objects == ("Argo CD",)
    assert silent.why.startswith("it has compared nothing since 2026-05-31T23:40:00Z")
    assert pod.objects == ("Deployment argocd/web",)
    assert (other.component, other.why) == ("kueue", "no")


def test_a_cluster_without_root_is_to_be_bootstrapped(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    for path in [path for path in cluster.objects if "/applications/" in path]:
        del cluster.objects[path]
    found = look(running)
    assert [one.command for one in found.causes] == ["gen bootstrap --cluster a30-bench"]
    assert {one.sync for one in found.rows} == {"not made yet"}


def test_what_nobody_explains_is_told_all_the_same(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    change(cluster, "kueue", sync={}, health={}, operationState={})
    assert [(one.component, one.why) for one in look(running).causes] == [("kueue", "Argo CD has not judged it yet")]
    began = {"phase": "Running", "startedAt": "2026-05-31T23:59:00Z"}
    change(cluster, "kueue", operationState=began)
    assert [one.why for one in look(running).causes] == ["its sync is under way since 2026-05-31T23:59:00Z"]
    change(cluster, "kueue", operationState={})
    absent = resource("Role", "x", status="OutOfSync", health={"status": "Missing"})
    change(cluster, "kueue", sync={"status": "OutOfSync", "revision": HEAD}, resources=[absent])
    assert [one.objects for one in look(running).causes] == [("Role shop/x",)]


def test_equal_causes_are_one(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    several = [resource("Thing", f"t{number}", health={"status": "Degraded", "message": "no"}) for number in range(5)]
    change(cluster, "kueue", health={"status": "Degraded"}, resources=several)
    found = look(running)
    (cause,) = found.causes
    assert len(cause.objects) == 5
    assert "  kueue: Thing shop/t0, Thing shop/t1, Thing shop/t2 and 2 more: no" in [*lines(found, NOW)]


def test_a_failed_sync_says_what_failed_once(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    failed = {
        "kind": "Role",
        "name": "x",
        "namespace": "a",
        "status": "SyncFailed",
        "message": 'namespaces "a" not found',
    }
    said = "one or more objects failed to apply"
    operation = {"phase": "Failed", "message": said, "syncResult": {"resources": [failed]}}
    conditions = [{"type": "SyncError", "message": said}]
    change(
        cluster,
        "kueue",
        sync={"status": "OutOfSync", "revision": HEAD},
        operationState=operation,
        conditions=conditions,
    )
    (cause,) = look(running).causes
    assert (cause.objects, cause.why) == (("Role a/x",), "the namespace a is not there (yet)")


def test_what_cannot_be_compared_says_why(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    conditions = [{"type": "ComparisonError", "message": "x: app path does not exist"}]
    change(cluster, "kueue", sync={"status": "Unknown"}, conditions=conditions)
    (cause,) = look(running).causes
    assert cause.why == "the commit has no folder for it"


def test_how_often_it_was_tried_and_that_git_went_on(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    operation = {"sync": {"revision": BEFORE}}
    state = {"phase": "Running", "message": "it hangs", "retryCount": 4, "operation": operation}
    change(cluster, "kueue", operationState=state)
    (cause,) = look(running).causes
    assert cause.why == "it hangs (tried 4 times; this sync is of aaaaaaaaa, and Git is at bbbbbbbbb)"


def test_a_sync_that_begins_anew_is_read_again(
    there: tuple[LiveCluster, RunningCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, running = there
    monkeypatch.setattr(module, "PAUSE", 0.0)
    change(cluster, "kueue", operationState={"phase": "Running", "message": "Retrying operation. Attempt #2"})

    def meanwhile(text: str) -> None:
        change(cluster, "kueue", operationState={"phase": "Running", "message": text})

    monkeypatch.setattr(
        module, "sleep", lambda _: meanwhile('namespaces "a" not found. Retrying attempt #3 at 6:00PM.')
    )
    (cause,) = look(running).causes
    assert cause.why == "the namespace a is not there (yet)"


def test_revisions_are_counted_behind_the_wanted_one(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    history = [{"revision": BEFORE}]
    change(cluster, "kueue", sync={"status": "OutOfSync", "revision": HEAD}, history=history)
    found = look(running)
    assert {one.component: (one.revision, one.behind) for one in found.rows if one.behind} == {"kueue": (BEFORE, 3)}
    assert any(re.search(r"kueue .* aaaaaaaaa \(3 behind\)", line) for line in lines(found, NOW))


def test_who_moves_only_when_told_is_told_so(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    one = change(
        cluster,
        "kueue",
        sync={"status": "OutOfSync", "revision": HEAD},
        resources=[resource("ConfigMap", "x", status="OutOfSync")],
    )
    assert [cause.command for cause in look(running).causes] == ["gen drift --cluster a30-bench"]
    one["spec"]["syncPolicy"]["automated"]["enabled"] = False
    (turned_off,) = look(running).causes
    del one["spec"]["syncPolicy"]["automated"]
    (cause,) = look(running).causes
    assert cause == turned_off
    assert cause.why == "it differs from Git, and moves only when it is told to"
    assert cause.command == "gen sync kueue --cluster a30-bench"


def test_what_waits_for_a_person_is_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    """Every object with `Prune=confirm` says that it wants a confirmation; only what left Git waits for one."""
    cluster, running = there
    stays = resource("Application", "kept", requiresDeletionConfirmation=True)
    change(cluster, "root", resources=[stays])
    assert look(running).causes == ()
    gone = {**stays, "name": "old", "requiresPruning": True, "status": "OutOfSync"}
    change(cluster, "root", resources=[stays, gone])
    (cause,) = look(running).causes
    assert (cause.component, cause.objects) == ("root", ("Application shop/old",))
    assert cause.why == "it left Git, and goes only when a person confirms it"


def test_a_wave_that_waits_names_what_it_waits_for(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    change(cluster, "kueue", health={"status": "Progressing"}, resources=[BROKEN])
    change(cluster, "volcano", health={"status": "Degraded"})
    for name in ("queues", "tenants"):
        del cluster.objects[cluster.path(cluster.get("Application", name))]
    rows = {one.component: one for one in look(running).rows}
    assert (rows["tenants"].sync, rows["tenants"].waits) == ("not made yet", ("kueue",))
    assert rows["tenants"].wave > rows["kueue"].wave
    assert not rows["tenants"].well


def test_what_comes_later_is_not_waited_for(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    change(cluster, "queues", health={"status": "Degraded"})
    assert cluster.objects.pop(cluster.path(cluster.get("Application", "kueue")))
    (absent,) = [one for one in look(running).rows if one.component == "kueue"]
    assert absent.waits == ()


def test_what_somebody_holds_is_told_and_is_no_fault(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    suspended = resource("ClusterQueue", "x", health={"status": "Suspended", "message": "it is stopped"})
    change(cluster, "queues", health={"status": "Suspended"}, resources=[suspended])
    found = look(running)
    assert [one.why for one in found.held] == ["it is stopped"]
    assert all(one.well for one in found.rows)


def test_a_confirmation_of_the_future_is_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    annotations = cluster.get("Application", "root")["metadata"]["annotations"]
    annotations["argocd.argoproj.io/deletion-approved"] = "2026-05-31T00:00:00Z"
    assert look(running).soon == ()
    annotations["argocd.argoproj.io/deletion-approved"] = "2027-01-01T00:00:00Z"
    (cause,) = look(running).soon
    assert "confirms every deletion until then" in cause.why


def test_what_nobody_lets_us_read_is_said_and_the_rest_is_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.refuses["GET /api/v1/nodes"] = forbidden("list", "nodes")
    found = look(running)
    assert found.nodes == ()
    assert any("nodes is forbidden" in line for line in lines(found, NOW) if line.startswith("not seen: "))
    assert (found.state, found.data()["well"]) == ("unknown", False)
    assert list(lines(found, NOW))[-1].startswith("whether all is well is unknown")


def test_a_window_that_is_in_the_way_is_the_reason(there: tuple[LiveCluster, RunningCluster]) -> None:
    """Argo CD says nothing of it: what it would sync by itself just stays as it is."""
    cluster, running = there
    change(cluster, "kueue", sync={"status": "OutOfSync", "revision": HEAD})
    assert not any("window" in one.why for one in look(running).causes)
    window = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"]}
    project = cluster.get("Application", "kueue")["spec"]["project"]
    metadata = {"name": project, "namespace": "argocd"}
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject"}
    cluster.add({**kind, "metadata": metadata, "spec": {"syncWindows": [window]}})
    (cause,) = look(running).causes
    assert (cause.component, cause.command) == ("kueue", "gen sync kueue --cluster a30-bench")
    assert cause.why.startswith("the window deny")
    cluster.refuses["GET .*/appprojects"] = forbidden("list", "appprojects")
    assert not any("window" in one.why for one in look(running).causes)


def test_one_collection_that_is_not_answered_is_unknown(
    there: tuple[LiveCluster, RunningCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STEP", 0.001)
    cluster, running = there
    cluster.refuses["GET .*/certificates"] = (503, "ServiceUnavailable", "service unavailable")
    (said,) = look(running).unread
    assert said == "/apis/cert-manager.io/v1/certificates does not answer (status 503): service unavailable"


def test_what_is_wrong_is_wrong_whatever_else_is_not_seen(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.refuses["GET /api/v1/nodes"] = forbidden("list", "nodes")
    change(cluster, "kueue", health={"status": "Degraded"})
    assert look(running).state == "not well"


def test_kinds_that_are_not_there_do_no_harm(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    del cluster.served["cert-manager.io/v1"]
    assert look(running).unread == ()


def test_another_cluster_is_refused(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.get("ConfigMap", "gen")["data"]["cluster"] = "other"
    with pytest.raises(UsageError, match="is the cluster other, not a30-bench"):
        look(running)


def test_nodes_are_told(there: tuple[LiveCluster, RunningCluster]) -> None:
    _, running = there
    assert {one.why for one in look(running).nodes} == {"it is in the cluster file and has not joined"}


def test_as_data(there: tuple[LiveCluster, RunningCluster]) -> None:
    found = look(there[1]).data()
    assert found["components"][0] == {
        "component": "root", "wave": 0, "health": "Healthy", "sync": "Synced", "revision": HEAD, "behind": 0,
        "waits": [], "well": True,
    }  # fmt: skip
    assert found["well"] is False


@pytest.mark.parametrize("time", ["soon\x1b[2J", "2026-05-31", ""])
def test_a_time_that_cannot_be_read_ends_nothing(there: tuple[LiveCluster, RunningCluster], time: str) -> None:
    cluster, running = there
    metadata = {"name": "c", "namespace": "shop"}
    cluster.add(
        {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": metadata, "status": {"notAfter": time}}
    )
    change(cluster, "kueue", reconciledAt=time)
    change(cluster, "volcano", reconciledAt="2026-05-31T23:59:00Z")
    assert [*lines(look(running), NOW)]


def test_a_server_that_goes_away_does_not_end_a_watch(
    there: tuple[LiveCluster, RunningCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    live, _ = there
    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        """After the first look the server goes away, and returns; somebody ends the watch then."""
        sleeps.append(seconds)
        live.refuses = {".*": (503, "ServiceUnavailable", "starting")} if len(sleeps) < 9 else {}
        if len(sleeps) > 9 and seconds == verb.PAUSE:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    words = ["status", "--cluster", CLUSTER.name, "--kubeconfig", str(tmp_path / "kubeconfig"), "-C", str(ROOT)]
    assert run([*words, "--watch"]) == 130
    said = capsys.readouterr()
    assert said.err.count("looking again until it answers") == 1
    assert "answers again, after" in said.err
    assert said.out.count("kueue") >= 2


def test_who_watches_a_wrong_address_is_told_at_once(
    there: tuple[LiveCluster, RunningCluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    live, _ = there
    live.refuses = {".*": (503, "ServiceUnavailable", "starting")}
    monkeypatch.setattr(api, "STEP", 0.0)
    words = ["status", "--cluster", CLUSTER.name, "--kubeconfig", str(tmp_path / "kubeconfig"), "-C", str(ROOT)]
    assert run([*words, "--watch"]) == 2
    assert "looking again" not in capsys.readouterr().err
