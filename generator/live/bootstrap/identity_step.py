"""The first step: the running cluster is the one that is meant, and says so from now on."""

from collections.abc import Callable, Iterator, Sequence

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.bootstrap.step import Item, State, Step
from generator.live.identity import NAME, NAMESPACE, PATH, record, recorded, refuse_another
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import dig, sequence


def identity(running: RunningCluster, cluster: Cluster, nodes: Sequence[Manifest]) -> Step:
    """Look whether a running cluster is the one that is meant. Raises UsageError where it is another."""
    _refuse_wrong(running, cluster, nodes)
    wanted = record(cluster)["data"]
    found = running.get(f"{PATH}/{NAME}")
    place = f"ConfigMap {NAMESPACE}/{NAME}"
    if found is None:
        return _step(State.TO_DO, f"{place} will say that this is {cluster.name}", lambda: _create(running, cluster))
    differs = {key: value for key, value in wanted.items() if dig(found, "data", key) != value}
    if not differs:
        return _step(State.DONE, f"{place} says that this is {cluster.name}", lambda: iter(()))
    told = ", ".join(f"{key} {value} instead of {dig(found, 'data', key)}" for key, value in differs.items())
    return _step(State.TO_DO, f"{place} will say {told}", lambda: _change(running, differs))


def _step(state: State, what: str, act: Callable[[], Iterator[str]]) -> Step:
    return Step(name="identity", items=(Item(state, what),), act=act)


def _create(running: RunningCluster, cluster: Cluster) -> Iterator[str]:
    if running.create(PATH, record(cluster)) is None:
        raise UsageError(f"{running.host} was just recorded by somebody else: look who, then run again")
    yield f"recorded that this is {cluster.name}"


def _change(running: RunningCluster, differs: dict[str, str]) -> Iterator[str]:
    running.merge(f"{PATH}/{NAME}", {"data": differs})
    yield f"recorded {', '.join(differs)} anew"


def _refuse_wrong(running: RunningCluster, cluster: Cluster, nodes: Sequence[Manifest]) -> None:
    name = recorded(running)
    if name:
        refuse_another(running, cluster, name)
    there = [_name(node) for node in nodes]
    if not there:
        raise UsageError(
            f"{running.host} has no nodes yet: run the steps before this one of "
            f"clusters/{cluster.name}/bootstrap/README.md first"
        )
    if not {machine.name for machine in cluster.machines} & {*there}:
        shown = ", ".join(there[:3]) + (" ..." if len(there) > 3 else "")
        raise UsageError(
            f"{running.host} has none of the nodes of {cluster.name}, but {shown}: name the right --kubeconfig or "
            "--context, or correct the names of nodes in the cluster file"
        )
    if not name and (stranger := _elsewhere(cluster, nodes)):
        raise UsageError(
            f"{running.host} has nodes that are called as those of {cluster.name} and have other addresses ({stranger})"
            ": name the right --kubeconfig or --context, or correct the addresses in the cluster file"
        )


def _elsewhere(cluster: Cluster, nodes: Sequence[Manifest]) -> str:
    """Return a node of a name of the file, with its address, where none of these has the address that the file says:
    clusters of one site often call their nodes alike. Empty where some has, or none says one.
    """
    expected = {machine.name: str(machine.address) for machine in cluster.machines}
    said = {name: found for node in nodes if (name := _name(node)) in expected and (found := _addresses(node))}
    if not said or any(expected[name] in found for name, found in said.items()):
        return ""
    name, found = next(iter(said.items()))
    return f"{name} {', '.join(found)} instead of {expected[name]}"


def _name(node: Manifest) -> str:
    return str(dig(node, "metadata", "name"))


def _addresses(node: Manifest) -> list[str]:
    listed = sequence(dig(node, "status", "addresses"))
    return [str(dig(one, "address")) for one in listed if dig(one, "type") == "InternalIP"]
