"""Objects as files."""

from typing import Any

import pytest
from msgspec import structs

from generator.layout.files import objects
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster


def named(name: str, space: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space}}


def test_a_namespace_tells_two_of_a_name_apart() -> None:
    names, files = objects("x", [named("c"), named("c", "b"), named("d:e")], "y")
    assert names == ["configmap-c.a.yaml", "configmap-c.b.yaml", "configmap-d-e.yaml"]
    assert sorted(files) == [f"x/{name}" for name in names]


def test_the_file_of_an_object_of_one_team_keeps_its_name_when_others_come(a30: Cluster) -> None:
    (first,) = a30.teams
    more = structs.replace(a30, teams=(structs.replace(first, name="another"), first))
    one, two = (set(lay_out(cluster).files) for cluster in (a30, more))
    assert [path for path in one - two if "/tenants/" in path] == []
    assert {path for path in one if path.startswith("overlays/a30-bench/tenants/localqueue")} == {
        f"overlays/a30-bench/tenants/localqueue-default.{first.name}.yaml"
    }


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
