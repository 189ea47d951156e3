"""Reading parts of objects that may be anything."""

import pytest

from generator.model.fields import dig, spots
from generator.model.finding import Path

PART = {"a": [{"b": [1, {"c": 2}]}, {"b": "text"}, 3], "d": {"e": 4}}


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("d.e", [(("d", "e"), 4)]),
        ("d.x.y", [(("d", "x", "y"), None)]),
        ("a.e", [(("a", "e"), None)]),
        ("a.*.b", [(("a", 0, "b"), [1, {"c": 2}]), (("a", 1, "b"), "text"), (("a", 2, "b"), None)]),
        ("a.*.b.*", [(("a", 0, "b", 0), 1), (("a", 0, "b", 1), {"c": 2})]),
        ("a.*.b.*.c", [(("a", 0, "b", 0, "c"), None), (("a", 0, "b", 1, "c"), 2)]),
        ("x.*", []),
        ("d.*", []),
    ],
)
def test_a_way_leads_to_every_item_of_a_list(way: str, found: list[tuple[Path, object]]) -> None:
    assert list(spots(PART, way)) == found


@pytest.mark.parametrize(("at", "value"), [(("a", 2), 3), (("a", 3), None), (("a", -1), None), (("d", -1), None)])
def test_what_is_not_there_is_none(at: Path, value: object) -> None:
    assert dig(PART, *at) == value
