"""What Prometheus and Grafana are given beside the chart: monitors, rules and dashboards."""

from collections.abc import Iterator

from generator.components.argo_cd import NAMESPACE as ARGO_CD
from generator.components.argo_cd import PART as OF_ARGO_CD
from generator.components.argo_workflows import CONTROLLER, operated
from generator.components.argo_workflows import NAMESPACE as ARGO
from generator.components.cert_manager import CONTROLLER as CERTIFIER
from generator.components.cert_manager import METRICS as CERTIFIER_PORT
from generator.components.cert_manager import NAMESPACE as CERT_MANAGER
from generator.components.common import monitored_from, release_of
from generator.components.component import Manifest
from generator.components.kube_prometheus_stack import NAMESPACE
from generator.components.kube_prometheus_stack.alerts import (
    backups_missed,
    benchmarks_failed,
    cluster_unseen,
    gpu_care_missed,
    machines_waiting,
    operations_failed,
    volume_backups_missed,
)
from generator.components.kube_prometheus_stack.boards import boards, taken
from generator.components.kube_prometheus_stack.delivery import applications, certificates
from generator.components.kube_prometheus_stack.devices import gpus, infiniband
from generator.components.kube_prometheus_stack.queues import given_up, queues
from generator.components.kube_prometheus_stack.storage import ceph, minio
from generator.components.kube_prometheus_stack.team_services import metrics_refused, team_services
from generator.components.kube_prometheus_stack.use import gpu_use
from generator.components.static import read_objects
from generator.model.cluster import Cluster

GRAFANA = {"app.kubernetes.io/name": "grafana"}
"""Labels of Grafana's pods, as its chart sets them."""
TOLD_BY_ZABBIX = (
    *(backups_missed, volume_backups_missed, gpu_care_missed, operations_failed),
    *(gpus, infiniband, ceph, minio, queues),
)
"""Rules on what Zabbix' templates know as well."""
TOLD_HERE = (
    *(cluster_unseen, machines_waiting, benchmarks_failed, given_up),
    *(applications, certificates, gpu_use, metrics_refused),
)


def monitors(cluster: Cluster) -> Iterator[Manifest]:
    """Watch Argo CD, cert-manager, Argo Workflows with what operations tell of their last runs, and what teams
    serve.
    """
    yield monitor("argo-cd", ARGO_CD, OF_ARGO_CD)
    _, certificates_in = release_of(cluster, "cert-manager", CERT_MANAGER)
    # What it tells of a certificate has that one's namespace.
    yield monitor("cert-manager", certificates_in, CERTIFIER, port=CERTIFIER_PORT, honorLabels=True)
    if operated(cluster):
        yield monitor("argo-workflows", ARGO, CONTROLLER)
    if cluster.teams:
        yield team_services(cluster, NAMESPACE)


def rules(cluster: Cluster) -> Iterator[Manifest]:
    """Record the use of GPUs, and alert of what goes wrong. What is `TOLD_BY_ZABBIX` alerts there where Zabbix is: each
    fault is told by one of them.
    """
    ours = () if cluster.monitoring.zabbix else TOLD_BY_ZABBIX
    made = (rules(cluster, NAMESPACE) for rules in (*ours, *TOLD_HERE))
    yield from (rule for rule in made if rule)


def dashboards(cluster: Cluster) -> Iterator[Manifest]:
    """Show the parts of the cluster, and the use of GPUs by team. The chart's sidecar takes the ConfigMaps of its
    namespace that have this label.
    """
    namespace = monitored_from(cluster)
    yield from boards(cluster, namespace)
    if not cluster.gpu_nodes:
        return
    (model,) = read_objects("kube_prometheus_stack/use-by-team.yaml")
    yield taken("use-by-team", namespace, "use-by-team.json", model)


def monitor(name: str, namespace: str, labels: dict[str, str], port: str = "metrics", **more: bool) -> Manifest:
    """Return a ServiceMonitor on another namespace's ports of a name."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "namespaceSelector": {"matchNames": [namespace]},
            "selector": {"matchLabels": labels},
            "endpoints": [{"port": port, **more}],
        },
    }
