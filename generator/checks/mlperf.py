"""Rules about benchmarks: whose GPUs they take, and whether they can ever start."""

from collections.abc import Iterator

from generator.checks.places import given_twice, unknown
from generator.checks.tiers import brings_classes, shared_classes
from generator.components.datasets import DATASET, claim_name, modes
from generator.components.queues.reach import reach
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.gpus import GPU
from generator.model.mlperf import LIMITS, Mlperf, MlperfRun
from generator.model.rule import rule, warning
from generator.model.teams import Team

RUNS: Path = ("mlperf", "runs")


@rule("GEN-MLP-001", "benchmarks of a team that exists")
def team_known(cluster: Cluster) -> Iterator[Finding]:
    """Benchmarks run in the namespace of a team, through its queue, and its members start them.

    Wrong:
        teams: [{name: bench, ...}]
        mlperf: {team: benhc, ...}
    Right:
        teams: [{name: bench, ...}]
        mlperf: {team: bench, ...}
    """
    wanted, known = cluster.mlperf, [team.name for team in cluster.teams]
    if wanted and wanted.team not in known:
        message = f"benchmarks are of team {wanted.team}, which there is not"
        otherwise = f"one of {', '.join(known)}" if known else "add it to `teams`"
        yield unknown(("mlperf", "team"), wanted.team, known, message, otherwise)


@rule("GEN-MLP-002", "benchmarks on whole GPUs")
def pool_fits(cluster: Cluster) -> Iterator[Finding]:
    """A benchmark gets all GPUs of each of its nodes. A part of a GPU, or turns on one that others share, gives figures
    that say nothing of it.

    Wrong:
        pools: {gpu: {hardware: {gpu: {model: A30, count: 1, memory: 24Gi, timeSlices: 4}, ...}}}
        mlperf: {pool: gpu, ...}
    Right:
        pools: {gpu: {hardware: {gpu: {model: A30, count: 1, memory: 24Gi}, ...}}}
        mlperf: {pool: gpu, ...}
    """
    wanted = cluster.mlperf
    if wanted and (what := _unfit(cluster, wanted.pool)):
        fit = [name for name in cluster.pools if not _unfit(cluster, name)]
        message = f"benchmarks are to run on pool {wanted.pool}, {what}"
        otherwise = f"one of {', '.join(fit)}" if fit else "leave `mlperf` out"
        yield unknown(("mlperf", "pool"), wanted.pool, fit, message, otherwise)


def _unfit(cluster: Cluster, pool: str) -> str:
    """Return why benchmarks cannot run on a pool, empty where they can."""
    if pool not in cluster.pools:
        return "which there is not"
    found = [one.hardware.gpu for one in cluster.in_pools(pool) if one.gpus]
    if not found:
        return "whose nodes have no GPUs"
    return "whose GPUs are split or shared" if any(gpu and (gpu.mig or gpu.time_slices) for gpu in found) else ""


@rule("GEN-MLP-003", "benchmarks have names of their own")
def names_differ(cluster: Cluster) -> Iterator[Finding]:
    """A benchmark is started by its name, and compared with the last run of that name.

    Wrong:
        runs:
          - {name: resnet50, model: resnet50, scenario: Offline, ...}
          - {name: resnet50, model: resnet50, scenario: Server, ...}
    Right:
        runs:
          - {name: resnet50-offline, model: resnet50, scenario: Offline, ...}
          - {name: resnet50-server, model: resnet50, scenario: Server, ...}
    """
    items = ((run.name, (*at, "name")) for at, run in _runs(cluster))
    yield from given_twice(items, "two benchmarks are called {}", "give each a name of its own")


def _runs(cluster: Cluster) -> list[tuple[Path, MlperfRun]]:
    found = cluster.mlperf.runs if cluster.mlperf else ()
    return [((*RUNS, index), run) for index, run in enumerate(found)]


@rule("GEN-MLP-004", "scenarios that a model has")
def scenario_known(cluster: Cluster) -> Iterator[Finding]:
    """MLPerf's rules give no limit of latency to models that nobody waits for: of these there is the Offline scenario
    alone in the datacenter.

    Wrong:
        - {name: unet, model: 3d-unet, scenario: Server, ...}
    Right:
        - {name: unet, model: 3d-unet, scenario: Offline, ...}
    """
    for place, run in _runs(cluster):
        if run.scenario == "Server" and not LIMITS[run.model].served:
            at = (*place, "scenario")
            message = f"{run.model} has no Server scenario in the datacenter by MLPerf Inference v5.0"
            yield Finding(at=at, also=(*place, "model"), message=message, edits=put(at, "Offline"))


