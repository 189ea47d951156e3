"""The Cluster Autoscaler with Cluster API: machines of some pools are made while jobs ask for them."""

from generator.components.cluster_autoscaler import DEFINITION, VERSIONS
from generator.components.cluster_autoscaler.names import NAME, NAMESPACE
from generator.components.cluster_autoscaler.network import network
from generator.components.cluster_autoscaler.rights import OWN, rights
from generator.components.common import replicas
from generator.components.component import Component, Manifest, Namespace, Secret, Turn
from generator.components.parts import UNPRIVILEGED, apart, pod_security, resources, tolerations
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.scaling import Autoscaler

LABELS = {"app.kubernetes.io/name": NAME}
KUBECONFIG = "cluster-api-kubeconfig"
"""The Secret that leads to the cluster in which Cluster API lies, if it is another one."""
MOUNTED = "/etc/cluster-api"
METRICS = 8085


def install(cluster: Cluster) -> Component:
    """Install the autoscaler where the file says who makes machines."""
    version = VERSIONS.of(cluster)
    settings = cluster.autoscaler or Autoscaler(management="here")
    return Component(
        name=NAME,
        tier=DEFINITION.tier,
        summary="Machines by Cluster API while jobs ask for them",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        manifests=version.manifests,
        base=read_objects("cluster_autoscaler/admission.yaml"),
        objects=(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": OWN},
            *rights(cluster),
            *network(cluster, settings),
            deployment(cluster, settings, version.images["autoscaler"]),
            disruption_budget(),
        ),
        secrets=(kubeconfig(),) if settings.management == "kubeconfig" else (),
        kinds=DEFINITION.chart_kinds,
    )


def command(cluster: Cluster, settings: Autoscaler) -> list[str]:
    """Return the command. `--max-drain-parallelism=0`: only a machine on which nothing runs but DaemonSets goes, so
    that no gang, no service and no volume of a team is ever moved for it (v1.35.2: scaledown/budgets/budgets.go).
    """
    where = f"clusterapi:namespace={settings.namespace},clusterName={settings.cluster or cluster.name}"
    elsewhere = [f"--cloud-config={MOUNTED}/value"] if settings.management == "kubeconfig" else []
    return [
        "./cluster-autoscaler",
        "--cloud-provider=clusterapi",
        f"--node-group-auto-discovery={where}",
        *elsewhere,
        f"--namespace={NAMESPACE}",
        f"--address=:{METRICS}",
        "--enable-provisioning-requests=true",
        "--enforce-node-group-min-size=true",
        "--expander=least-waste",
        "--max-drain-parallelism=0",
        f"--scale-down-unneeded-time={settings.idle_minutes}m",
        f"--scale-down-delay-after-add={settings.idle_minutes}m",
        f"--max-node-provision-time={settings.join_minutes}m",
        "--startup-taint=node.cilium.io/agent-not-ready",
        "--startup-taint=node.cluster.x-k8s.io/uninitialized",
        # It asks for each group several times in a round: with 5 in a second a round takes many.
        "--kube-client-qps=50",
        "--kube-client-burst=100",
        "--v=2",
    ]


def deployment(cluster: Cluster, settings: Autoscaler, image: str) -> Manifest:
    """Return the Deployment: one pod works, a second one waits to lead."""
    pod: Manifest = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        "securityContext": pod_security(65532),
        "tolerations": tolerations(cluster.control_plane),
        # On a machine that it makes it would be what keeps that from going.
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "affinity": apart(LABELS),
        "containers": [container(cluster, settings, image)],
    }
    if settings.management == "kubeconfig":
        pod["volumes"] = [{"name": "kubeconfig", "secret": {"secretName": KUBECONFIG}}]
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    spec = {"replicas": replicas(cluster), "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": OWN, "spec": spec}


def container(cluster: Cluster, settings: Autoscaler, image: str) -> Manifest:
    """Return the container."""
    made: Manifest = {
        "name": NAME,
        "image": image,
        "command": command(cluster, settings),
        "ports": [{"name": "http", "containerPort": METRICS, "protocol": "TCP"}],
        "livenessProbe": {"httpGet": {"path": "/health-check", "port": "http"}, "initialDelaySeconds": 30},
        "resources": resources("100m", "300Mi", "1Gi"),
        "securityContext": UNPRIVILEGED,
    }
    if settings.management == "kubeconfig":
        made["volumeMounts"] = [{"name": "kubeconfig", "mountPath": MOUNTED, "readOnly": True}]
    return made


def disruption_budget() -> Manifest:
    """Let one of its pods go at a time."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": OWN, "spec": spec}


def kubeconfig() -> Secret:
    """Declare the way to the cluster in which Cluster API lies."""
    return Secret(
        name=KUBECONFIG,
        namespace=NAMESPACE,
        keys=("value",),
        source="given",
        loss="outage",
        rotate="make a new token there for the autoscaler, put the kubeconfig with it here, and restart Deployment "
        f"{NAME}; it needs the rights that ClusterRole {NAME}-machines has with `management: here`",
        readers=(f"Deployment {NAME}",),
        turn=Turn(restarts=(f"Deployment/{NAME}",)),
    )
