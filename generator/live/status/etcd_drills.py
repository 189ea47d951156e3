"""How the drills went that control-plane nodes make of their snapshots of etcd, as the run tells that uploads them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.status.causes import Cause
from generator.live.times import moment, stamp
from generator.model.fields import dig, sequence
from generator.model.nodes import Machine


class NodeDrill(Struct, frozen=True, kw_only=True):
    """When a node's newest good drill was (RFC 3339; empty where none is known), and whether its last one failed."""

    machine: Machine
    worked: str
    failed: bool

    def causes(self, too_old: int, now: datetime) -> Iterator[Cause]:
        """Yield what is wrong, where the newest good one may be so many seconds old."""
        for why in self._reasons(too_old, now):
            look = f"ssh root@{self.machine.address} journalctl --unit etcd-snapshot --lines 50"
            yield Cause(component="workflows", objects=(f"drill etcd/{self.machine.name}",), why=why, command=look)

    def _reasons(self, too_old: int, now: datetime) -> Iterator[str]:
        name = self.machine.name
        if self.failed:
            yield f"the last snapshot that {name} tried did not bring etcd back"
        if not self.worked:
            yield f"no snapshot of {name} is known to have brought etcd back"
        elif (age := (now - (moment(self.worked) or now)).total_seconds()) > too_old:
            days = round(age / 86400)
            yield f"the last snapshot of {name} that brought etcd back is {days} days old: one a week is tried"


def node_drill(machine: Machine, runs: Sequence[Manifest]) -> NodeDrill:
    """Return what the newest of the runs says that looked at a node; they are given newest first."""
    told = next((said for run in runs if (said := _said(run, machine.name))), {})
    seconds = int(told["worked"]) if told.get("worked", "").isdecimal() else 0
    worked = stamp(datetime.fromtimestamp(seconds, UTC)) if seconds else ""
    return NodeDrill(machine=machine, worked=worked, failed=told.get("good") == "0")


def _said(run: Manifest, name: str) -> dict[str, str]:
    """Return the results of the step that looked at a node."""
    for step in (dig(run, "status", "nodes") or {}).values():
        if _parameters(step, "inputs").get("node") == name and (said := _parameters(step, "outputs")):
            return said
    return {}


def _parameters(step: Manifest, of: str) -> dict[str, str]:
    return {str(dig(one, "name")): str(dig(one, "value")) for one in sequence(dig(step, of, "parameters"))}
