"""A cluster as it is: racks, leaf switches, storage, quotas, and the order in which it is installed."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from generator.checks.cables import FreePorts, cables, rails
from generator.checks.owned import CPUS, owned_quotas
from generator.components.component import NAMESPACES, Component
from generator.layout.waves import waves
from generator.model.capacity import flavor_capacity
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Position, dotted
from generator.model.nodes import Machine
from generator.review.stores import Store, store_data, stores

RACK = 24
"""Nodes without a rack that are shown together."""


class Rack(Struct, frozen=True):
    """Nodes that stand together; of nodes without a rack the name is that of their pool."""

    name: str
    machines: tuple[Machine, ...]


class Leaf(Struct, frozen=True, kw_only=True):
    """A leaf switch: which ports have a cable, and whose (`gpu-01 mlx5_0`), and how many are free for further
    nodes, beside the uplinks. `rail` is the HCA whose rail it serves.
    """

    name: str
    rack: str
    ports: int
    uplinks: int
    used: Mapping[int, str]
    free: int
    rail: str = ""


class Owned(Struct, frozen=True, kw_only=True):
    """What a team owns of a pool, may borrow and lends; None is without a limit. What it borrows it shares by its
    `weight`, None without fair sharing, in its `department`, which may be none.
    """

    team: str
    amount: int
    borrow: int | None
    lend: int | None
    department: str | None = None
    weight: int | None = None

    @property
    def name(self) -> str:
        """The team's name, with what decides what it gets of what is borrowed."""
        department = [f"department {self.department}"] if self.department else []
        beside = [*department, *([] if self.weight is None else [f"weight {self.weight}"])]
        return f"{self.team} ({', '.join(beside)})" if beside else self.team


class Shared(Struct, frozen=True, kw_only=True):
    """A pool that teams share: what is counted there (`nvidia.com/gpu`, `cpus`), how much there is, and who
    owns what.
    """

    pool: str
    what: str
    capacity: int
    teams: tuple[Owned, ...]

    @property
    def free(self) -> int:
        """What nobody owns."""
        return max(0, self.capacity - sum(team.amount for team in self.teams))


class UsedImage(Struct, frozen=True):
    """An image and who wants it."""

    name: str
    digest: str
    wanted_by: tuple[str, ...]


class State(Struct, frozen=True, kw_only=True):
    """What is known of a cluster. `unseen` are components whose images nobody can see: they are not vendored."""

    cluster: Cluster
    components: tuple[Component, ...]
    findings: tuple[Finding, ...] = ()
    images: tuple[UsedImage, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def racks(self) -> list[Rack]:
        """The racks, in the order of the file; then the nodes without one."""
        return racks(self.cluster)

    @property
    def leaves(self) -> list[Leaf]:
        """The leaf switches, in the order of the file."""
        return leaves(self.cluster)

    @property
    def stores(self) -> list[Store]:
        """The storage tiers."""
        return stores(self.cluster)

    @property
    def shared(self) -> list[Shared]:
        """The pools that teams own a part of."""
        return shared(self.cluster)

    @property
    def waves(self) -> dict[str, int]:
        """The wave of each Application, with that of the namespaces."""
        return {NAMESPACES: 0, **waves(self.components)}

    @property
    def needs(self) -> dict[str, list[str]]:
        """What each component waits for, without what it waits for anyway because of others."""
        every = {one.name: set(one.needs) for one in self.components}
        return {name: sorted(needs - _beyond(needs, every)) for name, needs in every.items()}

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "cluster": self.cluster.name,
            "nodes": [_node(machine) for machine in self.cluster.machines],
            "leafSwitches": [_leaf(leaf) for leaf in self.leaves],
            "storage": [store_data(one) for one in self.stores],
            "quotas": [_shared(one) for one in self.shared],
            "components": [_component(one, self.waves, self.needs) for one in self.components],
            "secrets": [_secret(one) for component in self.components for one in component.secrets],
            "images": [
                {"name": one.name, "digest": one.digest, "wantedBy": list(one.wanted_by)} for one in self.images
            ],
            "unseen": list(self.unseen),
            "findings": [{"code": one.code, "severity": one.severity, "message": one.message} for one in self.findings],
            "waivers": [
                {"code": one.code, "on": one.on, "reason": one.reason, "owner": one.owner, "expires": one.expires}
                for one in self.cluster.waivers
            ],
        }


