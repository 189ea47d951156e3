"""`gen drift`."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import Where, at_cluster
from generator.cli.options import TOLD
from generator.cli.terminal import say_all, say_json
from generator.errors import UsageError
from generator.repository.git_folder import locate
from generator.repository.history import History
from generator.repository.sides import commit_side

if TYPE_CHECKING:
    from generator.build.objects import Built


CODES = {"as in Git": 0, "differs": 1, "unknown": 2}


@click.command("drift")
@at_cluster
@TOLD
def command(where: Where, output: str) -> int:
    """Tell what of a running cluster differs from Git, and who changed it.

    Compares each object with the commit that Argo CD last compared with, as Argo CD does: what applying it once more
    would change. Tells also what people added beside Git, which Argo CD does not see, what Git no longer names, and
    namespaces that nobody names. Stores nothing; needs the right to apply, for trying. Exit codes: 0 nothing differs,
    1 something does, 2 that is unknown, because you may not read or try all of it.

    Needs Kustomize (`gen doctor`).
    """
    from generator.live.drift.drift import drift  # noqa: PLC0415 - heavy
    from generator.live.drift.text import lines  # noqa: PLC0415 - heavy

    cluster = where.described()
    with _history(where.root) as history:
        found = drift(where.running(), cluster, partial(_build, history, cluster.name))
    if output == "json":
        say_json(found.data())
    else:
        say_all(lines(found))
    return CODES[found.state]


@contextmanager
def _history(root: Path) -> Iterator[History]:
    place = locate(root)
    if place is None:
        raise UsageError(f"{root}: this is not a Git repository, and gen drift compares with a commit")
    with History(place) as history:
        yield history


def _build(history: History, cluster: str, revision: str) -> "Built":
    """Build what a commit holds of a cluster, HEAD where none is named."""
    from generator.review.compare import build_side  # noqa: PLC0415 - heavy

    commit = history.commit(revision or "HEAD")
    return build_side(commit_side(history, commit, commit), cluster, None)
