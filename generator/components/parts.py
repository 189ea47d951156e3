"""Parts of Kubernetes objects that several components make alike."""

from collections.abc import Iterable, Sequence

from generator.components.common import API_PORT
from generator.components.component import Ignore, Manifest, Turn
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.text import Taint

# The security context of a container that needs nothing of its node.
UNPRIVILEGED: Manifest = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
NO_POD: Manifest = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "example.org/x:1"}]}
"""A pod that is judged and never made."""
NODE_LABEL = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
"""Of a monitor of pods that measure their node: what Prometheus reads of each says which node it is."""


def pod_security(user: int, **more: int | str) -> Manifest:
    """Return the security context of a pod that runs as this user, as a restricted namespace wants it."""
    return {"runAsNonRoot": True, "runAsUser": user, **more, "seccompProfile": {"type": "RuntimeDefault"}}


def resources(cpu: str, memory: str, limit: str) -> Manifest:
    """Return requests and a memory limit."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": limit}}


def injected_ca(*kinds: str) -> tuple[Ignore, ...]:
    """Leave to controllers what they write into webhook configurations of these kinds ("group/Kind"): who signed their
    certificate.
    """
    bundle = (".webhooks[]?.clientConfig.caBundle",)
    return tuple(
        Ignore(group=group, kind=kind, expressions=bundle) for group, kind in (one.split("/") for one in kinds)
    )


def webhooks_anew(called: str, deployment: str, trusted: tuple[str, ...], asks: tuple[str, Manifest]) -> Turn:
    """Return how a program, as it is `called`, is given another certificate for its webhooks. All that make one for
    themselves do it with open-policy-agent/cert-controller (v0.16.0: rotator.go): it watches the Secret, fills it
    once it is empty, whichever replica is first, and writes who signed it into what is `trusted`. The pods serve it
    as soon as they have it mounted: kubelet mounts it within minutes, or when they start.
    """
    return Turn(
        way="empty",
        restarts=(f"Deployment/{deployment}",),
        trusted=trusted,
        asks=asks,
        still=f"what the webhooks of {called} judge, as new jobs of teams, until its new pods are ready,",
    )


def deployment(name: str, namespace: str) -> dict[str, str]:
    """Return the target of a patch on a Deployment."""
    return {"group": "apps", "version": "v1", "kind": "Deployment", "name": name, "namespace": namespace}


def on_nodes(labels: dict[str, list[str]]) -> Manifest:
    """Return the node affinity of pods that run only where each of these labels has one of its values."""
    term = [{"key": key, "operator": "In", "values": values} for key, values in labels.items()]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": term}]}}


def from_secret(name: str, secret: str, key: str) -> Manifest:
    """Return an environment variable that holds the value of a Secret's key."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def tolerations(machines: Iterable[Machine]) -> list[Manifest]:
    """Return what a pod needs to run on all of these nodes: one toleration for each taint, without repeats."""
    taints = {(taint.key, taint.effect): taint for machine in machines for taint in machine.taints}
    return [toleration(taint) for taint in taints.values()]


def toleration(taint: Taint) -> Manifest:
    """Tolerate one taint, whatever its value: the operators' own defaults do the same."""
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def taint_entry(taint: Taint) -> Manifest:
    """Write a taint as nodes have it."""
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}


def spread(labels: dict[str, str], over: str = "kubernetes.io/hostname") -> list[Manifest]:
    """Return constraints that spread pods with these labels, where the nodes allow it."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": over,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }
    ]


def apart(labels: dict[str, str]) -> Manifest:
    """Return the affinity by which replicas with these labels prefer a node each."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def tcp(port: int) -> Manifest:
    """Return a TCP port of a network policy's rule."""
    return {"protocol": "TCP", "port": port}


def in_namespace(name: str) -> Manifest:
    """Select the pods of a namespace, for a network policy's rule."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def pods_of(namespace: str, labels: dict[str, str]) -> Manifest:
    """Select pods of a namespace by their labels, for a network policy's rule."""
    return {**in_namespace(namespace), "podSelector": {"matchLabels": labels}}


def at_node(machine: Machine) -> Manifest:
    """Select what has a node's address, for a network policy's rule."""
    return {"ipBlock": {"cidr": f"{machine.address}/32"}}


TO_API_SERVER: Manifest = {
    "toEntities": ["kube-apiserver"],
    "toPorts": [{"ports": [{"port": str(API_PORT), "protocol": "TCP"}]}],
}
"""Lets out to the API server, for a rule of Cilium's, which has a name for it: by that alone all else on its nodes
would be reached as well."""


def api_server(cluster: Cluster) -> list[Manifest]:
    """Let pods reach the API server, which asks who they are, for a network policy's rules: behind its Service are
    control-plane nodes. Not for Cilium, whose rules by address never match nodes: it has a name for it.
    """
    if cluster.networks.cni == "cilium":
        return []
    return [{"to": [at_node(machine) for machine in cluster.control_plane], "ports": [tcp(API_PORT)]}]


def network_policy(name: str, namespace: str, labels: dict[str, str], **allowed: list[Manifest]) -> Manifest:
    """Allow pods with these labels, all of a namespace without any, only what is said of `ingress` and `egress`. What
    comes in is always shut, what leaves unless `egress` is left out.
    """
    ways = ["Ingress", *(["Egress"] if "egress" in allowed else [])]
    chosen = {"matchLabels": labels} if labels else {}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": chosen, "policyTypes": ways, **{way: rules for way, rules in allowed.items() if rules}},
    }


def beyond(cluster: Cluster) -> Manifest:
    """Let out to everything but pods and Services, for a network policy's rules."""
    inside = [str(cluster.kubernetes.pod_cidr), str(cluster.kubernetes.service_cidr)]
    return {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": inside}}]}


def outside(cluster: Cluster, ports: list[int]) -> list[Manifest]:
    """Let out to these ports of everything but pods and Services, for a network policy's rules."""
    return [beyond(cluster) | {"ports": [tcp(port) for port in ports]}] if ports else []


def bound_volume(
    metadata: Manifest, size: str, mode: str, claimed: tuple[str, str], options: Sequence[str], **source: Manifest
) -> Manifest:
    """Return a volume for one claim alone, given by its name and namespace, mounted with these options. What is in it
    outlives both.
    """
    name, namespace = claimed
    spec = {
        "capacity": {"storage": size},
        "accessModes": [mode],
        **({"mountOptions": [*options]} if options else {}),
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name, "namespace": namespace},
        **source,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def bound_claim(metadata: Manifest, mode: str, volume: str) -> Manifest:
    """Return the claim of such a volume. It asks for little: what it gets is the volume, and not room of a quota."""
    spec = {
        "accessModes": [mode],
        "storageClassName": "",
        "volumeName": volume,
        "resources": {"requests": {"storage": "1Mi"}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
