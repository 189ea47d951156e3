"""What a node needs before kubeadm: kernel modules, sysctls, containerd, clocks, and the script that puts it there.

Files lie below `node/all/` and `node/<pool>/` as they lie on the node; `prepare.sh` copies both. Those that are the
same on every cluster come from `nodes/`. One of these, `memlock.conf`, is for HCAs: without it, registering memory with
one fails for containers that are not root, and NCCL falls back to TCP in silence (facts: network-gpu 8).
"""

from generator.components.common import proxy_variables
from generator.components.component import Manifest
from generator.components.kubeadm.bootstrap_images import sandbox
from generator.components.static import read_folder, read_text
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror
from generator.model.nodes import Network

Files = dict[str, str | Manifest]


def node_files(cluster: Cluster) -> Files:
    """Return files by path below the bootstrap folder."""
    found: Files = {
        **{f"node/all/{path}": content for path, content in read_folder("kubeadm/nodes/all").items()},
        "node/all/etc/containerd/config.toml": CONTAINERD.replace(
            "SANDBOX", at_mirror(sandbox(cluster), cluster.site.images)
        ),
    }
    if cluster.site.ntp:
        servers = "".join(f"server {host} iburst\n" for host in cluster.site.ntp)
        found["node/all/etc/chrony/sources.d/site.sources"] = servers
    found |= _mirrors(cluster) | _proxy(cluster)
    for pool in cluster.pools:
        found |= {f"node/{pool}/{path}": content for path, content in _pool(cluster, pool).items()}
    scripts = ("prepare.sh", "encryption-key.sh", "discovery.sh")
    return found | {f"node/{name}": read_text(f"kubeadm/{name}") for name in scripts}


def _pool(cluster: Cluster, pool: str) -> Files:
    machines = cluster.in_pools(pool)
    found: Files = {}
    if any(machine.hardware.hcas for machine in machines):
        # ib_ipoib gives each HCA the interface by which the RDMA device plugin tells InfiniBand from Ethernet.
        found |= read_folder("kubeadm/nodes/infiniband")
    if cluster.storage.ceph:
        found |= read_folder("kubeadm/nodes/ceph")
    if any(machine.gpus for machine in machines):
        # An unattended kernel upgrade leaves the driver container without headers. CPUs of a Guaranteed pod are its
        # own, and lie by its GPUs where they can.
        found |= read_folder("kubeadm/nodes/gpu")
    for network in {name: network for machine in machines for name, network in machine.networks.items()}.values():
        found |= _network(network)
    return found


def _network(network: Network) -> Files:
    """Return systemd-networkd files for a bond or a VLAN; addresses stay the site's own affair."""
    folder, name = "etc/systemd/network", network.interface
    found: Files = {}
    if name and network.bond:
        how = "[Bond]\nMode=802.3ad\nMIIMonitorSec=100ms\nTransmitHashPolicy=layer3+4\n"
        found[f"{folder}/20-{name}.netdev"] = f"{_device(network, 'bond')}{how}"
        for member in network.bond:
            found[f"{folder}/30-{member}.network"] = f"[Match]\nName={member}\n\n[Network]\nBond={name}\n"
    if name and network.vlan:
        found[f"{folder}/25-{name}.netdev"] = f"{_device(network, 'vlan')}[VLAN]\nId={network.vlan}\n"
    return found


def _device(network: Network, kind: str) -> str:
    return f"[NetDev]\nName={network.interface}\nKind={kind}\nMTUBytes={network.mtu or 1500}\n\n"


def _mirrors(cluster: Cluster) -> Files:
    """Return containerd's registry files: a mirror with a path of its own needs `override_path`."""
    found: Files = {}
    for mirror in cluster.site.mirrors:
        host, slash, path = mirror.mirror.removeprefix("https://").partition("/")
        api = f"https://{host}/v2{slash}{path}"
        server = "registry-1.docker.io" if mirror.registry == "docker.io" else mirror.registry
        found[f"node/all/etc/containerd/certs.d/{mirror.registry}/hosts.toml"] = (
            f'server = "https://{server}"\n\n[host."{api}"]\ncapabilities = ["pull", "resolve"]\noverride_path = true\n'
        )
    return found


def _proxy(cluster: Cluster) -> Files:
    lines = [f'Environment="{name}={value}"\n' for name, value in proxy_variables(cluster).items()]
    text = "".join(("[Service]\n", *lines))
    units = ("containerd", "kubelet") if lines else ()
    return {f"node/all/etc/systemd/system/{unit}.service.d/proxy.conf": text for unit in units}


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
