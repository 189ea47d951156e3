import re
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from yaml_styles import Styled, styled

from generator.model.finding import Position
from generator.model.rule import explained
from generator.spec import syntax_codes, text_codes
from generator.spec.document import Document
from generator.spec.limit import MOST
from generator.spec.reader import SIZE, read
from generator.spec.syntax import Slip, explain_slip

CODES = explained([text_codes, syntax_codes])
WRONG = sorted((Path(__file__).parent.parent / "wrong/yaml").glob("*.yaml"))
PIECES = [
    *"\n\n\n  :,-[]{}#&*!|>'\"%@`?~<=.\t\r\\",
    ": ",
    "- ",
    "a",
    "1",
    "<<: ",
    "---\n",
    "...\n",
    "é",
    "\u2028",
    "\x00",
]
PIECES += [
    "!!str ",
    "&a ",
    "*a",
    "a: ",
    "\n  b: ",
    "%YAML 1.2\n",
    "\ufeff",
    "😀",
    "0x",
    "1e9",
    "\\x",
    '"\\',
    "<<<<<<< x\n",
]


def found(document: Document) -> str:
    places = [(document.locate(finding)[0], finding.code) for finding in document.findings]
    return "".join(f"{place.line}:{place.column} {code}\n" for place, code in places)


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_a_wrong_file_gives_exactly_these_findings(file: Path) -> None:
    expected = file.with_suffix(".expected").read_text()
    assert found(read(file.read_bytes(), file.name)) == expected
    assert file.name[:12] in expected


def test_every_code_has_wrong_files_and_every_wrong_file_its_code() -> None:
    made_in_memory = {"GEN-YAML-004", "GEN-YAML-026"}
    assert {file.name[:12] for file in WRONG} | made_in_memory == set(CODES)
    assert {file.stem for file in WRONG} == {file.stem for file in WRONG[0].parent.glob("*.expected")}


@pytest.mark.parametrize("code", CODES)
def test_explanations_show_what_is_refused_and_what_is_not(code: str) -> None:
    each = CODES[code]
    assert each.code == code
    assert all((each.title, each.why, each.wrong, each.right))
    if not each.wrong.startswith("("):
        assert code in found(read(each.wrong, "f"))
    if not each.right.startswith("("):
        assert found(read(each.right, "f")) == ""


@pytest.mark.parametrize("text", ["x" * (SIZE + 1), b"x" * (SIZE + 1)], ids=["text", "bytes"])
def test_a_file_that_is_too_large_is_not_read(text: str | bytes) -> None:
    assert found(read(text, "f")) == "1:1 GEN-YAML-004\n"


@pytest.mark.parametrize("line", ["a: 1\n", "? [k]\n", "1: x\n", "- *x\n", "- !y z\n", "- .inf\n", "<<<<<<< HEAD\n"])
def test_a_file_that_is_wrong_all_over_is_told_to_a_limit(line: str) -> None:
    findings = read(line * 3 * MOST, "f").findings
    assert len(findings) == MOST + 1
    assert [each.code for each in findings].index("GEN-YAML-026") == MOST


def test_the_limit_itself_is_no_flood() -> None:
    assert "GEN-YAML-026" not in found(read("a: 1\n" * (MOST + 1), "f"))
    assert "GEN-YAML-026" in found(read("a: 1\n" * (MOST + 2), "f"))


@pytest.mark.parametrize(
    "text",
    ["\t" * 10**6, "[" + " #a" * 10**6, "[" + " '" * 10**6, " " * 10**6 + "\ta: 1", "\r" * 10**6, "=======\n" * 10**5],
)
def test_what_fills_a_file_is_told_soon(text: str) -> None:
    began = process_time()
    assert read(text, "f").findings
    assert process_time() - began < 3


@pytest.mark.parametrize(
    ("text", "also", "words"),
    [
        ("a: */5 * * * *\n", None, 'quote it: "*/5 * * * *"'),
        ("a: *.x # c\n", None, 'quote it: "*.x"'),
        ("a: [*.x, y]\n", None, "put quotes around the text"),
        ("a: b: c\n", None, 'quote it: "b: c"'),
        ("a:b\nc: 1\n", None, "write `a: b`"),
        ("a: 1\n\nb: 2\na: 3\n", (1, 1, 2), "remove one of the two"),
        ("a: [1,\n  2\nb: 3\n", (3, 2, 3), "close it with ]"),
        ("a: [}\n", (1, 4, 5), "close it with ]"),
        ("- {a: #b, c: 1}\n- {a: 1}\n", None, 'quote it: "#b"'),
        ("- {a: #b}\n", None, 'quote it: "#b"'),
        ('- ["x #y]", #b]  # c\n', None, 'quote it: "#b"'),
        ("a: [1,  # see [2]\n  2\nb: 3\n", (3, 2, 3), "close it with ]"),
        ("a: [1,  #2\n  2\nb: 3\n", (3, 2, 3), "close it with ]"),
        ("a: 1\n   b: 2\n", (1, 1, 2), "begin it in the column of the key above"),
        ("a: 1\n# c\n\n   b: 2\n", (1, 1, 2), "begin it in the same column as the entries it belongs to"),
        ('a: "b\nc: 1\nd: "e"\n', (3, 4, 5), 'close it with "'),
        ("a: *b\n", None, 'quote it if it is text: "*b"'),
        ("1: a\n", None, 'write "1"'),
        ("\ta: 1\n", None, "indent with spaces"),
        ("a: {{ b }}\n", None, "a template such as {{ x }}, quote the value"),
        ("a: 1\rb: 2\r", None, "save the file with LF line ends"),
        ("a: \u2028\n", None, 'write "\\u2028"'),
        ("<<<<<<< HEAD\n", None, "settle the merge first"),
    ],
)
def test_a_finding_names_the_other_place_and_the_smallest_fix(text: str, also: Any, words: str) -> None:
    document = read(text, "f")
    finding = document.findings[0]
    assert document.locate(finding)[1] == also
    assert words in finding.fix


