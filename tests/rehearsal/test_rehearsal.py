"""What a rehearsal makes of what it saw. The play itself is in tests/real/test_rehearse.py."""

from pathlib import Path
from typing import Any

import pytest
from rehearsed import rehearsal

from generator.build.objects import Object
from generator.errors import UsageError
from generator.model.change import CHART, Effect, ObjectChange
from generator.rehearsal.foretold import Foretold
from generator.rehearsal.health import unready
from generator.rehearsal.outcome import Fate, Outcome, Synced
from generator.rehearsal.perpetual import _fields
from generator.rehearsal.promises import Promise
from generator.rehearsal.rehearsal import Event, Happened
from generator.rehearsal.syncing import leaving
from generator.rehearsal.text import lines
from generator.rehearsal.twin.running import program
from generator.rehearsal.twin.twin import require
from generator.rehearsal.watching import Moment, replaced, stopped
from generator.review.compare import ClusterChanges
from generator.review.judging import JudgedChange, Meaning
from generator.review.report import ClusterReport

WEB = "Deployment ours/web"


def moment(**more: Any) -> Moment:
    return Moment(**{name: more.get(name, {}) for name in Moment.__struct_fields__})


def foretold(effect: Effect, kind: str = "apps/Deployment", name: str = "web") -> Foretold:
    change = ObjectChange(on="changed", kind=kind, namespace="ours", name=name, application="one")
    judged = JudgedChange(change, (Meaning(effect, None, ()),))
    return Foretold(ClusterReport(ClusterChanges(cluster="one", changes=(change,)), (judged,)))


def outcome(fate: Fate) -> Outcome:
    return Outcome(fate=fate, application="one", wave=1, kind="apps/Deployment", namespace="ours", name="web", why="no")


def disagreements(told: Foretold, fate: Fate = Fate.APPLIED, *gone: str, stopped: bool = False) -> list[str]:
    synced = Synced((outcome(fate),), ())
    return [*told.disagreements(synced, dict.fromkeys(gone, (1, 1)), {WEB}, stopped=stopped)]


def test_what_happens_as_foretold_is_no_disagreement() -> None:
    assert disagreements(foretold(Effect.IMPOSSIBLE), Fate.REFUSED) == []
    assert disagreements(foretold(Effect.ROLLING), Fate.APPLIED, WEB) == []
    assert disagreements(foretold(Effect.NONE)) == []
    assert disagreements(foretold(Effect.PREEMPTS), stopped=True) == []


@pytest.mark.parametrize(
    ("effect", "fate", "gone", "ended", "said"),
    [
        (Effect.NONE, Fate.REFUSED, (), False, "refused; gen diff says not felt"),
        (Effect.IMPOSSIBLE, Fate.APPLIED, (), False, "gen diff says impossible; the API server took it"),
        (Effect.NONE, Fate.APPLIED, (WEB,), False, "pods were replaced; gen diff says not felt"),
        (Effect.ROLLING, Fate.APPLIED, (), False, "gen diff says rolling; no pod was replaced"),
        (Effect.NONE, Fate.APPLIED, (), True, "jobs were stopped; gen diff names no change that preempts"),
    ],
)
def test_what_happens_otherwise_is_told(
    effect: Effect, fate: Fate, gone: tuple[str, ...], said: str, *, ended: bool
) -> None:
    (found,) = disagreements(foretold(effect), fate, *gone, stopped=ended)
    assert found.endswith(said)


def test_who_is_in_a_chart_that_nobody_sees_into_is_foretold_by_the_chart() -> None:
    told = foretold(Effect.UNKNOWN, CHART, "webs")
    assert told.of_owner(WEB) == "unknown (Chart webs)"
    assert disagreements(told, Fate.APPLIED, WEB) == []
    assert foretold(Effect.UNKNOWN, CHART).of_owner("Deployment others/web") == "nothing"


def test_who_had_no_pods_cannot_have_replaced_any() -> None:
    synced = Synced((outcome(Fate.APPLIED),), ())
    assert [*foretold(Effect.ROLLING).disagreements(synced, {}, set(), stopped=False)] == []


def test_pods_are_counted_by_who_made_them_and_those_of_jobs_apart() -> None:
    before = moment(pods={"1": (WEB, "a"), "2": (WEB, "b"), "3": ("Job ours/train", "c")})
    after = moment(pods={"2": (WEB, "b"), "4": (WEB, "d")})
    assert replaced(before, after) == {WEB: (1, 2)}


