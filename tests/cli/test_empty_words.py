"""Words that a script leaves empty are told as that: none of them means all there is, or the folder one stands in."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.types import StringParamType
from reference import ROOT

from generator.cli import cli, run

MEANT = {("explain", "path")}
"""Where an empty word means something: the whole file."""


def taken(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    """Yield each option and argument, with the words that lead to its command."""
    yield from ((names, one) for one in command.params)
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below
            yield from taken(below, *names, name)


TAKEN = [
    pytest.param(names, one, id=" ".join((*names, one.opts[0])))
    for names, one in taken(cli)
    if isinstance(one.type, StringParamType | click.Path | click.types.UnprocessedParamType)
    and (*names, one.name) not in MEANT
]


@pytest.mark.parametrize(("names", "one"), TAKEN)
def test_no_option_and_no_argument_takes_an_empty_word(names: tuple[str, ...], one: click.Parameter) -> None:
    context = click.Context(click.Command(" ".join(names)))
    for word in ("", " "):
        with pytest.raises(click.BadParameter, match="it is empty; give "):
            one.type.convert(word, one, context)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", ""], "'[PATH]...': it is empty; give PATH, or leave it out"),
        (["check", "--cluster", ""], "'--cluster': it is empty; give NAME, or leave it out"),
        (["status", "--cluster", " "], "'--cluster': it is empty; give NAME, or leave it out"),
        (["node", "set", "gpu-01", "--gpu-model", ""], "'--gpu-model': it is empty; give MODEL, or leave it out"),
        (["pool", "add", "", "--like", "gpu-training"], "'NAME': it is empty; give NAME\n"),
        (["workload", "new", "jax", "a", "--gpus", "1", "--image", "a:1", "--team", ""], "'--team': it is empty"),
        (["init", ""], "'[NAME]': it is empty"),
        (["render", "--to", ""], "'--to': it is empty; give DIR, or leave it out"),
        (["bootstrap", "--kubeconfig", ""], "'--kubeconfig': it is empty"),
    ],
)
def test_an_empty_word_is_a_wrong_use(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "-C", str(ROOT)]) == 2
    assert said in capsys.readouterr().err


def test_the_folder_before_a_command_is_not_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", "", "check"]) == 2
    assert "'-C' / '--directory': it is empty; give DIRECTORY, or leave it out" in capsys.readouterr().err


def test_what_is_not_given_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`gen commit` has an empty message unless one is given."""
    assert run(["commit", "-C", str(tmp_path)]) == 2
    assert "it is empty" not in capsys.readouterr().err
