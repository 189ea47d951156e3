"""What nodes of the cluster file lack in the running cluster."""

import json
from collections.abc import Iterator, Mapping, Sequence

from generator.components.component import Manifest
from generator.components.definition import Definition
from generator.components.gpu_care.names import CLEARED, SICK, SUSPECT
from generator.components.kubeadm.registration import node_labels
from generator.live.messages import shortened
from generator.live.status.causes import Cause
from generator.model.cluster import Cluster
from generator.model.fields import condition, dig, holds, mapping, sequence
from generator.model.nodes import Machine
from generator.model.quantity import Quantity

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


def node_causes(cluster: Cluster, nodes: Sequence[Manifest], offering: Sequence[Definition]) -> Iterator[Cause]:
    """Yield what is wrong with nodes: those of the file that are absent or not ready, that lack labels, taints or
    resources, and those that the file does not have. `offering` are the components that offer resources.
    """
    there = {str(one["metadata"]["name"]): one for one in nodes}
    for machine in cluster.machines:
        if machine.name not in there:
            readme = f"clusters/{cluster.name}/bootstrap/README.md"
            yield _cause(machine.name, "it is in the cluster file and has not joined", f"join it as {readme} says")
            continue
        yield from _state(there[machine.name], machine.name)
        yield from _gpus(there[machine.name], machine.name)
        yield from _marks(cluster, machine, there[machine.name])
        yield from _resources(cluster, machine, there[machine.name], offering)
    for name in sorted(there.keys() - {one.name for one in cluster.machines}):
        yield _cause(name, "the cluster file does not have it", f"gen node add {name}, or kubectl delete node {name}")


def _cause(node: str, why: str, command: str) -> Cause:
    return Cause(component="", objects=(node,), why=why, command=command)


def _state(node: Manifest, name: str) -> Iterator[Cause]:
    if not holds(node, "Ready"):
        said = shortened(str(condition(node, "Ready").get("message") or "kubelet never reported"))
        yield _cause(name, f"it is not ready: {said}", f"kubectl describe node {name}")
    for kind in PRESSURES:
        if holds(node, kind):
            said = shortened(str(condition(node, kind).get("message")))
            yield _cause(name, f"it has {kind}: {said}", f"kubectl describe node {name}")
    if dig(node, "spec", "unschedulable") is True:
        yield _cause(name, "it is cordoned: no pod goes there", f"kubectl uncordon {name}")


def _gpus(node: Manifest, name: str) -> Iterator[Cause]:
    """Yield what the operation `gpu-care` found. A taint without words was left by a person."""
    notes = mapping(dig(node, "metadata", "annotations"))
    tainted = any(dig(one, "key") == SICK for one in sequence(dig(node, "spec", "taints")))
    cleared = f"gen workflow submit {CLEARED} -p node={name}"
    if tainted or SICK in notes:
        why = "it has a sick GPU" + ("" if tainted else ", and no taint that keeps pods away")
        yield _cause(name, f"{why}: {_reasons(notes.get(SICK))}", f"{cleared}, once it was repaired")
    if SUSPECT in notes:
        yield _cause(name, f"look at its GPUs: {_reasons(notes[SUSPECT])}", f"{cleared}, once somebody has looked")


def _reasons(text: object) -> str:
    """Return what an annotation says, in the operation's words; it may hold anything."""
    try:
        said = json.loads(str(text))
    except ValueError:
        said = None
    words = "; ".join(str(one) for one in sequence(dig(said, "what")))
    return shortened(words or "nothing says of what kind")


def _marks(cluster: Cluster, machine: Machine, node: Manifest) -> Iterator[Cause]:
    """Yield labels and taints that a node should have and has not."""
    command = f"gen bootstrap --cluster {cluster.name} --apply"
    labels = mapping(dig(node, "metadata", "labels"))
    wrong = [f"{key}={value}" for key, value in node_labels(cluster, machine).items() if labels.get(key) != value]
    if wrong:
        yield _cause(machine.name, f"it lacks the labels {', '.join(wrong)}", command)
    taints = {_taint(one) for one in sequence(dig(node, "spec", "taints"))}
    lacking = [str(one) for one in machine.taints if str(one) not in taints]
    if lacking:
        yield _cause(machine.name, f"it lacks the taints {', '.join(lacking)}", command)


def _taint(one: Manifest) -> str:
    value = dig(one, "value")
    return f"{dig(one, 'key')}{f'={value}' if value else ''}:{dig(one, 'effect')}"


def _resources(cluster: Cluster, machine: Machine, node: Manifest, offering: Sequence[Definition]) -> Iterator[Cause]:
    """Yield extended resources of which a node offers less than it should."""
    offered: Mapping[str, object] = mapping(dig(node, "status", "allocatable"))
    for definition in offering:
        for name, wanted in definition.offers(cluster, machine).items():
            has = _count(offered.get(name))
            if wanted is not None and has < wanted:
                why = f"it offers {has} of {wanted} {name}, which {definition.name} brings"
                yield _cause(machine.name, why, f"kubectl describe node {machine.name}")


def _count(text: object) -> int:
    try:
        return Quantity.parse(str(text or 0)).value
    except ValueError:
        return 0
