from typing import Any

import pytest
from hypothesis import given, settings
from yaml_styles import Styled, styled

from generator.model.finding import Finding, Path, Position
from generator.spec.document import Document, Lines
from generator.spec.reader import read
from generator.spec.scalars import resolve

CLUSTER = """\
# c
metadata: {name: ml50}
spec:
  version: 1.30 # x
  nodes:
  - {name: gpu-01, b: 'x'}
  - name: gpu-02 # c
    list:
    - - 1
    script: |
      text
    wide: "😀" # y
  empty:
"""


@pytest.fixture(params=["\n", "\r\n"])
def document(request: pytest.FixtureRequest) -> Document:
    return read("\ufeff" + CLUSTER.replace("\n", request.param), "f")


def shown(document: Document, place: Position) -> str:
    return document.line(place.line)[place.column - 1 : place.end - 1]


@pytest.mark.parametrize(
    ("path", "line", "text"),
    [
        ((), 2, "metadata: {name: ml50}"),
        (("metadata",), 2, "{name: ml50}"),
        (("spec",), 3, "spec"),
        (("spec", "version"), 4, "1.30"),
        (("spec", "nodes"), 5, "nodes"),
        (("spec", "nodes", 0), 6, "{name: gpu-01, b: 'x'}"),
        (("spec", "nodes", 0, "b"), 6, "'x'"),
        (("spec", "nodes", 1), 7, "name: gpu-02"),
        (("spec", "nodes", 1, "list"), 8, "list"),
        (("spec", "nodes", 1, "list", 0), 9, "- 1"),
        (("spec", "nodes", 1, "script"), 10, "|"),
        (("spec", "nodes", 1, "wide"), 12, '"😀"'),
        (("spec", "empty"), 13, "empty"),
    ],
)
def test_a_position_shows_the_value(document: Document, path: Path, line: int, text: str) -> None:
    place = document.position(path)
    assert (place.line, shown(document, place)) == (line, text)


@pytest.mark.parametrize(
    ("path", "line", "text"),
    [
        (("metadata",), 2, "metadata"),
        (("spec", "version"), 4, "version"),
        (("spec", "nodes", 0, "b"), 6, "b"),
        (("spec", "nodes", 1), 7, "name: gpu-02"),
    ],
)
def test_a_position_shows_the_key_on_request(document: Document, path: Path, line: int, text: str) -> None:
    place = document.position(path, key=True)
    assert (place.line, shown(document, place)) == (line, text)


@pytest.mark.parametrize(
    ("path", "line", "text"),
    [
        (("nope",), 2, "metadata: {name: ml50}"),
        (("metadata", "labels", "x"), 2, "metadata"),
        (("metadata", "name", "x"), 2, "name"),
        (("spec", "nodes", 7), 5, "nodes"),
        (("spec", "nodes", -1), 5, "nodes"),
        (("spec", "nodes", "x"), 5, "nodes"),
        (("spec", "nodes", 0, "rack"), 6, "{name: gpu-01, b: 'x'}"),
        (("spec", "nodes", 1, "rack"), 7, "name: gpu-02"),
        (("spec", "empty", 0), 13, "empty"),
    ],
)
def test_a_missing_path_shows_its_nearest_ancestor(document: Document, path: Path, line: int, text: str) -> None:
    place = document.position(path)
    assert (place.line, shown(document, place)) == (line, text)


@pytest.mark.parametrize(
    ("path", "raw"),
    [
        (("spec", "version"), "1.30"),
        (("spec", "nodes", 0, "b"), "'x'"),
        (("spec", "empty"), ""),
        (("spec", "nodes"), None),
        (("spec", "nope", "x"), None),
    ],
)
def test_raw_is_the_scalar_as_written(document: Document, path: Path, raw: str | None) -> None:
    assert document.raw(path) == raw


def test_finding_paths_begin_below_spec_unless_they_name_the_envelope(document: Document) -> None:
    at, also = document.locate(Finding(message="m", at=("version",), also=("metadata", "name"), key=True))
    assert shown(document, at) == "version"
    assert also is not None
    assert shown(document, also) == "ml50"
    assert document.locate(Finding(message="m"))[0] == document.position(())
    assert document.locate(Finding(message="m", at=Position(9, 1, 2), also=Position(1, 1, 2))) == ((9, 1, 2), (1, 1, 2))


def test_lines_come_without_their_end(document: Document) -> None:
    assert document.line(4) == "  version: 1.30 # x"
    assert [document.line(number) for number in (0, -1, 14, 99)] == ["", "", "", ""]


def test_an_unreadable_file_has_positions_all_the_same() -> None:
    assert read("a: [", "f").position(("spec", "x")) == (1, 1, 1)
    assert read("", "f").position(()) == (1, 1, 1)


def test_an_empty_item_is_shown_by_its_dash() -> None:
    document = read("a:\n  - 1\n  -\n  - # c\n", "f")
    assert [document.position(("a", index)) for index in (1, 2)] == [(3, 3, 4), (4, 3, 4)]
    assert read("- ", "f").position(()) == (1, 1, 1)


def test_a_span_over_line_ends_is_cut_off_at_the_first() -> None:
    assert Lines("ab\r\ncd").position(1, 6) == (1, 2, 3)
    assert Lines("ab\ncd").position(5, 9) == (2, 3, 3)


def leaves(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, each in enumerate(value) for leaf in leaves(each, (*path, index))]
    return [(path, value)]


@settings(max_examples=300, deadline=None)
@given(styled())
def test_every_position_points_at_the_text_it_speaks_of(source: Styled) -> None:
    document = read(source.text, "f")
    for path, value in leaves(document.value):
        raw, place = document.raw(path), document.position(path)
        assert raw is not None
        assert shown(document, place) == (raw.splitlines()[0] if raw else path[-1])
        if raw[:1] not in {"'", '"', "|", ">"} and "\n" not in raw:
            assert repr(resolve(raw)) == repr(value)
        if isinstance(path[-1], str):
            assert shown(document, document.position(path, key=True)) == path[-1]
