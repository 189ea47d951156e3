"""Benchmarks by MLPerf Inference: Jobs through a team's queue, judged by what LoadGen says, compared with the last."""

import json
from collections.abc import Iterator

from generator.components.component import Component, Manifest, Namespace, Operation, Patch
from generator.components.mlperf import DEFINITION
from generator.components.mlperf.jobs import machines, plan, service, user_conf
from generator.components.mlperf.names import BENCHMARKS, NAMESPACE, OF_TEAM, OPERATION, labels
from generator.components.mlperf.rights import in_team, people, quota
from generator.components.mlperf.template import scripts, workflow_template
from generator.components.static import read_objects, read_text
from generator.components.workflows.steps import patch_of
from generator.model.cluster import Cluster
from generator.model.mlperf import Mlperf
from generator.model.teams import Team


def install(cluster: Cluster) -> Component:
    """Return the operation and what it runs. Its namespace has no GPUs: all that needs one is a Job of the team's."""
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Operation: benchmarks of a team's GPUs by MLPerf Inference",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=read_objects("mlperf/base.yaml"),
        objects=tuple(objects(cluster)),
        operations=(Operation(name=OPERATION, templates=(scripts(), workflow_template())),),
        patches=benchmark_names(cluster),
        needs=("argo-workflows", "tenants"),
    )


def benchmark_names(cluster: Cluster) -> tuple[Patch, ...]:
    """Return what tells the template the names of this cluster's benchmarks: others are refused before it begins."""
    template = workflow_template()
    names = [run.name for run in cluster.mlperf.runs] if cluster.mlperf else []
    asked = [one["name"] for one in template["spec"]["arguments"]["parameters"]].index("benchmark")
    path = f"/spec/arguments/parameters/{asked}/enum"
    return (patch_of(template, [{"op": "add", "path": path, "value": names}]),) if names else ()


def objects(cluster: Cluster) -> Iterator[Manifest]:
    """Yield what differs between clusters; nothing but the quota where the file has not the team, or no GPUs in the
    pool: rules report it.
    """
    yield quota(cluster)
    wanted = cluster.mlperf
    team = next((one for one in cluster.teams if wanted and one.name == wanted.team), None)
    if wanted and team and machines(cluster, wanted):
        yield benchmarks(cluster, team, wanted)
        yield from people(team)
        yield from in_team(team)
        yield programs(team, wanted)
        yield from (service(team, run) for run in wanted.runs if run.nodes > 1)


def benchmarks(cluster: Cluster, team: Team, wanted: Mlperf) -> Manifest:
    """Return the ConfigMap from which the operation takes a benchmark by its name."""
    plans = {run.name: plan(cluster, team, wanted, run) for run in wanted.runs}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": BENCHMARKS, "namespace": NAMESPACE, "labels": labels()},
        "data": {f"{name}.json": json.dumps(one, indent=1, sort_keys=True) for name, one in plans.items()},
    }


def programs(team: Team, wanted: Mlperf) -> Manifest:
    """Return the ConfigMap that pods of benchmarks mount: what starts the harness, and LoadGen's user.conf of each."""
    files = {f"{run.name}.conf": user_conf(run) for run in wanted.runs}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": OF_TEAM, "namespace": team.name, "labels": labels()},
        "data": {"run.sh": read_text("mlperf/run.sh"), **files},
    }
