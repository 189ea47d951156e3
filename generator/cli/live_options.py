"""What verbs share that speak to a running cluster."""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from generator.cli.options import ROOT, root_of, together
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


def confirmed(kubeconfig: Path | None, context: str | None, cluster: "Cluster") -> "RunningCluster":
    """Return the cluster that a kubeconfig leads to, once it answered. Raises UsageError where it is another."""
    from generator.live.identity import confirm  # noqa: PLC0415 - heavy

    there = running(kubeconfig, context)
    confirm(there, cluster)
    return there


def usable(loaded: Loaded) -> "Cluster":
    """Return the cluster of a file that can be read. Raises UsageError where it cannot: `gen check` tells more."""
    if loaded.cluster is None:
        raise UsageError(f"clusters/{loaded.name}/cluster.yaml: it has errors; `gen check` tells them")
    return loaded.cluster


class Where(NamedTuple):
    """What was said of a running cluster and of the file that describes it."""

    names: tuple[str, ...]
    kubeconfig: Path | None
    context: str | None
    directory: Path

    @property
    def root(self) -> Path:
        """The root of the repository."""
        return root_of(self.directory)

    def described(self) -> "Cluster":
        """Return what the one file says that is meant. Raises UsageError."""
        return usable(only(self.root, self.names))

    def running(self) -> "RunningCluster":
        """Return what the kubeconfig leads to; nothing is asked yet. Raises UsageError."""
        return running(self.kubeconfig, self.context)

    def confirmed(self, cluster: "Cluster") -> "RunningCluster":
        """Return the same once it has answered. Raises UsageError where it is another cluster."""
        return confirmed(self.kubeconfig, self.context, cluster)


def at_cluster(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options that say which running cluster is meant, and what they say as `where`."""

    @functools.wraps(verb)
    def call(**more: Any) -> int:
        where = Where(**{name: more.pop(name) for name in Where._fields})
        return verb(where=where, **more)

    return together(CLUSTER, KUBECONFIG, CONTEXT, ROOT)(call)
