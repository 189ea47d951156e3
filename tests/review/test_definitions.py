"""Definitions of the kinds that changed, wherever a side has them."""

from typing import Any

import yaml
from madeup import definition, widget

from generator.build.difference import differences
from generator.build.objects import Object
from generator.repository.sides import Side
from generator.review.definitions import definitions


def side(**files: Any) -> Side:
    contents = {f"base/some/{name}.yaml": yaml.safe_dump(made).encode() for name, made in files.items()}
    contents["base/some/broken.yaml"] = b"kind: CustomResourceDefinition\nWidget: {"
    return Side("a side", {path: str(hash(content)) for path, content in contents.items()}, contents.__getitem__)


def changed() -> Any:
    old, new = (Object(widget(size=size), "app", "f.yaml") for size in (1, 2))
    return differences([old], [new])


def test_the_new_definition_counts_where_both_sides_have_one() -> None:
    old, new = definition("Widget", "widgets"), definition("Widget", "widgets", preserveUnknownFields=False)
    other = definition("Gadget", "gadgets")
    assert definitions(side(a=old, b=other), side(a=new, b=other), changed()) == [new]
    assert definitions(side(a=old, b=other), side(b=other), changed()) == [old]


def test_nothing_is_looked_for_where_no_custom_object_changed() -> None:
    asked: list[str] = []
    silent = Side("a side", {"base/a.yaml": "1"}, lambda path: asked.append(path) or b"")  # type: ignore[func-returns-value]
    added = differences([], [Object(widget(size=1), "app", "f.yaml")])
    assert definitions(silent, silent, added) == []
    assert asked == []
