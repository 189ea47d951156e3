"""One cluster file edited: read, judged as it would be, and written whole."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address
from pathlib import Path

from msgspec import Struct, structs

from generator.checks import check_together
from generator.checks.places import endpoint_address
from generator.edits.source import Source
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.repository.cluster_files import Loaded, examine, load, no_such_cluster
from generator.repository.named_elsewhere import named_elsewhere
from generator.repository.plan import Owned, plan
from generator.repository.write_lock import WriteLock
from generator.repository.writer import write
from generator.spec.near import suggest


class Outcome(Struct, frozen=True):
    """An edit and what it does: the cluster before, the file after with only those findings that it did not have, and
    both texts. `named` says where nodes that leave are named outside of the file.
    """

    before: Cluster
    after: Loaded
    old: str
    new: str
    named: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """How many errors the edit brings."""
        return sum(finding.severity == Severity.ERROR for finding in self.after.findings)


def edited(root: Path, cluster: str | None, holds: str, edit: Callable[[Source], str]) -> Outcome:
    """Return what an edit makes of a cluster file: of the cluster named, else of the only one, or of the one that
    `holds` this node or pool. Raises UsageError where there is none, where the file is wrong already, and where the
    edit cannot be made.
    """
    loaded = load(root)
    one = _chosen(loaded, cluster, holds)
    if one.cluster is None:
        raise UsageError(f"{one.document.file} cannot be edited while it is wrong: `gen check --cluster {one.name}`")
    old = (root / one.document.file).read_bytes().decode()
    if old.removeprefix("\ufeff") != one.document.text:
        raise UsageError(f"{one.document.file} was changed at this moment by somebody else; run again")
    new = edit(Source(old, one.document, one.cluster, _elsewhere(each.cluster for each in loaded if each is not one)))
    after = _judged(loaded, one, new)
    return Outcome(one.cluster, after, old, new, _named(root, one.cluster, after, loaded))


def _named(root: Path, before: Cluster, after: Loaded, loaded: Sequence[Loaded]) -> tuple[str, ...]:
    stay = {node.name for node in after.cluster.nodes} if after.cluster else set[str]()
    gone = [machine for machine in before.machines if machine.name not in stay]
    others = {one.name: one.cluster for one in loaded if one.name != after.name}
    return tuple(named_elsewhere(root, after.name, gone, others)) if gone and after.cluster else ()


def _elsewhere(clusters: Iterable[Cluster | None]) -> frozenset[IPv4Address]:
    others = [cluster for cluster in clusters if cluster]
    nodes = {node.address for cluster in others for node in cluster.nodes}
    return frozenset(nodes | {address for cluster in others if (address := endpoint_address(cluster))})


def _chosen(loaded: Sequence[Loaded], cluster: str | None, holds: str) -> Loaded:
    if cluster is not None:
        found = [one for one in loaded if one.name == cluster]
        if not found:
            raise UsageError(no_such_cluster(cluster, [one.name for one in loaded]))
        return found[0]
    chosen = [one for one in loaded if holds in _names(one)] if len(loaded) > 1 else loaded
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        meant = suggest(holds, [name for one in loaded for name in _names(one)], "")
        raise UsageError(f"no cluster here has a node or pool {holds}" + (f"; {meant}" if meant else ""))
    listed = " or ".join(f"--cluster {one.name}" for one in chosen)
    raise UsageError(f"{holds} is in several clusters: say which is meant, {listed}")


def _names(one: Loaded) -> list[str]:
    """Return the names of nodes and pools."""
    return [*one.cluster.pools, *(node.name for node in one.cluster.nodes)] if one.cluster else []


def _judged(loaded: Sequence[Loaded], one: Loaded, new: str) -> Loaded:
    """Return the file after the edit with the findings that it did not have before."""
    after = examine(new.encode(), one.document.file, one.name)
    clusters = {each.name: each.cluster for each in loaded if each.cluster}
    if after.cluster:
        after = after.adding([*check_together(clusters | {one.name: after.cluster})])
    known = Counter(map(_told, one.findings))
    fresh = []
    for finding in after.findings:
        known[_told(finding)] -= 1
        if known[_told(finding)] < 0:
            fresh.append(finding)
    return structs.replace(after, findings=tuple(fresh))


def _told(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.message


def write_edit(lock: WriteLock, outcome: Outcome) -> None:
    """Write the edited file, and nothing else."""
    file = outcome.after.document.file
    write(lock, plan(lock.root, {file: outcome.new.encode()}, {}, Owned()))
