"""`gen check --server`: what a real API server says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import click
from msgspec import structs

from generator.build.objects import Built
from generator.errors import UsageError
from generator.live.api import Api, of_kubeconfig, of_started
from generator.live.apiserver import throw_away
from generator.live.dryrun import Judged, Server, dry_run, server
from generator.model.plural import plural
from generator.model.served import minor_of

_BLIND = "by a throw-away server: webhooks, admission policies and quotas of your cluster, immutable fields"


def check_server(built: Built, kubeconfig: Path | None, context: str | None) -> Judged:
    """Return what an API server says against the objects, that of a kubeconfig's context or a throw-away one; tell on
    standard error which server that was and what was not judged.

    Raises UsageError when a program or file is missing, or where there is no talking to the server.
    """
    if context and not kubeconfig:
        raise UsageError("--context names a context of a kubeconfig: give --kubeconfig as well")
    begun = monotonic()
    with _api(built, kubeconfig, context) as api:
        found = server(api)
        judged = dry_run(built, api)
    for line in _told(built, api, found, judged, monotonic() - begun):
        click.echo(line, err=True)
    return structs.replace(judged, unjudged=(*judged.unjudged, _BLIND)) if api.throw_away else judged


@contextmanager
def _api(built: Built, kubeconfig: Path | None, context: str | None) -> Iterator[Api]:
    if kubeconfig:
        yield of_kubeconfig(kubeconfig, context)
        return
    with throw_away(*_flags(built)) as started:
        yield of_started(started)


def _flags(built: Built) -> tuple[str, ...]:
    """Give a throw-away server the cluster's own network: a Service may ask for an address of it."""
    if not built.cluster:
        return ()
    kubernetes = built.cluster.kubernetes
    ranges = [str(one) for one in (kubernetes.service_cidr, kubernetes.service_cidr6) if one]
    return (f"--service-cluster-ip-range={','.join(ranges)}",)


def _told(built: Built, api: Api, found: Server, judged: Judged, seconds: float) -> Iterator[str]:
    what = "a throw-away kube-apiserver" if api.throw_away else f"{api.host} as {found.user}"
    objects = plural(judged.judged, "object")
    yield f"{built.name}: {objects} judged by {what}, Kubernetes {found.version}, in {seconds:.1f} s"
    if built.cluster and (wanted := built.cluster.kubernetes.version) != found.version.removeprefix("v"):
        same = minor_of(wanted) == minor_of(found.version)
        yield f"  the cluster file says {wanted}" + (
            "" if same else ": another minor may serve and accept other things"
        )
    yield from (f"  not judged: {why}" for why in judged.unjudged)
    if built.unvendored:
        yield f"  not vendored, so not judged: what {', '.join(built.unvendored)} bring"
    if api.throw_away:
        yield f"  not judged {_BLIND} (--kubeconfig asks your cluster)"
