"""What a node needs before kubeadm: kernel modules, sysctls, containerd, clocks, and the script that puts it there.

Files lie below `node/all/` and `node/<pool>/` as they lie on the node; `prepare.sh` copies both.
"""

from pathlib import Path

from generator.components.component import Manifest
from generator.components.kubeadm.images import sandbox
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

__all__ = ["node_files"]


def node_files(cluster: Cluster) -> dict[str, str | Manifest]:
    """Return files by path below the bootstrap folder."""
    found: dict[str, str | Manifest] = {
        "node/all/etc/modules-load.d/kubernetes.conf": _lines("overlay", "br_netfilter", "nf_conntrack"),
        "node/all/etc/sysctl.d/90-kubernetes.conf": SYSCTL,
        "node/all/etc/containerd/config.toml": CONTAINERD.replace("SANDBOX", _sandbox(cluster)),
        # Without it, registering memory with an HCA fails for containers that are not root, and NCCL falls back
        # to TCP in silence (facts: network-gpu 8).
        "node/all/etc/systemd/system/containerd.service.d/memlock.conf": "[Service]\nLimitMEMLOCK=infinity\n",
        "node/all/etc/NetworkManager/conf.d/kubernetes.conf": UNMANAGED,
    }
    if cluster.site.ntp:
        servers = "".join(f"server {host} iburst\n" for host in cluster.site.ntp)
        found["node/all/etc/chrony/sources.d/site.sources"] = servers
    found |= _mirrors(cluster) | _proxy(cluster)
    for pool in cluster.pools:
        found |= {f"node/{pool}/{path}": content for path, content in _pool(cluster, pool).items()}
    script = Path(__file__).parent
    for name in ("prepare.sh", "encryption-key.sh", "discovery.sh"):
        found[f"node/{name}"] = (script / name).read_text(encoding="utf-8")
    return found


def _sandbox(cluster: Cluster) -> str:
    return f"{cluster.site.images}/{sandbox(cluster)}" if cluster.site.images else sandbox(cluster)


def _pool(cluster: Cluster, pool: str) -> dict[str, str | Manifest]:
    machines = cluster.in_pools(pool)
    found: dict[str, str | Manifest] = {}
    if any(machine.hcas for machine in machines):
        # ib_ipoib gives each HCA the interface by which the RDMA device plugin tells InfiniBand from Ethernet.
        found["etc/modules-load.d/infiniband.conf"] = _lines(
            "ib_core", "ib_uverbs", "ib_umad", "rdma_ucm", "mlx5_ib", "ib_ipoib"
        )
        found["etc/modprobe.d/rdma.conf"] = "options ib_core netns_mode=1\n"
    if cluster.storage.ceph:
        found["etc/modules-load.d/ceph.conf"] = _lines("rbd", "ceph")
    if any(machine.gpus for machine in machines):
        # An unattended kernel upgrade leaves the driver container without headers.
        found["etc/apt/apt.conf.d/99-no-unattended-kernel"] = NO_KERNEL_UPGRADES
        found["etc/kubernetes/patches/kubeletconfiguration0+merge.yaml"] = gpu_kubelet()
    return found | _networks(machines)


def gpu_kubelet() -> Manifest:
    """Return the kubelet's patch on GPU nodes: CPUs of a Guaranteed pod are its own, and lie by its GPUs where they
    can.
    """
    return {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "best-effort",
    }


def _networks(machines: tuple[Machine, ...]) -> dict[str, str | Manifest]:
    """Return systemd-networkd files for bonds and VLANs, where a pool has any; addresses stay the site's own affair."""
    found: dict[str, str | Manifest] = {}
    for network in {name: network for machine in machines for name, network in machine.networks.items()}.values():
        if network.interface and network.bond:
            base = f"etc/systemd/network/20-{network.interface}"
            found[f"{base}.netdev"] = (
                f"[NetDev]\nName={network.interface}\nKind=bond\nMTUBytes={network.mtu or 1500}\n\n"
                "[Bond]\nMode=802.3ad\nMIIMonitorSec=100ms\nTransmitHashPolicy=layer3+4\n"
            )
            for member in network.bond:
                found[f"etc/systemd/network/30-{member}.network"] = (
                    f"[Match]\nName={member}\n\n[Network]\nBond={network.interface}\n"
                )
        if network.interface and network.vlan:
            found[f"etc/systemd/network/25-{network.interface}.netdev"] = (
                f"[NetDev]\nName={network.interface}\nKind=vlan\nMTUBytes={network.mtu or 1500}\n\n"
                f"[VLAN]\nId={network.vlan}\n"
            )
    return found


def _mirrors(cluster: Cluster) -> dict[str, str | Manifest]:
    """Return containerd's registry files: a mirror with a path of its own needs `override_path`."""
    found: dict[str, str | Manifest] = {}
    for mirror in cluster.site.mirrors:
        host, slash, path = mirror.mirror.removeprefix("https://").partition("/")
        api = f"https://{host}/v2{slash}{path}"
        server = "registry-1.docker.io" if mirror.registry == "docker.io" else mirror.registry
        found[f"node/all/etc/containerd/certs.d/{mirror.registry}/hosts.toml"] = (
            f'server = "https://{server}"\n\n[host."{api}"]\ncapabilities = ["pull", "resolve"]\noverride_path = true\n'
        )
    return found


def _proxy(cluster: Cluster) -> dict[str, str | Manifest]:
    proxy = cluster.site.proxy
    if proxy is None:
        return {}
    networks = [network.cidr for network in (cluster.networks.node, cluster.networks.storage) if network]
    own = ["localhost", "127.0.0.1", *map(str, networks), str(cluster.kubernetes.pod_cidr)]
    own += [
        str(cluster.kubernetes.service_cidr),
        f".{cluster.kubernetes.dns_domain}",
        ".svc",
        f".{cluster.site.domain}",
    ]
    text = (
        "[Service]\n"
        f'Environment="HTTP_PROXY={proxy.http}"\n'
        f'Environment="HTTPS_PROXY={proxy.https or proxy.http}"\n'
        f'Environment="NO_PROXY={",".join((*own, *proxy.no_proxy))}"\n'
    )
    return {f"node/all/etc/systemd/system/{unit}.service.d/proxy.conf": text for unit in ("containerd", "kubelet")}


def _lines(*words: str) -> str:
    return "".join(f"{word}\n" for word in words)


SYSCTL = """\
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
net.ipv4.ip_forward = 1
net.ipv6.conf.all.forwarding = 1
# The kubelet checks these three (protectKernelDefaults).
vm.overcommit_memory = 1
kernel.panic = 10
kernel.panic_on_oops = 1
# Many pods watch many files.
fs.inotify.max_user_instances = 8192
fs.inotify.max_user_watches = 1048576
"""
# Format 2 is read by containerd 1.7 and, converted on start, by 2.x. The GPU Operator adds its runtime in conf.d.
CONTAINERD = """\
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "SANDBOX"
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
"""
UNMANAGED = """\
[keyfile]
unmanaged-devices=interface-name:cali*;interface-name:tunl*;interface-name:vxlan.calico;interface-name:cilium*;interface-name:lxc*
"""
NO_KERNEL_UPGRADES = """\
Unattended-Upgrade::Package-Blacklist {
    "linux-image";
    "linux-headers";
    "linux-modules";
};
"""