def test_a_job_is_stopped_when_it_runs_no_longer_or_anew() -> None:
    before = moment(jobs={"ours/a": "1", "ours/b": "2", "ours/c": "3", "ours/d": "4"}, evicted={"ours/c": "Preempted"})
    after = moment(jobs={"ours/b": "2", "ours/c": "3", "ours/d": "4"}, evicted={"ours/b": "why", "ours/c": "Preempted"})
    assert stopped(before, after) == {"ours/a": "it is gone", "ours/b": "why"}


def manifest(kind: str, spec: dict[str, Any], status: dict[str, Any]) -> tuple[Object, dict[str, Any]]:
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x", "generation": 2}, "spec": spec}
    return Object(made, "one", ""), made | {"status": status}


def test_a_workload_is_ready_once_all_pods_are_of_the_newest_template() -> None:
    new = {"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2}
    assert unready(*manifest("Deployment", {"replicas": 2}, new)) == ""
    assert unready(*manifest("Deployment", {"replicas": 3}, new)) == "2 of 3 pods ready"
    assert unready(*manifest("Deployment", {"replicas": 2}, new | {"observedGeneration": 1})).startswith("not seen")
    assert unready(*manifest("Deployment", {"replicas": 2}, new | {"updatedReplicas": 1})) == "1 of 2 pods ready"


def test_a_set_that_is_updated_by_hand_waits_for_nobody() -> None:
    by_hand = {"replicas": 2, "updateStrategy": {"type": "OnDelete"}}
    assert unready(*manifest("StatefulSet", by_hand, {"observedGeneration": 2, "readyReplicas": 2})) == ""


def test_why_no_pod_comes_is_told() -> None:
    failed = {"type": "ReplicaFailure", "status": "True", "message": "forbidden: violates PodSecurity"}
    status = {"observedGeneration": 2, "conditions": [failed]}
    said = unready(*manifest("Deployment", {"replicas": 2}, status))
    assert said == "0 of 2 pods ready forbidden: violates PodSecurity"


def test_fields_that_differ_are_named() -> None:
    assert [*_fields({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}})] == ["a.c"]
    assert [*_fields({"a": [1]}, {"a": [1]})] == []


def test_what_a_leaving_application_holds_stays_until_somebody_confirms_that() -> None:
    application = Object(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gone"}}, "root", ""
    )
    of_gone, of_kept = (
        Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}, name, "")
        for name in ("gone", "kept")
    )
    stored = {one.identity: one for one in (application, of_gone, of_kept) if one.identity}
    assert leaving(stored, ()) == [of_kept, application]
    assert leaving(stored, {application.identity}) == [of_kept, of_gone]  # type: ignore[arg-type]


def test_a_change_that_does_nothing_is_told_so() -> None:
    found = rehearsal()
    assert not found.loud
    assert "nothing happened: no object was refused or deleted, no pod replaced, no job stopped" in [*lines(found)]


def test_what_a_change_means_to_do_is_quiet_and_all_else_loud() -> None:
    assert not rehearsal(Happened(event=Event.DELETED, what="x", why="")).loud
    assert rehearsal(Happened(event=Event.REFUSED, what="x", why="")).loud
    assert rehearsal(disagreements=("x",)).loud
    assert rehearsal(promises=(Promise(name="x", held=False, seen="y"),)).loud
    assert not rehearsal(promises=(Promise(name="x", held=None, seen="y"),)).loud


def test_everything_is_in_the_text_and_the_data() -> None:
    happened = Happened(event=Event.STOPPED, what="red/train", why="InCohortReclamation", foretold="preempts")
    found = rehearsal(happened, promises=(Promise(name="A gang", held=False, seen="half of it", seconds=2.0),))
    text = "\n".join(lines(found))
    for part in ("red/train   [gen diff: preempts]", "InCohortReclamation", "BROKEN", "half of it", "wave 3: queues"):
        assert part in text
    assert found.data()["happened"][0] == {
        "event": "job stopped", "what": "red/train", "why": "InCohortReclamation", "foretold": "preempts",
    }  # fmt: skip


def test_a_missing_program_is_named_with_the_command_that_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"^etcd is neither in .* nor on PATH: `make real-tools` .* one you have$"):
        require()
    with pytest.raises(UsageError, match=r"^argocd is neither in .* nor on PATH: `python tools/real.py argocd` .*"):
        program("argocd")
