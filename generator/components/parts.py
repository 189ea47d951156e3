"""Parts of Kubernetes objects that several components make alike."""

from generator.components.component import Ignore, Manifest
from generator.model.cluster import Cluster

__all__ = [
    "UNPRIVILEGED", "deployment", "exposed", "from_secret", "injected_ca", "local_class", "on_nodes", "pod_security",
    "resources", "rights",
]  # fmt: skip

# The security context of a container that needs nothing of its node.
UNPRIVILEGED: Manifest = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def exposed(cluster: Cluster, host: str | None) -> bool:
    """Return whether people reach something by this name: the site has an ingress controller."""
    return bool(host and cluster.site.ingress_class)


def pod_security(user: int, **more: int | str) -> Manifest:
    """Return the security context of a pod that runs as this user, as a restricted namespace wants it."""
    return {"runAsNonRoot": True, "runAsUser": user, **more, "seccompProfile": {"type": "RuntimeDefault"}}


def resources(cpu: str, memory: str, limit: str) -> Manifest:
    """Return requests and a memory limit."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": limit}}


def rights(metadata: Manifest, rules: list[Manifest], namespace: str, kind: str = "Role") -> tuple[Manifest, Manifest]:
    """Return a role (`kind` is Role or ClusterRole) and its binding to the namespace's ServiceAccount, all of one
    name.
    """
    group, name = "rbac.authorization.k8s.io", metadata["name"]
    role = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    return role, binding


def local_class(metadata: Manifest, reclaim: str) -> Manifest:
    """Return the storage class of local volumes that exist already. It binds late: the pod chooses the node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": reclaim,
    }


def injected_ca(*kinds: str) -> tuple[Ignore, ...]:
    """Leave to controllers what they write into webhook configurations of these kinds: who signed their certificate."""
    bundle = (".webhooks[]?.clientConfig.caBundle",)
    return tuple(Ignore(group="admissionregistration.k8s.io", kind=kind, expressions=bundle) for kind in kinds)


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
