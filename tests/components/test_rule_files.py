"""Rules on changes as files: what a document says for all of its rules, and functions that are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.components.minio.changes import CHANGES
from generator.components.minio.layout import RENEWAL
from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, Effect, FieldChange, ObjectChange
from generator.model.opening import OpeningRule, Opens

CHANGE = ObjectChange(on="changed", kind="/ConfigMap", namespace="", name="some", application="some")
FIELD = FieldChange(("data",), ABSENT, "some")


def odd(change: ObjectChange, _field: FieldChange) -> bool:
    return change.name == "odd"


def written(folder: Path, **document: Any) -> str:
    rule = {"effect": "by hand", "reason": "it is {how}, {old}", **document.pop("rule", {})}
    # Each file is read once.
    file = folder / f"{len(list(folder.iterdir()))}.yaml"
    file.write_text(json.dumps({"kinds": ["/ConfigMap"], **document, "rules": {"GEN-CHG-1": rule}}))
    return str(file)


def test_a_document_speaks_for_its_rules(tmp_path: Path) -> None:
    file = written(tmp_path, texts={"how": "so"}, below=["spec", "data"], rule={"paths": ["a", "b.c"], "armed": True})
    (rule,) = read_rules(file)
    assert (rule.code, rule.kinds, rule.effect, rule.armed) == ("GEN-CHG-1", ("/ConfigMap",), Effect.BY_HAND, True)
    assert rule.paths == ("spec.a", "spec.b.c", "data.a", "data.b.c")
    assert rule.reason == "it is so, {old}"


def test_a_rule_speaks_for_itself(tmp_path: Path) -> None:
    (rule,) = read_rules(written(tmp_path, rule={"kinds": ["/Secret", "/Node"]}))
    assert (rule.kinds, rule.paths) == (("/Secret", "/Node"), ("",))


def test_what_opens_something_says_what_is_gained(tmp_path: Path) -> None:
    (rule,) = read_rules(written(tmp_path, rule={"opens": "rights", "gains": "odd"}), odd)
    assert isinstance(rule, OpeningRule)
    assert rule.opens is Opens.RIGHTS
    assert rule.gains.__name__ == "odd"


@pytest.mark.parametrize(("names", "holds"), [("came", True), ("odd", False), (["came", "odd"], False)])
def test_all_functions_that_are_named_must_hold(names: str | list[str], holds: object, tmp_path: Path) -> None:
    looks = [odd] if "odd" in names else []
    (rule,) = read_rules(written(tmp_path, rule={"when": names}), *looks)
    assert rule.when is not None
    assert rule.when(CHANGE, FIELD) is holds


def test_a_name_and_its_function_belong_together(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="odd"):
        read_rules(written(tmp_path, rule={"when": "odd"}))
    with pytest.raises(KeyError, match="odd"):
        read_rules(written(tmp_path), odd)
    with pytest.raises(KeyError, match="even"):
        read_rules(written(tmp_path), even=odd)


def test_minio_is_renewed_by_the_command_that_all_else_says() -> None:
    (rule,) = [one for one in CHANGES if one.code == "GEN-CHG-470"]
    assert rule.instead == f"`{RENEWAL}`, all at once"
