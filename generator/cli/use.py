"""`gen use`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from generator.cli.live_options import CLUSTER, only, usable
from generator.cli.options import ROOT, output_as, root_of
from generator.cli.terminal import say, say_json
from generator.errors import UsageError


@click.command("use")
@CLUSTER
@click.option("--month", metavar="YYYY-MM", help="The month, in UTC. Default: the last whole one.")
@click.option(
    "--prometheus",
    "url",
    metavar="URL",
    required=True,
    help="The cluster's Prometheus, as http://127.0.0.1:9090 behind `kubectl port-forward`. Must be given.",
)
@ROOT
@output_as("text", "markdown", "json", help="How to tell it.")
def command(names: tuple[str, ...], month: str | None, url: str, directory: Path, output: str) -> int:
    """Tell what teams used of a cluster's GPUs in a month.

    By team GPU-hours that its pods held, those in which the GPUs worked, and those that were held idle; what part of
    its quota that is; how many jobs were admitted, and how long half of them, and 95 % of them, waited at most. As json
    hours, seconds and shares from 0 to 1. Only reads, from Prometheus, which must still have the month
    (`monitoring.prometheus.retention`). Exit codes: 0 told, 1 nothing was recorded, or Prometheus does not answer.
    """
    from generator.day2.use.month import month_of  # noqa: PLC0415 - only when it is asked for
    from generator.day2.use.prometheus import asking  # noqa: PLC0415 - heavy
    from generator.day2.use.text import markdown, nothing, text  # noqa: PLC0415 - only when it is asked for
    from generator.day2.use.use import use_of  # noqa: PLC0415 - heavy

    cluster = usable(only(root_of(directory), names))
    if not cluster.monitoring.prometheus:
        raise UsageError(f"{cluster.name} has no monitoring.prometheus, which records the use of GPUs")
    if not cluster.gpu_nodes:
        raise UsageError(f"{cluster.name} has no GPUs")
    now = datetime.now(UTC)
    found = use_of(cluster, month_of(month, now), now, asking(url))
    if output == "json":
        say_json(found.data())
    elif found.recorded:
        say(markdown(found) if output == "markdown" else text(found))
    else:
        say(nothing(found), err=True)
    return 0 if found.recorded else 1
