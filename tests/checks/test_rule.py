from collections.abc import Iterator
from types import ModuleType

import pytest

from generator.checks import ACROSS, FLEET_RULES, MODULES, RULES, check
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.model.rule import Explained, Rule, explained, rule, rules

EVERY: list[Explained] = [*RULES.values(), *FLEET_RULES.values()]


def named(cluster: Cluster) -> Iterator[Finding]:
    """Say the name
    of it.

    Wrong:
        a:
          - 1
    Right:
        a: 2
    """
    yield Finding(message=cluster.name)


def make(code: str, severity: Severity = Severity.ERROR) -> Rule[Cluster]:
    return rule(code, "a title", severity)(named)


def module(*declared: Rule[Cluster]) -> ModuleType:
    made = ModuleType("made")
    for index, each in enumerate(declared):
        setattr(made, f"rule_{index}", each)
    return made


def test_a_rule_fills_in_code_and_severity(ml50: Cluster) -> None:
    (finding,) = make("GEN-X-001", Severity.WARNING).findings(ml50)
    assert finding == Finding(message="ml50", code="GEN-X-001", severity=Severity.WARNING)


def test_the_docstring_is_the_reason_on_one_line_and_two_examples() -> None:
    each = make("GEN-X-001")
    assert (each.why, each.wrong, each.right) == ("Say the name of it.", "a:\n  - 1\n", "a: 2\n")


def test_rules_are_collected_in_the_order_of_their_codes() -> None:
    two = (module(make("GEN-X-002"), make("GEN-X-003")), module(make("GEN-X-001")))
    assert list(rules(two)) == ["GEN-X-001", "GEN-X-002", "GEN-X-003"]


def test_a_code_given_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="GEN-X-001"):
        explained([module(make("GEN-X-001")), module(make("GEN-X-001"))])


def test_every_module_brings_rules() -> None:
    assert [each.__name__ for each in (*MODULES, *ACROSS) if not rules([each])] == []


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.code)
def test_every_rule_is_explained(each: Explained) -> None:
    assert each.why.endswith(".")
    assert each.title
    assert not each.title.endswith(".")
    assert each.wrong != each.right
    assert each.wrong.endswith("\n")
    assert each.right.endswith("\n")


def test_the_reference_clusters_have_no_errors(ml50: Cluster, a30: Cluster) -> None:
    found = [*check(ml50), *check(a30)]
    assert [finding for finding in found if finding.severity is Severity.ERROR] == []
