"""What is made of what Argo CD was seen to do. That it does so: tests/real/test_rehearse_argocd.py."""

from typing import Any

import pytest
from argocd_states import NEW, OLD, result, state, thing

from generator.live.applications import Application
from generator.rehearsal.argocd.course import Course
from generator.rehearsal.argocd.judging import Judge
from generator.rehearsal.outcome import Fate, Outcome, Wave

WORD = "waiting for pruning confirmation of argoproj.io/Application/two"
WAVES = {"one": 1, "two": 2}
IMMUTABLE = 'Deployment.apps "a" is invalid: spec.selector: Invalid value: {"app":"x"}: field is immutable'
COMPARED = (
    "Failed to compare desired state to live state: failed to calculate diff: error calculating server side diff: "
    f"serverSideDiff error: error running server side apply in dryrun mode for resource Deployment/a: {IMMUTABLE}"
)
UNCOMPARED: dict[str, Any] = {
    "revision": OLD, "seen": NEW, "sync": "Unknown", "health": "Missing", "conditions": (("ComparisonError", COMPARED),)
}  # fmt: skip


def course(*looks: tuple[float, list[Application]], expected: tuple[str, ...] = ("one",)) -> Course:
    made = Course(NEW, expected)
    for now, found in looks:
        made.see(found, now)
    return made


def judged(made: Course, *names: str, **refused: str) -> dict[str, Outcome]:
    things = {name: thing(name) for name in names}
    found = Judge(made, WAVES, {id(things[name]): said for name, said in refused.items()}).applied(things.values())
    return {one.name: one for one in found}


def waves(made: Course, *names: str, **refused: str) -> tuple[Wave, ...]:
    return Judge(made, WAVES).synced([*judged(made, *names, **refused).values()])


def test_who_is_at_the_commit_and_well_has_arrived() -> None:
    made = course((1.0, [state("one", OLD)]), (2.0, [state("one", phase="Running")]), (5.0, [state("one")]))
    assert made.missing == []
    assert made.over(5.0, 45.0, 900.0)
    (wave,) = waves(made)
    assert (wave.number, wave.began, wave.seconds, wave.hung) == (1, 2.0, 3.0, ())


def test_what_needs_no_sync_arrives_without_one_and_is_in_no_wave() -> None:
    made = course((1.0, [state("one", OLD, seen=NEW)]))
    assert made.missing == []
    assert waves(made) == ()


@pytest.mark.parametrize(
    "yet",
    [
        {"phase": "Running"},
        {"health": "Progressing"},
        {"revision": OLD, "seen": NEW, "sync": "OutOfSync"},
        {"revision": OLD},
    ],
)
def test_who_is_under_way_is_waited_for(yet: dict[str, Any]) -> None:
    made = course((1.0, [state("one", **yet)]))
    assert made.missing == ["one"]
    assert not made.over(10.0, 45.0, 900.0)


def test_what_differs_again_at_once_has_arrived_nevertheless() -> None:
    """Argo CD heals it again and again: nobody would ever be through."""
    assert course((1.0, [state("one", sync="OutOfSync")])).missing == []


