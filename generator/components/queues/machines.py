"""Jobs on machines that are made for them: Kueue asks for the machines first, and lets a job in when they are there.

Without that nobody would ever ask: flavors have a topology, so that Kueue lets in only what fits on nodes that it sees,
and no pod would wait by which the autoscaler could tell (v0.18.3: `tas_flavorassigner.go`, `podSetTopologyRequest`).
"""

from generator.components.cluster_autoscaler.names import CLASS, scaled
from generator.components.component import Manifest
from generator.model.cluster import Cluster

CHECK = "machines"
RETRIES = {"backoffLimitCount": 5, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
"""How often a job asks again that got no machines, and after how long: after the last time it is deactivated."""
_API = {"apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": CHECK}}


def checks(cluster: Cluster, pools: list[str]) -> tuple[Manifest, ...]:
    """Return the check of all jobs on pools that are scaled, and how it asks for machines."""
    if not checked(cluster, pools):
        return ()
    config = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": CHECK}
    check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": config}
    asking = {"provisioningClassName": CLASS, "retryStrategy": RETRIES}
    return (
        {**_API, "kind": "ProvisioningRequestConfig", "spec": asking},
        {**_API, "kind": "AdmissionCheck", "spec": check},
    )


def strategy(cluster: Cluster, pools: list[str]) -> Manifest:
    """Return what of a ClusterQueue names the check, on the flavors that it is for."""
    flavors = checked(cluster, pools)
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK, "onFlavors": flavors}]}} if flavors else {}


def checked(cluster: Cluster, pools: list[str]) -> list[str]:
    """Return which of these flavors' jobs wait for machines."""
    return [pool for pool in pools if pool in scaled(cluster)]