def test_an_error_that_no_one_has_met_is_told_in_the_words_of_the_parser() -> None:
    slip = Slip(text="a: 1\nb", problem="found a \x07 thing", context="while doing so", at=5, since=0)
    finding = explain_slip(slip)
    assert (finding.code, finding.at, finding.also) == ("GEN-YAML-025", (2, 1, 2), (1, 1, 2))
    assert finding.message == r"this is not YAML: while doing so found a \x07 thing"


def test_reading_goes_on_behind_what_is_refused() -> None:
    text = "a: 1\na: 2\n1: x\n<<: {b: 1}\nc: !x y\nd: &d z\ne: *d\n? [k]\n: v\nf: [*d, 1]\ng: 1e999\n"
    document = read(text, "f")
    assert document.value == {
        "a": 1,
        "1": "x",
        "c": "y",
        "<<": {"b": 1},
        "d": "z",
        "e": None,
        "f": [None, 1],
        "g": "1e999",
    }
    assert [finding.code[-2:] for finding in document.findings] == [
        "08",
        "09",
        "12",
        "11",
        "10",
        "10",
        "09",
        "10",
        "24",
    ]


def test_the_first_of_two_equal_keys_is_the_one_that_is_shown() -> None:
    document = read("a: {x: 1}\na: {y: 2}\n", "f")
    assert document.value == {"a": {"x": 1}}
    assert document.position(("a",)) == (1, 4, 10)


def test_a_file_that_cannot_be_read_has_an_empty_value() -> None:
    for text in ("a: 1\nb: [", "- a\n", "", "a: \x00"):
        assert read(text, "f").value == {}


@pytest.mark.parametrize("text", ["a: 1\nb: x\n", b"a: 1\nb: x\n", b"\xef\xbb\xbfa: 1\r\nb: x\r\n", "\ufeffa: 1\nb: x"])
def test_marks_and_line_ends_do_not_matter(text: str | bytes) -> None:
    document = read(text, "f")
    assert (document.value, document.findings) == ({"a": 1, "b": "x"}, ())
    assert document.position(("b",)) == (2, 4, 5)


def test_quoted_scalars_are_text() -> None:
    text = "a: '1'\nb: \"true\"\nc: |\n  1\nd: ''\n\"<<\": 1\n'1': 2\n"
    assert read(text, "f").value == {"a": "1", "b": "true", "c": "1\n", "d": "", "<<": 1, "1": 2}


def test_sixty_four_levels_are_read_and_one_more_is_not() -> None:
    assert not read("a: " + "[" * 63 + "]" * 63, "f").findings
    assert found(read("a: " + "[" * 64 + "]" * 64, "f")) == "1:67 GEN-YAML-013\n"


@pytest.mark.parametrize(
    "text",
    [
        *[piece * 50_000 for piece in ("[", "{a: ", "- ", "? ", "{", "[\n", "!a ", "a: ", "'''")],
        "a: " + "[]" * 50_000,
        "\n".join(" " * depth + "a:" for depth in range(1_000)),
        f"{'k' * 1_000}: 1\n" * 2,
    ],
    ids=lambda text: text[:3],
)
def test_monstrous_files_end_in_findings(text: str) -> None:
    assert read(text, "f").findings


def test_ten_thousand_nodes_are_read() -> None:
    nodes = "".join(f"  - {{name: gpu-{number}, rack: r1}}\n" for number in range(10_000))
    document = read(f"spec:\n  nodes:\n{nodes}", "f")
    assert len(document.value["spec"]["nodes"]) == 10_000
    assert document.position(("spec", "nodes", 9_999, "rack")).line == 10_002


@settings(max_examples=300, deadline=None)
@given(styled())
def test_values_are_those_of_an_independent_reader(source: Styled) -> None:
    expected = YAML(typ="safe", pure=True).load(source.text.removeprefix("\ufeff"))
    assert repr(read(source.text, "f").value) == repr(expected)


def whole(document: Document) -> None:
    """Whatever was read: findings in order, with known codes, all inside the text."""
    places = [document.locate(finding) for finding in document.findings]
    assert [at[:2] for at, _ in places] == sorted(at[:2] for at, _ in places)
    for place in [place for pair in places for place in pair if place is not None]:
        assert isinstance(place, Position)
        assert 1 <= place.line <= document.text.count("\n") + 1
        assert 1 <= place.column <= place.end <= len(document.line(place.line)) + 1
    for finding in document.findings:
        assert finding.code in CODES
        assert finding.message
        assert finding.fix
        assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]", finding.message + finding.fix)
    assert isinstance(document.value, dict)


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_nothing_that_looks_like_yaml_makes_the_reader_raise(text: str) -> None:
    whole(read(text, "f"))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | st.text(st.characters(), max_size=60))
def test_nothing_else_makes_it_raise(text: str | bytes) -> None:
    whole(read(text, "f"))


@settings(max_examples=500, deadline=None)
@given(styled(), st.data())
def test_a_damaged_file_does_not_make_it_raise(source: Styled, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(source.text)))
    stop = data.draw(st.integers(at, min(at + 3, len(source.text))))
    whole(read(source.text[:at] + data.draw(st.sampled_from(PIECES)) + source.text[stop:], "f"))
