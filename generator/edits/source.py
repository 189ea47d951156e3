"""The cluster file that is edited."""

from ipaddress import IPv4Address
from typing import Any

from msgspec import Struct

from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import Path
from generator.model.nodes import Machine
from generator.spec.document import Document
from generator.spec.near import suggest, there_are

NODES: Path = ("spec", "nodes")


class Source(Struct, frozen=True):
    """A cluster file that can be edited: its whole text, as read, and as a cluster. `elsewhere` are addresses of nodes
    and endpoints of other clusters.
    """

    text: str
    document: Document
    cluster: Cluster
    elsewhere: frozenset[IPv4Address] = frozenset()

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes as their lines say, without what these leave to pools and networks."""
        nodes: list[dict[str, Any]] = self.document.value["spec"]["nodes"]
        return nodes

    @property
    def pools(self) -> dict[str, dict[str, Any]]:
        """The pools as the file has them."""
        pools: dict[str, dict[str, Any]] = self.document.value["spec"]["pools"]
        return pools

    def machine(self, name: str) -> Machine:
        """Return a node by its name; raises UsageError."""
        machines = self.cluster.machines
        found = next((machine for machine in machines if machine.name == name), None)
        if found is None:
            meant = suggest(name, [machine.name for machine in machines], "")
            raise UsageError(f"there is no node {name} in {self.document.file}" + (f"; {meant}" if meant else ""))
        return found

    def line(self, index: int) -> int:
        """Return the line of a node."""
        return self.document.position((*NODES, index)).line

    def refuse_pool(self, name: str) -> None:
        """Raise UsageError for a pool that is not described."""
        if name not in self.cluster.pools:
            meant = suggest(name, self.cluster.pools, there_are(self.cluster.pools))
            raise UsageError(f"there is no pool {name} in {self.document.file}; {meant}")
