"""What the autoscaler may do: read what places pods, mark nodes, and scale the pools that Cluster API has of ours."""

from collections.abc import Iterator

from generator.components.cluster_autoscaler.groups import deployment_of
from generator.components.cluster_autoscaler.names import GROUP, NAME, NAMESPACE, scaled
from generator.components.component import Manifest
from generator.components.rbac import bound, rule
from generator.model.cluster import Cluster

READ = ("get", "list", "watch")
MACHINES = "cluster.x-k8s.io"
OWN = {"name": NAME, "namespace": NAMESPACE}


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield its roles and their bindings. Nowhere may it evict a pod: `--max-drain-parallelism=0` says that it does
    not want to, and this that it cannot.
    """
    yield from bound({"name": NAME}, in_cluster(), NAMESPACE)
    yield from bound(OWN, in_namespace(), NAMESPACE)
    if cluster.autoscaler and cluster.autoscaler.management == "here":
        yield from bound({"name": f"{NAME}-machines"}, of_machines(cluster), NAMESPACE, NAME)


def in_cluster() -> list[Manifest]:
    """Return what it may do with Kubernetes' own objects everywhere."""
    placed = ("namespaces", "pods", "services", "replicationcontrollers", "persistentvolumeclaims", "persistentvolumes")
    return [
        rule("", placed, READ),
        rule("", ["podtemplates"], READ),
        # It marks a node by a taint before it takes it away.
        rule("", ["nodes"], [*READ, "update", "patch"]),
        rule("", ["events"], ["create", "patch"]),
        rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], READ),
        rule("batch", ["jobs"], READ),
        rule("policy", ["poddisruptionbudgets"], READ),
        rule("storage.k8s.io", ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities"], READ),
        rule("storage.k8s.io", ["volumeattachments"], READ),
        rule("resource.k8s.io", ["deviceclasses", "resourceclaims", "resourceslices"], READ),
        # One that ended a week ago is deleted.
        rule(GROUP, ["provisioningrequests"], [*READ, "delete"]),
        rule(GROUP, ["provisioningrequests/status"], ["update", "patch"]),
    ]


def in_namespace() -> list[Manifest]:
    """Return what it may do in its own namespace: say what it does, and agree on who leads."""
    return [
        rule("", ["configmaps"], ["create"]),
        rule("", ["configmaps"], ["get", "update", "delete"], ["cluster-autoscaler-status"]),
        rule("coordination.k8s.io", ["leases"], ["create"]),
        rule("coordination.k8s.io", ["leases"], ["get", "update"], [NAME]),
    ]


def of_machines(cluster: Cluster) -> list[Manifest]:
    """Return what it may do with Cluster API's objects: scale the MachineDeployments that are named, no other."""
    named = [deployment_of(cluster, pool) for pool in scaled(cluster)]
    return [
        rule(MACHINES, ["machinedeployments", "machinesets", "machines", "machinepools"], READ),
        # It says on a Machine that this is the one to delete.
        rule(MACHINES, ["machines"], ["update"]),
        rule(MACHINES, ["machinedeployments"], ["update"], named),
        rule(MACHINES, ["machinedeployments/scale"], ["get", "update", "patch"], named),
    ]
