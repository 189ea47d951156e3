"""`gen explain`."""

from collections.abc import Iterable
from pathlib import Path

import click

from generator.cli.options import ROOT, root_of
from generator.cli.terminal import bold, say, styled
from generator.errors import UsageError
from generator.model.change import Effect, effect_named
from generator.model.rule import Explained, explained
from generator.spec.near import did_you_mean, nearest, suggest

CHANGES = "GEN-CHG-"
"""How the codes begin of what changes mean, which are no findings."""


@click.command("explain")
@click.argument("code", metavar="[CODE | EFFECT | CLUSTER]", required=False)
@click.argument("path", required=False, type=click.UNPROCESSED)
@ROOT
@click.option("--codes", is_flag=True, help="List the codes; with CODE those that begin with it.")
def command(code: str | None, path: str | None, directory: Path, *, codes: bool) -> None:
    """Explain a CODE, an EFFECT of changes, or where a value of a cluster comes from.

    \b
    gen explain GEN-NET-004                why the rule exists, a wrong and a right example
    gen explain GEN-CHG-010                what a change does to the running cluster, and what to do instead
    gen explain outage                     what an effect is, as gen diff tells it: outage, unknown, by hand ...
    gen explain --codes GEN-NET            all codes of a family, each with what must hold
    gen explain ml50 kubernetes.maxPods    the value, and the line that gives it or gen's default
    gen explain ml50 nodes.gpu-01          all values that count for a node, and where each comes from
    gen explain ml50 nodes                 the nodes, each with its line
    gen explain ml50                       the sections
    """  # noqa: D301 - click's own mark for lines that must not be wrapped
    if codes:
        _list(code or "")
        return
    if code is None:
        raise UsageError("say what: gen explain GEN-NET-004, or gen explain CLUSTER PATH; --codes lists the codes")
    if path is None and code.upper().startswith(CHANGES):
        _show_change(code.upper())
        return
    if path is None and code.upper().startswith("GEN-"):
        explained = _known(code.upper())
        if not explained.text:
            raise UsageError("explanations are docstrings, which this Python leaves out: run gen without -OO")
        _show(explained)
        return
    if effect := effect_named(code if path is None else f"{code} {path}"):
        _show_effect(effect)
        return
    _show_value(root_of(directory), code, path or "")


def _show_effect(effect: Effect) -> None:
    from generator.review.words import effect_explanation  # noqa: PLC0415 - as above

    say(bold(effect))
    _show_parts(effect_explanation(effect))


def _show_value(root: Path, cluster: str, path: str) -> None:
    from generator.repository.origin import origin  # noqa: PLC0415 - as above
    from generator.repository.places import names  # noqa: PLC0415 - the other half of this verb

    if cluster not in (known := names(root)):
        hint = suggest(cluster, [*known, *Effect, *explanations()], f"clusters here: {', '.join(known) or 'none'}")
        raise UsageError(f"`{cluster}` is neither a code, an effect nor a cluster; {hint}")
    say(origin(root, cluster, path))


def _list(beginning: str) -> None:
    if beginning.upper().startswith(CHANGES[:-1]):
        _list_changes(beginning.upper())
        return
    listed = [each for each in explanations().values() if each.code.startswith(beginning.upper())]
    if not listed:
        raise UsageError(f"no code begins with `{beginning}`; gen explain --codes lists them all")
    family = ""
    for each in listed:
        if family not in {"", each.code.rpartition("-")[0]}:
            say()
        family = each.code.rpartition("-")[0]
        say(f"{bold(each.code)}{' ' * (16 - len(each.code))}{each.severity:8} {each.title}")


def _known(code: str) -> Explained:
    known = explanations()
    if code in known:
        return known[code]
    family, _, number = code.rpartition("-")
    # Letters that look like digits.
    whole = f"{family}-{number.translate(str.maketrans('OIL', '011')).zfill(3)}"
    meant = [whole] if whole in known else nearest(whole, known, 3)
    raise UsageError(f"`{code}` is not a code" + (f"; {did_you_mean(*meant)}" if meant else ""))


def _list_changes(beginning: str) -> None:
    from generator.review.words import effect_of, known_rules  # noqa: PLC0415 - as above

    listed = [rule for rule in known_rules().values() if rule.code.startswith(beginning)]
    if not listed:
        raise UsageError(f"no code begins with `{beginning}`; gen explain --codes GEN-CHG lists them all")
    for rule in listed:
        say(f"{bold(rule.code)}{' ' * (16 - len(rule.code))}{effect_of(rule):18} {rule.reason}")


def _show_change(code: str) -> None:
    from generator.review.words import explanation, known_rules  # noqa: PLC0415 - as above

    known = known_rules()
    whole = f"{CHANGES}{code.removeprefix(CHANGES).zfill(3)}"
    if whole not in known:
        raise UsageError(f"`{code}` is not a code; gen explain --codes GEN-CHG lists them all")
    say(bold(whole))
    _show_parts(explanation(known[whole]))


def _show_parts(parts: Iterable[tuple[str, str]]) -> None:
    for title, text in parts:
        line = f"{title + ':':9}{text}"
        say(line if title == "read" else click.wrap_text(line, 100, subsequent_indent=" " * 9))


def explanations() -> dict[str, Explained]:
    """Return what every code means, of findings on cluster files first and then on built objects; raises ValueError for
    a code that is declared twice.
    """
    from generator import checks  # noqa: PLC0415 - as above
    from generator.build import broken  # noqa: PLC0415 - all rules: needed here only
    from generator.live.dry_run import refusals  # noqa: PLC0415 - as above
    from generator.repository import cluster_files, extra_folders, idle_values  # noqa: PLC0415 - as above
    from generator.rules import waivers  # noqa: PLC0415 - as above
    from generator.rules.engine import MODULES as RULES  # noqa: PLC0415 - as above
    from generator.spec import moved, syntax_codes, text_codes, value_codes  # noqa: PLC0415 - as above

    files = ([text_codes, syntax_codes], [value_codes, moved], [cluster_files], checks.MODULES, checks.ACROSS)
    return explained(*files, RULES, [waivers], [broken], [idle_values], [extra_folders], [refusals])


def _show(one: Explained) -> None:
    say(bold(f"{one.code}: {one.title}"))
    say(f"\n{click.wrap_text(one.why, 100)}\n")
    for title, example, colour in (("wrong", one.wrong, "red"), ("right", one.right, "green")):
        if example:
            say(styled(f"{title}:", colour))
            say("".join(f"    {line}\n" for line in example.splitlines()))
