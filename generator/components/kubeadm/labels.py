"""Labels, taints and annotations for nodes that have joined: kubelets read those of the join files once."""

from collections.abc import Iterator

from msgspec import Struct

from generator.components.common import CACHE, CEPH, OBJECTS, RACK, SCRATCH
from generator.components.kubeadm.registration import node_labels
from generator.components.node_text import Escaped, Place, Template, Text, Word, joined, static
from generator.model.cluster import Cluster
from generator.model.nodes import Machine
from generator.model.once import once
from generator.model.text import Taint

LINE = Template("{what} {node} {changes}\n")
REMOVED = Template("{key}-")
MONITOR = "network.rook.io/mon-ip"
"""Rook reads it once, when it first places a monitor on the node: without it monitors take the node network."""


class Marks(Struct, frozen=True, kw_only=True):
    """What a node that has joined must bear: its labels, those of gen's own that it must not have (`removed`), taints
    and annotations. What else it bears is others'.
    """

    node: str
    labels: dict[str, str]
    removed: tuple[str, ...]
    taints: tuple[Taint, ...]
    annotations: dict[str, str]


@once
def marks(cluster: Cluster) -> tuple[Marks, ...]:
    """Return what each node must bear."""
    monitors = _monitors(cluster)
    return tuple(_marks(cluster, machine, monitors.get(machine.name, {})) for machine in cluster.machines)


def _marks(cluster: Cluster, machine: Machine, annotations: dict[str, str]) -> Marks:
    labels = node_labels(cluster, machine)
    own = (CEPH, OBJECTS, SCRATCH, *([CACHE] if cluster.cache_hosts else []), RACK)
    return Marks(
        node=machine.name,
        labels=labels,
        removed=tuple(key for key in own if key not in labels),
        taints=machine.taints,
        annotations=annotations,
    )


def _monitors(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Return the annotations of the nodes that Ceph's monitors may run on, where these have a network of their own."""
    ceph = cluster.storage.ceph
    if not (ceph and cluster.networks.storage and ceph.network == "host"):
        return {}
    hosts = (machine for machine in cluster.monitor_hosts if "storage" in machine.addresses)
    return {machine.name: {MONITOR: str(machine.addresses["storage"])} for machine in hosts}


def label_files(cluster: Cluster) -> dict[Place, Text]:
    """Return the script that sets labels and taints, and the list that it reads."""
    lines = joined(line for one in marks(cluster) for line in _lines(one))
    return {Place("nodes", "label.sh"): static("kubeadm/label.sh"), Place("nodes", "labels.list"): lines}


def _lines(one: Marks) -> Iterator[Text]:
    yield _line("label", one, _labels(one))
    if one.taints:
        yield _line("taint", one, (Word(taint) for taint in one.taints))


def _line(what: str, one: Marks, changes: Iterator[Escaped | Text]) -> Text:
    return Text(LINE, what=Word(what), node=Word(one.node), changes=joined(changes, " "))


def _labels(one: Marks) -> Iterator[Escaped | Text]:
    for key, value in one.labels.items():
        yield Word(f"{key}={value}")
    for key in one.removed:
        yield Text(REMOVED, key=Word(key))
