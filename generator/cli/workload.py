"""`gen workload`."""

import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from generator.cli.options import ROOT, root_of
from generator.cli.output import mend_first
from generator.cli.terminal import say
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.layout.emit import emit
from generator.model.cluster import Cluster
from generator.model.plural import plural
from generator.model.quantity import Quantity
from generator.repository.cluster_files import Loaded, load
from generator.repository.whole import write_whole
from generator.spec.near import suggest, there_are
from generator.workloads import KINDS, workload
from generator.workloads.ingest import NOTE, Ingest, ingest
from generator.workloads.server import Server, server
from generator.workloads.triton import SCALES
from generator.workloads.wanted import Serving, Wanted

_SMALLEST = 2**20
"""A volume of fewer bytes is a number without its unit: `--checkpoints 500`."""
_IMAGE = click.option("--image", metavar="IMAGE", required=True, help="What its pods run. Must be given.")
OUTPUT = click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Write it there; - is standard output. Default: print it.",
)


@click.group("workload")
def command() -> None:
    """Write jobs and services for teams that the cluster lets in, places and connects."""


@command.command("new", short_help="Write a job or a service, for a team and a number of GPUs.")
@click.argument("kind", type=click.Choice([*KINDS]))
@click.argument("name")
@click.option("--cluster", metavar="NAME", help="The cluster. Default: the one that has the team.")
@click.option("--team", metavar="TEAM", required=True, help="Whose quota it uses. Must be given.")
@click.option(
    "--gpus", type=click.IntRange(1), required=True, help="Of all pods together; of each replica. Must be given."
)
@_IMAGE
@click.option("--pool", metavar="POOL", help="The nodes. Default: of those with GPUs the team's largest quota.")
@click.option("--device", metavar="RESOURCE", help="What pods ask for where GPUs are split. Default: the only one.")
@click.option("--priority", metavar="CLASS", help="A class that the team may use. Default: the middle one.")
@click.option("--checkpoints", metavar="SIZE", help="The volume for them. Default: 500Gi.")
@click.option(
    "--models",
    metavar="PLACE",
    help="What a service loads: s3://BUCKET/PATH or pvc://CLAIM/PATH. Must be given for triton.",
)
@click.option(
    "--replicas",
    metavar="MIN..MAX",
    help="Of a service: a range that follows the load, or a number. Must be given for triton.",
)
@click.option(
    "--scale-on",
    type=click.Choice([*SCALES]),
    help="What a range follows: requests that wait, or use of GPUs. Default: queue.",
)
@click.option("--credentials", metavar="SECRET", help="The bucket's accessKey and secretKey. Default: the team's.")
@click.option("--ca", metavar="CONFIGMAP", help="Its ca.crt is trusted for the bucket. Default: what the image trusts.")
@click.option("--host", metavar="HOST", help="Of a service: the team's host that leads to it. Default: none.")
@OUTPUT
@ROOT
def new(  # noqa: PLR0913 - the verb's options
    kind: str,
    name: str,
    *,
    cluster: str | None,
    team: str,
    gpus: int,
    image: str,
    pool: str | None,
    device: str | None,
    priority: str | None,
    checkpoints: str | None,
    models: str | None,
    replicas: str | None,
    scale_on: str | None,
    credentials: str | None,
    ca: str | None,
    host: str | None,
    output: Path | None,
    directory: Path,
) -> int:
    """Write the job NAME with all that it needs, as a manifest for `kubectl create`: queue, gang, tolerations, RDMA,
    NCCL's way, shared memory, a volume for checkpoints, scratch. It starts an example that shows that all works; the
    program of your own takes its place. Refused is what the team's quota, its classes or the nodes can never give.
    """
    given: dict[str, Any] = {} if checkpoints is None else {"checkpoints": _size("--checkpoints", checkpoints)}
    given["serving"] = _serving(models, replicas, scale_on=scale_on, credentials=credentials, ca=ca, host=host)
    wanted = Wanted(name=name, team=team, gpus=gpus, image=image, pool=pool, device=device, priority=priority, **given)
    one = _chosen(load(root_of(directory), (cluster,) if cluster else ()), team)
    if one.cluster is None or one.wrong:
        return mend_first([one])
    made = workload(one.cluster, kind, wanted)
    _hand_over(one.cluster, made.manifests, made.notes, output)
    return 0


