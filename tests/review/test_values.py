"""What is shown of values: short, and nothing secret."""

from typing import Any

import pytest

from generator.model.change import ABSENT, FieldChange, ObjectChange
from generator.review.values import both, masked, way

KEY = "-----BEGIN PRIVATE " + "KEY-----\n" + "A" * 32


def change(kind: str = "/ConfigMap") -> ObjectChange:
    return ObjectChange(on="changed", kind=kind, namespace="a", name="b", application="app")


SECRET = {
    "data": (("data", "token"), "b2xk", "bmV3"),
    "a whole section": (("data",), ABSENT, {"token": "bmV3"}),
    "text": (("stringData", "token"), "old", "new"),
    "an annotation, which may repeat the data": (("metadata", "annotations", "last"), "old", "new"),
    "the whole object": ((), ABSENT, {"kind": "Secret", "data": {"token": "new"}}),
}


@pytest.mark.parametrize("name", SECRET)
def test_nothing_of_a_secret_is_shown_but_that_it_differs(name: str) -> None:
    path, old, new = SECRET[name]
    before, after = both(change("/Secret"), FieldChange(path, old, new))
    assert before != after
    assert not any(word in f"{before}{after}" for word in ("old", "new", "b2xk", "bmV3"))


def test_a_secrets_type_and_labels_are_shown() -> None:
    assert both(change("/Secret"), FieldChange(("type",), "Opaque", "tls")) == ("Opaque", "tls")
    assert both(change("/Secret"), FieldChange(("metadata", "labels", "a"), "1", "2")) == ("1", "2")


ELSEWHERE: dict[str, tuple[tuple[str, ...], Any, Any]] = {
    "a variable": (("spec", "env", "[DB_PASSWORD]", "value"), "hunter2", "hunter3"),
    "a variable that comes": (("env",), [], [{"name": "DB_PASSWORD", "value": "hunter3"}]),
    "a key": (("data", "password"), "hunter2", "hunter3"),
    "a line of a file": (("data", "a.conf"), "x: 1\npassword: hunter2", "x: 1\npassword: hunter3"),
    "an address": (("url",), "https://ann:hunter2@example.org", "https://ann:hunter3@example.org"),
    "a private key": (("data", "tls"), KEY, f"{KEY}hunter3"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_looks_like_a_password_elsewhere_is_not_shown(name: str) -> None:
    before, after = both(change(), FieldChange(*ELSEWHERE[name]))
    assert "hunter" not in f"{before}{after}"
    assert before != after


def test_a_secrets_absence_is_told() -> None:
    found = masked(change("/Secret"), FieldChange(("data", "a"), ABSENT, "x"))
    assert (found.old, found.new) == (ABSENT, "(hidden)")


def test_of_long_values_what_differs_is_shown() -> None:
    one = "https://example.org/" + "a" * 200
    before, after = both(change(), FieldChange(("url",), f"{one}/1", f"{one}/2"))
    assert before.endswith("/1")
    assert after.endswith("/2")
    assert max(len(before), len(after)) < 70


def test_of_long_lists_the_entries_that_differ_are_shown() -> None:
    blocks = [f"10.{number}.0.0/16" for number in range(20)]
    field = FieldChange(("except",), [*blocks, "a"], [*blocks[:5], "b", *blocks[5:]])
    assert both(change(), field) == ('[..., "a"]', '[..., "b"]')
    assert both(change(), FieldChange(("except",), blocks, [*blocks, "b"])) == ("[...]", '[..., "b"]')
    turned = both(change(), FieldChange(("except",), blocks, blocks[::-1]))
    assert turned[0].startswith('["10.0.0.0/16"')
    assert turned[1].startswith('["10.19.0.0/16"')
    assert both(change(), FieldChange(("except",), [1, 2], [1])) == ("[1, 2]", "[1]")


def test_of_files_the_lines_that_differ_are_shown() -> None:
    old = "".join(f"line {number}\n" for number in range(50))
    assert both(change(), FieldChange(("data", "a"), old, old.replace("line 9\n", "line nine\n"))) == (
        "line 9",
        "line nine",
    )
    assert both(change(), FieldChange(("data", "a"), old, old.replace("line 9\n", "line 9\nmore\n"))) == (
        "nothing",
        "more",
    )


def test_a_value_is_one_line_that_can_be_read() -> None:
    assert both(change(), FieldChange(("a",), "x\ny\u202ez\x1b[2J\ufdd0", 1)) == (r"x\ny\u202ez\x1b[2J\ufdd0", "1")


def test_a_way_is_written_with_brackets_where_dots_would_mislead() -> None:
    assert way(("spec", "containers", "[web]", "args", 0)) == "spec.containers[web].args[0]"
    assert way(("metadata", "annotations", "a.b/c")) == "metadata.annotations[a.b/c]"
