"""Argo CD is there: its repository server can read Git before the root Application asks it to."""

import time
from collections.abc import Callable

from generator.components.argo_cd import NAMESPACE
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.running import RunningCluster
from generator.model.fields import dig, holds
from generator.model.node_sets import node_set

SERVER = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/argocd-repo-server"
PATIENCE = 900.0
"""Seconds that images have to be pulled and the pods to start."""
POLL = 1.0


def await_server(running: RunningCluster, waiting: Callable[[str], None]) -> None:
    """Wait until the repository server is rolled out; what it waits for is told whenever it changes. Raises UsageError
    when that takes too long. Where somebody else installs Argo CD under other names, nothing is waited for.
    """
    end, told = time.monotonic() + PATIENCE, ""
    while (found := running.get(SERVER)) and not rolled_out(found):
        why = f"argocd-repo-server is not rolled out: {_pods(found)}{_nodes(running)}"
        if why != told:
            waiting(why)
            told = why
        if time.monotonic() > end:
            raise UsageError(
                f"{why}, after {PATIENCE / 60:g} minutes; `kubectl -n {NAMESPACE} describe pods` tells more; "
                "run again to go on"
            )
        time.sleep(POLL)


def rolled_out(deployment: Manifest) -> bool:
    """Tell whether all pods of a Deployment are of its newest template, and available."""
    wanted = dig(deployment, "spec", "replicas")
    seen = dig(deployment, "status", "observedGeneration") or 0
    counts = (dig(deployment, "status", key) or 0 for key in ("updatedReplicas", "replicas", "availableReplicas"))
    return bool(seen >= (dig(deployment, "metadata", "generation") or 0)) and all(one == wanted for one in counts)


def _pods(deployment: Manifest) -> str:
    return (
        f"{dig(deployment, 'status', 'availableReplicas') or 0} of {dig(deployment, 'spec', 'replicas')} pods available"
    )


def _nodes(running: RunningCluster) -> str:
    """Name the nodes that are not ready: without a network none is."""
    nodes = list(running.items("/api/v1/nodes"))
    unready = [str(dig(node, "metadata", "name")) for node in nodes if not holds(node, "Ready")]
    return f"; nodes that are not ready: {node_set(unready)}" if unready else ""
