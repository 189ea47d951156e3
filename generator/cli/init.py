"""`gen init`."""

import re
from contextlib import suppress
from pathlib import Path

import click

from generator.cli.terminal import say
from generator.errors import UsageError
from generator.model.base import DNS_LABEL
from generator.model.cluster import cluster_file
from generator.repository.plan import Owned, plan
from generator.repository.scaffold import SCHEMA, published_schema, scaffold, starter
from generator.repository.write_lock import exclusive
from generator.repository.writer import write
from generator.spec.reader import SIZE

_CI = ("github", "gitlab", "gitea")


@click.command("init")
@click.argument("name", required=False)
@click.option(
    "-C", "--directory", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(),
    help="The repository to begin or to add to. Default: here.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
@click.option("--ci", type=click.Choice(_CI), help="Write CI jobs and CODEOWNERS for this kind of server.")
@click.option(
    "--owner", "owned", metavar="TIER=@OWNER", multiple=True,
    help="With --ci: who approves a tier, as in storage=@lab/storage; default=@OWNER for all the rest.",
)  # fmt: skip
@click.option("--gen", "requirement", metavar="REQUIREMENT", help="With --ci: what pip installs there to have gen.")
def command(  # noqa: PLR0913 - the options of the verb
    name: str | None,
    directory: Path,
    *,
    dry_run: bool,
    ci: str | None,
    owned: tuple[str, ...],
    requirement: str | None,
) -> None:
    """Begin a repository with a first cluster NAME, or add a cluster to it; with --ci also, or only, what its CI needs.

    Writes a commented cluster file that is valid as it stands, and files that keep formatters and line endings
    away from what gen generates. Files that are there already are left alone.
    """
    if not (name or ci):
        raise UsageError("name the cluster: gen init NAME; or the kind of CI: gen init --ci github")
    if (owned or requirement) and not ci:
        raise UsageError("--owner and --gen need --ci: they are about what CI does")
    once = _cluster(name, directory) if name else {}
    more: dict[str, bytes] = {}
    if ci:
        from generator.cli.init_ci import jobs  # noqa: PLC0415 - needs the catalogue, and for this way only

        more = jobs(directory, ci, owned, requirement)
    with exclusive(directory, lambda text: say(text, err=True)) as lock:
        found = plan(lock.root, {}, {**once, **more}, Owned())
        if not dry_run:
            write(lock, found)
    for change in found.changes:
        say(f"{'would write' if dry_run else 'wrote'} {change.path}")
    if ci:
        from generator.cli.init_ci import tell  # noqa: PLC0415 - as above

        tell(directory, more, {change.path for change in found.changes}, (owned, bool(requirement)))
    if name:
        say(f"next: edit {cluster_file(name)}, then gen check")


def _cluster(name: str, directory: Path) -> dict[str, bytes]:
    if not re.search(DNS_LABEL, name) or len(name) > 32:
        raise UsageError(f"`{name}` cannot be a cluster's name: up to 32 small letters, digits and hyphens, as in ml50")
    if (directory / cluster_file(name)).exists():
        raise UsageError(f"{cluster_file(name)}: exists already; edit it, or choose another name")
    return {cluster_file(name): starter(name, _others(directory)), SCHEMA: published_schema(), **scaffold()}


def _others(directory: Path) -> str:
    return "\n".join(map(_text, sorted(directory.glob("clusters/*/cluster.yaml"))))


def _text(file: Path) -> str:
    """Return what a cluster file says; nothing where it cannot be read: whoever checks it is told why."""
    with suppress(OSError):
        if file.is_file():
            with file.open("rb") as opened:
                return opened.read(SIZE + 1).decode(errors="replace")
    return ""
