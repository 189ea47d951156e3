"""The images that kubeadm and the files for nodes name, which no Application holds."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror
from generator.model.served import minor_of

KUBE_VIP = "ghcr.io/kube-vip/kube-vip:v1.0.1"
REGISTRY = "registry.k8s.io"
# CoreDNS, etcd and pause of each minor's kubeadm (cmd/kubeadm/app/constants of 1.33.0, 1.34.0, 1.35.3 and 1.36.0).
_TAGS = {
    33: ("v1.12.0", "3.5.21-0", "3.10"),
    34: ("v1.12.1", "3.6.4-0", "3.10.1"),
    35: ("v1.13.1", "3.6.6-0", "3.10.1"),
    36: ("v1.14.2", "3.6.8-0", "3.10.2"),
}


class BootstrapImage(Struct, frozen=True):
    """What is pulled on nodes before Argo CD: by upstream's name, and by the `file` in the bootstrap folder that names
    it. `by_tag` is why no digest can stand there, empty where one can.
    """

    image: str
    file: str
    by_tag: str = ""


def bootstrap_images(cluster: Cluster) -> Iterator[BootstrapImage]:
    """Yield what is pulled on nodes before Argo CD. Patch releases of kubeadm may take newer CoreDNS and etcd; with a
    mirror they are told these tags.
    """
    dns, etcd, _ = _tags(cluster)
    version = f"v{cluster.kubernetes.version}"
    parts = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    parts += ["kube-proxy"] if cluster.networks.kube_proxy else []
    for name in (*(f"{part}:{version}" for part in parts), f"coredns/coredns:{dns}", f"etcd:{etcd}"):
        # kubeadm puts versions behind names,
        yield BootstrapImage(f"{REGISTRY}/{name}", "kubeadm/init.yaml", "kubeadm names it by its tag")
    # and warns of a sandbox whose name is not its own.
    reason = "kubeadm wants the very name that it has itself"
    yield BootstrapImage(sandbox(cluster), "node/all/etc/containerd/config.toml", reason)
    if cluster.kubernetes.endpoint.by == "kube-vip":
        yield BootstrapImage(KUBE_VIP, "endpoint/kube-vip.yaml")


def sandbox(cluster: Cluster) -> str:
    """Return the image that holds each pod's namespaces, by upstream's name."""
    return f"{REGISTRY}/pause:{_tags(cluster)[2]}"


def _tags(cluster: Cluster) -> tuple[str, str, str]:
    minor = minor_of(cluster.kubernetes.version)
    return _TAGS[max((known for known in _TAGS if known <= minor), default=min(_TAGS))]


def etcd_tag(cluster: Cluster) -> str:
    """Return the tag of etcd's image, which holds etcdctl and etcdutl as well."""
    return _tags(cluster)[1]


def mirrored(cluster: Cluster) -> tuple[Manifest, Manifest]:
    """Return what ClusterConfiguration says of the mirror, and what its `etcd.local` does; nothing without a mirror.
    kubeadm drops the folder of CoreDNS below any registry but its own, and only the tags given here are in the mirror.
    """
    if not cluster.site.images:
        return {}, {}
    dns, etcd, _ = _tags(cluster)
    registry = at_mirror(REGISTRY, cluster.site.images)
    return (
        {"imageRepository": registry, "dns": {"imageRepository": f"{registry}/coredns", "imageTag": dns}},
        {"imageRepository": registry, "imageTag": etcd},
    )
