"""Places as API servers write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.live.dry_run.field_paths import path_of

LABEL = "app.kubernetes.io/name"
POD: dict[str, Any] = {
    "metadata": {"labels": {LABEL: "x", "app": "y"}},
    "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [{"containerPort": 80}, {"containerPort": 81}]}]},
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.containers[1].name", ("spec", "containers", 1, "name")),
        ('.spec.containers[name="b"].ports', ("spec", "containers", 1, "ports")),
        (
            'spec.containers[1].ports[containerPort=81,protocol="TCP"].containerPort',
            ("spec", "containers", 1, "ports", 1, "containerPort"),
        ),
        (f"metadata.labels.{LABEL}", ("metadata", "labels", LABEL)),
        (f"metadata.labels[{LABEL}]", ("metadata", "labels", LABEL)),
        ("metadata.labels.app", ("metadata", "labels", "app")),
        ("", ()),
    ],
)
def test_a_place_is_found(text: str, path: tuple[str | int, ...]) -> None:
    assert path_of(POD, text) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.containers[7].name", ("spec", "containers")),
        ('spec.containers[name="z"].name', ("spec", "containers")),
        ("spec.containers[1].image", ("spec", "containers", 1)),
        ("spec.containersX", ("spec",)),
        ("metadata.labels[x]", ("metadata", "labels")),
        ("spec.containers.name", ("spec", "containers")),
        ("<nil>", ()),
    ],
)
def test_a_path_ends_where_the_object_does(text: str, path: tuple[str | int, ...]) -> None:
    assert path_of(POD, text) == path


PIECES = st.sampled_from([".", "[", "]", "=", ",", '"', "spec", "containers", "1", "9" * 30, "²", "name", "b", LABEL])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_makes_it_raise_and_every_path_leads_to_a_value(text: str) -> None:
    value: Any = POD
    for key in path_of(POD, text):
        value = value[key]
