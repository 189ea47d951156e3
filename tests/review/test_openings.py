"""What rules on openings say of objects that are none: whoever wrote them, nothing raises."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from test_change_rules import FILES, by_kind, changes, objects

from generator.model.change import Beside
from generator.model.fields import dig, walk
from generator.model.opening import OpeningRule
from generator.review.judging import judge
from generator.review.report import rules

OPENING = [rule for rule in rules() if isinstance(rule, OpeningRule)]
ANYTHING: tuple[Any, ...] = (None, 7, {7: 7}, [{7: [7]}])


def spoiled(given: Any) -> Iterator[Any]:
    """Yield an object with each of its parts, but for its identity, in each other form."""
    for path, _ in walk(given):
        if (
            path
            and path[0] not in {"apiVersion", "kind"}
            and path[:1] != path
            and path[-1] not in {"name", "namespace"}
        ):
            for value in ANYTHING:
                one = deepcopy(given)
                dig(one, *path[:-1])[path[-1]] = value
                yield one


@pytest.mark.parametrize("code", sorted({rule.code for rule in OPENING}))
def test_nothing_that_an_object_says_raises(code: str) -> None:
    for case in FILES[code]:
        sides = [case.get("old"), case.get("new")]
        if "form" in case or any(isinstance(each, list) for each in sides):
            continue
        for which, given in enumerate(sides):
            for one in spoiled(given) if given else ():
                old, new = (one if number == which else sides[number] for number in (0, 1))
                found = changes({"old": old, "new": new})
                judge(found, OPENING, Beside(by_kind(objects(old)), by_kind(objects(new))))
