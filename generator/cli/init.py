"""`gen init`."""

from contextlib import suppress
from pathlib import Path

import click

from generator.cli.options import FOLDER, here
from generator.cli.output import show_findings, summary
from generator.cli.terminal import say, tell
from generator.errors import UsageError
from generator.model.base import is_label
from generator.model.cluster import LONGEST_NAME, cluster_file
from generator.model.plural import plural
from generator.repository.cluster_files import examine
from generator.repository.forge_kinds import FORGE_KINDS, ForgeKind
from generator.repository.plan import Owned, plan
from generator.repository.scaffold import SCHEMA, published_schema, scaffold, starter
from generator.repository.write_lock import exclusive
from generator.repository.writer import write
from generator.spec.reader import SIZE


@click.command("init")
@click.argument("name", required=False)
@click.option(
    "-C", "--directory", type=FOLDER, default=here, help="The repository to begin or to add to. Default: here."
)
@click.option("--from", "table", metavar="FILE", type=click.Path(path_type=Path), help="A table of nodes (CSV).")
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Begin with what a cluster is that runs: a kubeconfig that leads to it.",
)
@click.option("--context", metavar="NAME", help="With --kubeconfig: a context of it. Default: its current one.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
@click.option("--ci", type=click.Choice(FORGE_KINDS), help="Write CI jobs and CODEOWNERS for this kind of server.")
@click.option(
    "--owner", "owned", metavar="TIER=@OWNER", multiple=True,
    help="With --ci: who approves a tier, as in storage=@lab/storage; default=@OWNER for the rest; may be repeated.",
)  # fmt: skip
@click.option("--gen", "requirement", metavar="REQUIREMENT", help="With --ci: what pip installs there to have gen.")
def command(  # noqa: PLR0913 - the options of the verb
    name: str | None,
    directory: Path,
    table: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    *,
    dry_run: bool,
    ci: ForgeKind | None,
    owned: tuple[str, ...],
    requirement: str | None,
) -> int:
    """Begin a repository with a first cluster NAME, or add a cluster to it; with --ci also, or only, what its CI needs.

    Writes a commented cluster file that is valid as it stands, and files that keep formatters and line endings
    away from what gen generates. Files that are there already are left alone. With --from the file has the nodes of a
    table, whose first line names its columns: name, pool, address, and if you like role, rack, mac, storage, bmc, cpu,
    memory, gpus, gpu_model, gpu_memory. With --kubeconfig it has what can be read of a cluster that runs, and says what
    cannot; only get and list are asked for, and what is refused is left out.
    """
    _refuse_half(name, table, ci, about_ci=bool(owned or requirement))
    _refuse_both(name, table, kubeconfig, context)
    once: dict[str, bytes] = {}
    if name is not None:
        found = _running(name, directory, kubeconfig, context) if kubeconfig else _cluster(name, directory, table)
        if found is None:
            return 1
        once = found
    if ci:
        from generator.cli.init_ci import jobs, tell  # noqa: PLC0415 - needs the catalogue, and for this way only

        more = jobs(directory, ci, owned, requirement)
        tell(directory, more, _write(directory, {**once, **more}, dry_run=dry_run), (owned, bool(requirement)))
    else:
        _write(directory, once, dry_run=dry_run)
    if name:
        say(f"next: edit {cluster_file(name)}, then gen check")
    return 0


def _refuse_half(name: str | None, table: Path | None, ci: str | None, *, about_ci: bool) -> None:
    if name is None and not ci:
        raise UsageError("name the cluster: gen init NAME; or the kind of CI: gen init --ci github")
    if table and not name:
        raise UsageError("--from is about a cluster's nodes: name the cluster as well")
    if about_ci and not ci:
        raise UsageError("--owner and --gen need --ci: they are about what CI does")


def _refuse_both(name: str | None, table: Path | None, kubeconfig: Path | None, context: str | None) -> None:
    if context and not kubeconfig:
        raise UsageError("--context names a context of a kubeconfig: give --kubeconfig as well")
    if kubeconfig and table:
        raise UsageError("--from and --kubeconfig both say which nodes there are: give one of them")
    if kubeconfig and not name:
        raise UsageError("--kubeconfig is about one cluster: name it as well, as in gen init NAME --kubeconfig FILE")


def _write(directory: Path, once: dict[str, bytes], *, dry_run: bool) -> set[str]:
    """Write what is not there yet, and return what that is."""
    with exclusive(directory, tell) as lock:
        found = plan(lock.root, {}, once, Owned())
        if not dry_run:
            write(lock, found)
    for change in found.changes:
        say(f"{'would write' if dry_run else 'wrote'} {change.path}")
    return {change.path for change in found.changes}


def _cluster(name: str, directory: Path, table: Path | None) -> dict[str, bytes] | None:
    """Return the files of a new cluster, None where it would have errors: they are told."""
    file = _new_file(name, directory)
    text = starter(name, _others(directory))
    if table and (wrong := examine(text := _from(text, table), file, name)).wrong:
        show_findings([wrong], "text", written=False)
        say(f"{file} would have {summary([wrong])}: nothing was written; mend {table}", err=True)
        return None
    return {file: text, SCHEMA: published_schema(), **scaffold()}


def _new_file(name: str, directory: Path) -> str:
    """Return where the file of a new cluster goes. Raises UsageError where there is one, or the name is none."""
    if not is_label(name, LONGEST_NAME):
        raise UsageError(
            f"`{name}` cannot be a cluster's name: up to {LONGEST_NAME} small letters, digits and hyphens, as in ml50"
        )
    file = cluster_file(name)
    if (directory / file).exists():
        raise UsageError(f"{file}: exists already; edit it, or choose another name")
    return file


def _running(name: str, directory: Path, kubeconfig: Path, context: str | None) -> dict[str, bytes]:
    """Return the files of a new cluster that is as one that runs."""
    from generator.cli.live_options import running  # noqa: PLC0415 - for this way only
    from generator.survey.survey import survey  # noqa: PLC0415 - for this way only

    file = _new_file(name, directory)
    found = survey(running(kubeconfig, context), name)
    say(f"{plural(found.nodes, 'node')} in {plural(found.pools, 'pool')}")
    if found.unknown:
        say(f"not known, and so marked in {file}:")
    for line in found.unknown:
        say(f"  - {line}")
    return {file: found.text.encode(), SCHEMA: published_schema(), **scaffold()}


def _from(begun: bytes, table: Path) -> bytes:
    from generator.edits.inventory import cluster_file_from, rows_of  # noqa: PLC0415 - for this way only

    try:
        text = table.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{table}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{table}: is not UTF-8; save it as CSV in UTF-8") from None
    return cluster_file_from(begun.decode(), rows_of(text, str(table))).encode()


def _others(directory: Path) -> str:
    return "\n".join(map(_text, sorted(directory.glob("clusters/*/cluster.yaml"))))


def _text(file: Path) -> str:
    """Return what a cluster file says; nothing where it cannot be read: whoever checks it is told why."""
    with suppress(OSError):
        if file.is_file():
            with file.open("rb") as opened:
                return opened.read(SIZE + 1).decode(errors="replace")
    return ""
