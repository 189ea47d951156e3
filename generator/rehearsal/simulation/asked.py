"""What machines do at once that their Nodes are asked: a new version, a boot, new files or certificates. Where no timer
does it, somebody there did, and said so.
"""

from datetime import UTC, datetime, timedelta

from generator.components.component import Manifest
from generator.components.node_operations.names import MACHINE
from generator.live.running import RunningCluster
from generator.live.times import stamp
from generator.model.fields import dig, mapping
from generator.rehearsal.simulation.reading import NODES

ASKED = "gen.internal/upgrade"
"""An annotation of a Node: what its machine is asked, in two words, and when."""
ANSWERED = f"{ASKED}-answer"
"""An annotation of a Node: what its machine was asked, and how it ended."""
BOOTS = ("patch", "reboot")
SERVERS = "/api/v1/namespaces/kube-system/pods"


def work(twin: RunningCluster, node: Manifest) -> None:
    """Do what the machine of a node is asked, if it is. Raises UsageError."""
    notes = mapping(node["metadata"].get("annotations"))
    if not (words := str(notes.get(ASKED, ""))):
        return
    how, what, *_ = words.split()
    if how in ("apply", "node"):
        _upgrade(twin, node, what)
    elif not str(notes.get(ANSWERED, "")).startswith(f"{words}: "):
        _maintain(twin, node, words)


def _upgrade(twin: RunningCluster, node: Manifest, version: str) -> None:
    name = node["metadata"]["name"]
    if dig(node, "status", "nodeInfo", "kubeletVersion") == f"v{version}":
        return
    label = "component=kube-apiserver,tier=control-plane"
    for pod in twin.items(SERVERS, labelSelector=label, fieldSelector=f"spec.nodeName={name}"):
        (container,) = pod["spec"]["containers"]
        image = f"{container['image'].partition('@')[0].rpartition(':')[0]}:v{version}"
        change = {"spec": {"containers": [{**container, "image": image}]}}
        twin.merge(f"{SERVERS}/{pod['metadata']['name']}", change)
    twin.merge(f"{NODES}/{name}/status", {"status": {"nodeInfo": {"kubeletVersion": f"v{version}"}}})


def _maintain(twin: RunningCluster, node: Manifest, words: str) -> None:
    name, how = node["metadata"]["name"], words.partition(" ")[0]
    if how in BOOTS:
        twin.merge(f"{NODES}/{name}/status", {"status": {"nodeInfo": {"bootID": f"boot-{words.rpartition(' ')[2]}"}}})
    told = of_itself(node)
    notes = {ANSWERED: f"{words}: done"} | ({MACHINE: written(told | _done(told, how))} if told else {})
    twin.merge(f"{NODES}/{name}", {"metadata": {"annotations": notes}})


def _done(told: dict[str, str], how: str) -> dict[str, str]:
    """Return what a machine tells of itself otherwise once it has done something."""
    in_a_year = stamp(datetime.now(UTC) + timedelta(days=365))
    changed = {"certificates": {"certificates": in_a_year}, "files": {"applied": told.get("files", "")}}
    return changed.get(how, {"reboot": "no"})


def of_itself(node: Manifest) -> dict[str, str]:
    """Return what the machine of a node tells of itself, nothing where it has no timer."""
    words = str(mapping(node["metadata"].get("annotations")).get(MACHINE, "")).split()
    return dict(one.split("=", 1) for one in words if "=" in one)


def written(told: dict[str, str]) -> str:
    """Write what a machine tells of itself."""
    return " ".join(f"{key}={value}" for key, value in told.items())
