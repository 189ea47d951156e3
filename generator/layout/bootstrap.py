"""What must exist before Argo CD: `clusters/<cluster>/bootstrap/`, not synced."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from generator.components import listening
from generator.components.cluster_autoscaler.groups import group_files
from generator.components.component import Manifest, Secret
from generator.components.kubeadm.delivery import ansible_files, user_data
from generator.components.kubeadm.disks import disk_scripts
from generator.components.kubeadm.endpoint import endpoint_files
from generator.components.kubeadm.etcd_snapshots import restore_files
from generator.components.kubeadm.firewall import firewall_files
from generator.components.kubeadm.init import admission, init_documents, join_document, upgrade_document
from generator.components.kubeadm.interfaces import interface_files
from generator.components.kubeadm.labels import label_files
from generator.components.kubeadm.node import node_files
from generator.components.kubeadm.recovery import recovery_files
from generator.components.kubeadm.steps import steps
from generator.components.node_text import Place, Text
from generator.components.static import read_objects
from generator.layout.emit import emit
from generator.layout.files import Files, document
from generator.layout.mirror import ImageRewriting, rewritten
from generator.model.cluster import Cluster


def bootstrap(
    cluster: Cluster, digests: Mapping[str, str] = MappingProxyType({}), secrets: Iterable[Secret] = ()
) -> Files:
    """Return kubeadm's files, what nodes need, and the numbered steps, which make the `secrets` that a person gives;
    static pods are pinned where `digests` has their images. The first line of each file says what to edit; a script
    says it on its second.
    """
    source = f"clusters/{cluster.name}/cluster.yaml"
    first = cluster.control_plane[0]
    rewriting = ImageRewriting(cluster.site.images, digests)
    others = (machine for machine in cluster.machines if machine != first)
    found: dict[Place, Manifest | Text] = {
        Place("README.md"): steps(cluster, secrets),
        Place("kubeadm", "audit-policy.yaml"): read_objects("kubeadm/audit-policy.yaml")[0],
        **_admission(cluster),
        Place("kubeadm", "upgrade.yaml"): upgrade_document(cluster),
        **{Place("kubeadm", f"join-{one.name}.yaml"): join_document(cluster, one) for one in others},
        **{path: _pinned(content, rewriting) for path, content in endpoint_files(cluster).items()},
        **node_files(cluster),
        **firewall_files(cluster, listening(cluster)),
        **disk_scripts(cluster),
        **restore_files(cluster),
        **recovery_files(cluster),
        **interface_files(cluster),
        **label_files(cluster),
        **ansible_files(cluster),
        **group_files(cluster),
    }
    folder = f"clusters/{cluster.name}/bootstrap"
    files = {f"{folder}/{path}": _file(path, content, source) for path, content in found.items()}
    init = "---\n".join(emit(one) for one in init_documents(cluster))
    files[f"{folder}/kubeadm/init.yaml"] = _marked(init, source).encode()
    return files | _user_data(cluster, files)


def _admission(cluster: Cluster) -> dict[Place, Manifest | Text]:
    if cluster.kubernetes.pod_security == "privileged":
        return {}
    return {Place("kubeadm", "admission.yaml"): admission(cluster)}


def _user_data(cluster: Cluster, files: Files) -> Files:
    """Return cloud-init's file for each node, made of what the other files hold, where the cluster asks for them."""
    folder = f"clusters/{cluster.name}/bootstrap"
    machines = cluster.machines if "cloud-init" in cluster.kubernetes.deliver else ()
    inner = {path.removeprefix(f"{folder}/"): content for path, content in files.items() if machines}
    return {
        # cloud-init goes by the first line.
        f"{folder}/{Place('cloud-init', f'{one.name}.yaml')}": b"#cloud-config\n"
        + document(user_data(one, inner), f"clusters/{cluster.name}/cluster.yaml")
        for one in machines
    }


def _pinned(content: Manifest | Text, rewriting: ImageRewriting) -> Manifest | Text:
    return content if isinstance(content, Text) else rewritten(content, rewriting)


def _file(path: Place, content: Manifest | Text, source: str) -> bytes:
    if not isinstance(content, Text):
        return document(content, source)
    # Markdown has its own form of comment, and carries the line already.
    return (content if path.endswith(".md") else _marked(content, source)).encode()


def _marked(text: str, source: str) -> str:
    mark = f"# Written by gen. Do not edit; instead: {source}\n"
    if text.startswith("#!"):
        shebang, rest = text.split("\n", 1)
        return f"{shebang}\n{mark}{rest}"
    return mark + text