def test_trying_the_same_again_is_no_way_on() -> None:
    failing: dict[str, Any] = {"phase": "Running", "sync": "OutOfSync"}
    looks = [(float(n), [state("one", retries=n // 10, **failing)]) for n in range(60)]
    made = course(*looks)
    assert made.moved < 15.0
    assert made.over(60.0, 45.0, 900.0)
    assert not made.over(50.0, 45.0, 900.0)


@pytest.mark.parametrize(
    ("said", "given_up"), [("", False), ("waiting for healthy state of apps/Deployment/a and 2 more resources", True)]
)
def test_argo_cd_at_work_is_waited_for_and_what_never_gets_well_is_not(said: str, *, given_up: bool) -> None:
    """On a busy machine it applies the objects of one Application for minutes, and says nothing."""
    looks = [(float(n), [state("one", phase="Running", sync="OutOfSync", said=said)]) for n in range(100)]
    assert course(*looks).over(100.0, 45.0, 900.0) == given_up


def test_one_more_object_is_a_way_on() -> None:
    failing: dict[str, Any] = {"phase": "Running", "sync": "OutOfSync", "retries": 1}
    made = course((1.0, [state("one", **failing)]), (40.0, [state("one", NEW, result("Deployment", "a"), **failing)]))
    assert made.moved == 40.0


def test_who_waits_for_a_person_is_not_waited_for() -> None:
    root = state("root", phase="Running", said=WORD)
    made = course((1.0, [state("one"), root, state("two", OLD)]), expected=("one", "root"))
    assert made.leaving == ["two"]
    assert made.over(1.0, 45.0, 900.0)
    quiet = state("root", phase="Running", said="waiting for healthy state")
    assert not course((1.0, [state("one"), quiet]), expected=("one", "root")).over(1.0, 45.0, 900.0)


def test_what_is_still_there_and_should_not_be_is_waited_for() -> None:
    assert not course((1.0, [state("one"), state("two", OLD)])).over(1.0, 45.0, 900.0)


def test_who_fails_first_and_is_taken_later_was_too_early() -> None:
    failing = state("one", NEW, result("Deployment", "a", "SyncFailed", "no matches for kind"), phase="Running")
    made = course((1.0, [failing]), (12.0, [state("one", NEW, result("Deployment", "a"), retries=1)]))
    found = judged(made, "a")["a"]
    assert (found.fate, found.why) == (Fate.LATE, "no matches for kind")


def test_what_fails_is_refused_and_what_stands_behind_it_was_not_reached() -> None:
    failing = state(
        "one", NEW, result("Deployment", "a", "SyncFailed", "field is immutable"), phase="Running", retries=2
    )
    made = course((1.0, [failing]))
    found = judged(made, "a", "b", "c")
    assert (found["a"].fate, found["a"].why) == (Fate.REFUSED, "field is immutable")
    assert {found["b"].fate, found["c"].fate} == {Fate.UNREACHED}
    (wave,) = waves(made, "a", "b", "c")
    assert wave.hung == (
        "Application one: its sync fails at Deployment ours/a (tried again 2 times); 2 other objects of it not applied",
    )


def test_what_cannot_be_compared_is_refused_in_the_words_of_the_api_server_and_no_sync_begins() -> None:
    made = course((1.0, [state("one", OLD)]), (2.0, [state("one", **UNCOMPARED)]))
    assert made.stuck == ["one"]
    found = judged(made, "a", "b", a=IMMUTABLE)
    assert (found["a"].fate, found["a"].why, found["b"].fate) == (Fate.REFUSED, IMMUTABLE, Fate.UNREACHED)
    (wave,) = waves(made, "a", "b", a=IMMUTABLE)
    said = "Argo CD cannot compare it, and syncs nothing of it: Deployment ours/a; 1 other object of it not applied"
    assert wave.hung == (f"Application one: {said}",)


def test_what_argo_cd_says_is_told_where_no_object_that_changes_is_refused() -> None:
    (wave,) = waves(course((2.0, [state("one", **UNCOMPARED)])), "b")
    assert COMPARED in wave.hung[0]


def test_what_could_be_compared_at_last_was_too_early() -> None:
    made = course((2.0, [state("one", **UNCOMPARED)]), (30.0, [state("one")]))
    assert (made.missing, made.stuck) == ([], [])
    found = judged(made, "a", "b")
    assert (found["a"].fate, found["a"].why, found["b"].fate) == (Fate.LATE, IMMUTABLE, Fate.APPLIED)


def test_what_could_not_be_compared_with_an_older_commit_is_nothing_of_this_one() -> None:
    made = course((2.0, [state("one", **(UNCOMPARED | {"seen": OLD}))]), (30.0, [state("one")]))
    assert judged(made, "a")["a"].fate == Fate.APPLIED


def test_a_hook_that_fails_is_refused() -> None:
    hook = result("Job", "setup", "Synced", "backoff limit") | {
        "hookPhase": "Failed",
        "hookType": "Sync",
        "group": "batch",
    }
    made = course((1.0, [state("one", NEW, hook, phase="Failed")]))
    assert [one.status for one in made.results.values()] == ["SyncFailed"]


def test_results_of_an_older_sync_count_for_nothing() -> None:
    made = course((1.0, [state("one", OLD, result("Deployment", "a", "SyncFailed"), phase="Failed")]))
    assert judged(made, "a")["a"].fate == Fate.UNREACHED
    assert made.results == {}


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    failing = result("Deployment", "a", "SyncFailed", "no", namespace="others")
    made = course((1.0, [state("one", NEW, failing, result("Deployment", "a"), phase="Running")]))
    assert judged(made, "a")["a"].fate == Fate.APPLIED


def test_an_application_that_root_never_came_to_is_told_with_what_root_waits_for() -> None:
    root = state("root", phase="Running", said="waiting for healthy state of Application/one")
    made = course((1.0, [root]), expected=("root", "two"))
    (wave,) = waves(made)
    assert wave.number == 2
    assert wave.hung == ("Application two: root's sync never came to it: waiting for healthy state of Application/one",)


@pytest.mark.parametrize(
    ("absent", "results", "fate"),
    [
        (True, (), Fate.DELETED),
        (False, (result("Deployment", "a", "PruneSkipped", "ignored (no prune)"),), Fate.KEPT),
        (False, (result("Deployment", "a", "SyncFailed", "denied"),), Fate.REFUSED),
        (False, (), Fate.KEPT),
    ],
)
def test_what_left_git_went_or_stayed(fate: Fate, results: tuple[Any, ...], *, absent: bool) -> None:
    made = course((1.0, [state("one", NEW, *results)]))
    (found,) = Judge(made, WAVES).removed([(thing("a"), absent)])
    assert found.fate == fate


def test_what_waits_for_a_person_is_told_so() -> None:
    leaving = {"group": "apps", "kind": "Deployment", "namespace": "ours", "name": "a"}
    asked = leaving | {"requiresPruning": True, "requiresDeletionConfirmation": True}
    made = course((1.0, [state("one", phase="Running", said=WORD, resources=[asked])]))
    (found,) = Judge(made, WAVES).removed([(thing("a"), False)])
    assert found.fate == Fate.WAITS


def test_what_was_applied_and_is_unwell_is_not_refused() -> None:
    child = result("Application", "queues", "Synced", "serverside-applied") | {"hookPhase": "Failed"}
    made = course((1.0, [state("one", NEW, child, phase="Failed")]))
    assert [one.status for one in made.results.values()] == ["Synced"]