@rule("GEN-MLP-005", "benchmarks that can start")
def room_enough(cluster: Cluster) -> Iterator[Finding]:
    """Kueue lets a job in whole. One that asks for more than its team owns and may borrow waits for ever, and with
    `queueing: StrictFIFO` all the team's other jobs behind it.

    Wrong:
        # 2 nodes with 8 GPUs each, and
        - {name: bench, quotas: {gpu: {gpus: 8, borrow: 0}}}
        - {name: llama, model: llama2-70b, scenario: Offline, queriesPerSecond: 40, nodes: 2}
    Right:
        - {name: bench, quotas: {gpu: {gpus: 16}}}
    """
    wanted = cluster.mlperf
    team = next((one for one in cluster.teams if wanted and one.name == wanted.team), None)
    if not wanted or not team or _unfit(cluster, wanted.pool):
        return
    most = _most(cluster, team, wanted)
    for place, run in _runs(cluster):
        if run.nodes > most:
            at = (*place, "nodes") if run.nodes > 1 else place
            has = f"{most} of them" if most else "none"
            message = f"benchmark {run.name} takes all GPUs of {run.nodes} nodes, and team {team.name} can have {has}"
            yield Finding(at=at, also=("pools", wanted.pool), message=message, fix=_more(team, wanted, most))


def _more(team: Team, wanted: Mlperf, most: int) -> str:
    raised = f"raise `quotas.{wanted.pool}` of team {team.name}"
    return f"take {most} at most, or {raised}" if most else raised


def _most(cluster: Cluster, team: Team, wanted: Mlperf) -> int:
    """Return of how many nodes the team can have all GPUs at once: as many on each as the smallest has."""
    found = [one.gpus for one in cluster.in_pools(wanted.pool) if one.gpus]
    there = reach(cluster, team, wanted.pool).devices.get(GPU, 0) if wanted.pool in team.quotas else 0
    return min(len(found), there // min(found))


@rule("GEN-MLP-006", "benchmarks on several nodes read data that all of them mount")
def data_shared(cluster: Cluster) -> Iterator[Finding]:
    """Each pod mounts `data`, and pods of such a benchmark are on nodes of their own. A volume of a node's own disks is
    on that node, and one of block devices is mounted by one at a time: the pods elsewhere never start, and the GPUs of
    all are held meanwhile. Where `extras` may bring a class of files, nothing is judged.

    Wrong:
        storage: {scratch: {storageClass: scratch-nvme}}
        mlperf:
          data: mlperf-data
          runs: [{name: llama, model: llama2-70b, scenario: Offline, queriesPerSecond: 40, nodes: 2}]
    Right:
        storage:
          nfs: {server: nfs.example.org, share: /exports/shared}
          datasets: [{name: mlperf, share: /exports/mlperf, size: 1Ti, readers: [bench]}]
        mlperf:
          data: dataset-mlperf
    """
    wanted = cluster.mlperf
    if not wanted or not wanted.data or shared_classes(cluster) or brings_classes(cluster):
        return
    spread = next(((at, run) for at, run in _runs(cluster) if run.nodes > 1), None)
    if spread:
        place, run = spread
        message = (
            f"benchmark {run.name} reads claim {wanted.data} on {run.nodes} nodes at once, and no storage class here "
            "is mounted by more than one"
        )
        at, fix = ("mlperf", "data"), "add storage.nfs, or a filesystem of Ceph's"
        yield Finding(at=at, also=(*place, "nodes"), message=message, fix=fix)


@warning("GEN-MLP-007", "benchmarks read a dataset of their team")
def dataset_given(cluster: Cluster) -> Iterator[Finding]:
    """A team has the claim `dataset-NAME` of the datasets that it owns or reads. Of another one nobody makes the claim:
    the pods wait for it, and the GPUs of all are held meanwhile. Only a warning: a team may call a claim of its own so.

    Wrong:
        storage: {datasets: [{name: mlperf, share: /exports/mlperf, size: 1Ti, readers: [vision]}]}
        mlperf: {team: bench, data: dataset-mlperf, ...}
    Right:
        storage: {datasets: [{name: mlperf, share: /exports/mlperf, size: 1Ti, readers: [bench]}]}
        mlperf: {team: bench, data: dataset-mlperf, ...}
    """
    wanted = cluster.mlperf
    if wanted and wanted.data and wanted.data.startswith(DATASET):
        given = [claim_name(one) for one in cluster.storage.datasets if wanted.team in modes(cluster, one)]
        if wanted.data not in given:
            message = f"no dataset gives team {wanted.team} the claim {wanted.data}"
            otherwise = f"one of {', '.join(given)}" if given else "name the team among the `readers` of a dataset"
            yield unknown(("mlperf", "data"), wanted.data, given, message, otherwise)
