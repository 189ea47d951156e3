"""An API server, asked about everything that is built: the user's own, or a throw-away one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from msgspec import Struct

from generator.build.objects import Built
from generator.errors import UsageError
from generator.live.api import ApiConnection, of_kubeconfig, of_started
from generator.live.apiserver import throw_away
from generator.live.dry_run.dry_run import dry_run
from generator.live.server import Server, server
from generator.rules.judging import Answers


class ServerAnswers(Struct, frozen=True, kw_only=True):
    """Which server was asked, where it is, what it said, and how many seconds that took."""

    server: Server
    host: str
    throw_away: bool
    answers: Answers
    seconds: float


def ask_server(built: Built, kubeconfig: Path | None, context: str | None) -> ServerAnswers:
    """Ask the server of a kubeconfig's context, or a throw-away one. Raises UsageError when a program or file is
    missing, or where there is no talking to the server.
    """
    if context and not kubeconfig:
        raise UsageError("--context names a context of a kubeconfig: give --kubeconfig as well")
    begun = monotonic()
    with _api(built, kubeconfig, context) as api:
        found = server(api)
        answers = dry_run(built, api)
        away, host = api.throw_away, api.host
    return ServerAnswers(server=found, host=host, throw_away=away, answers=answers, seconds=monotonic() - begun)


@contextmanager
def _api(built: Built, kubeconfig: Path | None, context: str | None) -> Iterator[ApiConnection]:
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
