"""Words that are empty, as a script leaves them whose variable is unset: no option and no argument takes one for all
there is, for the folder one stands in, or for a name.
"""

from typing import Any

import click
from click.core import ParameterSource
from click.types import StringParamType


def refusing(command: click.Command) -> click.Command:
    """Return a command whose options and arguments, and those of its own commands, refuse an empty text or path. One
    that means something by it has the type `click.UNPROCESSED`.
    """
    for one in command.params:
        if type(one.type) is StringParamType:
            one.type = _Word()
        elif type(one.type) is click.Path:
            one.type = _Path(one.type)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        refusing(below)
    return command


class _Word(StringParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        _refuse(value, param, ctx)
        return super().convert(value, param, ctx)


class _Path(click.Path):
    def __init__(self, plain: click.Path) -> None:
        self.__dict__.update(vars(plain))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _refuse(value, param, ctx)
        return super().convert(value, param, ctx)


def _refuse(value: object, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Refuse what was typed, and no default."""
    if param is None or ctx is None or not isinstance(value, str) or value.strip():
        return
    if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT:
        otherwise = "" if param.required else ", or leave it out"
        raise click.BadParameter(f"it is empty; give {_bare(param.make_metavar(ctx))}{otherwise}", ctx, param)


def _bare(metavar: str) -> str:
    """Return a name without the signs that tell whether, and how often, it may be given."""
    return "".join(sign for sign in metavar if sign not in "[].")
