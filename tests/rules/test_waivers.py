"""Waivers of the cluster file."""

from datetime import date

import pytest
from manifests import manifest
from msgspec import structs

from generator.build.objects import Object
from generator.cli.explain import explanations
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.waiver import Waiver
from generator.rules.engine import RULES
from generator.rules.waivers import Codes, Waived, waive

TODAY = date(2026, 5, 31)
POD = RULES["GEN-POD-001"].complete(Object(manifest("Pod"), "", "x.yaml").finding("m"))
OTHER = RULES["GEN-POD-001"].complete(Object(manifest("Pod", name="y"), "", "x.yaml").finding("m"))


def waiver(code: str = "GEN-POD-001", on: str | None = "Pod tools/x", expires: str = "2026-05-31") -> Waiver:
    return Waiver(code=code, on=on, reason="it is being replaced", owner="storage@", expires=expires)


def settled(cluster: Cluster, *waivers: Waiver, judged: bool = True) -> Waived:
    ours = structs.replace(cluster, waivers=waivers)
    codes = Codes(explained=explanations(), waivable=RULES, looked_for=RULES if judged else ())
    return waive(ours, [POD, OTHER], TODAY, codes)


def codes(findings: tuple[Finding, ...]) -> list[tuple[str, str, object]]:
    return [(one.code, str(one.severity), one.at) for one in findings]


def test_a_waived_problem_is_counted_and_not_kept_up_to_the_last_day(ml50: Cluster) -> None:
    mine = waiver()
    assert settled(ml50, mine) == Waived((OTHER,), ((mine, 1),), ())


def test_a_waiver_without_an_object_is_for_all(ml50: Cluster) -> None:
    mine = waiver(on=None)
    assert settled(ml50, mine) == Waived((), ((mine, 2),), ())


@pytest.mark.parametrize("day", ["2026-05-30", "2020-02-31", "2026-13-01"])
def test_after_its_last_day_a_waiver_is_an_error_and_covers_nothing(ml50: Cluster, day: str) -> None:
    found = settled(ml50, waiver(code="GEN-POD-002"), waiver(expires=day))
    assert found.kept == (POD, OTHER)
    assert ("GEN-WAIVER-001", "error", ("waivers", 1, "expires")) in codes(found.findings)


def test_a_waiver_for_nothing_is_a_warning_where_it_was_looked_for(ml50: Cluster) -> None:
    idle = waiver(on="Pod tools/z")
    assert codes(settled(ml50, idle).findings) == [("GEN-WAIVER-002", "warning", ("waivers", 0, "code"))]
    assert settled(ml50, idle, judged=False).findings == ()


def test_a_code_that_is_none_is_an_error(ml50: Cluster) -> None:
    (found,) = settled(ml50, waiver(code="GEN-POD-999")).findings
    assert codes((found,)) == [("GEN-WAIVER-003", "error", ("waivers", 0, "code"))]
    (found,) = settled(ml50, waiver(code="GEN-NET-004")).findings
    assert found.code == "GEN-WAIVER-003"


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        ("GEN-NET-004", "it is an error in the cluster file", "correct the file; remove the waiver"),
        ("GEN-YAML-001", "it is an error in the cluster file", "correct the file; remove the waiver"),
        ("GEN-BUILD-001", "something was not judged at all", "settle it; remove the waiver"),
        ("GEN-VEND-001", "something was not judged at all", "settle it; remove the waiver"),
        ("GEN-POD-0002", "no finding that can be waived", "write GEN-POD-002"),
        ("GEN-SELL-001", "no finding that can be waived", "`gen explain --codes` lists them"),
    ],
)
def test_another_code_is_named_only_of_the_same_family(ml50: Cluster, code: str, message: str, fix: str) -> None:
    """Who follows the advice must not waive another rule."""
    (found,) = settled(ml50, waiver(code=code)).findings
    assert (found.code, found.fix) == ("GEN-WAIVER-003", fix)
    assert message in found.message


def test_of_two_waivers_for_one_problem_the_second_is_idle(ml50: Cluster) -> None:
    found = settled(ml50, waiver(), waiver(on="Pod tools/x", expires="2027-01-01"))
    assert codes(found.findings) == [("GEN-WAIVER-002", "warning", ("waivers", 1, "code"))]
