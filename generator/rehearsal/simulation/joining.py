"""A machine that joins a twin as it would join the cluster: by its kubeadm file, with nothing that operations add."""

from generator.components.component import Manifest
from generator.components.node_operations.facts import drivers
from generator.components.node_operations.names import ACCEPTED
from generator.live.running import RunningCluster
from generator.model.fields import dig, mapping
from generator.rehearsal.laid_out import LaidOut
from generator.rehearsal.simulation import assuming
from generator.rehearsal.simulation.reading import DRIVERS, NODES
from generator.rehearsal.twin.nodes import nodes

"""An annotation of a node: when it was."""
DOWN = "twin.test/down"


class Joining:
    """Acts once each time it is asked: the machine comes, is Ready once nobody can put a pod there, has its drivers of
    volumes, and runs its OSDs once it is accepted.
    """

    def __init__(self, twin: RunningCluster, found: LaidOut, name: str) -> None:
        self.twin, self.cluster = twin, found.cluster
        self.machine = next(one for one in found.cluster.machines if one.name == name)
        self.node = next(one for one in nodes(found.cluster, found.bootstrap) if one["metadata"]["name"] == name)
        self.stored = False

    def round(self) -> None:
        """Do what is to be done now. Raises UsageError."""
        path = f"{NODES}/{self.machine.name}"
        there = self.twin.get(path)
        if there is None:
            self._join()
        elif dig(there, "spec", "unschedulable") and DOWN in mapping(there["metadata"].get("annotations")):
            self.twin.merge(path, {"metadata": {"annotations": {DOWN: None}}})
        elif not self.stored and ACCEPTED in mapping(there["metadata"].get("annotations")):
            self.stored = True
            for one in assuming.osds_of(self.twin, self.machine, self.cluster):
                self.twin.create(assuming.DEPLOYMENTS, one)

    def _join(self) -> None:
        self.twin.create(NODES, joined(self.node))
        self.twin.create(DRIVERS, assuming.registered(self.twin, self.machine.name, drivers(self.cluster)))


def joined(node: Manifest) -> Manifest:
    """Return a node as it is until somebody keeps pods off it: not Ready."""
    return {**node, "metadata": {**node["metadata"], "annotations": {DOWN: "1"}}}
