"""What each rule says of a change, and of a near miss: `tests/changes/<code>.yaml`.

A case says what stands before and after, `old` and `new`: objects, or in another `form` of `change_forms.py`.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from change_forms import changes

from generator.build.difference import differences
from generator.build.objects import Object
from generator.model.change import Beside
from generator.review.judging import JudgedChange, judge
from generator.review.report import rules
from generator.review.transitions import CODE, transition_rules

FOLDER = Path(__file__).parents[1] / "changes"
FILES = {file.stem: yaml.safe_load(file.read_text()) for file in sorted(FOLDER.glob("*.yaml"))}
CASES = [pytest.param(case, id=f"{code}: {case['name']}") for code, cases in FILES.items() for case in cases]


def objects(given: Any) -> list[Object]:
    """Return the objects of one side: one manifest, a list of them, or nothing."""
    listed = given if isinstance(given, list) else [given] if given else []
    return [Object(one, one.pop("application", "some"), "some.yaml") for one in listed]


def by_kind(found: list[Object]) -> dict[str, list[Any]]:
    kinds = {f"{one.group}/{one.kind}" for one in found}
    return {kind: [one.manifest for one in found if f"{one.group}/{one.kind}" == kind] for kind in kinds}


def judged(case: dict[str, Any]) -> JudgedChange:
    """Return the loudest change of a case with what it means."""
    if "form" in case:
        return judge(changes(case), rules(), Beside())[0]
    old, new = objects(case.get("old")), objects(case.get("new"))
    definitions = [one.manifest for one in new if one.kind == "CustomResourceDefinition"]
    every = (*rules(), *transition_rules(definitions))
    return judge(differences(old, new), every, Beside(by_kind(old), by_kind(new)))[0]


@pytest.mark.parametrize("case", CASES)
def test_a_change_means_what_is_said(case: dict[str, Any]) -> None:
    meaning = judged(case).meanings[0]
    found = {"effect": str(meaning.effect), **({"code": meaning.rule.code} if meaning.rule else {})}
    assert found == case["expect"], meaning
    assert meaning.rule is None or "{" not in meaning.rule.reason + meaning.rule.instead


def test_each_code_is_one_rule() -> None:
    codes = [rule.code for rule in rules()]
    assert sorted(set(codes)) == sorted(codes)


@pytest.mark.parametrize("code", sorted({rule.code for rule in rules()} | {CODE}))
def test_each_rule_has_a_file_that_shows_it_and_a_near_miss(code: str) -> None:
    expected = [case["expect"].get("code") for case in FILES.get(code, ())]
    assert code in expected, f"tests/changes/{code}.yaml: no case in which {code} is what counts"
    assert set(expected) != {code} or len({case["expect"]["effect"] for case in FILES[code]}) > 1, "no near miss"
