"""Calico: the pod network of clusters that keep kube-proxy, installed through the Tigera operator."""

from ipaddress import IPv4Network, IPv6Network

from generator.components.component import (
    Component,
    Health,
    Manifest,
    Namespace,
    Release,
    Tier,
    protect,
)
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["calico"]

NAMESPACE = "tigera-operator"
# A VXLAN header over IPv4, in bytes; over IPv6 it is 20 more.
OVERHEAD, OVERHEAD6 = 50, 70

# The operator calls its `Available` `Ready` on these kinds (read in its source).
HEALTH = """\
hs = {status = "Progressing", message = "waiting for the Tigera operator"}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Degraded" and condition.status == "True" then
      hs.status = "Degraded"
      hs.message = condition.message
      return hs
    end
    if condition.type == "Ready" and condition.status == "True" then
      hs.status = "Healthy"
      hs.message = condition.message
    end
  end
end
return hs
"""


def calico(cluster: Cluster) -> Component | None:
    """Install Calico where `networks.cni` asks for it. `calico-system` is made by the operator, not by us."""
    if cluster.networks.cni != "calico":
        return None
    version = version_of("calico", cluster)
    return Component(
        name="calico",
        tier=Tier.NETWORK,
        summary="Pod network and network policies",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        base=(api_server(),),
        objects=(installation(cluster),),
        releases=(
            Release(
                chart=version.chart("tigera-operator"),
                name="calico",
                namespace=NAMESPACE,
                values=values(),
                # Runs before the chart is deleted and takes the whole network down with it.
                hooks={"tigera-operator-uninstall": "drop"},
            ),
            # Since 3.32 the operator's chart has no CRDs.
            Release(
                chart=version.chart("crd.projectcalico.org.v1"), name="calico-crds", namespace=NAMESPACE, values={}
            ),
        ),
        health=(
            Health("operator.tigera.io", "Installation", HEALTH),
            Health("operator.tigera.io", "APIServer", HEALTH),
        ),
        kinds=(
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def values() -> Manifest:
    """Return the operator's values. Argo CD owns the CRDs and the custom resources; flow logs are left out."""
    return {
        "installation": {"enabled": False},
        "apiServer": {"enabled": False},
        "goldmane": {"enabled": False},
        "whisker": {"enabled": False},
        "defaultFelixConfiguration": {"enabled": False},
        "manageCRDs": False,
        "priorityClassName": "system-cluster-critical",
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
    }


def installation(cluster: Cluster) -> Manifest:
    """Return what the operator installs. Removing it takes the network down, so it is protected."""
    return protect(
        {
            "apiVersion": "operator.tigera.io/v1",
            "kind": "Installation",
            "metadata": {"name": "default"},
            "spec": {
                "variant": "Calico",
                **({"registry": f"{cluster.site.images}/quay.io/"} if cluster.site.images else {}),
                "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
                "calicoNetwork": network(cluster),
                "controlPlaneReplicas": min(2, len(cluster.control_plane)),
                # No CSI driver: it serves only application-layer policies.
                "kubeletVolumePluginPath": "None",
            },
        }
    )


def network(cluster: Cluster) -> Manifest:
    """Return the network. Node addresses are the kubelet's (`--node-ip`): the default, the first address found,
    can be one of IP over InfiniBand.
    """
    kubernetes = cluster.kubernetes
    settings: Manifest = {
        "bgp": "Disabled",
        "linuxDataplane": "Iptables",
        "hostPorts": "Enabled",
        "multiInterfaceMode": "None",
        "nodeAddressAutodetectionV4": {"kubernetes": "NodeInternalIP"},
        "ipPools": [pool("default-ipv4-ippool", kubernetes.pod_cidr, 26)],
    }
    if kubernetes.pod_cidr6:
        settings["nodeAddressAutodetectionV6"] = {"kubernetes": "NodeInternalIP"}
        settings["ipPools"].append(pool("default-ipv6-ippool", kubernetes.pod_cidr6, 122))
    if size := mtu(cluster):
        settings["mtu"] = size
    return settings


def pool(name: str, cidr: IPv4Network | IPv6Network, block_size: int) -> Manifest:
    """Return a pool with every field: the operator fills in the others, and in lists Argo CD calls that drift."""
    return {
        "name": name,
        "cidr": str(cidr),
        "blockSize": max(block_size, cidr.prefixlen),
        "encapsulation": "VXLAN",
        "natOutgoing": "Enabled",
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
        "disableBGPExport": False,
        "disableNewAllocations": False,
    }


def mtu(cluster: Cluster) -> int | None:
    """Return the MTU of pods in bytes; None unless the file gives that of the node network for every node. Calico
    would look for itself, and at IP over InfiniBand too.
    """
    sizes = [machine.networks["node"].mtu for machine in cluster.machines]
    known = [size for size in sizes if size]
    if not known or len(known) < len(sizes):
        return None
    return min(known) - (OVERHEAD6 if cluster.kubernetes.pod_cidr6 else OVERHEAD)


def api_server() -> Manifest:
    """Serve `projectcalico.org/v3`, which network policies of Calico's own need."""
    return protect(
        {
            "apiVersion": "operator.tigera.io/v1",
            "kind": "APIServer",
            "metadata": {"name": "default"},
            "spec": {},
        }
    )
