"""`gen init`."""

import re
from contextlib import suppress
from pathlib import Path

import click

from generator.cli.output import show_findings, summary
from generator.cli.terminal import say
from generator.errors import UsageError
from generator.model.base import DNS_LABEL
from generator.model.cluster import cluster_file
from generator.repository.cluster_files import examine
from generator.repository.plan import Owned, plan
from generator.repository.scaffold import SCHEMA, published_schema, scaffold, starter
from generator.repository.write_lock import exclusive
from generator.repository.writer import write
from generator.spec.reader import SIZE


@click.command("init")
@click.argument("name")
@click.option(
    "-C", "--directory", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(),
    help="The repository to begin or to add to. Default: here.",
)  # fmt: skip
@click.option("--from", "table", metavar="FILE", type=click.Path(path_type=Path), help="A table of nodes (CSV).")
@click.option("--dry-run", is_flag=True, help="Only tell what would be written.")
def command(name: str, directory: Path, table: Path | None, *, dry_run: bool) -> int:
    """Begin a repository with a first cluster NAME, or add a cluster to it.

    Writes a commented cluster file that is valid as it stands, and files that keep formatters and line endings
    away from what gen generates. Files that are there already are left alone. With --from the file has the nodes of a
    table, whose first line names its columns: name, pool, address, and if you like role, rack, mac, storage, bmc, cpu,
    memory, gpus, gpu_model, gpu_memory.
    """
    if not re.search(DNS_LABEL, name) or len(name) > 32:
        raise UsageError(f"`{name}` cannot be a cluster's name: up to 32 small letters, digits and hyphens, as in ml50")
    file = cluster_file(name)
    if (directory / file).exists():
        raise UsageError(f"{file}: exists already; edit it, or choose another name")
    text = starter(name, _others(directory))
    if table and (wrong := examine(text := _from(text, table), file, name)).wrong:
        show_findings([wrong], "text")
        say(f"{file} would have {summary([wrong])}: nothing was written; mend {table}", err=True)
        return 1
    once = {file: text, SCHEMA: published_schema(), **scaffold()}
    with exclusive(directory, lambda text: say(text, err=True)) as lock:
        found = plan(lock.root, {}, once, Owned())
        if not dry_run:
            write(lock, found)
    for change in found.changes:
        say(f"{'would write' if dry_run else 'wrote'} {change.path}")
    say(f"next: edit {file}, then gen check")
    return 0


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
