"""`gen check`."""

from pathlib import Path
from typing import Any

import click

from generator.cli.options import CLUSTER, ROOT, root_of
from generator.cli.output import OUTPUT, show_findings, summary
from generator.cli.terminal import say
from generator.errors import UsageError
from generator.repository.cluster_files import Loaded, load

_FOLDER = click.Path(path_type=Path, allow_dash=True)


@click.command("check")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=_FOLDER)
@CLUSTER
@OUTPUT
@ROOT
@click.option("--rendered", is_flag=True, help="Build the objects with Kustomize and judge them.")
@click.option("--server", is_flag=True, help="Ask an API server as well: a throw-away one, or that of --kubeconfig.")
@click.option("--schemas", metavar="DIR", multiple=True, type=_FOLDER, help="CRDs that are not among the objects.")
@click.option("--kubeconfig", metavar="FILE", type=_FOLDER, help="With --server: the cluster to ask.")
@click.option("--context", metavar="NAME", help="With --kubeconfig: a context other than its current one.")
def command(
    clusters: tuple[str, ...], output: str, directory: Path, *, rendered: bool, server: bool, **more: Any
) -> int:
    """Check cluster files and report everything that is wrong with them, all at once.

    With --rendered also the objects, as Kustomize builds them from the repository as it stands; with PATH those of any
    folder, kustomization or file, or of standard input (-). PATH is judged as part of the cluster that --cluster names,
    with that cluster's waivers; without --cluster as part of none. What could not be judged is always told.

    Works offline, unless --kubeconfig names a cluster. Exit code 1 when there is an error.
    """
    if rendered or server:
        from generator.cli.rendered import CheckOptions, check_rendered  # noqa: PLC0415 - heavy, and for this way only

        asked = CheckOptions(
            clusters=clusters, output=output, directory=directory, rendered=rendered, server=server, **more
        )
        return check_rendered(asked)
    if any(more.values()):
        raise UsageError("PATH and --schemas need --rendered or --server; --kubeconfig and --context need --server")
    loaded = [_with_waivers(one) for one in load(root_of(directory), clusters)]
    show_findings(loaded, output)
    wrong = any(one.wrong for one in loaded)
    if output == "text":
        say(summary(loaded))
        if not wrong:
            say("next: gen render")
    return int(wrong)


def _with_waivers(one: Loaded) -> Loaded:
    """Add findings on waivers that have expired: they depend on the day, so that only `check` has them."""
    if not one.cluster or not one.cluster.waivers:
        return one
    from datetime import UTC, datetime  # noqa: PLC0415 - for the few clusters with waivers

    from generator.rules.waivers import expired  # noqa: PLC0415 - as above

    return one.adding(expired(one.cluster, datetime.now(UTC).date()))
