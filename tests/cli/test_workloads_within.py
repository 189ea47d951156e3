"""What `gen workload` writes for each team of each reference cluster, judged as part of it: nothing is wrong in it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reference import ROOT, load

from generator.cli import run
from generator.components import unrun
from generator.components.queues.volumes import lasting_classes
from generator.errors import UsageError
from generator.layout.emit import emit
from generator.model.cluster import Cluster
from generator.model.gpus import devices
from generator.model.quantity import Quantity
from generator.model.teams import Team
from generator.workloads import KINDS, workload
from generator.workloads.ingest import Ingest, ingest
from generator.workloads.server import Server, server
from generator.workloads.wanted import Serving, Wanted

Object = dict[str, Any]
CLUSTERS = sorted(file.parent.name for file in (ROOT / "clusters").glob("*/cluster.yaml"))
IMAGE = "registry.example.org/team/work:1"
SMALL = Quantity.parse("1Gi")
UNKNOWN = "GEN-API-004"
"""Definitions that `gen vendor` brings."""


def sizes(cluster: Cluster, pool: str) -> Iterator[tuple[str, int]]:
    """Yield how much of a pool's GPUs jobs ask for: one, a node's, and where they are not split those of two nodes."""
    nodes = cluster.in_pools(pool)
    for device in devices(cluster.gpus, nodes[0].hardware.gpu):
        gpu = nodes[0].hardware.gpu
        split = gpu is None or gpu.mig or gpu.time_slices
        whole = nodes[0].gpus
        yield from ((device, count) for count in ((1,) if split else sorted({1, whole, 2 * whole})))


def asked(cluster: Cluster, team: Team) -> Iterator[tuple[str, Wanted]]:
    """Yield jobs and services on each pool with GPUs of a team, of each kind."""
    for number, pool in enumerate(pool for pool in team.quotas if any(one.gpus for one in cluster.in_pools(pool))):
        for device, gpus in sizes(cluster, pool):
            for kind, one in KINDS.items():
                name = f"{kind}-{number}-{gpus}"
                host = team.hosts[0] if team.hosts else None
                serving = Serving(models="pvc://models", least=1, most=1, host=host) if one.serves else None
                yield kind, Wanted(
                    name=name, team=team.name, gpus=gpus, image=IMAGE, pool=pool, device=device, checkpoints=SMALL,
                    serving=serving,
                )  # fmt: skip


def refusal(cluster: Cluster, team: Team, kind: str, wanted: Wanted) -> str:
    """Return what gen must say instead of writing it, as the cluster file has it; empty where it must write it."""
    nodes = cluster.in_pools(wanted.pool or "")
    if KINDS[kind].operated and unrun(cluster, KINDS[kind].operated):
        return "frameworks"
    if kind == "pipeline" and not team.pipelines:
        return "pipelines: true"
    several = wanted.gpus > max(one.gpus for one in nodes)
    return "one pod" if several and (kind == "pipeline" or KINDS[kind].serves) else ""


def claim(cluster: Cluster, team: Team, name: str) -> Object:
    """Return a claim of a class that the team may use."""
    none = {name for name, bound in team.storage_classes.items() if not bound.value}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": team.name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": [one for one in lasting_classes(cluster) if one not in none][-1],
            "resources": {"requests": {"storage": str(SMALL)}},
        },
    }


def on_cpus(cluster: Cluster, team: Team) -> Iterator[list[Object]]:
    """Yield what brings data, and what serves, where a team has nodes without GPUs."""
    if all(any(one.gpus for one in cluster.in_pools(pool)) for pool in team.quotas):
        return
    yield ingest(cluster, Ingest(name="bring", team=team.name, source="pvc://models", target="pvc://mine", image=IMAGE))
    host = team.hosts[-1] if team.hosts else None
    made, _ = server(
        cluster, Server(name="tagger", team=team.name, image=IMAGE, port=8080, least=1, most=2, ready="/x", host=host)
    )
    yield made


def everything(cluster: Cluster, team: Team) -> Iterator[list[Object]]:
    yield [claim(cluster, team, name) for name in ("models", "mine")]
    yield from on_cpus(cluster, team)
    for kind, wanted in asked(cluster, team):
        told = refusal(cluster, team, kind, wanted)
        if told:
            with pytest.raises(UsageError, match=told):
                workload(cluster, kind, wanted)
        else:
            yield workload(cluster, kind, wanted).manifests


@pytest.mark.parametrize("name", CLUSTERS)
def test_gen_s_own_rules_find_nothing_in_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = load(name)
    kinds = []
    for team in cluster.teams:
        for number, manifests in enumerate(everything(cluster, team)):
            kinds += [one["kind"] for one in manifests]
            text = "---\n".join(emit(one) for one in manifests)
            (tmp_path / f"{team.name}-{number}.yaml").write_text(text)
    assert run(["check", "-C", str(ROOT), "--cluster", name, str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert set(re.findall(r"GEN-[A-Z]+-\d+", told)) <= {UNKNOWN}
    assert f"{len(kinds)} objects, 0 errors" in told
    operated = {one.operated for one in KINDS.values() if one.operated and not unrun(cluster, one.operated)}
    assert operated | {"Job", "Deployment"} <= set(kinds)
