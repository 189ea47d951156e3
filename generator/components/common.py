"""What several components know of a cluster alike: labels, names, needs."""

from ipaddress import IPv4Network, IPv6Network

from generator.model.cluster import Cluster

# Labels that kubeadm puts on nodes (bootstrap) and components select by. `.internal` is reserved for private use.
OWN_LABELS = "gen.internal"
POOL = f"{OWN_LABELS}/pool"
CEPH = f"{OWN_LABELS}/ceph"
OBJECTS = f"{OWN_LABELS}/objects"
SCRATCH = f"{OWN_LABELS}/scratch"
CACHE = f"{OWN_LABELS}/cache"
RACK = "topology.rook.io/rack"
# Before every name that the site's identity provider gives: without it, a group of its own called `system:masters`
# would rule the cluster.
OIDC_PREFIX = "oidc:"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
"""The annotation of the storage class that claims get which name none."""
API_PORT = 6443
"""Where the API server listens on each control-plane node."""
TRACKING = "argocd.argoproj.io/tracking-id"
"""An annotation by which Argo CD knows its objects. No file has it."""
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
# Argo CD goes on without waiting for an object with this annotation.
IGNORE_HEALTH = "argocd.argoproj.io/ignore-healthcheck"
MONITORING = "monitoring"
"""The namespace of Prometheus, unless its release is an adopted one."""
SCRAPERS = {"app.kubernetes.io/name": "prometheus"}
"""Labels of Prometheus' own pods, which read metrics everywhere."""
PROMETHEUS_PORT = 9090
"""Where they are asked."""
SITE_CA = "/etc/kubernetes/site-ca.crt"
"""Where each node has the certificate of the site's CA, if the file gives one."""
# On an Ingress: an ingress controller that publishes no address would hold the wave for ever.
UNWATCHED = {IGNORE_HEALTH: "true"}
RESTRICTED_VOLUMES = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
)  # fmt: skip
"""Kinds of volumes that Pod Security allows at its level `restricted`: those by which no pod reaches a node's disks, or
a server by the node's address (k8s.io/pod-security-admission 0.35.3).
"""
# Kinds for `Component.kinds` that many charts bring.
CRD = "apiextensions.k8s.io/CustomResourceDefinition"
WEBHOOKS = (
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
)
CLUSTER_ROLES = ("rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/ClusterRoleBinding")


def replicas(cluster: Cluster) -> int:
    """Return how many pods a controller has: a second one where it has another control-plane node to go to."""
    return 2 if len(cluster.control_plane) > 1 else 1


def prometheus_crds(cluster: Cluster) -> tuple[str, ...]:
    """Return what a component with a ServiceMonitor needs first. Only the kinds: Prometheus itself may come later."""
    return ("prometheus-crds",) if cluster.monitoring.prometheus else ()


def release_of(cluster: Cluster, component: str, namespace: str) -> tuple[str, str]:
    """Return name and namespace of a component's Helm release: the adopted one's where there is one, else our own,
    which is named as the component is.
    """
    adopted = cluster.settings(component).adopt
    return (adopted.release, adopted.namespace) if adopted else (component, namespace)


def monitored_from(cluster: Cluster) -> str:
    """Return the namespace of Prometheus, Alertmanager and Grafana."""
    return release_of(cluster, "kube-prometheus-stack", MONITORING)[1]


def fullname(release: str, chart: str) -> str:
    """Return what most charts name their objects after: the release, and the chart unless its name is in there."""
    return release if chart in release else f"{release}-{chart}"


def ethernet(cluster: Cluster) -> list[str]:
    """Return the names of the interfaces that carry the node network, on any node."""
    names = {machine.networks["node"].interface: None for machine in cluster.machines}
    return [name for name in names if name]


def proxy_variables(cluster: Cluster, *past: str) -> dict[str, str]:
    """Return the environment that sends a program through the site's proxy, empty without one. What is inside, what the
    site names and `past` are reached directly.
    """
    proxy, kubernetes = cluster.site.proxy, cluster.kubernetes
    if proxy is None:
        return {}
    names = (f".{kubernetes.dns_domain}", ".svc", f".{cluster.site.domain}", kubernetes.endpoint.host)
    directly = map(str, ("localhost", "127.0.0.1", *_inside(cluster), *names, *proxy.no_proxy, *past))
    return {
        "HTTP_PROXY": proxy.http,
        "HTTPS_PROXY": proxy.https or proxy.http,
        "NO_PROXY": ",".join(dict.fromkeys(directly)),
    }


def _inside(cluster: Cluster) -> list[IPv4Network | IPv6Network]:
    """Return the networks that no proxy leads to."""
    networks, kubernetes = cluster.networks, cluster.kubernetes
    given = [cidr for each in (networks.node, networks.storage) if each for cidr in (each.cidr, each.cidr6)]
    given += [kubernetes.pod_cidr, kubernetes.service_cidr, kubernetes.pod_cidr6, kubernetes.service_cidr6]
    balanced = networks.load_balancer.range.networks if networks.load_balancer else ()
    return [cidr for cidr in (*given, *balanced) if cidr]


def exposed(cluster: Cluster, host: str | None) -> bool:
    """Return whether people reach something by this name: the site has an ingress controller."""
    return bool(host and cluster.site.ingress_class)
