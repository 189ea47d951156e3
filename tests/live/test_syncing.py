"""How `gen sync` goes from wave to wave, on a cluster of objects in memory with a controller that is played."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mergepatch import merged
from msgspec import structs

from generator.errors import UsageError
from generator.live import away
from generator.live.api import AwayError
from generator.live.applications import APPLICATIONS, Application
from generator.live.lease import SYNC, Lease
from generator.live.running import ConflictError, RunningCluster
from generator.live.sync.going import UnapprovedError
from generator.live.sync.progress import Patience, Progress
from generator.live.sync.syncing import Syncing, SyncStoppedError, Target
from generator.live.sync.wanted import Wanted, chosen
from generator.live.windows import PROJECTS

Object = dict[str, Any]
OLD, NEW = "a" * 40, "b" * 40
REPOSITORY = "https://git.example.org/clusters.git"
Play = Callable[[Object], None]


class Cluster(RunningCluster):
    """Objects by path. With each look Argo CD, as far as it is played, does its part."""

    def __init__(self, *applications: Object) -> None:
        self.objects: dict[str, Object] = {f"{APPLICATIONS}/{one['metadata']['name']}": one for one in applications}
        self.plays: dict[str, Play] = {}
        self.begun: list[tuple[str, str]] = []
        self.version = 1
        self.away = 0
        self.cut: Callable[[Object], bool] = lambda _change: False

    @property
    def host(self) -> str:
        return "here"

    def ready(self) -> bool:
        self.away = max(0, self.away - 1)
        return not self.away

    def _answer(self) -> None:
        if self.away:
            raise AwayError("nobody answers")

    def get(self, path: str) -> Object | None:
        self._answer()
        return deepcopy(self.objects.get(path))

    def items(self, path: str, **_query: str) -> Iterator[Object]:
        self._answer()
        for name, one in list(self.objects.items()):
            if name.startswith(f"{path}/"):
                self._play(one)
                yield deepcopy(one)

    def merge(self, path: str, change: Any) -> Object:
        self._answer()
        one = self.objects[path]
        asked = change.get("metadata", {}).get("resourceVersion")
        if asked and asked != one["metadata"]["resourceVersion"]:
            raise ConflictError(path)
        one = self.objects[path] = merged(one, change)
        self.version += 1
        one["metadata"]["resourceVersion"] = str(self.version)
        if "operation" in change:
            self.begun.append((one["metadata"]["name"], change["operation"]["sync"]["revision"]))
        if self.cut(change):
            self.away = 3
            self._answer()
        return deepcopy(one)

    def create(self, path: str, manifest: Object) -> Object | None:
        place = f"{path}/{manifest['metadata']['name']}"
        if place in self.objects:
            return None
        self.objects[place] = deepcopy(manifest)
        self.objects[place]["metadata"]["resourceVersion"] = "1"
        return deepcopy(self.objects[place])

    def delete(self, path: str) -> None:
        self.objects.pop(path, None)

    def _play(self, one: Object) -> None:
        annotations = one["metadata"].get("annotations", {})
        if annotations.pop("argocd.argoproj.io/refresh", None):
            one["status"]["sync"]["revision"] = NEW
            if one["metadata"]["name"] not in self.unchanged:
                one["status"]["sync"]["status"] = "OutOfSync" if at(one) != NEW else "Synced"
        self.plays.get(one["metadata"]["name"], succeed)(one)

    unchanged: tuple[str, ...] = ()


def at(one: Object) -> str:
    state = one["status"].get("operationState") or {}
    return str(state.get("syncResult", {}).get("revision"))


def application(name: str, wave: int = 0, *, automated: bool = False, gates: bool = True) -> Object:
    """Return an Application that is well at the old commit."""
    annotations = {"argocd.argoproj.io/sync-wave": str(wave)}
    policy: Object = {"syncOptions": ["ServerSideApply=true"]}
    return {
        "metadata": {
            "name": name,
            "resourceVersion": "1",
            "annotations": annotations | ({} if gates else {"argocd.argoproj.io/ignore-healthcheck": "true"}),
        },
        "spec": {
            "project": "tier",
            "source": {"repoURL": REPOSITORY, "targetRevision": "refs/heads/main", "path": f"overlays/x/{name}"},
            "destination": {"server": "here", "namespace": name},
            "syncPolicy": policy | ({"automated": {}} if automated else {}),
        },
        "status": {
            "sync": {"status": "Synced", "revision": OLD},
            "health": {"status": "Healthy"},
            "operationState": {
                "phase": "Succeeded",
                "syncResult": {"revision": OLD},
                "startedAt": "2026-11-22T10:00:00Z",
            },
        },
    }


def succeed(one: Object) -> None:
    """Play an operation that succeeds at once."""
    if operation := one.pop("operation", None):
        revision = operation["sync"]["revision"]
        state = {"phase": "Succeeded", "syncResult": {"revision": revision}, "operation": operation}
        one["status"] |= {"operationState": state, "sync": {"status": "Synced", "revision": NEW}}


def fail(one: Object) -> None:
    """Play an operation that the server refuses."""
    if operation := one.pop("operation", None):
        refused = [{"kind": "Unserved", "name": "x", "status": "SyncFailed", "message": "nobody serves it"}]
        state = {"phase": "Failed", "message": "one or more objects failed", "syncResult": {"resources": refused}}
        one["status"]["operationState"] = {**state, "operation": operation}


def stay(_one: Object) -> None:
    """Play a controller that does nothing."""


def degrade(one: Object) -> None:
    """Play an operation that succeeds and whose pods then do not start."""
    if one.get("operation"):
        succeed(one)
        one["status"]["health"] = {"status": "Degraded", "message": "no image"}


def goal(*applications: Object, names: tuple[str, ...] = (), newest: bool = True) -> Target:
    wanted = {
        one["metadata"]["name"]: Wanted(
            name=one["metadata"]["name"],
            wave=int(one["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]),
            tier="tier",
            automated=bool(one["spec"]["syncPolicy"].get("automated")),
            place=(REPOSITORY, "refs/heads/main", one["spec"]["source"]["path"]),
        )
        for one in applications
        if one["metadata"]["name"] != "root"
    }
    meant = names or tuple(one["metadata"]["name"] for one in applications)
    return Target(commit=NEW, newest=newest, wanted=wanted, names=frozenset(meant))


def nobody_leaves(_one: Application) -> str:
    return ""


class Run:
    """A sync and what it told."""

    def __init__(self, cluster: Cluster, target: Target, *, ask: Any = nobody_leaves, **more: Any) -> None:
        self.told: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.notes: list[str] = []
        patience = Patience(**{"limit": 2.0, "pause": 0.01, "grace": 0.05, "rest": 0.2, **more.pop("patience", {})})
        by_hand = bool(more.pop("by_hand", False))
        lease = Lease(cluster, SYNC, "ann@host 1")
        self.work = Syncing(
            cluster,
            target,
            lease=lease,
            ask=ask,
            tell=self.tell,
            note=self.notes.append,
            patience=patience,
            by_hand=by_hand,
        )
        self.moved = self.work.run()

    def tell(self, one: Progress) -> None:
        self.told.append((one.name, str(one.stage)))
        self.said.append(one.said)


def three() -> list[Object]:
    return [application("root"), application("late", 2), application("early", 1)]


def test_waves_come_one_after_the_other_to_the_very_commit() -> None:
    cluster = Cluster(*three())
    cluster.unchanged = ("root",)
    run = Run(cluster, goal(*three()))
    assert cluster.begun == [("early", NEW), ("late", NEW)]
    moved = [(one.name, one.old, one.new) for one in run.moved]
    assert moved[1:] == [("early", OLD, NEW), ("late", OLD, NEW)]
    assert all(one.done for one in run.moved)


def test_an_operation_says_all_and_leaves_nothing_of_the_last_one() -> None:
    cluster = Cluster(application("one"))
    cluster.plays["one"] = stay
    with pytest.raises(SyncStoppedError, match="not within"):
        Run(cluster, goal(application("one")), patience={"limit": 0.1})
    made = cluster.objects[f"{APPLICATIONS}/one"]
    assert "operationState" not in made["status"]
    sync = made["operation"]["sync"]
    assert sync == {
        "revision": NEW,
        "prune": True,
        "syncOptions": ["ServerSideApply=true"],
        "syncStrategy": {"hook": {}},
    }
    assert made["operation"]["retry"]["limit"] > 0
    assert made["operation"]["initiatedBy"]["username"].startswith("gen sync by ")


def test_what_is_there_is_not_synced_again() -> None:
    cluster = Cluster(application("one"))
    cluster.unchanged = ("one",)
    assert [one.done for one in Run(cluster, goal(application("one"))).moved] == [True]
    assert cluster.begun == []


@pytest.mark.parametrize(("play", "reason"), [(fail, "failed: Unserved x: nobody serves it"), (degrade, "no image")])
def test_it_stops_at_the_first_that_is_not_well_and_later_ones_are_not_touched(play: Play, reason: str) -> None:
    cluster = Cluster(*three()[1:])
    cluster.plays["early"] = play
    with pytest.raises(SyncStoppedError, match=f"early: .*{reason}"):
        Run(cluster, goal(*three()[1:]))
    assert cluster.begun == [("early", NEW)]


def test_what_failed_before_is_tried_again() -> None:
    cluster = Cluster(application("one"))
    one = cluster.objects[f"{APPLICATIONS}/one"]
    one["operation"] = {"sync": {"revision": NEW}}
    fail(one)
    assert [one.done for one in Run(cluster, goal(application("one"))).moved] == [True]


def test_what_nothing_waits_for_holds_nobody_and_is_told_at_the_end() -> None:
    leaf, late = application("leaf", 1, gates=False), application("late", 2)
    cluster = Cluster(leaf, late)
    cluster.plays["leaf"] = fail
    with pytest.raises(SyncStoppedError, match="leaf: failed: Unserved x"):
        Run(cluster, goal(leaf, late))
    assert cluster.begun == [("leaf", NEW), ("late", NEW)]


@pytest.mark.parametrize(("name", "tries"), [("root", 0), ("child", 2)])
def test_an_operation_that_holds_an_old_commit_is_ended(name: str, tries: int) -> None:
    cluster = Cluster(application(name))
    one = cluster.objects[f"{APPLICATIONS}/{name}"]
    one["operation"] = {"sync": {"revision": OLD}}
    waiting = {"phase": "Running", "message": "tried again", "operation": one["operation"], "retryCount": tries}
    one["status"] |= {"operationState": waiting, "sync": {"status": "OutOfSync", "revision": NEW}}
    looks: list[int] = []

    def end(one: Object) -> None:
        state = one["status"].get("operationState") or {}
        if state.get("phase") == "Terminating":
            looks.append(1)  # it takes a while
            if len(looks) > 2:
                one.pop("operation")
                state |= {"phase": "Failed", "message": "Operation terminated"}
        elif not state:
            succeed(one)

    cluster.plays[name] = end
    run = Run(cluster, goal(application(name)))
    assert cluster.begun == [(name, NEW)]
    assert (name, "held by an older operation") in run.told


def pruning(commit: str) -> Object:
    """Return root as it waits for a person's word."""
    root = application("root")
    root["operation"] = {"sync": {"revision": commit}}
    began = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"  # the cluster's clock is ahead of ours
    state = {"phase": "Running", "message": "waiting for pruning confirmation of argoproj.io/Application/old"}
    root["status"] |= {
        "operationState": {**state, "startedAt": began, "operation": root["operation"]},
        "sync": {"status": "OutOfSync", "revision": commit},
        "resources": [
            {"kind": "Application", "name": "old", "requiresPruning": True, "requiresDeletionConfirmation": True}
        ],
    }
    return root


