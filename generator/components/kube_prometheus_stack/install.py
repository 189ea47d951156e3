"""Prometheus, Alertmanager and Grafana: the chart kube-prometheus-stack."""

from generator.components.common import POOL, UNWATCHED, WEBHOOKS, exposed, fullname, monitored_from, release_of
from generator.components.component import Component, Manifest, Namespace, Release, Secret, Turn
from generator.components.issuers import ISSUER, signed
from generator.components.kube_prometheus_stack import DEFINITION, EXPORTER, NAMESPACE, RELEASE, VERSIONS, named, told
from generator.components.kube_prometheus_stack.network import policies
from generator.components.kube_prometheus_stack.watched import dashboards, monitors, rules
from generator.components.parts import NODE_LABEL, injected_ca, resources
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus
from generator.model.quantity import Quantity

# The ClusterRole of Grafana's sidecars.
DASHBOARDS = f"{RELEASE}-grafana-dashboards"
# Prometheus deletes the oldest blocks before its volume is full; the rest is for its write-ahead log.
FULL = 0.85
FILLED = ("KubeCPUOvercommit", "KubeMemoryOvercommit")
"""Alerts of the chart on clusters whose pods would not all fit without their largest node: where jobs queue for what is
there, that is so whenever it is well used, and those of a node that is lost queue again.
"""


def install(cluster: Cluster) -> Component:
    """Prometheus, Alertmanager and Grafana, where the cluster file asks for them. With Zabbix beside them alerts belong
    to Zabbix, and there is no Alertmanager: every fault would alert twice (facts: monitoring 5).
    """
    settings = cluster.monitoring.prometheus
    assert settings
    version = VERSIONS.of(cluster)
    return Component(
        name="kube-prometheus-stack",
        tier=DEFINITION.tier,
        summary="Prometheus, Alertmanager and Grafana",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="baseline"), Namespace(EXPORTER, security="privileged")),
        base=read_objects("kube_prometheus_stack/dashboards-role.yaml"),
        objects=(
            *policies(cluster, settings),
            *monitors(cluster),
            *rules(cluster),
            *dashboards(cluster),
            *told.objects(cluster, settings),
        ),
        releases=(Release(version.chart("kube-prometheus-stack"), RELEASE, NAMESPACE, values(cluster, settings)),),
        needs=("prometheus-crds", "issuers"),
        storage_classes=(settings.storage_class,) if has_volume(cluster, settings) else (),
        secrets=secrets(cluster, settings),
        ignore=injected_ca(*WEBHOOKS),
        # Services that select kubeadm's static pods, and the operator's own Service of the kubelets.
        reach=DEFINITION.reach,
        kinds=DEFINITION.chart_kinds,
    )


def has_volume(cluster: Cluster, settings: Prometheus) -> bool:
    """Return whether a claim would be bound: by a class that the file names, or by the cluster's default class."""
    ceph = cluster.storage.ceph
    return bool(settings.storage_class or (ceph and any(pool.default for pool in ceph.block_pools)))


def values(cluster: Cluster, settings: Prometheus) -> Manifest:
    """Return the chart's values."""
    alerting = cluster.monitoring.zabbix is None
    return {
        "crds": {"enabled": False},
        **({"defaultRules": {"disabled": dict.fromkeys(FILLED, True)}} if cluster.teams else {}),
        "alertmanager": alertmanager(cluster, settings) if alerting else {"enabled": False},
        "grafana": grafana(cluster, settings),
        # kubeadm's static pods are found by the chart's selectors. Addresses would make Endpoints objects, a kind that
        # Argo CD leaves out (facts: Argo CD 3.0).
        **{part: {"enabled": True, "endpoints": []} for part in ("kubeControllerManager", "kubeScheduler", "kubeEtcd")},
        # Cilium replaces kube-proxy; kubeadm's listens for metrics on 127.0.0.1 only.
        "kubeProxy": {"enabled": False},
        # Dashboards choose nodes by their pools.
        "kube-state-metrics": {
            "resources": resources("50m", "256Mi", "1Gi"),
            "metricLabelsAllowlist": [f"nodes=[{POOL}]"],
        },
        "prometheus-node-exporter": {
            "namespaceOverride": EXPORTER,
            # Every node, whatever its taints: also those of a failure.
            "tolerations": [{"operator": "Exists"}],
            "resources": resources("50m", "64Mi", "256Mi"),
            "priorityClassName": "system-node-critical",
            "prometheus": {"monitor": {"relabelings": [NODE_LABEL]}},
        },
        "prometheusOperator": operator(),
        "prometheus": {"prometheusSpec": prometheus(cluster, settings)},
    }


def operator() -> Manifest:
    """Let cert-manager make the webhooks' certificate: the chart's other way are hook Jobs."""
    return {
        "resources": resources("100m", "128Mi", "512Mi"),
        "admissionWebhooks": {
            "enabled": True,
            # Else a broken operator could not be mended from Git: its own rules pass this webhook.
            "failurePolicy": "Ignore",
            "patch": {"enabled": False},
            "certManager": {"enabled": True, "issuerRef": {"name": ISSUER, "kind": "ClusterIssuer"}},
        },
    }


