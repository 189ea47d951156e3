"""`gen status`."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import Where, at_cluster
from generator.cli.options import TOLD
from generator.cli.terminal import say, say_all, say_json, tell
from generator.errors import UsageError
from generator.repository.git_folder import locate
from generator.repository.history import History

if TYPE_CHECKING:
    from generator.live.status.status import Status

CODES = {"well": 0, "not well": 1, "unknown": 2}
PAUSE = 5.0
"""Seconds between two looks."""


@click.command("status")
@at_cluster
@click.option("--watch", is_flag=True, help="Look again until all is well, or Ctrl-C. Default: once.")
@TOLD
def command(where: Where, watch: bool, output: str) -> int:  # noqa: FBT001 - an option of the verb
    """Tell how a running cluster does, and why something is stuck.

    By wave each component with its health, whether it is as in Git, and its commit; then in words what is stuck, with
    the command that helps; nodes that lack something, the last good backups, certificates that end within 30 days.
    Only reads. Exit codes: 0 all is well, 1 something is not as it should be, 2 that is unknown, because you may not
    read all of it.
    """
    from generator.live.away import PATIENCE, answered  # noqa: PLC0415 - heavy
    from generator.live.status.status import status  # noqa: PLC0415 - heavy

    if watch and output == "json":
        raise UsageError("--watch is for people: leave it, or --output json")
    cluster, there = where.described(), where.running()
    behind, patience = _behind(where.root), 0.0  # who looks for the first time may have the wrong address

    def look() -> "tuple[Status, datetime]":
        now = datetime.now(UTC)
        return status(there, cluster, now, behind), now

    while True:
        found, now = answered(there, look, tell, patience)
        patience = PATIENCE
        _show(found, output, now)
        if not watch or found.state == "well":
            return CODES[found.state]
        time.sleep(PAUSE)
        say()


def _behind(root: Path) -> Callable[[str, str], int | None]:
    """Return what counts the commits between two, where this is a repository of Git."""
    place = locate(root)

    def count(old: str, new: str) -> int | None:
        if place is None:
            return None
        with History(place) as history:
            return history.ahead(old, new)

    return count


def _show(found: "Status", output: str, now: datetime) -> None:
    from generator.live.status.text import lines  # noqa: PLC0415 - heavy

    if output == "json":
        say_json(found.data())
        return
    say_all(lines(found, now))
