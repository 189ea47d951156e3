"""Nodes of a cluster as its join files make them."""

from typing import Any

from generator.components.kubeadm.labels import marks
from generator.model.cluster import Cluster


def node(name: str, labels: dict[str, str], *taints: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": list(taints)}}


def joined(cluster: Cluster) -> list[dict[str, Any]]:
    """All nodes as their join files make them."""
    return [
        node(one.node, one.labels, *({"key": t.key, "value": t.value, "effect": t.effect} for t in one.taints))
        for one in marks(cluster)
    ]
