"""Cluster files that an older gen read: what moved since is moved, and no other line changes."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from generator.edits.migrate import migrate
from generator.errors import UsageError
from generator.repository.cluster_files import examine
from generator.spec import moved
from generator.spec.moved import API_VERSIONS, MOVED, MOVED_KEY, STEPS, UNKNOWN_VERSION
from generator.spec.schema import schema

OLD = Path(__file__).parent.parent / "migrations"
FILES = sorted(OLD.glob("*.yaml"))
STRATEGY = (OLD / "mig-strategy.yaml").read_text()
MINIMAL = (OLD.parent / "wrong/valid/minimal.yaml").read_text()


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def wrong(text: str) -> list[str]:
    return [each.code for each in examine(text.encode(), "f", "lab").findings if each.severity == "error"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_old_file_is_wrong_until_it_is_migrated_and_right_then(file: Path) -> None:
    old = file.read_text()
    assert wrong(old)
    assert {*wrong(old)} <= STEPS
    done = migrate(old)
    assert wrong(done.text) == []
    assert {one.code for one in done.steps} == set(wrong(old))
    assert migrate(done.text) == type(done)(done.text)


def test_every_key_that_moved_has_an_old_file() -> None:
    shown = {one.at[-1] for file in FILES for one in migrate(file.read_text()).steps}
    assert {key for _, key in MOVED} <= shown


def test_only_the_lines_of_what_moved_change() -> None:
    before, after = lines(STRATEGY), lines(migrate(STRATEGY).text)
    assert [line for line in before if line not in after] == [
        "            strategy: mixed   # 이름으로 요청한다\n",
        next(line for line in before if line.startswith("    whole:")),
    ]
    assert [line for line in after if line not in before] == [
        "            # 이름으로 요청한다\n",
        next(line for line in before if line.startswith("    whole:")).replace(", strategy: single }", " }"),
        "  gpus: {migStrategy: mixed}\n",
    ]


def test_what_the_new_place_says_counts() -> None:
    text = STRATEGY.replace("  pools:\n", "  gpus: {migStrategy: single}\n  pools:\n")
    done = migrate(text)
    assert "gpus: {migStrategy: single}\n" in done.text
    assert "mixed" not in done.text


def test_a_file_of_today_is_left_as_it_is() -> None:
    assert migrate(MINIMAL) == type(migrate(MINIMAL))(MINIMAL)


def test_an_older_version_becomes_todays_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    # There is none yet: a made-up one.
    monkeypatch.setattr(moved, "API_VERSIONS", ("gen/v0", API_VERSIONS[-1]))
    old = STRATEGY.replace(f"apiVersion: {API_VERSIONS[-1]}", "apiVersion: gen/v0   # old")
    done = migrate(old)
    assert {one.code for one in done.steps} == {MOVED_KEY.code, UNKNOWN_VERSION.code}
    assert f"apiVersion: {API_VERSIONS[-1]}   # old\n" in done.text
    assert wrong(done.text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [\n", "mend this first"),
        (
            STRATEGY.replace("            profile: all-1g.6gb\n", ""),
            "line 28: spec.pools.inference.hardware.gpu.mig.strategy cannot be edited exactly",
        ),
    ],
)
def test_what_cannot_be_edited_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        migrate(text)
    assert words in str(refused.value)


def test_edits_of_steps_are_such_as_are_made_here() -> None:
    for file in FILES:
        assert {edit.do for one in examine(file.read_bytes(), "f", "lab").findings for edit in one.edits} <= {
            "put",
            "remove",
        }


def test_what_moved_is_no_key_any_more_where_it_was() -> None:
    for title, key in MOVED:
        assert key not in schema()["$defs"][title]["properties"]


@st.composite
def old_files(draw: st.DrawFn) -> str:
    """Return a file in many ways of writing: line ends, comments, words of other scripts, sections in braces."""
    comment = st.sampled_from(["", "  # 주석", "   # { strategy: mixed }", " # a: [", "  "])
    text = [*lines(STRATEGY)]
    flow = "mig: {strategy: VALUE, profile: all-1g.6gb}"
    value = draw(st.sampled_from(["mixed", "single", '"mixed"', "'single'"]))
    if draw(st.booleans()):
        at = next(number for number, line in enumerate(text) if line.strip() == "mig:")
        text[at : at + 3] = [f"          {flow.replace('VALUE', value)}\n"]
    more = [
        line.rstrip("\n") + draw(comment) + "\n" if "#" not in line and line.strip() else line
        for line in text
        if not line.strip().startswith("#") or draw(st.integers(0, 3))
    ]
    joined = "".join(more)
    joined = joined if draw(st.booleans()) else joined.removesuffix("\n")
    joined = joined.replace("\n", "\r\n") if draw(st.booleans()) else joined
    return ("\ufeff" if draw(st.booleans()) else "") + joined


@settings(max_examples=150, deadline=None)
@example(STRATEGY.replace("\n", "\r\n"))
@given(old_files())
def test_all_but_what_moved_stays_to_the_byte(text: str) -> None:
    done = migrate(text)
    assert wrong(done.text) == []
    assert migrate(done.text).text == done.text
    assert done.text.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r" in done.text) == ("\r" in text)
    # Comments are all there, and so is every line that did not say what moved.
    assert done.text.count("#") == text.count("#")
    kept = [line for line in text.splitlines() if "strategy" not in line]
    assert [line for line in done.text.splitlines() if line in kept] == kept
    assert "strategy" not in YAML(typ="safe", pure=True).load(done.text.removeprefix("\ufeff"))["spec"]["pools"]
