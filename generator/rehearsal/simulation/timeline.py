"""What an operation does to a twin, as it happens: nodes, gangs and pods, each with the second in which it was seen."""

import threading
from collections.abc import Callable, Iterable
from enum import StrEnum
from math import inf
from time import monotonic

from msgspec import Struct

from generator.components.component import Manifest
from generator.components.gpu_operator import SICK
from generator.components.node_operations.names import BURNED_IN
from generator.live.running import RunningCluster
from generator.model.fields import condition, dig, holds, mapping, sequence
from generator.model.plural import plural
from generator.rehearsal.simulation.asked import ANSWERED
from generator.rehearsal.simulation.drivers import of_driver
from generator.rehearsal.simulation.reading import LOADS, NODES, PODS
from generator.rehearsal.simulation.units import BY, UNIT, Unit, controller, leaves, number_of, owned_by, whole
from generator.rehearsal.watching import eviction_refused

AT_ONCE = 1.0
"""Seconds in which a pod that goes is no more held up."""


class What(StrEnum):
    """What happened, in the words in which it is told."""

    CORDONED = "cordoned"
    STOPPED = "gang stopped"
    QUEUED = "gang queued again"
    STARTED = "gang let in again"
    PREEMPTED = "gang preempted"
    GONE = "evicted a pod"
    HELD = "a budget keeps a pod"
    UPGRADED = "upgraded"
    DONE = "its machine is done"
    RENEWED = "its driver is made anew"
    TRIED = "its devices were tried, and are good"
    JOINED = "joined"
    OUT = "OSDs out at once"
    PURGED = "OSD purged"
    MOVED = "Rook makes another monitor of Ceph elsewhere"
    OPEN = "takes pods"
    DELETED = "node deleted"


OF_CEPH = {"out": What.OUT, "purge": What.PURGED, "moved": What.MOVED}


class Event(Struct, frozen=True, kw_only=True):
    """One thing that happened: `at` which second, on which node where it has one, to what, and more words on it. `pod`
    is the name that a pod has on the twin.
    """

    at: float
    what: What
    node: str = ""
    to: str = ""
    more: str = ""
    pod: str = ""


class Leaving(Struct, frozen=True):
    """What an operation lets leave its nodes: pods that ask for resources of such names, where any are named; `sick`
    nodes, which are not cordoned.
    """

    only: str = ""
    sick: bool = False

    def empties(self, node: Manifest) -> bool:
        """Tell whether pods are to leave a node."""
        taints = [dig(one, "key") for one in sequence(dig(node, "spec", "taints"))]
        return SICK in taints if self.sick else _closed(node)

    def goes(self, pod: Manifest) -> bool:
        """Tell whether a pod is to leave its node."""
        made = [*sequence(dig(pod, "spec", "containers")), *sequence(dig(pod, "spec", "initContainers"))]
        asked = [name for one in made for name in mapping(dig(one, "resources", "limits"))]
        return leaves(pod) and (not self.only or any(name.startswith(self.only) for name in asked))


