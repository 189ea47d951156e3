"""From a cluster that runs to the text of its cluster file."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from generator.live.running import RunningCluster
from generator.model.cluster import cluster_file
from generator.model.finding import Finding, Path, Position, Severity
from generator.repository.cluster_files import Loaded, examine
from generator.survey.control_plane import kubernetes
from generator.survey.gpus import gpus
from generator.survey.installed import Installed, components, frameworks, installed
from generator.survey.machines import seen_nodes
from generator.survey.networks import networks
from generator.survey.notes import Notes
from generator.survey.pools import pooled
from generator.survey.seen import Seen, tell_refused
from generator.survey.site import gitops, repository, site
from generator.survey.storage import storage
from generator.survey.teams import scheduling, teams
from generator.survey.write import summary, write

Plain: TypeAlias = dict[str, Any]


class Surveyed(Struct, frozen=True, kw_only=True):
    """The file's text, what rules say of it, and what could not be known, one line each."""

    text: str
    loaded: Loaded
    unknown: list[str]
    nodes: int
    pools: int


def survey(running: RunningCluster, name: str) -> Surveyed:
    """Read a running cluster and write it down as the cluster NAME. Raises UsageError where there is no talking to it;
    what may not be read is left out.
    """
    notes = Notes()
    seen = Seen(running)
    found = installed(seen)
    spec = _spec(seen, name, found, notes)
    first = _decodable(spec, name, notes)
    if first.cluster:
        spec["components"] = components(first.cluster, found, seen, notes)
    tell_refused(seen.refused, notes)
    told = _examined(write(name, running.host, spec, notes), name)
    for at, error in _errors(told):
        notes.unknown(at, error)
    text = write(name, running.host, spec, notes)
    return Surveyed(
        text=text,
        loaded=_examined(text, name),
        unknown=summary(notes),
        nodes=len(spec["nodes"]),
        pools=len(spec["pools"]),
    )


OPTIONAL = ("frameworks", "teams", "scheduling", "storage", "gitops", "gpus")


def _decodable(spec: Plain, name: str, notes: Notes) -> Loaded:
    """Examine the file, without the sections that no file can have as the cluster has them."""
    found = _examined(write(name, "", spec, Notes()), name)
    if found.cluster:
        return found
    at = (finding.at for finding in found.findings if not isinstance(finding.at, Position))
    for section in {str(step) for path in at for step in path[:2]} & {*OPTIONAL} & spec.keys():
        del spec[section]
        notes.unknown((section,), "this section: what the cluster has does not fit a file")
    return _examined(write(name, "", spec, Notes()), name)


def _spec(seen: Seen, name: str, found: dict[str, Installed], notes: Notes) -> Plain:
    machines = seen_nodes(seen, notes)
    pools, nodes = pooled(machines, notes)
    if not nodes:
        notes.unknown(("nodes",), "which machines there are: none is seen that a file can name")
    notes.unknown(("pools",), "hardware.disks: no API server knows them")
    notes.unknown(("kubernetes",), "deliver: how files of nodes reach machines (Ansible, cloud-init)")
    notes.unknown(("kubernetes",), "etcd.defragment: whether a timer of the machines makes etcd's files small again")
    beside = "monitoring, backups, storage.datasets, storage.elsewhere, volumeBackups, acceptance, autoscaler, "
    beside += "gpuCare, mlperf, admins"
    notes.unknown(("gitops",), f"what gen is asked for beside: {beside} (docs/cluster-file.md)")
    members = {pool: [node["name"] for node in nodes if node["pool"] == pool] for pool in pools}
    cni = next((one for one in ("cilium", "calico") if one in found), None)
    owners = teams(seen, pools, members, notes)
    spec: Plain = {
        "repository": repository(seen, notes),
        "site": site(seen, name, notes),
        "kubernetes": kubernetes(seen, machines, notes),
        "networks": networks(seen, machines, cni, notes),
        "gpus": gpus(seen.nodes),
        "pools": pools,
        "nodes": nodes,
        "storage": storage(seen, notes),
        "scheduling": scheduling(seen, owners, notes),
        "teams": owners,
        "frameworks": frameworks(found, owners, notes),
        "gitops": gitops(seen),
    }
    return {key: value for key, value in spec.items() if value or key in {"pools", "nodes"}}


def _examined(text: str, name: str) -> Loaded:
    return examine(text.encode(), cluster_file(name), name)


def _errors(told: Loaded) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with the file as it is, at the section it is about: the first of each code, and how many."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in told.findings:
        if finding.severity == Severity.ERROR:
            at = () if isinstance(finding.at, Position) else finding.at
            section = str(next((step for step in at if step != "spec"), "nodes"))
            found.setdefault((section, finding.code), []).append(finding)
    for (section, code), (first, *more) in found.items():
        fix, others = f"; {first.fix}" if first.fix else "", f" (and {len(more)} more of this kind)" if more else ""
        yield (section,), f"`gen check` says {code}: {first.message}{fix}{others}"