def racks(cluster: Cluster) -> list[Rack]:
    """Return the racks of a cluster, in the order of the file; nodes without one by pool, a few together."""
    placed: dict[str, list[Machine]] = {}
    loose: dict[str, list[Machine]] = {}
    for machine in cluster.machines:
        (placed if machine.rack else loose).setdefault(machine.rack or machine.pool, []).append(machine)
    found = [Rack(f"rack {name}", tuple(members)) for name, members in placed.items()]
    for pool, members in loose.items():
        found += [Rack(f"pool {pool}", tuple(members[at : at + RACK])) for at in range(0, len(members), RACK)]
    return found


def leaves(cluster: Cluster) -> list[Leaf]:
    """Return the leaf switches of a cluster with their cables."""
    used: dict[str, dict[int, str]] = {}
    for cable in cables(cluster):
        used.setdefault(cable.port.switch, {})[cable.port.number] = f"{cable.node} {cable.hca}"
    served, rooms = rails(cluster), FreePorts(cluster).rooms()
    return [
        Leaf(
            name=switch.name,
            rack=switch.rack or "",
            ports=switch.ports,
            uplinks=switch.uplinks,
            used=used.get(switch.name, {}),
            free=rooms[switch.name],
            rail=served.get(switch.name, ""),
        )
        for switch in (cluster.fabric.switches if cluster.fabric else ())
    ]


def shared(cluster: Cluster) -> list[Shared]:
    """Return the pools that teams own a part of, by each resource that is counted there."""
    found: dict[tuple[str, str], list[Owned]] = {}
    teams_of, fair = {team.name: team for team in cluster.teams}, cluster.scheduling.fair_sharing
    for one in owned_quotas(cluster):
        team = teams_of[one.team]
        for what, amount in one.amounts.items():
            owned = Owned(
                team=one.team,
                amount=amount,
                borrow=one.quota.borrow,
                lend=one.quota.lend,
                department=team.department,
                weight=team.weight if fair else None,
            )
            found.setdefault((one.pool, what), []).append(owned)
    return [
        Shared(pool=pool, what=what, capacity=_capacity(cluster, pool, what), teams=tuple(teams))
        for (pool, what), teams in found.items()
    ]


def _capacity(cluster: Cluster, pool: str, what: str) -> int:
    capacity = flavor_capacity(cluster, pool)
    return capacity.milli_cpu // 1000 if what == CPUS else capacity.devices.get(what, 0)


def _beyond(needs: Iterable[str], every: Mapping[str, set[str]]) -> set[str]:
    """Return what is reached through others."""
    found: set[str] = set()
    waiting = [further for need in needs for further in every.get(need, ())]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += every.get(one, ())
    return found


def _node(machine: Machine) -> dict[str, Any]:
    gpu = machine.hardware.gpu
    return {
        "name": machine.name,
        "pool": machine.pool,
        "role": machine.role,
        "rack": machine.rack,
        "address": str(machine.address),
        "gpus": machine.gpus,
        "gpu": gpu.model if gpu else None,
        "hcas": len(machine.hardware.hcas),
        "fabric": {hca: f"{port.switch}/{port.number}" for hca, port in machine.fabric.items()},
    }


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "name": leaf.name,
        "rack": leaf.rack or None,
        "rail": leaf.rail or None,
        "ports": leaf.ports,
        "uplinks": leaf.uplinks,
        "used": {str(number): leaf.used[number] for number in sorted(leaf.used)},
        "free": leaf.free,
    }


def _shared(one: Shared) -> dict[str, Any]:
    teams = [_owned(team) for team in one.teams]
    return {"pool": one.pool, "counted": one.what, "capacity": one.capacity, "free": one.free, "teams": teams}


def _owned(one: Owned) -> dict[str, Any]:
    return {
        "team": one.team,
        "department": one.department,
        "weight": one.weight,
        "owns": one.amount,
        "borrows": one.borrow,
        "lends": one.lend,
    }


def _component(one: Component, waves_of: Mapping[str, int], needs: Mapping[str, list[str]]) -> dict[str, Any]:
    return {"name": one.name, "version": one.version, "wave": waves_of[one.name], "needs": needs[one.name]}


def _secret(one: Any) -> dict[str, Any]:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "keys": list(one.keys),
        "source": one.source,
        "by": one.by,
        "loss": one.loss,
    }


def place_of(finding: Finding) -> str:
    """Return where a finding stands, as people write it."""
    return finding.about or ("" if isinstance(finding.at, Position) else dotted(finding.at))