def confirmed(one: Object) -> None:
    """Play Argo CD: a word from before the operation's beginning does not count."""
    word = one["metadata"]["annotations"].get("argocd.argoproj.io/deletion-approved", "")
    if one.get("operation") and word >= one["status"]["operationState"]["startedAt"]:
        succeed(one)


def test_what_a_commit_approves_is_confirmed_by_the_clock_of_the_cluster() -> None:
    cluster = Cluster(pruning(NEW))
    cluster.plays["root"] = confirmed
    asked: list[str] = []

    def ask(one: Application) -> str:
        asked.append(one.name)
        return "Application old"

    run = Run(cluster, goal(application("root")), ask=ask)
    assert asked == ["root"]
    assert cluster.begun == []
    assert "confirmed: Application old" in run.said


def test_what_nobody_approved_is_not_confirmed() -> None:
    cluster = Cluster(pruning(NEW))
    cluster.plays["root"] = confirmed

    def refuse(one: Application) -> str:
        raise UnapprovedError(one.name)

    with pytest.raises(UnapprovedError):
        Run(cluster, goal(application("root")), ask=refuse)
    assert (
        "argocd.argoproj.io/deletion-approved" not in cluster.objects[f"{APPLICATIONS}/root"]["metadata"]["annotations"]
    )


