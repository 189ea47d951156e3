"""When Argo CD is told to compare. What it makes of that: tests/real/test_rehearse_argocd.py."""

from typing import Any

from argocd_states import NEW, OLD, state

from generator.live.applications import Application
from generator.rehearsal.argocd.course import Course
from generator.rehearsal.argocd.refreshing import AGAIN, Refreshing

STUCK: dict[str, Any] = {"seen": NEW, "sync": "Unknown", "conditions": (("ComparisonError", "no"),)}


def asking(asked: list[str], *, root_changes: bool, found: list[Application]) -> tuple[Refreshing, Course]:
    course = Course(NEW, {"root", "one", "two"})
    made = Refreshing(asked.append, root_changes=root_changes)
    made.begin(found)
    course.see(found, 0.0)
    made.round(course, 0.0)
    return made, course


def test_root_is_compared_once_all_others_are_where_it_does_not_change() -> None:
    asked: list[str] = []
    busy = [state("root", OLD), state("one", OLD, refreshing=True), state("two", OLD)]
    made, course = asking(asked, root_changes=False, found=busy)
    assert asked == ["one", "two"]
    course.see([state("root", OLD), state("one"), state("two")], 3.0)
    made.round(course, 3.0)
    made.round(course, 4.0)
    assert asked == ["one", "two", "root"]


def test_root_is_compared_at_once_where_it_changes() -> None:
    asked: list[str] = []
    asking(asked, root_changes=True, found=[state("root", OLD), state("one", OLD)])
    assert asked == ["root", "one"]


def test_what_could_not_be_compared_is_compared_once_more_after_a_while() -> None:
    asked: list[str] = []
    made, course = asking(asked, root_changes=True, found=[state("one", OLD, **STUCK), state("two")])
    asked.clear()
    for now in (AGAIN - 1, AGAIN + 1, AGAIN + 2):
        made.round(course, now)
    assert asked == ["one"]
