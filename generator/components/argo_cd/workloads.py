"""What Argo CD's programs get: requests and limits, and the site's proxy."""

from generator.components.common import proxy_variables
from generator.components.component import Manifest, Patch
from generator.components.parts import resources
from generator.model.cluster import Cluster

CONTAINER = "/spec/template/spec/containers/0"

# The controller holds every watched object; the repository server
# builds overlays with megabytes of CRDs, several at once.
SIZES = {
    "argocd-application-controller": resources("500m", "1Gi", "4Gi"),
    "argocd-applicationset-controller": resources("50m", "128Mi", "512Mi"),
    "argocd-notifications-controller": resources("20m", "64Mi", "256Mi"),
    "argocd-repo-server": resources("500m", "512Mi", "4Gi"),
    "argocd-server": resources("100m", "128Mi", "512Mi"),
}


def workloads(cluster: Cluster) -> tuple[Patch, ...]:
    """Give the programs requests and limits, which upstream leaves open, and stop Dex: people log in at the site's
    provider itself.
    """
    sized = tuple(
        Patch(
            target=workload(name),
            operations=(
                {"op": "add", "path": f"{CONTAINER}/resources", "value": size},
                *(proxy(cluster) if name == "argocd-repo-server" else ()),
            ),
        )
        for name, size in SIZES.items()
    )
    none = {"op": "add", "path": "/spec/replicas", "value": 0}
    return (*sized, Patch(target=workload("argocd-dex-server"), operations=(none,)))


def workload(name: str) -> dict[str, str]:
    """Return the target of a patch on one of Argo CD's programs."""
    kind = "StatefulSet" if name == "argocd-application-controller" else "Deployment"
    return {"group": "apps", "version": "v1", "kind": kind, "name": name}


def proxy(cluster: Cluster) -> tuple[Manifest, ...]:
    """Send what fetches from Git and chart repositories through the site's proxy, and what is inside past it."""
    variables = proxy_variables(cluster, "argocd-repo-server", "argocd-redis", "argocd-redis-ha-haproxy")
    return tuple(
        {"op": "add", "path": f"{CONTAINER}/env/-", "value": {"name": name, "value": value}}
        for name, value in variables.items()
    )
