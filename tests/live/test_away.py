"""A server on loopback that dies in the middle of a sync, and returns as one that is not ready yet."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster
from loopback import Asked, Reply, config, serving

from generator.errors import UsageError
from generator.live import away
from generator.live import lease as leases
from generator.live.api import AwayError, of_kubeconfig
from generator.live.away import answered
from generator.live.lease import SYNC, held
from generator.live.running import RunningCluster
from generator.live.sync.progress import Patience
from generator.live.sync.syncing import Syncing, Target
from generator.live.sync.wanted import Wanted

Object = dict[str, Any]
NEW = "b" * 40
PLACE = ("https://git.example.org/clusters.git", "refs/heads/main", "overlays/x/one")
GONE = 3.0
"""Seconds that it is away: longer than a lease lasts here."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "POLL", 0.1)
    monkeypatch.setattr(leases, "LASTS", 1.5)
    monkeypatch.setattr(leases, "RENEWED", 0.1)


class Mortal:
    """A server that does what `dies` says as the last thing before it is away for a while. When it is back it calls
    itself unready a few times, and knows no objects of its own kinds before it is.
    """

    def __init__(self, live: LiveCluster, dies: Callable[[Asked], bool]) -> None:
        self.live, self.dies = live, dies
        self.back, self.unready, self.asked_early = 0.0, 3, list[str]()
        live.reacts.append(self.play)

    def reply(self, asked: Asked) -> Reply | None:
        if time.monotonic() < self.back:
            return None
        if asked.path == "/readyz":
            self.unready -= 1
            return (500, {}, b"not ready") if self.unready >= 0 else (200, {}, b"ok")
        if self.back and self.unready > 0 and "/argoproj.io/" in asked.path:
            self.asked_early.append(asked.path)
            return 404, {}, b"404 page not found"
        answer = self.live.reply(asked)
        if not self.back and self.dies(asked):
            self.back = time.monotonic() + GONE
            return None
        return answer

    def play(self, one: Object) -> None:
        """Do what Argo CD would."""
        one["metadata"].get("annotations", {}).pop("argocd.argoproj.io/refresh", None)
        if operation := one.pop("operation", None):
            state = {"phase": "Succeeded", "syncResult": {"revision": NEW}, "operation": operation}
            one["status"] |= {"operationState": state, "sync": {"status": "Synced", "revision": NEW}}


def application(name: str) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "annotations": {"argocd.argoproj.io/sync-wave": "1"}},
        "spec": {"project": "p", "source": dict(zip(("repoURL", "targetRevision", "path"), PLACE, strict=True))},
        "status": {"sync": {"status": "OutOfSync", "revision": NEW}, "health": {"status": "Healthy"}},
    }


def begins(asked: Asked) -> bool:
    return asked.method == "PATCH" and "operation" in asked.body


def test_a_sync_goes_on_with_the_same_commit_and_begins_nothing_twice(tmp_path: Path) -> None:
    live = LiveCluster(application("one"))
    mortal = Mortal(live, begins)
    wanted = {"one": Wanted(name="one", wave=1, tier="t", automated=False, place=PLACE)}
    goal = Target(commit=NEW, newest=True, wanted=wanted, names=frozenset({"one"}))
    notes: list[str] = []
    with serving(mortal.reply) as url:
        running = RunningCluster(of_kubeconfig(config(tmp_path, url), None))
        with held(running, SYNC, print) as lease:
            work = Syncing(
                running,
                goal,
                lease=lease,
                ask=lambda _: "",
                tell=lambda _: None,
                note=notes.append,
                patience=Patience(limit=30.0, pause=0.1),
                by_hand=False,
            )
            assert [one.done for one in work.run()] == [True]
    assert sum(map(begins, live.asked)) == 1
    assert mortal.asked_early == []
    assert "looking again until it answers, for at most 1 minute" in notes[0]
    assert notes[1].startswith(f"{url} answers again, after ")
    assert len(notes) == 2


def test_who_does_not_know_us_when_it_is_back_is_told(tmp_path: Path) -> None:
    """A token may end meanwhile; an API server that starts may know nobody for a moment."""

    def reply(asked: Asked) -> Reply | None:
        return None if asked.number < 4 else (401, {}, b"Unauthorized")

    with serving(reply) as url:
        running = RunningCluster(of_kubeconfig(config(tmp_path, url), None))
        with pytest.raises(UsageError, match="does not know who we are") as refused:
            answered(running, lambda: running.get("/api/v1/nodes"), print, 1.0)
    assert not isinstance(refused.value, AwayError)