def prometheus(cluster: Cluster, settings: Prometheus) -> Manifest:
    """Return Prometheus' own settings. It takes every monitor and rule of the cluster, not only those of this release.
    Memory follows the nodes: some 100 MiB for what one exposes.
    """
    mebibytes = 2048 + 128 * len(cluster.machines)
    every = ("ruleSelector", "serviceMonitorSelector", "podMonitorSelector", "probeSelector", "scrapeConfigSelector")
    spec: Manifest = {
        **{f"{selector}NilUsesHelmValues": False for selector in every},
        "externalLabels": {"cluster": cluster.name},
        "retention": settings.retention,
        "resources": resources("1", f"{mebibytes}Mi", f"{2 * mebibytes}Mi"),
        "priorityClassName": "system-cluster-critical",
    }
    if has_volume(cluster, settings):
        spec["retentionSize"] = f"{int(settings.storage.value * FULL) // 2**20}MiB"
        spec["storageSpec"] = claim(settings, settings.storage)
    return spec


def claim(settings: Prometheus, size: Quantity) -> Manifest:
    """Return a volume claim template; without a class in the file, of the cluster's default class."""
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": str(size)}}}
    if settings.storage_class:
        spec["storageClassName"] = settings.storage_class
    return {"volumeClaimTemplate": {"spec": spec}}


def alertmanager(cluster: Cluster, settings: Prometheus) -> Manifest:
    """Return Alertmanager's settings. Who is told stands in a Secret, as it holds tokens, or in the cluster file."""
    given: Manifest = {"useExistingSecret": True, "configSecret": "alertmanager-config"}
    configured = told.spec(cluster) if told.tells(cluster, settings) else given
    spec: Manifest = {**configured, "resources": resources("50m", "64Mi", "256Mi")}
    scratch = cluster.storage.scratch
    # A scratch volume is a whole disk: Alertmanager would take the one that Prometheus needs.
    if has_volume(cluster, settings) and not (scratch and settings.storage_class == scratch.storage_class):
        # Silences and what has been sent.
        spec["storage"] = claim(settings, Quantity.parse("1Gi"))
    return {"enabled": True, "alertmanagerSpec": spec}


def grafana(cluster: Cluster, settings: Prometheus) -> Manifest:
    """Return Grafana's settings. Dashboards and data sources come from ConfigMaps, so it needs no volume, and its
    sidecars look nowhere else, nor into other namespaces, as the chart has them do for dashboards: a team would take
    the place of ours by a file of the same name, and have the sidecar fetch any address.
    """
    from_config_maps = {"resource": "configmap", "searchNamespace": monitored_from(cluster)}
    made: Manifest = {
        "admin": {"existingSecret": "grafana-admin", "userKey": "username", "passwordKey": "password"},
        "defaultDashboardsTimezone": cluster.site.timezone,
        "resources": resources("100m", "256Mi", "1Gi"),
        "rbac": {"useExistingClusterRole": DASHBOARDS},
        "sidecar": {
            "dashboards": from_config_maps,
            "datasources": from_config_maps,
            "resources": resources("10m", "64Mi", "256Mi"),
        },
        # Its tests are hooks that run a pod.
        "testFramework": {"enabled": False},
    }
    if exposed(cluster, settings.host):
        made["grafana.ini"] = {"server": {"root_url": f"https://{settings.host}"}}
        made["ingress"] = {
            "enabled": True,
            "ingressClassName": cluster.site.ingress_class,
            "annotations": {**UNWATCHED, "cert-manager.io/cluster-issuer": ISSUER},
            "hosts": [settings.host],
            "path": "/",
            "tls": [{"secretName": "grafana-tls", "hosts": [settings.host]}],
        }
    return made


def secrets(cluster: Cluster, settings: Prometheus) -> tuple[Secret, ...]:
    """Return the Secrets that the stack reads, where its release is."""
    release, namespace = release_of(cluster, RELEASE, NAMESPACE)
    made = [
        Secret(
            name="grafana-admin",
            namespace=namespace,
            keys=("username", "password"),
            source="generated",
            loss="harmless",
            rotate="replace it and restart Grafana: it keeps nothing, and takes the password when it starts",
            readers=("kube-prometheus-stack",),
            turn=Turn(restarts=(f"Deployment/{fullname(release, 'grafana')}",), still="Grafana, while its pod starts"),
        ),
        signed(f"{named(cluster)}-admission", namespace, "kube-prometheus-stack"),
    ]
    if cluster.monitoring.zabbix is None:
        says = told.tells(cluster, settings)
        made.append(told.webhooks(cluster, settings) if says else told.whole_configuration(cluster))
    if exposed(cluster, settings.host):
        made.append(signed("grafana-tls", namespace, "kube-prometheus-stack"))
    return tuple(made)
