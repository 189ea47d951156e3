"""What a node needs before kubeadm: kernel modules, sysctls, containerd, clocks, and the script that puts it there.

Files lie below `node/all/` and `node/pools/<pool>/` as they lie on the node; `prepare.sh` copies both. Those that are
the same on every cluster come from `nodes/`. One of these, `memlock.conf`, is for HCAs: without it, registering memory
with one fails for containers that are not root, and NCCL falls back to TCP in silence (facts: network-gpu 8).
"""

from generator.components.common import SITE_CA, proxy_variables
from generator.components.component import Manifest
from generator.components.kubeadm.bootstrap_images import sandbox
from generator.components.kubeadm.etcd_snapshots import snapshot_files
from generator.components.node_text import (
    Pem,
    Place,
    Quoted,
    Template,
    Text,
    Toml,
    Word,
    joined,
    static,
    static_folder,
    template,
)
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror
from generator.model.site import Mirror

Files = dict[Place, Text | Manifest]
# Where containerd looks for what is known of a registry.
CERTS = ("node", "all", "etc", "containerd", "certs.d")
SERVER = Template("server {host} iburst\n")
VARIABLE = Template('Environment="{name}={value}"\n')
SERVICE = Template("[Service]\n{variables}")
HOST = Template('server = {server}\n\n[host.{api}]\ncapabilities = ["pull", "resolve"]\noverride_path = true\n{ca}')
HOST_CA = Template("ca = {file}\n")


def node_files(cluster: Cluster) -> Files:
    """Return files by path below the bootstrap folder."""
    config = Text(template("kubeadm/containerd.toml"), sandbox=Toml(at_mirror(sandbox(cluster), cluster.site.images)))
    found: Files = {
        **static_folder("kubeadm/nodes/all", "node", "all"),
        Place("node", "all", "etc", "containerd", "config.toml"): config,
        **_clocks(cluster),
        **_mirrors(cluster),
        **_proxy(cluster),
        **_authority(cluster),
        **snapshot_files(cluster),
    }
    for pool in cluster.pools:
        for folder in _folders(cluster, pool):
            found |= static_folder(f"kubeadm/nodes/{folder}", "node", "pools", pool)
    if cluster.kubernetes.upgrades == "timer":
        found |= static_folder("kubeadm/nodes/upgrades", "node", "all")
    for name in ("prepare.sh", "encryption-key.sh", "discovery.sh"):
        found[Place("node", name)] = static(f"kubeadm/{name}")
    return found


def _folders(cluster: Cluster, pool: str) -> list[str]:
    """Return which files the nodes of a pool get, beside those that all get."""
    machines = cluster.in_pools(pool)
    control = any(machine in cluster.control_plane for machine in machines)
    wanted = {
        # ib_ipoib gives each HCA the interface by which the RDMA device plugin tells InfiniBand from Ethernet.
        "infiniband": any(machine.hardware.hcas for machine in machines),
        "ceph": cluster.storage.ceph is not None,
        # An unattended kernel upgrade leaves the driver container without headers. CPUs of a Guaranteed pod are its
        # own, and lie by its GPUs where they can.
        "gpu": any(machine.gpus for machine in machines),
        "etcd": control,
        "etcd-defragment": control and cluster.kubernetes.etcd.defragment == "timer",
    }
    return [folder for folder, present in wanted.items() if present]


def _clocks(cluster: Cluster) -> Files:
    servers = joined(Text(SERVER, host=Word(host)) for host in cluster.site.ntp)
    return {Place("node", "all", "etc", "chrony", "sources.d", "site.sources"): servers} if servers else {}


def _mirrors(cluster: Cluster) -> Files:
    """Return containerd's registry files: a mirror with a path of its own needs `override_path`."""
    trusted = Text(HOST_CA, file=Toml(SITE_CA)) if cluster.site.ca else joined(())
    return {
        Place(*CERTS, _folder(mirror.registry), "hosts.toml"): _hosts(mirror, trusted)
        for mirror in cluster.site.mirrors
    }


def _folder(registry: str) -> str:
    """Return the folder where containerd looks for a registry; one with a port also goes by this name, which every
    filesystem takes (core/remotes/docker/config/hosts.go, `hostDirectory`).
    """
    host, colon, port = registry.partition(":")
    return f"{host}_{port}_" if colon else host


def _hosts(mirror: Mirror, trusted: Text) -> Text:
    host, slash, path = mirror.mirror.partition("/")
    server = "registry-1.docker.io" if mirror.registry == "docker.io" else mirror.registry
    return Text(HOST, server=Toml(f"https://{server}"), api=Toml(f"https://{host}/v2{slash}{path}"), ca=trusted)


def _proxy(cluster: Cluster) -> Files:
    variables = proxy_variables(cluster).items()
    lines = joined(Text(VARIABLE, name=Word(name), value=Quoted(value)) for name, value in variables)
    units = ("containerd.service.d", "kubelet.service.d") if lines else ()
    return {
        Place("node", "all", "etc", "systemd", "system", unit, "proxy.conf"): Text(SERVICE, variables=lines)
        for unit in units
    }


def _authority(cluster: Cluster) -> Files:
    """Return the site's CA, which `prepare.sh` makes the node trust."""
    return {Place("node", "all", *SITE_CA.strip("/").split("/")): Pem(cluster.site.ca)} if cluster.site.ca else {}
