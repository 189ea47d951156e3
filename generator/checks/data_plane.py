"""Rules about how the pod network carries packets, and what that needs of the nodes."""

from collections.abc import Iterator

from generator.checks.places import old_kernels, overrides
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, remove
from generator.model.rule import rule, warning

CALICO: Path = ("networks", "calico")
# The oldest kernel, as upstream's pages on each data plane name it.
_KERNELS = {"ebpf": (5, 10), "nftables": (5, 13)}
ENCRYPTION: Path = ("networks", "encryption")


@rule("GEN-NET-040", "a data plane for Calico where Calico is")
def calico_settings_used(cluster: Cluster) -> Iterator[Finding]:
    """Cilium has one data plane; what is said of Calico's would change nothing.

    Wrong:
        cni: cilium
        calico: {dataplane: ebpf}
    Right:
        cni: calico
        calico: {dataplane: ebpf}
    """
    if cluster.networks.calico and cluster.networks.cni != "calico":
        message = f"networks.calico is for cni: calico, and cni is {cluster.networks.cni}"
        yield Finding(at=CALICO, key=True, also=("networks", "cni"), message=message, edits=remove(CALICO))


@rule("GEN-NET-041", "kernels for the data plane")
def kernel_for_data_plane(cluster: Cluster) -> Iterator[Finding]:
    """On an older kernel the node reaches no Service: Calico's agent leaves eBPF (5.10) off, and there is no
    kube-proxy; for nftables (5.13) it is kube-proxy that refuses to start.

    Wrong:
        calico: {dataplane: nftables}
        # and in a pool
        kernel: "5.4"
    Right:
        kernel: "6.8"
    """
    plane = cluster.networks.data_plane
    oldest = _KERNELS.get(plane or "")
    for at, machine in old_kernels(cluster, oldest) if oldest else ():
        wanted = ".".join(map(str, oldest or ()))
        message = f"Linux {machine.kernel} of {machine.name} is too old for dataplane {plane}: {wanted} is the oldest"
        fix = f"kernel {wanted} or later, or dataplane: iptables"
        yield Finding(at=at, also=(*CALICO, "dataplane"), message=message, fix=fix)


@warning("GEN-NET-042", "no tagged node network below eBPF")
def no_vlan_below_ebpf(cluster: Cluster) -> Iterator[Finding]:
    """Calico's eBPF programs handle no VLAN tags: they work on a tagged interface only where the network card takes the
    tags off, and upstream does not support it.

    Wrong:
        calico: {dataplane: ebpf}
        node: {cidr: 10.10.0.0/22, interface: eno1.120, vlan: 120}
    Right:
        calico: {dataplane: nftables}
        node: {cidr: 10.10.0.0/22, interface: eno1.120, vlan: 120}
    """
    for name, at, network in overrides(cluster) if cluster.networks.data_plane == "ebpf" else ():
        if name == "node" and network.vlan:
            message = f"the node network is VLAN {network.vlan}, and the data plane is eBPF"
            plane = (*CALICO, "dataplane")
            yield Finding(at=(*at, "vlan"), also=plane, message=message, edits=put(plane, "nftables"))


@rule("GEN-NET-065", "encryption by Cilium")
def cilium_encrypts(cluster: Cluster) -> Iterator[Finding]:
    """Calico's switch stands in an object that its own programs make and change (FelixConfiguration `default`); gen
    does not write it. Nothing would be encrypted, and everybody would believe that it is.

    Wrong:
        cni: calico
        encryption: wireguard
    Right:
        cni: cilium
        encryption: wireguard
    """
    if cluster.networks.encryption and cluster.networks.cni != "cilium":
        message = f"networks.encryption is for cni: cilium, and cni is {cluster.networks.cni}"
        yield Finding(at=ENCRYPTION, key=True, also=("networks", "cni"), message=message, edits=remove(ENCRYPTION))


@rule("GEN-NET-066", "kernels for WireGuard")
def kernel_encrypts_pods(cluster: Cluster) -> Iterator[Finding]:
    """WireGuard came with Linux 5.6. On an older kernel Cilium's agent does not start, and no pod of that node gets a
    network.

    Wrong:
        kernel: "5.4"
        # and
        encryption: wireguard
    Right:
        kernel: "6.8"
    """
    wanted = cluster.networks.encryption and cluster.networks.cni == "cilium"
    for at, machine in old_kernels(cluster, (5, 6)) if wanted else ():
        message = f"Linux {machine.kernel} of {machine.name} has no WireGuard, which encrypts the pod network"
        fix = "kernel 5.6 or later, or no networks.encryption"
        yield Finding(at=at, also=ENCRYPTION, message=message, fix=fix)
