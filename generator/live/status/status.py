"""How a running cluster does: its Applications by wave, why something is stuck, and what needs a hand soon."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from time import sleep
from typing import Any, Literal

from msgspec import Struct

from generator.components import CATALOGUE, catalogue, compose
from generator.components.component import NAMESPACES, Component, Secret
from generator.layout.waves import waves
from generator.live.applications import ROOT, Application, applications
from generator.live.identity import confirm
from generator.live.lists import Listed, lists
from generator.live.running import RunningCluster
from generator.live.status.application_causes import application_causes, every_object, held_causes, namespaces, well
from generator.live.status.argo_causes import NAMESPACE, argo_causes, silent_since
from generator.live.status.causes import Cause, grouped
from generator.live.status.certificates import certificate_causes, connection_causes
from generator.live.status.confirmations import confirmation_causes
from generator.live.status.copy_causes import copy_causes
from generator.live.status.last_backups import DRILLS, WORKFLOWS, LastBackup, LastRun, last_backups
from generator.live.status.last_volumes import SOURCES, last_volumes
from generator.live.status.machine_causes import machine_causes
from generator.live.status.node_causes import node_causes
from generator.live.status.old_pods import WORKLOADS, old_pods, waiting
from generator.live.status.pod_causes import Space
from generator.live.windows import shut_out
from generator.model.cluster import Cluster

State = Literal["well", "not well", "unknown"]
RETRYING = "Retrying operation"
LOOKS, PAUSE = 12, 0.5
"""How often it is looked once more, and the seconds between."""
NODES = "/api/v1/nodes"
CERTIFICATES = "/apis/cert-manager.io/v1/certificates"
EVENTS = "/api/v1/namespaces/{}/events?fieldSelector=type%3DWarning"
BELOW = ("/api/v1/namespaces/{}/pods", EVENTS)
"""What is read of a namespace in which something is not well."""


class Row(Struct, frozen=True, kw_only=True):
    """A component: `revision` is the commit that its objects are as in, or were last brought to, `behind` how many
    commits that is before the wanted one (None where nobody can tell), and `waits` the components that it waits for.
    """

    component: str
    wave: int
    health: str
    sync: str
    revision: str
    behind: int | None
    waits: tuple[str, ...]
    well: bool


class Status(Struct, frozen=True, kw_only=True):
    """A running cluster as it is. `wanted` is the newest commit that Argo CD has seen, `unread` says what nobody let
    us read, `causes` come in the order of the waves, and `held` is what somebody suspended.
    """

    cluster: str
    host: str
    wanted: str
    rows: tuple[Row, ...]
    causes: tuple[Cause, ...]
    held: tuple[Cause, ...]
    nodes: tuple[Cause, ...]
    soon: tuple[Cause, ...]
    backups: tuple[LastBackup, ...]
    unread: tuple[str, ...]

    @property
    def state(self) -> State:
        """Whether there is nothing to do; what nobody let us read may be anything."""
        backups = (cause for one in self.backups for cause in one.causes)
        if any((self.causes, self.nodes, self.soon, *backups)) or not all(one.well for one in self.rows):
            return "not well"
        return "unknown" if self.unread else "well"

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "cluster": self.cluster,
            "host": self.host,
            "wanted": self.wanted,
            "well": self.state == "well",
            "state": self.state,
            "components": [_row(one) for one in self.rows],
            "causes": [_cause(one) for one in self.causes],
            "held": [_cause(one) for one in self.held],
            "nodes": [_cause(one) for one in self.nodes],
            "soon": [_cause(one) for one in self.soon],
            "backups": [
                {"name": one.name, **_run(one.copy), **({"drill": _run(one.drill)} if one.drill else {})}
                for one in self.backups
            ],
            "unread": list(self.unread),
        }


def _row(one: Row) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__} | {"waits": list(one.waits)}


def _run(one: LastRun) -> dict[str, Any]:
    return {"lastGood": one.good, "running": one.running, "causes": [*map(_cause, one.causes)]}


def _cause(one: Cause) -> dict[str, Any]:
    return {"component": one.component, "objects": list(one.objects), "why": one.why, "command": one.command}


def status(
    running: RunningCluster, cluster: Cluster, now: datetime, behind: Callable[[str, str], int | None]
) -> Status:
    """Return how the running cluster does. `behind` tells how many commits the first one is before the second. Raises
    UsageError where it is not this cluster, or there is no talking to it.
    """
    confirm(running, cluster)
    asked = [NODES, CERTIFICATES, WORKFLOWS, DRILLS, *WORKLOADS, *((SOURCES,) if cluster.volume_backups else ())]
    nodes, certificates, runs, drills, *others = first = lists(running, asked)
    workloads, volumes = others[: len(WORKLOADS)], others[len(WORKLOADS) :]
    found = _settled(running)
    components = compose(cluster)
    secrets = [one for each in components for one in each.secrets]
    silent = {NAMESPACE} if silent_since(found, now) else set()
    old = [*waiting(found, [each for one in workloads for each in one.items])]
    by_hand, pods = old_pods(running, old, catalogue(cluster))
    spaces, more = _spaces(running, silent.union(*map(namespaces, found)), secrets)
    wanted = next((one.revision for one in found if one.name == ROOT), "")
    return Status(
        cluster=cluster.name,
        host=running.host,
        wanted=wanted,
        rows=tuple(_rows(found, components, wanted, behind)),
        causes=(
            *grouped(argo_causes(found, now, spaces.get(NAMESPACE), cluster.name)),
            *_causes(found, spaces, cluster.name, shut_out(running, found)),
        ),
        held=tuple(grouped(cause for one in found for cause in held_causes(one))),
        nodes=tuple(grouped(node_causes(cluster, nodes.items, [*CATALOGUE.values()])) if not nodes.refused else ()),
        soon=(
            *grouped(by_hand),
            *grouped(connection_causes(running.api, now)),
            *grouped(certificate_causes(certificates.items, now)),
            *grouped(machine_causes(nodes.items, now)),
            *confirmation_causes(found, now),
            *copy_causes(running, cluster, secrets),
        ),
        backups=tuple(_backups(cluster, runs, drills, volumes, now)),
        unread=tuple(dict.fromkeys(one.refused for one in (*first, *pods, *more) if one.refused)),
    )


def _backups(
    cluster: Cluster, runs: Listed, drills: Listed, volumes: Sequence[Listed], now: datetime
) -> Iterator[LastBackup]:
    """Yield how the last backups went, and the last drills, of which we may read."""
    if not runs.refused:
        yield from last_backups(cluster, runs.items, drills.items, now)
    for one in volumes:
        if not one.refused:
            yield from last_volumes(cluster, one.items, drills.items, now)


def _settled(running: RunningCluster) -> list[Application]:
    """Return the Applications. While a sync begins anew, for about a second, Argo CD says only that, and not what
    failed: then they are read again.
    """
    found = applications(running)
    said = {one.name: one for one in found}
    for _ in range(LOOKS):
        again = [name for name, one in said.items() if one.said.startswith(RETRYING)]
        if not again:
            break
        sleep(PAUSE)
        # One that failed meanwhile may have begun once more: what it said in between is kept.
        said |= {one.name: one for one in applications(running) if one.name in again}
    return [said[one.name] for one in found]


def _spaces(
    running: RunningCluster, wanted: Collection[str], secrets: Sequence[Secret]
) -> tuple[dict[str, Space], list[Listed]]:
    """Read the namespaces in which something is not well, all at once."""
    names = sorted(wanted)
    listed = lists(running, [path.format(name) for name in names for path in BELOW])
    spaces = {}
    for number, name in enumerate(names):
        pods, events = (one.items for one in listed[number * len(BELOW) :][: len(BELOW)])
        spaces[name] = Space(name=name, pods=pods, events=events, secrets=secrets)
    return spaces, listed


def _causes(
    found: Sequence[Application], spaces: dict[str, Space], cluster: str, shut: Mapping[str, str]
) -> list[Cause]:
    """Return why Applications are stuck, root last: it waits for the others."""
    ours = every_object(found)
    unwell = [one for one in found if not well(one)]
    ordered = sorted(unwell, key=lambda one: one.name == ROOT)
    return grouped(
        cause for one in ordered for cause in application_causes(one, spaces, ours, cluster, shut.get(one.name, ""))
    )


def _rows(
    found: Sequence[Application],
    components: Sequence[Component],
    wanted: str,
    behind: Callable[[str, str], int | None],
) -> Iterator[Row]:
    """Yield the Applications of the cluster, and the components of its file that have none yet, by wave."""
    expected = {NAMESPACES: 0, **waves(components)}
    there = {one.name for one in found}
    absent = {name: wave for name, wave in expected.items() if name not in there}
    holding = [one for one in found if one.name != ROOT and one.gates and not well(one)]
    rows = [_of(one, wanted, behind, holding if one.name == ROOT and not well(one) else ()) for one in found]
    rows += [_absent(name, wave, holding, absent) for name, wave in absent.items()]
    yield from sorted(rows, key=lambda one: (one.component != ROOT, one.wave, one.component))


def _of(one: Application, wanted: str, behind: Callable[[str, str], int | None], holding: Sequence[Application]) -> Row:
    revision = one.commit or one.revision
    return Row(
        component=one.name,
        wave=one.wave,
        health=one.health or "Unknown",
        sync=f"{one.sync or 'Unknown'}{', syncing' if one.acting else ''}",
        revision=revision,
        behind=0 if revision == wanted else behind(revision, wanted) if revision and wanted else None,
        waits=tuple(each.name for each in holding),
        well=well(one),
    )


def _absent(name: str, wave: int, holding: Sequence[Application], absent: dict[str, int]) -> Row:
    """Return the row of a component that was not made yet: what holds its wave up is what it waits for."""
    waits = [one.name for one in holding if one.wave < wave]
    waits = waits or sorted(other for other, earlier in absent.items() if earlier < wave)
    return Row(
        component=name,
        wave=wave,
        health="Missing",
        sync="not made yet",
        revision="",
        behind=None,
        waits=tuple(waits),
        well=False,
    )