def test_nothing_is_confirmed_while_argo_cd_does_not_say_what_goes() -> None:
    cluster = Cluster(pruning(NEW))
    cluster.plays["root"] = confirmed
    with pytest.raises(SyncStoppedError, match="not within"):
        Run(cluster, goal(application("root")), patience={"limit": 0.1})
    assert (
        "argocd.argoproj.io/deletion-approved" not in cluster.objects[f"{APPLICATIONS}/root"]["metadata"]["annotations"]
    )


def project(**window: Any) -> Object:
    shut = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"], **window}
    return {"metadata": {"name": "tier"}, "spec": {"syncWindows": [shut]}}


def test_a_window_that_is_shut_is_kept() -> None:
    cluster = Cluster(application("one"))
    cluster.objects[f"{PROJECTS}/tier"] = project()
    with pytest.raises(SyncStoppedError, match=r"one: the window deny .* is open; no end is in sight$"):
        Run(cluster, goal(application("one")), by_hand=True)
    assert cluster.begun == []


def test_a_window_that_the_commit_itself_brings_holds_from_then_on() -> None:
    """Argo CD takes no operation in it, and lets those wait that it is given: none is begun."""
    cluster = Cluster(*three())
    cluster.objects[f"{APPLICATIONS}/root"]["status"]["sync"]["status"] = "OutOfSync"

    def bring(one: Object) -> None:
        if one.get("operation"):
            succeed(one)
            cluster.objects[f"{PROJECTS}/tier"] = project()

    cluster.plays["root"] = bring
    with pytest.raises(SyncStoppedError, match=r"early: the window deny .* is open"):
        Run(cluster, goal(*three()))
    assert cluster.begun == [("root", NEW)]


