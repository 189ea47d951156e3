"""`gen doctor`."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from generator import __version__
from generator.cli.extras import NEEDED_BY, absent
from generator.cli.options import ROOT
from generator.cli.terminal import say, styled
from generator.components.component import HELM
from generator.errors import UsageError
from generator.layout.lock import LOCK
from generator.layout.lock import written_by as writer_of
from generator.layout.tree import lay_out, merge
from generator.model.plural import plural
from generator.model.versions import numbers
from generator.process import run
from generator.repository.cluster_files import load
from generator.repository.own_code import this_gen
from generator.repository.places import find_root, without_file
from generator.repository.unused_custom import unused

GOOD, MISSING, WRONG = "ok", "--", "!!"
COLOURS = {GOOD: "green", MISSING: "yellow", WRONG: "red"}
Line = tuple[str, str]


@click.command("doctor")
@ROOT
def command(directory: Path) -> int:
    """Tell what gen needs on this machine and in this repository, and what is missing.

    Exit code 1 when something that is needed is wrong; what only some commands need is marked `--`.
    """
    lines = [*machine(), *repository(directory.absolute())]
    for state, text in lines:
        say(f"{styled(state, COLOURS[state])}  {text}")
    return int(any(state == WRONG for state, _ in lines))


def machine() -> Iterator[Line]:
    """Look at the programs on this machine."""
    yield GOOD, f"gen {__version__}, Python {sys.version.split()[0]}"
    yield program("git", "--version", needed_for="telling hand edits and committing", needed=True)
    yield kustomize()
    yield found("helm", helm, needed_for="gen vendor")
    yield found("kube-apiserver", lambda: api_server("kube-apiserver"), needed_for="gen check --server")
    yield found("etcd", lambda: api_server("etcd"), needed_for="gen check --server")
    for extra, command in NEEDED_BY.items():
        missing = absent(extra)
        yield (MISSING, missing) if missing else (GOOD, f"packages for {command}")
    yield program("kubectl", "version", "--client", needed_for="the steps of the bootstrap")


def found(name: str, look: Callable[[], str], *, needed_for: str) -> Line:
    """Look for a program as the commands that need it do."""
    try:
        return GOOD, f"{name}: {look()}"
    except UsageError as error:
        return MISSING, f"{needed_for}: {error}"


def kustomize() -> Line:
    """Look for the command that builds overlays."""
    from generator.build.kustomize import NEEDED_BY, known, older, program  # noqa: PLC0415 - each of these three imports much

    return found("kustomize", lambda: known(program()) + older(program()), needed_for=NEEDED_BY)


def helm() -> str:
    """Return the pinned Helm."""
    from generator.upstream.helm import helm  # noqa: PLC0415

    return f"{helm()}, {HELM}"


def api_server(name: str) -> str:
    """Return a program of the throw-away API server."""
    from generator.live.apiserver import program  # noqa: PLC0415

    return program(name)


def program(name: str, *arguments: str, needed_for: str, needed: bool = False) -> Line:
    """Ask a program for its version."""
    if not shutil.which(name):
        return (WRONG if needed else MISSING), f"{name} is not on PATH; it is needed for {needed_for}"
    try:
        words = run([name, *arguments], timeout=20).strip().splitlines()
    except UsageError as error:
        return WRONG, str(error)
    return GOOD, f"{name}: {words[0] if words else 'present'}"


def repository(directory: Path) -> Iterator[Line]:
    """Look at the repository."""
    try:
        root = find_root(directory)
        loaded = load(root)
    except UsageError as error:
        yield WRONG, str(error)
        return
    yield GOOD, f"repository {root}"
    if not (root / ".git").exists():
        yield MISSING, f"{root} is not a Git repository: edits by hand cannot be told"
    yield written_by(root)
    yield from ((MISSING, text) for text in without_file(root))
    for one in loaded:
        if one.wrong:
            yield WRONG, f"{one.document.file} has errors; see `gen check --cluster {one.name}`"
        else:
            yield GOOD, f"{one.document.file}: {plural(len(one.findings), 'warning')}"
    # What a wrong file would use cannot be told: its corners are not judged.
    laid = merge(lay_out(one.cluster) for one in loaded if one.cluster and not one.wrong)
    yield from ((MISSING, text) for text in unused(root, laid, [one.name for one in loaded]))


def written_by(root: Path) -> Line:
    """Tell which gen wrote the repository last."""
    lock = root / LOCK
    if not lock.is_file():
        return MISSING, "nothing is rendered yet: gen render"
    writer = writer_of(lock.read_bytes())
    if writer == this_gen():
        return GOOD, f"{LOCK}: written by gen {__version__}"
    if numbers(writer.version) > numbers(__version__):
        return (
            WRONG,
            f"{LOCK}: gen {writer.version} wrote this repository: install it, this one is older",
        )
    build = f"another build of gen {__version__}" if writer.version == __version__ else f"gen {writer.version}"
    return MISSING, f"{LOCK}: {build} wrote this repository; `gen migrate` brings it to this one, --dry-run tells how"
