"""What the report may read, and whom its pods reach. It may write its own ConfigMap and nothing else. All else is read
by one role of the whole cluster: roles in others' namespaces would open these to the project of its tier.
"""

from collections.abc import Iterator

from generator.components.closed import DNS, Controller, closed, meets_prometheus, prometheus
from generator.components.common import PROMETHEUS_PORT
from generator.components.component import Manifest
from generator.components.health_report import LABELS, NAME, NAMESPACE
from generator.components.parts import tcp
from generator.components.rbac import bound, rule
from generator.model.cluster import Cluster


def rights(cluster: Cluster) -> Iterator[Manifest]:
    """Yield the account and its roles."""
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": LABELS},
    }
    yield from bound({"name": NAME, "labels": LABELS}, everywhere(cluster), NAMESPACE)
    inside = [
        # What Argo's executor needs (facts: Argo Workflows, practice).
        rule("argoproj.io", ["workflowtaskresults"], ["create", "patch"]),
        # What is made has no name yet that a right could be held to.
        rule("", ["configmaps"], ["create"]),
        rule("", ["configmaps"], ["get", "patch"], [NAME]),
    ]
    yield from bound({"name": NAME, "namespace": NAMESPACE, "labels": LABELS}, inside, NAMESPACE)


def everywhere(cluster: Cluster) -> list[Manifest]:
    """Return what is read of the whole cluster. A kind that a cluster does not have is asked for all the same, but for
    Ceph's, of which the cluster file tells.
    """
    ceph = [rule("ceph.rook.io", ["cephclusters"], ["list"])] if cluster.storage.ceph else []
    return [
        rule("", ["nodes", "pods"], ["list"]),
        rule("apps", ["deployments", "statefulsets", "daemonsets"], ["list"]),
        rule("argoproj.io", ["applications", "workflows"], ["list"]),
        *ceph,
        rule("cert-manager.io", ["certificates"], ["list"]),
        rule("kueue.x-k8s.io", ["clusterqueues", "resourceflavors"], ["list"]),
        rule("volsync.backube", ["replicationsources"], ["list"]),
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def policies(cluster: Cluster) -> tuple[Manifest, ...]:
    """Let nobody in, and out to API servers and Prometheus alone."""
    watched = [{"to": [prometheus(cluster)], "ports": [tcp(PROMETHEUS_PORT)]}] if cluster.monitoring.prometheus else []
    pods = Controller(name=NAME, namespace=NAMESPACE, labels=LABELS, asks=(DNS, *watched))
    return (*closed(cluster, pods), *([meets_prometheus(cluster, pods)] if watched else []))
