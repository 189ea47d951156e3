"""What runs in a cluster, brought to its twin: nodes as they are, then what makes pods, and each pod on its node."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any

from generator.components.component import Manifest
from generator.live.api import Request
from generator.live.running import RunningCluster
from generator.model.fields import dig, holds, mapping, sequence
from generator.rehearsal.simulation import reading
from generator.rehearsal.simulation.cordons import Cordons
from generator.rehearsal.simulation.reading import BUDGETS, LOADS, MAKERS, NAMESPACES, NODES, PODS, PRIORITIES, State
from generator.rehearsal.simulation.shape import shape
from generator.rehearsal.simulation.units import MIRROR, UNIT, Unit, number_of, units
from generator.rehearsal.standin import CLAIMS, VOLUMES
from generator.rehearsal.twin.plane import Plane

PATIENCE = 60.0
"""Seconds in which all that makes pods has made them."""
OSD_BUDGET = "rook-ceph-osd"
GANG_PATIENCE = 15.0
"""Seconds in which a gang is let in; it takes one or two."""
FROM_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences", "finalizers")
MARKS = ("labels", "annotations")


class Bringing:
    """Brings a state to a twin. `notes` says what could not be brought, and what is played otherwise."""

    def __init__(self, plane: Plane, state: State, act: Callable[[], None]) -> None:
        self.plane, self.twin, self.state, self.act = plane, plane.cluster, state, act
        self.cordons = Cordons(self.twin)
        self.notes: list[str] = []

    def bring(self) -> list[Unit]:
        """Bring all; return what was brought. Raises UsageError."""
        made = units(self.state)
        self.notes += [one.note for one in made if one.note]
        self._nodes()
        self._surroundings(made)
        alone, gangs = [one for one in made if not one.gang], [one for one in made if one.gang]
        self._remove(alone)
        with self.plane.unscheduled():
            for one in alone:
                self._create(one.manifest, one.named)
            self._placed(alone)
        self._budgets()
        self.cordons.all()
        for one in gangs:
            self._gang(one)
        self.cordons.restore({one["metadata"]["name"] for one in self.state[NODES] if _cordoned(one)})
        return made

    def _nodes(self) -> None:
        """Have the nodes that are there, as they are: those of the cluster file alone may be others."""
        wanted = {one["metadata"]["name"]: one for one in self.state[NODES]}
        for name in {one["metadata"]["name"] for one in self.twin.items(NODES)} - wanted.keys():
            self.twin.delete(f"{NODES}/{name}")
            self.notes.append(f"node {name} is in the cluster file, and has not joined")
        for name, one in wanted.items():
            metadata = {"name": name, **{key: mapping(one["metadata"].get(key)) for key in MARKS}}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": _taints(one)}}
            self.twin.create(NODES, node)
            had = mapping(dig(self.twin.get(f"{NODES}/{name}"), "metadata", "labels"))
            labels = {**dict.fromkeys(had), **metadata["labels"]}
            self.twin.merge(f"{NODES}/{name}", {"metadata": {**metadata, "labels": labels}, "spec": node["spec"]})
            told = {key: dig(one, "status", key) for key in ("capacity", "allocatable", "nodeInfo")}
            self.twin.merge(f"{NODES}/{name}/status", {"status": told})
            if not holds(one, "Ready"):
                down(self.twin, name)

    def _surroundings(self, made: Sequence[Unit]) -> None:
        """Bring what pods need, and what no controller here makes."""
        spaces = {one.manifest["metadata"]["namespace"] for one in made}
        wanted = [one for one in self.state[NAMESPACES] if one["metadata"]["name"] in spaces]
        self._all(NAMESPACES, [{**one, "spec": {}} for one in wanted])
        self._wait(lambda: all(map(self.twin.get, (f"{NAMESPACES}/{one}/serviceaccounts/default" for one in spaces))))
        self._all(PRIORITIES, self.state[PRIORITIES])
        self._all(reading.DRIVERS, [{**one, "metadata": {"name": one["metadata"]["name"]}} for one in self._drivers()])
        bound = [one for one in self.state[CLAIMS] if dig(one, "spec", "volumeName")]
        names = {one["spec"]["volumeName"] for one in bound}
        self._all(VOLUMES, [_unbound(one) for one in self.state[VOLUMES] if one["metadata"]["name"] in names])
        self._all(CLAIMS, bound)
        mirrors = [one for one in self.state[PODS] if MIRROR in mapping(one["metadata"].get("annotations"))]
        self._all(PODS, [{**one, "spec": shape(one["spec"]) | _where(one)} for one in mirrors])

    def _drivers(self) -> list[Manifest]:
        return [one for one in self.state[reading.DRIVERS] if sequence(dig(one, "spec", "drivers"))]

    def _all(self, path: str, objects: Sequence[Manifest]) -> None:
        for one in objects:
            metadata = {key: value for key, value in one["metadata"].items() if key not in FROM_SERVER}
            kept = {key: one[key] for key in one if key != "status"} | {"metadata": metadata}
            self._create(kept, f"{one['kind']} {metadata['name']}", path)

    def _create(self, one: Manifest, named: str, path: str = "") -> bool:
        answer = self.twin.api.ask(Request(path=path_of(one, path), method="POST", body=one))
        if not answer.good and answer.status != 409:
            self.notes.append(f"{named} is not played: {answer.message}")
        return answer.good

    def _remove(self, made: Sequence[Unit]) -> None:
        """Remove what the twin has of the same names, as the repository says it: the cluster may have it otherwise."""
        found = [(one.manifest, f"{path_of(one.manifest)}/{one.manifest['metadata']['name']}") for one in made]
        there = [path for _, path in found if self.twin.get(path)]
        for path in there:
            self.twin.delete(f"{path}?propagationPolicy=Foreground")
        self._wait(lambda: not any(map(self.twin.get, there)))

    def _placed(self, made: Sequence[Unit]) -> None:
        """Wait until controllers have made all pods, and give each its node: no scheduler has one for it."""
        left = {number_of(one): dict(one.places) for one in made if one.manifest["kind"] != "Pod"}
        self._wait(lambda: self._bind(left))
        for one in made:
            if places := left.get(number_of(one)):
                where = ", ".join(sorted({*places.values()}))
                self.notes.append(f"{one.named} has not all of its pods on the twin: some are missing on {where}")
        sick = {number_of(one): len(one.sick) for one in made if one.sick}
        self._wait(lambda: self._sicken(sick))

    def _sicken(self, left: dict[str, int]) -> bool:
        """Let as many pods of each unit be not Ready as there are in the cluster: budgets count them."""
        for pod in self.twin.items(PODS, labelSelector=UNIT) if any(left.values()) else ():
            number = pod["metadata"]["labels"][UNIT]
            if left.get(number) and holds(pod, "Ready"):
                meta = pod["metadata"]
                path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
                self.twin.merge(path, {"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
                left[number] -= 1
        return not any(left.values())

    def _bind(self, left: dict[str, dict[str, str]]) -> bool:
        for pod in self.twin.items(PODS, labelSelector=UNIT):
            places = left.get(pod["metadata"]["labels"][UNIT])
            if places and not dig(pod, "spec", "nodeName"):
                name = pod["metadata"]["name"]
                name = name if name in places else next(iter(places))
                self._bound(pod, places.pop(name))
        return not any(left.values())

    def _bound(self, pod: Manifest, node: str) -> None:
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        path = f"/api/v1/namespaces/{space}/pods/{name}/binding"
        self.twin.api.ask(Request(path=path, method="POST", body=body))

    def _budgets(self) -> None:
        """Have the budgets that are there: of the same name the cluster's own. Those of OSDs Rook's operator moves from
        host to host while one is emptied, which nobody does here.
        """
        for one in self.state[BUDGETS]:
            if one["metadata"]["name"].startswith(OSD_BUDGET):
                self.notes.append(
                    f"the budget {one['metadata']['name']} is left out: Rook moves it while a host is empty"
                )
                continue
            meta = one["metadata"]
            path = f"/apis/policy/v1/namespaces/{meta['namespace']}/poddisruptionbudgets"
            self.twin.delete(f"{path}/{meta['name']}")
            metadata = {"name": meta["name"], "namespace": meta["namespace"]}
            kept = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": one["spec"]}
            self._create(kept, f"PodDisruptionBudget {meta['namespace']}/{meta['name']}", path)

    def _gang(self, one: Unit) -> None:
        """Let a gang in while its nodes alone take pods: Kueue and the scheduler place it there themselves."""
        self.cordons.open(one.nodes)
        if not self._create(one.manifest, one.named):
            self.cordons.close(one.nodes)
            return
        count = len(one.places)
        if count and not self._wait(lambda: len(self._pods(one)) >= count, GANG_PATIENCE):
            self.notes.append(f"{one.named} runs in the cluster, and does not start on the twin: {self._why(one)}")
        elif count and (here := sorted({*self._pods(one).values()})) != one.nodes:
            self.notes.append(f"{one.named} is on {', '.join(here)} on the twin, and on {', '.join(one.nodes)} there")
        self.cordons.close(one.nodes)

    def _why(self, one: Unit) -> str:
        """Return why a gang does not start, in the words of its queue."""
        path = LOADS.replace("workloads", f"namespaces/{one.manifest['metadata']['namespace']}/workloads")
        for load in self.twin.items(path):
            if one.manifest["metadata"]["name"] in [
                each["name"] for each in load["metadata"].get("ownerReferences") or ()
            ]:
                states = sequence(dig(load, "status", "conditions"))
                return "; ".join(str(each.get("message")) for each in states) or "its queue says nothing"
        return "its queue has not seen it"

    def _pods(self, one: Unit) -> Mapping[str, str]:
        """Return the nodes of the pods that a unit has on the twin."""
        path = f"/api/v1/namespaces/{one.manifest['metadata']['namespace']}/pods"
        found = self.twin.items(path, labelSelector=f"{UNIT}={number_of(one)}")
        return {pod["metadata"]["name"]: node for pod in found if (node := str(dig(pod, "spec", "nodeName") or ""))}

    def _wait(self, check: Callable[[], Any], patience: float = PATIENCE) -> bool:
        end = monotonic() + patience
        while monotonic() < end:
            self.act()
            if check():
                return True
            sleep(0.2)
        return False


def path_of(one: Manifest, path: str = "") -> str:
    """Return the collection of an object: that of its kind, or the one that is named, in its namespace."""
    path = path or MAKERS.get(one["kind"], PODS)
    version, _, plural = path.rpartition("/")
    space = one["metadata"].get("namespace")
    return f"{version}/namespaces/{space}/{plural}" if space and "/namespaces/" not in path else path


def down(twin: RunningCluster, name: str) -> None:
    """Have a node not Ready, and leave it so."""
    twin.merge(f"{NODES}/{name}", {"metadata": {"annotations": {"twin.test/down": "1"}}})
    found = twin.get(f"{NODES}/{name}") or {}
    states = [one for one in sequence(dig(found, "status", "conditions")) if one["type"] != "Ready"]
    told = {"type": "Ready", "status": "False", "reason": "AsInTheCluster", "message": ""}
    twin.merge(f"{NODES}/{name}/status", {"status": {"conditions": [*states, told]}})


def _cordoned(node: Manifest) -> bool:
    return bool(dig(node, "spec", "unschedulable"))


def _taints(node: Manifest) -> list[Any]:
    """Return the taints that somebody gave: those of conditions and cordons come by themselves."""
    given = sequence(dig(node, "spec", "taints"))
    return [one for one in given if not str(one.get("key")).startswith("node.kubernetes.io/")]


def _where(pod: Manifest) -> Manifest:
    tolerations = [{"operator": "Exists"}]
    return {"nodeName": pod["spec"]["nodeName"], "tolerations": tolerations}


def _unbound(volume: Manifest) -> Manifest:
    """Return a volume as it is before its claim is there: the claim has another uid here."""
    claim = {key: dig(volume, "spec", "claimRef", key) for key in ("name", "namespace")}
    return {**volume, "spec": {**volume["spec"], "claimRef": claim}}
