"""Labels and taints for nodes that have joined: kubelets read those of the join files once."""

from collections.abc import Iterator

from generator.components.common import CEPH, OBJECTS, RACK, SCRATCH
from generator.components.kubeadm.registration import node_labels
from generator.components.node_text import Escaped, Place, Template, Text, Word, joined, static
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

LINE = Template("{what} {node} {changes}\n")
REMOVED = Template("{key}-")


def label_files(cluster: Cluster) -> dict[Place, Text]:
    """Return the script that sets labels and taints, and the list that it reads."""
    lines = joined(line for machine in cluster.machines for line in _lines(cluster, machine))
    return {Place("nodes", "label.sh"): static("kubeadm/label.sh"), Place("nodes", "labels.list"): lines}


def _lines(cluster: Cluster, machine: Machine) -> Iterator[Text]:
    yield _line("label", machine, _labels(cluster, machine))
    if machine.taints:
        yield _line("taint", machine, (Word(taint) for taint in machine.taints))


def _line(what: str, machine: Machine, changes: Iterator[Escaped | Text]) -> Text:
    return Text(LINE, what=Word(what), node=Word(machine.name), changes=joined(changes, " "))


def _labels(cluster: Cluster, machine: Machine) -> Iterator[Escaped | Text]:
    """Yield the labels that a node has, and those of gen's own that it has no more."""
    wanted = node_labels(cluster, machine)
    for key, value in wanted.items():
        yield Word(f"{key}={value}")
    for key in (CEPH, OBJECTS, SCRATCH, RACK):
        if key not in wanted:
            yield Text(REMOVED, key=Word(key))