@command.command("ingest", short_help="Write a job that brings data into a team's volume.")
@click.argument("name")
@click.option("--cluster", metavar="NAME", help="The cluster. Default: the one that has the team.")
@click.option("--team", metavar="TEAM", required=True, help="Whose quota it uses. Must be given.")
@click.option(
    "--from", "source", metavar="PLACE", required=True,
    help="s3://BUCKET/PATH of the cluster, or pvc://CLAIM/PATH of the team. Must be given.",
)  # fmt: skip
@click.option("--into", "target", metavar="PLACE", required=True, help="pvc://CLAIM/PATH. Must be given.")
@click.option("--pool", metavar="POOL", help="The nodes. Default: of those without GPUs the team's largest quota.")
@click.option("--cpus", type=click.IntRange(1), default=4, show_default=True, help="Of its pod.")
@click.option("--memory", metavar="SIZE", default="8Gi", show_default=True, help="Of its pod.")
@click.option("--scratch", metavar="SIZE", help="A volume at /scratch that ends with its pod. Default: none.")
@click.option("--priority", metavar="CLASS", help="A class that the team may use. Default: the middle one.")
@click.option("--credentials", metavar="SECRET", help="The bucket's accessKey and secretKey. Default: the team's.")
@click.option("--ca", metavar="CONFIGMAP", help="Its ca.crt is trusted for the bucket. Default: what the image trusts.")
@click.option("--image", metavar="IMAGE", help="With bash and mc. Default: MinIO's client, as for backups.")
@OUTPUT
@ROOT
def bring(  # noqa: PLR0913 - the verb's options
    name: str,
    *,
    cluster: str | None,
    team: str,
    memory: str,
    scratch: str | None,
    image: str | None,
    output: Path | None,
    directory: Path,
    **given: Any,
) -> int:
    """Write the job NAME, which copies a bucket or a folder into a volume on nodes without GPUs, as a manifest for
    `kubectl create`. It compares both sides at the end, and goes on where it was stopped. Refused is what the team's
    quota, its classes or the nodes can never give, and a dataset that the team only reads.
    """
    given["memory"] = _size("--memory", memory)
    given["scratch"] = None if scratch is None else _size("--scratch", scratch)
    wanted = Ingest(name=name, team=team, image=image, **given)
    one = _chosen(load(root_of(directory), (cluster,) if cluster else ()), team)
    if one.cluster is None or one.wrong:
        return mend_first([one])
    _hand_over(one.cluster, ingest(one.cluster, wanted), [NOTE], output)
    return 0


@command.command("serve", short_help="Write a service for a team on nodes without GPUs.")
@click.argument("name")
@click.option("--cluster", metavar="NAME", help="The cluster. Default: the one that has the team.")
@click.option("--team", metavar="TEAM", required=True, help="Whose quota it uses. Must be given.")
@_IMAGE
@click.option("--port", type=click.IntRange(1, 65535), required=True, help="Where it answers. Must be given.")
@click.option("--replicas", metavar="MIN..MAX", required=True, help="A range, or a number. Must be given.")
@click.option("--ready", metavar="PATH", help="What answers 200 once it is ready. Default: that the port is open.")
@click.option("--cpus", type=click.IntRange(1), default=4, show_default=True, help="Of each replica.")
@click.option("--memory", metavar="SIZE", default="8Gi", show_default=True, help="Of each replica.")
@click.option("--models", metavar="PLACE", help="pvc://CLAIM/PATH, read-only at /models. Default: none.")
@click.option("--host", metavar="HOST", help="The team's host that leads to it. Default: none.")
@click.option("--pool", metavar="POOL", help="The nodes. Default: of those without GPUs the team's largest quota.")
@click.option("--priority", metavar="CLASS", help="A class that the team may use. Default: the middle one.")
@OUTPUT
@ROOT
def serve(  # noqa: PLR0913 - the verb's options
    name: str,
    *,
    cluster: str | None,
    team: str,
    image: str,
    replicas: str,
    memory: str,
    output: Path | None,
    directory: Path,
    **given: Any,
) -> int:
    """Write the service NAME of what needs no GPU: replicas on the team's nodes without GPUs, each let in by the queue,
    what leads to them, keeps them up while nodes are drained, and makes more of them as their CPUs are used; as a
    manifest for `kubectl create`. For models on GPUs: `gen workload new triton`. Refused is what the team's quota, its
    classes or the nodes can never give.
    """
    least, most = _range(replicas)
    given["memory"] = _size("--memory", memory)
    wanted = Server(name=name, team=team, image=image, least=least, most=most, **given)
    one = _chosen(load(root_of(directory), (cluster,) if cluster else ()), team)
    if one.cluster is None or one.wrong:
        return mend_first([one])
    made, notes = server(one.cluster, wanted)
    _hand_over(one.cluster, made, notes, output)
    return 0