def test_a_window_that_lets_people_is_passed_only_when_they_say_so() -> None:
    cluster = Cluster(application("one"))
    cluster.objects[f"{PROJECTS}/tier"] = project(manualSync=True)
    with pytest.raises(SyncStoppedError, match="--now syncs all the same"):
        Run(cluster, goal(application("one")))
    assert cluster.begun == []
    Run(cluster, goal(application("one")), by_hand=True)
    assert cluster.begun == [("one", NEW)]


def test_an_application_that_root_has_not_made_is_told() -> None:
    with pytest.raises(SyncStoppedError, match="other: the Application is not in the cluster"):
        Run(Cluster(), goal(application("other"), names=("other",)))


def test_an_application_that_somebody_deletes_meanwhile_is_told() -> None:
    cluster = Cluster(application("one"))

    def vanish(one: Object) -> None:
        if one.get("operation"):
            one["metadata"]["name"] = "other"

    cluster.plays["one"] = vanish
    with pytest.raises(SyncStoppedError, match="one: the Application is gone"):
        Run(cluster, goal(application("one")))


def test_what_is_brought_to_an_older_commit_need_not_equal_the_newest() -> None:
    cluster = Cluster(application("one"))

    def older(one: Object) -> None:
        if one.get("operation"):
            succeed(one)
            one["status"]["sync"] = {"status": "OutOfSync", "revision": "c" * 40}

    cluster.plays["one"] = older
    Run(cluster, structs.replace(goal(application("one")), newest=False))
    assert cluster.begun == [("one", NEW)]


