"""Which cluster of the repository a running one is: bootstrap records it, whoever acts on it later compares."""

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.running import RunningCluster
from generator.live.server import version_of
from generator.model.cluster import Cluster
from generator.model.fields import dig

NAMESPACE = "kube-system"
NAME = "gen"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
ROOT = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/root"
LABEL = "gen.internal/cluster"


def record(cluster: Cluster) -> Manifest:
    """Return the object that says in a running cluster which one of the repository it is."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {LABEL: cluster.name}},
        "data": {"cluster": cluster.name, "repository": cluster.repository.url},
    }


def recorded(running: RunningCluster) -> str:
    """Return the name of the cluster that a running one is: as bootstrap recorded it, else as its root Application says
    (a bootstrap by hand); empty where there is neither. Raises UsageError.
    """
    found = running.get(f"{PATH}/{NAME}")
    if found:
        return str(dig(found, "data", "cluster") or "")
    return str(dig(running.get(ROOT) or {}, "metadata", "labels", LABEL) or "")


def confirm(running: RunningCluster, cluster: Cluster) -> None:
    """Raise UsageError unless a running cluster is the one of the repository that is meant."""
    name = recorded(running)
    if not name:
        version_of(running.api)  # any program may say that something is not there
        raise UsageError(
            f"{running.host} was not bootstrapped yet, or is another cluster than {cluster.name}: neither ConfigMap "
            f"{NAMESPACE}/{NAME} nor the Application root is there; `gen bootstrap --cluster {cluster.name}`, or name "
            "the right --kubeconfig or --context"
        )
    refuse_another(running, cluster, name)


def refuse_another(running: RunningCluster, cluster: Cluster, name: str) -> None:
    """Raise UsageError where the name that a running cluster has is not that of the one that is meant."""
    if name != cluster.name:
        raise UsageError(
            f"{running.host} is the cluster {name}, not {cluster.name}: name the right --kubeconfig or --context, "
            f"or ask for --cluster {name}"
        )