class Timeline:
    """Watches a twin until `end`. `made` is what was brought to it."""

    def __init__(self, twin: RunningCluster, made: Iterable[Unit], leaving: Leaving | None = None) -> None:
        self.twin, self.leaving = twin, leaving or Leaving()
        self._units = {number_of(one): one.named for one in made}
        self.events: list[Event] = []
        self._begun = monotonic()
        self._nodes: dict[str, Manifest] = {}
        self._loads: dict[str, Manifest] = {}
        self._pods: dict[str, Manifest] = {}
        self._held: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Take down what is there and watch from now on. Raises UsageError."""
        self._nodes = {_uid(one): one for one in self.twin.items(NODES)}
        self._loads = {_uid(one): one for one in self.twin.items(LOADS)}
        self._pods = {_uid(one): one for one in self.twin.items(PODS)}
        self._begun = monotonic()
        looks: dict[str, Callable[[str, Manifest], None]] = {NODES: self._node, LOADS: self._load, PODS: self._pod}
        for path, look in looks.items():
            threading.Thread(target=self._follow, args=(path, look), daemon=True).start()

    def of_ceph(self, verb: str, host: str, osds: str) -> None:
        """Take down what Ceph was asked to do with OSDs of a host, or that Rook moved a monitor of it."""
        self._tell(OF_CEPH[verb], host, more=osds)

    def end(self) -> list[Event]:
        """Return what happened until now, in order; without pods of which a budget was asked while they went."""
        with self._lock:
            gone = {one.pod: one.at for one in self.events if one.what == What.GONE}
            late = [one for one in self.events if one.what == What.HELD and one.at > gone.get(one.pod, inf) - AT_ONCE]
            return sorted((one for one in self.events if one not in late), key=lambda one: one.at)

    def round(self) -> None:
        """Ask, as a drain would, which pods of nodes that are emptied a budget keeps there. Raises UsageError."""
        closed = {one["metadata"]["name"] for one in [*self._nodes.values()] if self.leaving.empties(one)}
        for pod in [*self._pods.values()]:
            node = str(dig(pod, "spec", "nodeName") or "")
            if (
                node in closed
                and self.leaving.goes(pod)
                and not self._gang(pod)
                and (why := eviction_refused(self.twin, pod))
            ):
                self._hold(pod, node, why)

    def _hold(self, pod: Manifest, node: str, why: str) -> None:
        if (_uid(pod), node) not in self._held:
            self._held[_uid(pod), node] = why
            self._tell(What.HELD, node, self._maker(pod), why, pod["metadata"]["name"])

    def _follow(self, path: str, look: Callable[[str, Manifest], None]) -> None:
        for one in self.twin.api.watched(path):
            if isinstance(dig(one, "object", "metadata"), dict):
                look(str(one.get("type")), one["object"])

    def _tell(self, what: What, node: str, to: str = "", more: str = "", pod: str = "") -> None:
        with self._lock:
            self.events.append(Event(at=monotonic() - self._begun, what=what, node=node, to=to, more=more, pod=pod))

    def _node(self, kind: str, one: Manifest) -> None:
        name, before = one["metadata"]["name"], self._nodes.get(_uid(one), one)
        if kind == "DELETED":
            self._nodes.pop(_uid(one), None)
            self._tell(What.DELETED, name)
            return
        if _uid(one) not in self._nodes:
            self._tell(What.JOINED, name, more=borne(one))
        self._nodes[_uid(one)] = one
        if (tried := _note(one, BURNED_IN)) and tried != _note(before, BURNED_IN):
            self._tell(What.TRIED, name)
        if _closed(one) != _closed(before):
            self._tell(What.CORDONED if _closed(one) else What.OPEN, name)
        if (old := _version(before)) != (new := _version(one)):
            self._tell(What.UPGRADED, name, more=f"{old} to {new}")
        if (done := _done(one)) and done != _done(before):
            self._tell(What.DONE, name, more=done.partition(" ")[0])

    def _load(self, kind: str, one: Manifest) -> None:
        before = self._loads.get(_uid(one), one)
        self._loads[_uid(one)] = one
        if kind == "DELETED" or not whole(one):
            return
        stops, stopped = dig(one, "spec", "active") is False, dig(before, "spec", "active") is False
        if stops != stopped:
            what = What.STOPPED if stops else What.QUEUED
            self._tell(what, self._for(one, before), self._called(one), self._size(one))
        elif holds(one, "Admitted") and not holds(before, "Admitted"):
            self._tell(What.STARTED, "", self._called(one))
        elif holds(one, "Preempted") and not holds(before, "Preempted"):
            self._tell(What.PREEMPTED, "", self._called(one), str(condition(one, "Preempted").get("message", "")))

    def _for(self, one: Manifest, before: Manifest) -> str:
        """Return the node for which a gang is stopped, or was."""
        notes = [mapping(each["metadata"].get("annotations")) for each in (one, before)]
        return next((each[STOPPED_FOR] for each in notes if STOPPED_FOR in each), "")

    def _size(self, load: Manifest) -> str:
        """Return the queue of a gang, its priority, and on which nodes its pods are."""
        meta = load["metadata"]
        own = [
            one for one in [*self._pods.values()]
            if one["metadata"]["namespace"] == meta["namespace"] and _by(one) == meta["name"] and leaves(one)
        ]  # fmt: skip
        nodes = sorted({one["spec"]["nodeName"] for one in own})
        queue = f"queue {dig(load, 'spec', 'queueName')}, priority {dig(load, 'spec', 'priority') or 0}"
        return f"{queue}, {plural(len(own), 'pod')} on {', '.join(nodes)}" if own else queue

    def _called(self, load: Manifest) -> str:
        """Return what a gang is called in the cluster."""
        labels = dig(load, "spec", "podSets", 0, "template", "metadata", "labels")
        return self._units.get(str(mapping(labels).get(UNIT)), owned_by(load))

    def _maker(self, pod: Manifest) -> str:
        """Return what made a pod, as it is called in the cluster, where it was brought from there."""
        meta, owner = pod["metadata"], controller(pod)
        made = (
            f"{owner['kind']} {meta['namespace']}/{owner['name']}"
            if owner
            else f"Pod {meta['namespace']}/{meta['name']}"
        )
        return self._units.get(str(mapping(meta.get("labels")).get(UNIT)), made)

    def _pod(self, kind: str, one: Manifest) -> None:
        before = self._pods.get(_uid(one), one)
        if kind == "DELETED":
            self._pods.pop(_uid(one), None)
        else:
            self._pods[_uid(one)] = one
        goes = kind == "DELETED" or "deletionTimestamp" in one["metadata"]
        if goes and of_driver(before) and "deletionTimestamp" not in before["metadata"]:
            self._tell(What.RENEWED, str(dig(before, "spec", "nodeName") or ""))
        if goes and self.leaving.goes(before) and self._was_closed(before) and not self._gang(before):
            self._tell(What.GONE, before["spec"]["nodeName"], self._maker(before), pod=before["metadata"]["name"])
            self._pods.pop(_uid(one), None)

    def _was_closed(self, pod: Manifest) -> bool:
        return any(
            self.leaving.empties(one)
            for one in [*self._nodes.values()]
            if one["metadata"]["name"] == pod["spec"]["nodeName"]
        )

    def _gang(self, pod: Manifest) -> bool:
        space, name = pod["metadata"]["namespace"], _by(pod)
        loads = [one["metadata"] for one in [*self._loads.values()] if whole(one)]
        return any((one["namespace"], one["name"]) == (space, name) for one in loads)


EVERYWHERE = ("kubernetes.io/", "beta.kubernetes.io/")
"""An annotation of a node: when its devices were tried, and were good."""
STOPPED_FOR = "gen.internal/stopped-for"
"""An annotation of a Workload: the node that it was stopped for."""


def _uid(one: Manifest) -> str:
    return str(one["metadata"]["uid"])


def _closed(node: Manifest) -> bool:
    return bool(dig(node, "spec", "unschedulable"))


def _version(node: Manifest) -> str:
    return str(dig(node, "status", "nodeInfo", "kubeletVersion"))


def borne(node: Manifest) -> str:
    """Return the labels and taints that a node has, but for those that all nodes have."""
    labels = mapping(node["metadata"].get("labels"))
    own = [f"{key}={value}" for key, value in sorted(labels.items()) if not key.startswith(EVERYWHERE)]
    taints = [dig(one, "key") for one in sequence(dig(node, "spec", "taints"))]
    given = sorted(str(one) for one in taints if not str(one).startswith("node.kubernetes.io/"))
    return f"labels {', '.join(own) or 'none'}; taints {', '.join(given) or 'none'}"


def _note(one: Manifest, name: str) -> str:
    return str(mapping(one["metadata"].get("annotations")).get(name, ""))


def _done(node: Manifest) -> str:
    """Return what the machine of a node has done that it was asked; nothing where it has not said so."""
    words, _, how = _note(node, ANSWERED).partition(": ")
    return words if how == "done" else ""


def _by(pod: Manifest) -> str:
    return _note(pod, BY)
