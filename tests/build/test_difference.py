"""What differs: nothing within itself, nothing by order or form, and everything else."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.build.difference import ORDER, differences, field_changes
from generator.build.objects import Object
from generator.model.change import ABSENT

NAMES = st.sampled_from(["a", "b", "order", "name", "80", "x/y", ""])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 1.5, float("nan"), "", "1", "true", "a", "b"])
NAMED = st.lists(NAMES, unique=True, max_size=4).flatmap(
    lambda names: st.tuples(
        *(
            st.fixed_dictionaries({"name": st.just(name)}, optional={"value": SCALARS, "port": SCALARS})
            for name in names
        )
    ).map(list)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), NAMED, st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@given(VALUES)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert list(field_changes(value, copy.deepcopy(value))) == []


@given(VALUES, st.randoms())
def test_the_order_of_keys_does_not_matter(value: Any, order: random.Random) -> None:
    assert list(field_changes(value, shuffled(value, order))) == []


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@given(VALUES, VALUES)
def test_the_changes_applied_to_the_one_give_the_other(old: Any, new: Any) -> None:
    """Told apart as servers do: 1 is not true. Of items with names that come anew the place is not told."""
    found = list(field_changes(old, new))
    assert told(applied(old, found)) == told(new)
    assert len({change.path for change in found}) == len(found)


def applied(old: Any, changes: list[Any]) -> Any:
    """Walk into `old` by the paths of the changes, and write what they say there."""
    made = copy.deepcopy(old)
    for change in changes:
        if not change.path:
            return change.new
        if change.path[-1] != ORDER:
            made = written(made, change.path, change.new)
    for change in changes:
        if change.path and change.path[-1] == ORDER:
            assert sorted(change.old) == sorted(change.new)
    return made


def written(part: Any, path: tuple[str | int, ...], value: Any) -> Any:
    step, rest = path[0], path[1:]
    if isinstance(part, dict):
        part = dict(part)
        part[step] = written(part.get(step), rest, value) if rest else value
        return {key: item for key, item in part.items() if item is not ABSENT}
    assert isinstance(part, list), (part, path)
    if isinstance(step, int):
        changed = written(part[step], rest, value) if rest else value
        return [changed if number == step else item for number, item in enumerate(part)]
    name = str(step)[1:-1]
    if name not in {str(item["name"]) for item in part}:
        return [*part, value]
    kept = [(written(item, rest, value) if rest else value) if str(item["name"]) == name else item for item in part]
    return [item for item in kept if item is not ABSENT]


def told(value: Any) -> Any:
    """A form that compares as a server does, and lists of named items without their order."""
    if isinstance(value, dict):
        return {key: told(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        named = value and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in value)
        items = [told(item) for item in value]
        return sorted(items, key=repr) if named else items
    return repr(value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": True}, [("a",)]),
        ({"a": 0}, {"a": False}, [("a",)]),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": None}, {}, [("a",)]),
        ({"a": []}, {"a": {}}, [("a",)]),
        ([{"name": "a"}, {"name": "order"}], [{"name": "order"}, {"name": "a"}], [("(order)",)]),
        ([{"name": "order", "v": 1}], [{"name": "order", "v": 2}], [("[order]", "v")]),
        ([{"port": 80}], [{"port": 80, "protocol": "TCP"}], [("[80]", "protocol")]),
        (
            [{"port": 53, "protocol": "UDP"}, {"port": 53}],
            [{"port": 53, "protocol": "UDP"}, {"port": 53, "targetPort": 5}],
            [("[53]", "targetPort")],
        ),
        ([{"key": "a", "name": True}], [{"key": "a", "name": False}], [("[a]", "name")]),
        ([1, 2], [2, 1], [()]),
    ],
)
def test_what_is_told(old: Any, new: Any, expected: list[Any]) -> None:
    assert [change.path for change in field_changes(old, new)] == expected


def thing(name: str = "a", namespace: str = "one", component: str = "app", **more: Any) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}, component, "f.yaml")


def test_two_that_only_have_the_beginning_of_a_name_are_two() -> None:
    def run(command: str) -> Object:
        metadata = {"generateName": "run-", "namespace": "one"}
        return Object({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "c": command}, "app", "f.yaml")

    assert differences([run("a"), run("b")], [run("a"), run("b")]) == []
    (found,) = differences([run("a"), run("b")], [run("c"), run("b")])
    assert [field.path for field in found.fields] == [("c",)]


def test_a_move_and_a_change_are_both_told() -> None:
    found = differences([thing(data={"a": "1"})], [thing(component="other", data={"a": "2"})])
    assert sorted((one.on, one.application, one.to) for one in found) == [
        ("changed", "other", ""),
        ("moved", "app", "other"),
    ]


def test_a_rename_is_the_likest_of_those_that_came() -> None:
    data = {str(number): "x" for number in range(9)}
    (renamed, added) = sorted(
        differences([thing("a", data=data)], [thing("b", data=data), thing("c", data={**data, "0": "y"})]),
        key=lambda one: one.on,
        reverse=True,
    )
    assert (renamed.on, renamed.name, renamed.to) == ("renamed", "a", "ConfigMap one/b")
    assert (added.on, added.name) == ("added", "c")