def _refuse_images(cluster: Cluster, manifests: Sequence[Manifest]) -> None:
    """Refuse an image that `gen check` would refuse in what is written."""
    from generator.build.objects import Built, Object  # noqa: PLC0415 - heavy
    from generator.rules.images import legible, mirrored, tagged  # noqa: PLC0415 - heavy

    built = Built(name="", cluster=cluster, objects=tuple(Object(one, "", "") for one in manifests))
    for finding in chain.from_iterable(rule.findings(built) for rule in (legible, tagged, mirrored)):
        raise UsageError(f"--image: {finding.message}; {finding.fix}")


def _hand_over(cluster: Cluster, manifests: Sequence[Manifest], notes: Sequence[str], output: Path | None) -> None:
    """Write a workload into a file, or print it, with its notes beside it."""
    _refuse_images(cluster, manifests)
    for note in notes:
        say(f"note: {note}", err=True)
    text = "---\n".join(emit(manifest) for manifest in manifests)
    if output and str(output) != "-":
        _write(output, text)
        say(f"wrote {output}; next: kubectl create --filename {output}")
    else:
        say(text, nl=False)


def _size(option: str, text: str) -> Quantity:
    try:
        size = Quantity.parse(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if size.value < _SMALLEST:
        raise UsageError(f"{option}: {text} is {plural(size.value, 'byte')}: give the unit, too, as in 500Gi")
    return size


def _serving(models: str | None, replicas: str | None, **given: str | None) -> Serving | None:
    if all(one is None for one in (models, replicas, *given.values())):
        return None
    if models is None or replicas is None:
        raise UsageError("--models and --replicas go together")
    least, most = _range(replicas)
    return Serving(models=models, least=least, most=most, **given)


def _range(replicas: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"([1-9]\d{0,3})(?:\.\.([1-9]\d{0,3}))?", replicas)
    least, most = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
    if least > most:
        raise UsageError(f"--replicas {replicas}: a range of at least 1, as 1..4, or one number")
    return least, most


def _chosen(loaded: Sequence[Loaded], team: str) -> Loaded:
    """Return the only cluster, as one that is named, else the only one that has the team."""
    having = [one for one in loaded if one.cluster and team in {each.name for each in one.cluster.teams}]
    chosen = loaded if len(loaded) == 1 else having
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise UsageError(f"{len(chosen)} clusters have a team {team}: say which, --cluster {chosen[0].name}")
    teams = list(dict.fromkeys(each.name for one in loaded if one.cluster for each in one.cluster.teams))
    raise UsageError(f"no cluster has a team {team}; {suggest(team, teams, there_are(teams))}")


def _write(output: Path, text: str) -> None:
    if os.path.lexists(output):
        raise UsageError(f"{output} is there already: name another file, or remove it")
    try:
        write_whole(output, text.encode(), mode=0o666)
    except FileNotFoundError:
        raise UsageError(f"{output}: there is no folder {output.parent}: make it, or name another file") from None
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from None
