"""`gen explain` of the codes of changes."""

import pytest

from generator.cli import run
from generator.model.change import Effect
from generator.model.opening import OpeningRule
from generator.review.words import known_rules


def test_a_rule_is_told_with_its_way_out_and_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "gen-chg-10"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("GEN-CHG-010\nchange:  StatefulSet: `spec` but `spec.replicas`")
    assert "\nclass:   impossible\nwhy:     the API server refuses" in said
    assert "\ninstead: `kubectl delete statefulset NAME --cascade=orphan`" in said
    assert "\nread:    https://" in said


def test_what_comes_later_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "GEN-CHG-022"]) == 0
    assert "\nclass:   data-loss, armed\n" in capsys.readouterr().out


def test_what_opens_something_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "GEN-CHG-750"]) == 0
    assert "\nclass:   opens rights, needs an approval\n" in capsys.readouterr().out


def test_all_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--codes", "gen-chg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(known_rules())


@pytest.mark.parametrize("words", [["GEN-CHG-000"], ["GEN-CHG-x"], ["--codes", "GEN-CHG-9999"]])
def test_a_code_that_is_none_is_said_to_be_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", *words]) == 2
    assert "gen explain --codes GEN-CHG lists them all" in capsys.readouterr().err


@pytest.mark.parametrize("code", known_rules())
def test_a_rule_says_what_it_must(code: str) -> None:
    rule = known_rules()[code]
    assert rule.reason
    assert rule.reason[-1] not in ".;,"
    stops = rule.effect.needs_approval or (isinstance(rule, OpeningRule) and rule.stops)
    assert rule.instead or rule.link or not stops, "what is refused or lost says more"


@pytest.mark.parametrize("effect", Effect)
def test_an_effect_is_told_with_what_to_do(effect: Effect, capsys: pytest.CaptureFixture[str]) -> None:
    said = set()
    for name in (
        effect.value,
        effect.value.upper(),
        effect.word,
        f"{effect.word} later",
        effect.word.replace(" ", "-"),
    ):
        for words in ([name], name.split()):
            assert len(words) > 2 or run(["explain", *words]) == 0
            said.add(capsys.readouterr().out)
    (text,) = said - {""}
    assert text.startswith(f"{effect}\nfelt:    {effect.felt}\n")
    assert ("stops until somebody approves it" in text) is effect.needs_approval
    assert ("\ndo: " in text) is bool(effect.advice)
    number = sum(rule.effect is effect for rule in known_rules().values())
    assert f"\nrules:   {number} say it" in text


def test_what_is_no_effect_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "outtage"]) == 2
    said = capsys.readouterr().err
    assert "`outtage` is neither a code, an effect nor a cluster; did you mean outage?" in said
