"""Where people look at what was pushed."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from generator.errors import UsageError
from generator.publish.committing import Result
from generator.publish.forge_api import ForgeApi, ForgeError
from generator.publish.forges import SETTING, Forge, forge, is_folder, token, token_names
from generator.publish.pull_requests import open_request
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import locate
from generator.repository.remotes import address, main_of


class Link(Struct, frozen=True, kw_only=True):
    """The page that compares the branch with the main one, the pull request, and what could not be done."""

    compare: str = ""
    request: str = ""
    notes: tuple[str, ...] = ()
    error: str = ""


def link(root: Path, result: Result, env: Mapping[str, str]) -> Link:
    """Say where a pushed branch can be looked at, and open a pull request where a token allows it."""
    place = locate(root)
    if place is None or result.pushed is None:
        return Link()
    with GitCommands(place) as git:
        base, on = main_of(git, result.remote), result.pushed.branch
        where = address(git, result.remote)
        if base == on or is_folder(where):
            return Link()
        try:
            found = forge(where, git.value("config", SETTING), env)
        except UsageError as error:
            return Link(error=str(error))
        if found is None or not base:
            note = f"no link to compare: `git config {SETTING} github` (or gitlab, gitea) says what {result.remote} is"
            return Link(notes=(note,))
        ca = git.value("config", "--get-urlmatch", "http.sslCAInfo", found.web)
        return _request(found, result, base, ca, env)


def _request(found: Forge, result: Result, base: str, ca: str, env: Mapping[str, str]) -> Link:
    on = result.pushed.branch if result.pushed else ""
    compare, (name, secret) = found.compare(base, on), token(found.kind, env)
    if result.message is None:
        return Link(compare=compare)
    if not name:
        return Link(compare=compare, notes=(f"a token in {token_names(found.kind)} lets gen open a pull request",))
    if not found.trusted:
        note = f"{name} is not sent there on the strength of a name: `git config {SETTING} {found.kind}` allows it"
        return Link(compare=compare, notes=(note,))
    try:
        opened = open_request(ForgeApi(found, secret, ca), base, on, result.message)
    except ForgeError as error:
        return Link(compare=compare, error=str(error))
    notes = () if opened else ("a pull request is open for this branch already",)
    return Link(compare=compare, request=opened, notes=notes)
