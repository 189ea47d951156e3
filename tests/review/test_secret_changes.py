"""What it means that other Secrets must exist: no object of a server says so, so the changes are made by hand."""

from typing import Any

import pytest

from generator.build.difference import field_changes
from generator.model.change import ABSENT, FILE, ObjectChange
from generator.review.judging import judge
from generator.review.report import rules

GIVEN = {"name": "bot", "namespace": "zabbix", "keys": ["token"], "source": "given", "loss": "outage"}
KEY = {**GIVEN, "source": "generated", "loss": "data"}
MADE = {**GIVEN, "source": "in-cluster"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (ABSENT, GIVEN, ("by hand", "GEN-CHG-591")),
        (ABSENT, KEY, ("by hand", "GEN-CHG-591")),
        (ABSENT, MADE, ("none", "GEN-CHG-590")),
        (MADE, GIVEN, ("by hand", "GEN-CHG-592")),
        (GIVEN, MADE, ("none", "GEN-CHG-590")),
        (GIVEN, {**GIVEN, "keys": ["token", "url"]}, ("by hand", "GEN-CHG-593")),
        ({**GIVEN, "keys": ["token", "url"]}, GIVEN, ("none", "GEN-CHG-590")),
        (GIVEN, ABSENT, ("by hand", "GEN-CHG-594")),
        (MADE, ABSENT, ("none", "GEN-CHG-590")),
        (KEY, ABSENT, ("data-loss", "GEN-CHG-595")),
        (GIVEN, {**GIVEN, "rotate": "replace it"}, ("none", "GEN-CHG-590")),
    ],
)
def test_a_secret_that_people_make_is_told(old: Any, new: Any, expected: tuple[str, str]) -> None:
    fields = tuple(field_changes(old, new, ("secrets.yaml", "[zabbix/bot]")))
    change = ObjectChange(
        on="changed", kind=FILE, namespace="", name="secrets.yaml", application="bootstrap", fields=fields
    )
    (judged,) = judge([change], rules())
    meaning = judged.meanings[0]
    assert meaning.rule
    assert (str(meaning.effect), meaning.rule.code) == expected
