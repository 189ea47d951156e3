"""Definitions of the kinds that changed, wherever a side has them."""

from typing import Any

import yaml
from madeup import definition, widget
from sides import side

from generator.build.difference import differences
from generator.build.objects import Object
from generator.repository.sides import Side
from generator.review.definitions import definitions


def given(**files: Any) -> Side:
    texts = {f"base/some/crd-{name}.yaml": yaml.safe_dump(made) for name, made in files.items()}
    return side({**texts, "base/some/crd-broken.yaml": "kind: CustomResourceDefinition\nWidget: {"})


def changed() -> Any:
    old, new = (Object(widget(size=size), "app", "f.yaml") for size in (1, 2))
    return differences([old], [new])


def test_the_new_definition_counts_where_both_sides_have_one() -> None:
    old, new = definition("Widget", "widgets"), definition("Widget", "widgets", preserveUnknownFields=False)
    other = definition("Gadget", "gadgets")
    assert definitions(given(a=old, b=other), given(a=new, b=other), changed()) == [new]
    assert definitions(given(a=old, b=other), given(b=other), changed()) == [old]


def test_nothing_is_looked_for_where_no_custom_object_changed() -> None:
    silent = Side("a side", forbidden, forbidden)
    added = differences([], [Object(widget(size=1), "app", "f.yaml")])
    assert definitions(silent, silent, added) == []


def forbidden(_asked: object) -> Any:
    raise AssertionError
