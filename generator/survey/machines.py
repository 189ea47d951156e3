"""Nodes of a running cluster as machines of a cluster file."""

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from msgspec import Struct

from generator.components import CATALOGUE
from generator.components.common import OWN_LABELS, POOL, RACK
from generator.components.component import Manifest
from generator.components.gpu_care.names import SICK
from generator.model.base import is_label
from generator.model.fields import amount, dig, mapping, sequence
from generator.model.finding import Path
from generator.model.text import Taint
from generator.survey.gpus import gpu
from generator.survey.notes import Notes
from generator.survey.seen import Seen, named, text

NODES: Path = ("nodes",)
GIB = 2**30
CONTROL = "node-role.kubernetes.io/control-plane"
ROLES = (CONTROL, "node-role.kubernetes.io/master")
RACKS = (RACK, "topology.kubernetes.io/rack", "rack")
# Labels that kubelets, Kubernetes and its distributions write themselves. Those of components are in the catalogue.
KEPT = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
WRITTEN = re.compile(
    r"(.+\.)?(kubernetes|k8s)\.io|(.+\.)?(k3s|rke2)\.io|(.+\.)?cattle\.io|eks\.amazonaws\.com|(.+\.)?eksctl\.io|"
    r"(.+\.)?microk8s\..+|cloud\.google\.com|(.+\.)?azure\.com|(.+\.)?projectcalico\.org|(.+\.)?cilium\.io"
)
# Taints that Kubernetes, cloud controllers and autoscalers set and take away again.
PASSING = re.compile(
    r"(node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|(.+\.)?cilium\.io|(.+\.)?k8s\.io)/.*|"
    r"ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler"
)
VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# How the names of extended resources begin that RDMA device plugins offer.
RDMA = ("rdma/", "openshift.io/", "nvidia.com/hostdev", "nvidia.com/ib", "mellanox.com/")


class SeenNode(Struct, frozen=True, kw_only=True):
    """A node as it is found. `pool` is the one that gen's own label names, `hint` what else might name it; `memory` is
    in bytes, `gpu` as the file has it, `hcas` the resources that stand for some.
    """

    name: str
    pool: str
    hint: str
    control: bool
    address: str
    address6: str
    rack: str
    cpu: int
    memory: int
    gpu: dict[str, Any]
    labels: dict[str, str]
    taints: tuple[str, ...]
    hcas: tuple[str, ...]
    kernel: str


def seen_nodes(seen: Seen, notes: Notes) -> list[SeenNode]:
    """Return the nodes that a file can name, in the order of their names with numbers as numbers."""
    found = [machine for node in seen.nodes if (machine := _seen_node(node, notes))]
    return sorted(found, key=lambda machine: [int(part) if part.isdigit() else part for part in _parts(machine.name)])


def _parts(name: str) -> list[str]:
    # A text first and then in turns, so that numbers meet numbers.
    return re.split(r"([0-9]+)", name)


def _seen_node(node: Manifest, notes: Notes) -> SeenNode | None:
    name = named(node)
    addresses = _addresses(node)
    first = next((one for one in addresses if isinstance(one, IPv4Address)), None)
    if not is_label(name):
        notes.unknown(NODES, f"node `{name}` is left out: here names are of small letters, digits and hyphens alone")
        return None
    if first is None:
        notes.unknown(NODES, f"node {name} is left out: it has no internal IPv4 address")
        return None
    labels = {str(key): str(value) for key, value in mapping(dig(node, "metadata", "labels")).items()}
    return SeenNode(
        name=name,
        pool=labels.get(POOL, "") if is_label(labels.get(POOL, "")) else "",
        hint=_hint(labels),
        control=any(role in labels for role in ROLES),
        address=str(first),
        address6=str(next((one for one in addresses if isinstance(one, IPv6Address)), "")),
        rack=_rack(name, labels, notes),
        cpu=_cpu(node, notes),
        memory=_memory(node, notes),
        gpu=gpu(node, (*NODES, name), notes),
        labels=dict(_labels(name, labels, notes)),
        taints=tuple(_taints(node, notes)),
        hcas=tuple(sorted(name for name in mapping(dig(node, "status", "capacity")) if name.startswith(RDMA))),
        kernel=_kernel(text(node, "status", "nodeInfo", "kernelVersion")),
    )


def _addresses(node: Manifest) -> list[IPv4Address | IPv6Address]:
    found = []
    for one in sequence(dig(node, "status", "addresses")):
        with suppress(ValueError):
            if dig(one, "type") == "InternalIP":
                found.append(ip_address(text(one, "address")))
    return found


def _hint(labels: dict[str, str]) -> str:
    """Return what people call nodes like this one: a role of their own, or a group of the distribution's."""
    roles = [key.partition("/")[2] for key in labels if key.startswith("node-role.kubernetes.io/")]
    groups = [labels[key] for key in sorted(labels) if key.endswith(("/nodegroup", "/node-pool", "/nodepool"))]
    usual = {"control-plane", "master", "etcd", "worker"}
    return next((one for one in (*groups, *roles) if one not in usual and is_label(one, 40)), "")


def _rack(name: str, labels: dict[str, str], notes: Notes) -> str:
    given = next((labels[key] for key in RACKS if labels.get(key)), "")
    if given and not is_label(given):
        notes.unknown((*NODES, name), f"its rack is called `{given}`: here small letters, digits and hyphens alone")
        return ""
    return given


def _cpu(node: Manifest, notes: Notes) -> int:
    milli = amount(dig(node, "status", "capacity", "cpu")) or 0
    if not milli:
        notes.unknown((*NODES, named(node)), "how many CPUs it has: its kubelet has not said")
    return max(milli // 1000, 1)


def _memory(node: Manifest, notes: Notes) -> int:
    bytes_ = (amount(dig(node, "status", "capacity", "memory")) or 0) // 1000
    if not bytes_:
        notes.unknown((*NODES, named(node)), "how much memory it has: its kubelet has not said")
    return max(bytes_, GIB)


def _labels(name: str, labels: dict[str, str], notes: Notes) -> Iterator[tuple[str, str]]:
    """Yield the labels that people gave a node."""
    operators = tuple(prefix for one in CATALOGUE.values() for prefix in one.node_labels)
    for key, value in sorted(labels.items()):
        prefix = key.rpartition("/")[0]
        own = prefix == OWN_LABELS or key in RACKS or key.startswith(operators)
        if own or (WRITTEN.fullmatch(prefix) and key not in KEPT):
            continue
        if len(value) > 63 or not VALUE.fullmatch(value) or not KEY.fullmatch(key):
            notes.unknown((*NODES, name), f"its label `{key}={value}` is left out: no kubelet takes it")
        else:
            yield key, value


def _taints(node: Manifest, notes: Notes) -> Iterator[str]:
    """Yield the taints that people gave a node, not those that tell of its state."""
    for one in sequence(dig(node, "spec", "taints")):
        key, value, effect = (text(one, part) for part in ("key", "value", "effect"))
        if PASSING.fullmatch(key) or key == SICK:
            continue
        written = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
        try:
            yield str(Taint.parse(written))
        except ValueError as error:
            notes.unknown((*NODES, named(node)), f"a taint is left out: {error}")


def _kernel(version: str) -> str:
    found = re.match(r"[0-9]+\.[0-9]+", version)
    return found[0] if found else ""
