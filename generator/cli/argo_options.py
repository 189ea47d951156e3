"""What leads to a cluster's operations: its API server, or Argo's own server where somebody reaches only that."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from generator.cli.live_options import CONTEXT, KUBECONFIG, confirmed, refuse_beside
from generator.cli.terminal import say
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.day2.workflows.ways import Way
    from generator.model.cluster import Cluster

FILE = click.Path(path_type=Path)


class Meant(NamedTuple):
    """What was said of the way to a cluster."""

    kubeconfig: Path | None
    context: str | None
    argo_server: str | None
    argo_token_file: Path | None
    argo_ca: Path | None


OPTIONS = (
    KUBECONFIG,
    CONTEXT,
    click.option(
        "--argo-server",
        metavar="URL",
        help="Ask Argo's own server at URL, with the token in $ARGO_TOKEN. Default: the cluster's API server.",
    ),
    click.option("--argo-token-file", type=FILE, help="The file that holds that token. Default: $ARGO_TOKEN."),
    click.option("--argo-ca", type=FILE, help="The CA of Argo's server, PEM. Default: those that the system trusts."),
)


def way(meant: Meant, cluster: "Cluster") -> "Way":
    """Return the way to a running cluster, once it answered. Raises UsageError, also where it is another cluster: only
    of Argo's server nobody can tell, which is said.
    """
    if meant.argo_server is None:
        _refuse_alone(_given(meant, "argo_token_file", "argo_ca"))
        return _through_api(meant, cluster)
    refuse_beside("--argo-server", _given(meant, "kubeconfig", "context"), "these lead to the API server; say one way")
    return _through_argo_server(meant, meant.argo_server, cluster)


def _refuse_alone(others: Mapping[str, bool]) -> None:
    if given := [name for name, is_given in others.items() if is_given]:
        raise UsageError(f"{', '.join(given)}: there is no --argo-server that it is for; name one")


def _given(meant: Meant, *names: str) -> dict[str, bool]:
    return {f"--{name.replace('_', '-')}": getattr(meant, name) is not None for name in names}


def _through_api(meant: Meant, cluster: "Cluster") -> "Way":
    from generator.day2.workflows.ways import ThroughApi  # noqa: PLC0415 - heavy

    return ThroughApi(confirmed(meant.kubeconfig, meant.context, cluster))


def _through_argo_server(meant: Meant, url: str, cluster: "Cluster") -> "Way":
    from generator.day2.workflows.argo_connection import ArgoConnection, token  # noqa: PLC0415 - heavy
    from generator.day2.workflows.argo_server import ThroughArgoServer  # noqa: PLC0415 - heavy

    there = ThroughArgoServer(ArgoConnection(url, token(meant.argo_token_file), meant.argo_ca))
    there.confirm(cluster)
    say(f"note: {there.host} does not tell of which cluster it is; that it is {cluster.name}'s is on you", err=True)
    return there
