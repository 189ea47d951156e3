"""What each rule says of a change, and of a near miss: `tests/changes/<code>.yaml`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from generator.build.difference import differences
from generator.build.objects import Object
from generator.review.judging import judge
from generator.review.report import rules

FOLDER = Path(__file__).parents[1] / "changes"
CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(file.read_text())
]


def objects(given: Any) -> list[Object]:
    """Return the objects of one side: one manifest, a list of them, or nothing."""
    listed = given if isinstance(given, list) else [given] if given else []
    return [Object(one, one.pop("application", "some"), "some.yaml") for one in listed]


@pytest.mark.parametrize("case", CASES)
def test_a_change_means_what_is_said(case: dict[str, Any]) -> None:
    first = judge(differences(objects(case.get("old")), objects(case.get("new"))), rules())[0]
    meaning = first.meanings[0]
    found = {"effect": str(meaning.effect), **({"code": meaning.rule.code} if meaning.rule else {})}
    assert found == case["expect"], meaning


def test_each_code_is_one_rule() -> None:
    codes = [rule.code for rule in rules()]
    assert sorted(set(codes)) == sorted(codes)
