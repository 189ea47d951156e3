"""Which namespaces that gen writes have a network policy of their own, and why the others have none."""

from pathlib import Path
from typing import Any

from reference import load

from generator.components import compose
from generator.components.component import Component
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.spec.decode import decode
from generator.spec.reader import read

VALID = Path(__file__).parents[1] / "wrong" / "valid"
OTHERS = ("scaled-pool.yaml", "exposure-calico.yaml")
ON_NODES = "its pods are on their node's network, which no policy filters"
OPEN = {
    "argocd": "upstream's manifest has a policy for each part",
    "cilium-secrets": "no pods",
    "csi-nfs": ON_NODES,
    "exposure": "no pods: Cilium's Envoys are at nodes, those of Envoy Gateway in its own",
    "kube-system": "not gen's: everybody asks for names there, and what is the network itself",
    "node-exporter": ON_NODES,
    "rook-ceph": "Ceph's daemons and drivers are on their node's network; the operator listens nowhere and reaches all",
    "tigera-operator": ON_NODES,
    "zabbix-agent": ON_NODES,
}
"""Namespaces of which no pod that gen writes is shut, and why."""


def clusters() -> list[Cluster]:
    others = [decode(read((VALID / name).read_bytes(), name)) for name in OTHERS]
    return [*map(load, ("ml50", "a30-bench", "gpu-serving")), *(one for one in others if isinstance(one, Cluster))]


def policies(made: list[Component]) -> dict[str, list[dict[str, Any]]]:
    """Return the pods that policies select, as labels, by namespace."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in (item for part in made for item in (*part.base, *part.objects)):
        if one["kind"] == "NetworkPolicy":
            labels = dig(one, "spec", "podSelector", "matchLabels") or {}
            found.setdefault(one["metadata"]["namespace"], []).append(labels)
    return found


def test_each_namespace_has_a_policy_or_a_reason() -> None:
    """A policy of a Job that a step makes shuts that Job alone: `rook-ceph` and `argo` are told by their other pods."""
    written, shut = set(), set()
    for made in map(compose, clusters()):
        written |= {space.name for part in made for space in part.namespaces}
        shut |= {*policies(list(made))}
    assert written - shut == {*OPEN} - {"rook-ceph"}


def test_what_has_a_policy_has_it_for_every_pod_that_gen_writes_there() -> None:
    for made in map(compose, clusters()):
        selected = policies(list(made))
        for one in (item for part in made for item in (*part.base, *part.objects)):
            template = dig(one, "spec", "template") or dig(one, "spec", "jobTemplate", "spec", "template")
            space = one["metadata"].get("namespace")
            if space in selected and space not in OPEN and dig(template, "spec", "containers"):
                labels = dig(template, "metadata", "labels") or {}
                assert any(want.items() <= labels.items() for want in selected[space]), (space, one["metadata"]["name"])
