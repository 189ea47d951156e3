"""Objects as files."""

from typing import Any

import pytest

from generator.layout.files import objects


def named(name: str, space: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space}}


def test_a_namespace_tells_two_of_a_name_apart() -> None:
    names, files = objects("x", [named("c"), named("c", "b"), named("d:e")], "y")
    assert names == ["configmap-c.a.yaml", "configmap-c.b.yaml", "configmap-d-e.yaml"]
    assert sorted(files) == [f"x/{name}" for name in names]


@pytest.mark.parametrize(
    "pair",
    [
        [named("../c")],
        [named("c\\d")],
        [named("c\0")],
        [named("c"), named("c", "../../d")],
    ],
)
def test_no_object_leads_out_of_its_folder(pair: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="no file can be named after this object"):
        objects("x", pair, "y")


def test_two_objects_of_one_file_are_refused() -> None:
    with pytest.raises(ValueError, match="two objects of one kind, name and namespace"):
        objects("x", [named("c"), named("c")], "y")
