"""Rules of definitions: those that are understood say what a server says, all others say that nobody knows."""

from typing import Any

import pytest

from generator.review.cel import deciding


@pytest.mark.parametrize(
    ("rule", "old", "new", "holds"),
    [
        ("self == oldSelf", {"a": [1]}, {"a": [1]}, True),
        ("self == oldSelf", 1, True, False),
        ("self >= oldSelf", 2, 1, False),
        ("self >= oldSelf", 2, 2, True),
        ("self == '' || oldSelf == '' || self == oldSelf", "host", "", True),
        ("self == '' || oldSelf == '' || self == oldSelf", "host", "multus", False),
        ("!has(oldSelf.a) || has(self.a)", {"a": 1}, {}, False),
        ("!has(oldSelf.a) || has(self.a)", {}, {}, True),
        ("!has(oldSelf.a) || (has(self.a) && self.a == oldSelf.a)", {"a": 1}, {"a": 2}, False),
        (
            "!has(oldSelf.a) || (has(self.b) == has(oldSelf.b) && (!has(self.b) || self.b == oldSelf.b))",
            {"a": 1},
            {},
            True,
        ),
        (
            "!has(oldSelf.a) || (has(self.b) == has(oldSelf.b) && (!has(self.b) || self.b == oldSelf.b))",
            {"a": 1},
            {"b": 1},
            False,
        ),
        ("oldSelf.a != 3 && self.a <= oldSelf.a", {"a": 4}, {"a": 2}, True),
        ("oldSelf.a != 3 && self.a <= oldSelf.a", {"a": 3}, {"a": 2}, False),
    ],
)
def test_a_rule_is_decided(rule: str, old: Any, new: Any, holds: bool) -> None:  # noqa: FBT001 - expected
    decide = deciding(rule)
    assert decide is not None
    assert decide(new, old) is holds


@pytest.mark.parametrize(
    "rule",
    [
        "self.startsWith(oldSelf)",
        "size(self) == size(oldSelf)",
        "self.all(one, one in oldSelf)",
        "self == oldSelf ? true : false",
        "self.a[0] == oldSelf.a[0]",
        "self == oldSelf + 1",
        'self == "a" || self == oldSelf',
        "self ==",
        "(self == oldSelf",
        "self == oldSelf)",
        "selfish == oldSelf",
        "",
    ],
)
def test_what_is_not_understood_is_not_guessed(rule: str) -> None:
    assert deciding(rule) is None
