"""`gen restore`."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from generator.cli.live_options import Where, at_cluster
from generator.cli.terminal import say, say_all
from generator.cli.workflow import Place, follow, moment_now
from generator.errors import UsageError
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from generator.day2.workflows.restoring import Restore, Switch
    from generator.live.running import RunningCluster


@click.command("restore")
@click.argument("bucket")
@click.option("--at", metavar="TIME", help="As it was then (2026-11-20T00:00:00Z). Default: the newest good backup.")
@click.option("--into", metavar="NAME", help="The new bucket. Default: BUCKET-restored- and the date.")
@click.option(
    "--switch", type=click.Choice(["none", "missing", "all"]), default="none", show_default=True,
    help="What is then written to the live bucket: nothing, what is missing or damaged, or every object.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@at_cluster
def command(  # noqa: PLR0913 - the options of the verb
    where: Where, bucket: str, *, at: str | None, into: str | None, switch: "Switch", yes: bool
) -> int:
    """Bring a bucket of Ceph or of MinIO, or a volume of a team, back from its backup.

    BUCKET is the bucket, or the name of its backup. Of a volume it is the name of its backup: it is brought back into a
    new claim, and compared there with the backup, file by file.

    All of it is copied into a new bucket and compared there with the
    backup, object by object; the live bucket stays as it is. Once you have looked, --switch writes to the live bucket
    what is missing or damaged in it, or all. Nothing is deleted anywhere. A run that was stopped is gone on with by the
    same command. Exit codes: 0 it is there and proven, 1 it failed, 2 that is unknown.
    """
    from generator.cli.restore_volume import asked_for  # noqa: PLC0415 - as below
    from generator.cli.restore_volume import restore as restore_volume  # noqa: PLC0415 - as below
    from generator.day2.volume_restore import volume_backup  # noqa: PLC0415 - heavy
    from generator.day2.workflows.restoring import restore  # noqa: PLC0415 - heavy

    cluster, now = where.described(), moment_now()
    if volume := volume_backup(cluster, bucket):
        wanted = asked_for(cluster, volume, now, at=at, into=into, switch=switch)
        there = where.confirmed(cluster)
        if not yes:
            _ask()
        return restore_volume(there, cluster, wanted)
    asked = restore(cluster, bucket, now, at=at, into=into, switch=switch)
    return _bring_back(where.confirmed(cluster), cluster, asked, now, yes=yes)


def _bring_back(there: "RunningCluster", cluster: Cluster, asked: "Restore", now: datetime, *, yes: bool) -> int:
    """Tell what a restore of a bucket does, begin it, and follow it to its end."""
    from generator.day2.workflows.operations import chosen, namespaces, operations, run_of  # noqa: PLC0415 - heavy
    from generator.day2.workflows.restoring import plan, with_room  # noqa: PLC0415 - heavy
    from generator.day2.workflows.submitting import begin  # noqa: PLC0415 - heavy
    from generator.day2.workflows.ways import ThroughApi  # noqa: PLC0415 - heavy

    place, asked = Place(ThroughApi(there), namespaces(cluster)), with_room(there, cluster, asked)
    operation = chosen(operations(*place), asked.operation)
    workflow = run_of(operation, asked.known_to(operation))
    say_all(plan(cluster, asked, now))
    if not yes:
        _ask()
    begun = begin(place.way, workflow)
    say(f"{begun.name} begins; Ctrl-C ends the waiting, not the run")
    code = follow(place, begun.name, asked.deadline)
    _tell(place, begun.name, code)
    say(f"next: {_next(asked, cluster.name, begun.name, code)}")
    return code


def _ask() -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: say --yes")
    click.confirm("go on?", abort=True)


def _tell(place: Place, name: str, code: int) -> None:
    from generator.day2.workflows.logs import Logs  # noqa: PLC0415 - heavy
    from generator.day2.workflows.restoring import verdict  # noqa: PLC0415 - heavy
    from generator.day2.workflows.submitting import the_run  # noqa: PLC0415 - heavy
    from generator.live.messages import printed  # noqa: PLC0415 - heavy

    found = the_run(*place, name)
    logs = Logs(place.way, found.namespace, name)
    for line in verdict(list(logs.new(found)), good=code == 0):
        say(printed(line))
    say_all(map(printed, logs.away.values()), err=True)


def _next(asked: "Restore", cluster: str, name: str, code: int) -> str:
    if code == 1:
        return f"gen workflow logs {name} --cluster {cluster}; once it is mended, the same command again"
    if code == 2:
        return f"gen workflow watch {name} --cluster {cluster}"
    if asked.switch == "none":
        return f"look at {asked.into}; then {asked.again(cluster, 'missing')}"
    return f"look at {asked.backup.source.bucket}; {asked.into} stays until somebody removes it"
