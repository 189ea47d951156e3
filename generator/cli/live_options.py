"""What verbs share that speak to a running cluster."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from generator.errors import UsageError
from generator.repository.cluster_files import Loaded, load

if TYPE_CHECKING:
    from generator.live.running import RunningCluster
    from generator.model.cluster import Cluster

KUBECONFIG = click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig that leads to the cluster. Default: $KUBECONFIG, else ~/.kube/config.",
)
CONTEXT = click.option("--context", metavar="NAME", help="A context of the kubeconfig. Default: its current one.")


def _alone(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return what was named as other verbs get it, who take several."""
    return (value,) if value else ()


CLUSTER = click.option(
    "--cluster",
    "names",
    metavar="NAME",
    callback=_alone,
    help="The cluster. Default: the repository's only one.",
)


def refuse_beside(option: str, others: Mapping[str, bool], why: str) -> None:
    """Raise UsageError where options are given that make no sense beside another one; `why` ends the sentence."""
    if given := [name for name, is_given in others.items() if is_given]:
        raise UsageError(f"{option} and {', '.join(given)}: {why}")


def only(root: Path, names: Sequence[str]) -> Loaded:
    """Return the one cluster that is meant. Raises UsageError."""
    loaded = load(root, names)
    if len(loaded) != 1:
        raise UsageError(f"name one cluster with --cluster: {', '.join(one.name for one in loaded)}")
    return loaded[0]


def running(kubeconfig: Path | None, context: str | None) -> "RunningCluster":
    """Return the cluster that a kubeconfig leads to; nothing is asked yet. Raises UsageError."""
    from generator.live.api import of_kubeconfig  # noqa: PLC0415 - heavy
    from generator.live.running import RunningCluster  # noqa: PLC0415 - heavy

    default = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return RunningCluster(of_kubeconfig(kubeconfig or Path(default).expanduser(), context))


def usable(loaded: Loaded) -> "Cluster":
    """Return the cluster of a file that can be read. Raises UsageError where it cannot: `gen check` tells more."""
    if loaded.cluster is None:
        raise UsageError(f"clusters/{loaded.name}/cluster.yaml: it has errors; `gen check` tells them")
    return loaded.cluster
