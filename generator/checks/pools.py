"""Rules about what pools say of their nodes: labels and taints."""

import re
from collections.abc import Iterator

from generator.checks.places import entries, listed_twice, sections
from generator.components.common import OWN_LABELS, RACK
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, rename
from generator.model.rule import rule
from generator.model.text import Taint

# Prefix (a DNS name, optional) and name, as the API server takes label and taint keys.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DNS = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# What a kubelet may say of itself in Kubernetes' own name spaces (facts: network-gpu 10, NodeRestriction).
_ALLOWED = frozenset({
    "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type",
})  # fmt: skip
_ALLOWED_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def _labels(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the keys of labels."""
    for at, section in sections(cluster):
        yield from (((*at, "labels", key), key) for key in section.labels)


def _taints(cluster: Cluster) -> Iterator[tuple[Path, Taint]]:
    for at, section in sections(cluster):
        yield from entries(section.taints or (), *at, "taints")


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_DNS.fullmatch(prefix)))


@rule("GEN-NODE-020", "label keys that Kubernetes takes")
def label_keys(cluster: Cluster) -> Iterator[Finding]:
    """A kubelet that is told a label with a wrong key does not start.

    Wrong:
        labels: {gpu type: h100}
    Right:
        labels: {example.org/gpu-type: h100}
    """
    for at, key in _labels(cluster):
        if not _is_key(key):
            fix = "letters, digits, - _ . (63 at most), after a DNS name and / if you like"
            yield Finding(at=at, key=True, message=f"`{key}` is not a label key", fix=fix)


@rule("GEN-NODE-021", "labels that a node may carry")
def label_allowed(cluster: Cluster) -> Iterator[Finding]:
    """A kubelet must not give itself labels of Kubernetes' own name spaces (kubernetes.io, k8s.io): it refuses to
    start. Labels below gen.internal, and the rack's label, are written by gen.

    Wrong:
        labels: {node-role.kubernetes.io/gpu: ''}
    Right:
        labels: {example.org/role: gpu}
    """
    taken = {at for at, _ in _labels(cluster)}
    for at, key in _labels(cluster):
        if owner := _owner(key):
            message = f"the label {key} belongs to {owner}"
            own = f"{cluster.site.domain}/{key.split('/')[-1]}"
            fix, edits = ("use `rack`", ()) if key == RACK else (own, rename(at, own))
            if edits and (*at[:-1], own) in taken:
                fix, edits = f"a name of your own; {own} is given", ()
            taken.add((*at[:-1], own))
            yield Finding(at=at, key=True, message=message, fix=fix, edits=edits)


def _owner(key: str) -> str:
    prefix = key.rpartition("/")[0]
    if prefix == OWN_LABELS or key == RACK:
        return "gen"
    reserved = re.fullmatch(r"(.+\.)?(kubernetes|k8s)\.io", prefix)
    return "Kubernetes" if reserved and key not in _ALLOWED and not prefix.endswith(_ALLOWED_PREFIXES) else ""


@rule("GEN-NODE-022", "taints that Kubernetes takes")
def taint_syntax(cluster: Cluster) -> Iterator[Finding]:
    """The key and value of a taint follow the rules for labels; node.kubernetes.io is the node controller's.

    Wrong:
        taints: [nvidia.com//gpu=present:NoSchedule]
    Right:
        taints: [nvidia.com/gpu=present:NoSchedule]
    """
    for at, taint in _taints(cluster):
        if not _is_key(taint.key) or (taint.value and not _NAME.fullmatch(taint.value)):
            fix = "as in nvidia.com/gpu=present:NoSchedule"
            yield Finding(at=at, message=f"the taint {taint} has a wrong key or value", fix=fix)
        elif taint.key.startswith("node.kubernetes.io/"):
            own = Taint(f"{cluster.site.domain}/{taint.key.split('/')[-1]}", taint.value, taint.effect)
            message = f"the taint {taint} is set and removed by Kubernetes itself"
            yield Finding(at=at, message=message, edits=put(at, str(own)))


@rule("GEN-NODE-023", "a taint once")
def taints_unique(cluster: Cluster) -> Iterator[Finding]:
    """The API server refuses a node that has two taints of one key and effect.

    Wrong:
        taints: [pool=gpu:NoSchedule, pool=training:NoSchedule]
    Right:
        taints: [pool=gpu:NoSchedule]
    """
    for place, section in sections(cluster):
        taints = entries(section.taints or (), *place, "taints")
        items = ((f"{taint.key}:{taint.effect}", at) for at, taint in taints)
        yield from listed_twice(items, "the taint {} is given twice")
