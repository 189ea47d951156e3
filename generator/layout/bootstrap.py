"""What must exist before Argo CD: `clusters/<cluster>/bootstrap/`, not synced."""

from collections.abc import Mapping
from types import MappingProxyType

from generator.components.component import Manifest
from generator.components.kubeadm.disks import disk_scripts
from generator.components.kubeadm.endpoint import endpoint_files
from generator.components.kubeadm.init import init_documents, join_document
from generator.components.kubeadm.node import node_files
from generator.components.kubeadm.steps import steps
from generator.components.static import read_objects
from generator.layout.emit import emit
from generator.layout.files import Files, document
from generator.layout.mirror import ImageRewriting, rewritten
from generator.model.cluster import Cluster


def bootstrap(cluster: Cluster, digests: Mapping[str, str] = MappingProxyType({})) -> Files:
    """Return kubeadm's files, what nodes need, and the numbered steps; static pods are pinned where `digests` has their
    images. The first line of each file says what to edit; a script says it on its second.
    """
    source = f"clusters/{cluster.name}/cluster.yaml"
    first = cluster.control_plane[0]
    rewriting = ImageRewriting(cluster.site.images, digests)
    found: dict[str, Manifest | str] = {
        "README.md": steps(cluster),
        "kubeadm/audit-policy.yaml": read_objects("kubeadm/audit-policy.yaml")[0],
        **{f"kubeadm/join-{one.name}.yaml": join_document(cluster, one) for one in cluster.machines if one != first},
        **{path: _pinned(content, rewriting) for path, content in endpoint_files(cluster).items()},
        **node_files(cluster),
        **disk_scripts(cluster),
    }
    folder = f"clusters/{cluster.name}/bootstrap"
    files = {f"{folder}/{path}": _file(path, content, source) for path, content in found.items()}
    init = "---\n".join(emit(one) for one in init_documents(cluster))
    files[f"{folder}/kubeadm/init.yaml"] = _marked(init, source).encode()
    return files


def _pinned(content: Manifest | str, rewriting: ImageRewriting) -> Manifest | str:
    return content if isinstance(content, str) else rewritten(content, rewriting)


def _file(path: str, content: Manifest | str, source: str) -> bytes:
    if not isinstance(content, str):
        return document(content, source)
    # Markdown has its own form of comment, and carries the line already.
    return (content if path.endswith(".md") else _marked(content, source)).encode()


def _marked(text: str, source: str) -> str:
    mark = f"# Written by gen. Do not edit; instead: {source}\n"
    if text.startswith("#!"):
        shebang, rest = text.split("\n", 1)
        return f"{shebang}\n{mark}{rest}"
    return mark + text