def test_somebody_who_changes_an_application_meanwhile_is_not_overtaken() -> None:
    cluster = Cluster(application("one"))
    real, tries = cluster.merge, list[str]()

    def merge(path: str, change: Any) -> Object:
        if "operation" in change and not tries:
            cluster.objects[path]["metadata"]["resourceVersion"] = "somebody's"
        tries.extend(change.get("operation", ()) and ["tried"])
        return real(path, change)

    cluster.merge = merge  # type: ignore[method-assign]
    Run(cluster, goal(application("one")))
    assert len(tries) == 2
    assert cluster.begun == [("one", NEW)]


def test_which_are_meant() -> None:
    found = [
        Wanted(name=name, wave=0, tier=tier, automated=True, place=("", "", ""))
        for name, tier in (("rook", "storage"), ("minio", "storage"), ("kueue", "scheduling"))
    ]
    assert [*chosen(found, (), "")] == ["root", "rook", "minio", "kueue"]
    assert [*chosen(found, (), "storage")] == ["rook", "minio"]
    assert [*chosen(found, ("kueue",), "")] == ["kueue"]
    with pytest.raises(UsageError, match="no such Application; there are kueue, minio, rook"):
        [*chosen(found, ("kue",), "")]
    with pytest.raises(UsageError, match="--tier disks: no Application is of it; there are scheduling, storage"):
        [*chosen(found, (), "disks")]


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "POLL", 0.01)


def once(part: str) -> Callable[[Object], bool]:
    """Return what tells of the first change that has some part that the server does it, and dies before it says so."""
    seen: list[Object] = []

    def cut(change: Object) -> bool:
        if part in change:
            seen.append(change)
        return part in change and len(seen) == 1

    return cut


@pytest.mark.usefixtures("_quick")
def test_what_was_begun_is_not_begun_again_though_the_answer_was_lost() -> None:
    cluster = Cluster(*three())
    cluster.unchanged = ("root",)
    cluster.cut = once("operation")
    run = Run(cluster, goal(*three()))
    assert cluster.begun == [("early", NEW), ("late", NEW)]
    assert all(one.done for one in run.moved)
    assert [note.partition(";")[0].partition(",")[0] for note in run.notes] == ["nobody answers", "here answers again"]


@pytest.mark.usefixtures("_quick")
def test_what_failed_while_nobody_answered_failed_in_this_sync() -> None:
    cluster = Cluster(application("one"))
    cluster.plays["one"] = fail
    cluster.cut = once("operation")
    with pytest.raises(SyncStoppedError, match="one: failed: Unserved x"):
        Run(cluster, goal(application("one")))
    assert cluster.begun == [("one", NEW)]


@pytest.mark.usefixtures("_quick")
def test_what_the_server_never_got_is_begun_when_it_is_back() -> None:
    cluster = Cluster(application("one"))
    real, lost = cluster.merge, list[str]()

    def merge(path: str, change: Any) -> Object:
        if "operation" in change and not lost:
            lost.append(path)
            cluster.away = 3
        return real(path, change)

    cluster.merge = merge  # type: ignore[method-assign]
    assert [one.done for one in Run(cluster, goal(application("one"))).moved] == [True]
    assert lost
    assert cluster.begun == [("one", NEW)]


@pytest.mark.usefixtures("_quick")
def test_what_is_unwell_when_the_server_is_back_gets_its_time_anew() -> None:
    cluster = Cluster(application("one"))
    looks: list[int] = []

    def recover(one: Object) -> None:
        if one.get("operation"):
            degrade(one)
        elif at(one) == NEW:
            looks.append(1)
            cluster.away = 30 if len(looks) == 1 else 0
            if len(looks) > 3:
                one["status"]["health"] = {"status": "Healthy"}

    cluster.plays["one"] = recover
    assert [one.done for one in Run(cluster, goal(application("one")), patience={"grace": 0.2}).moved] == [True]


@pytest.mark.usefixtures("_quick")
def test_a_server_that_stays_away_ends_it() -> None:
    cluster = Cluster(application("one"))
    cluster.ready = lambda: False  # type: ignore[method-assign]
    cluster.cut = once("operation")
    with pytest.raises(AwayError, match="nobody answers; waited 1 minute for it"):
        Run(cluster, goal(application("one")), patience={"away": 0.2})
    assert cluster.begun == [("one", NEW)]
