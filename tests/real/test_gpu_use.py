"""The use of GPUs by team: rules and dashboard on Prometheus' own test program, with samples as exporters write them:
dcgm-exporter 4.6 (internal/pkg/rendermetrics, MIG and pod labels), kube-state-metrics 2, Kueue v0.18.3.
"""

import json
import re
from pathlib import Path
from typing import Any

import promtool
import pytest
from msgspec import structs
from reference import load

from generator.components.kube_prometheus_stack.watched import dashboards, rules
from generator.model.cluster import Cluster
from generator.model.scaling import Autoscaler, Scaling

pytestmark = pytest.mark.real

HOURS = 6
MINUTES = HOURS * 60
STATE = 'job="kube-state-metrics"'
# A pod, its node, what it asks for, the share of time in which each of its GPUs works (in thousandths), its phase.
PODS = {
    "speech/train": ("a100-1", "nvidia_com_gpu", 4, (500, 300), "Running"),
    "speech/asleep": ("a100-2", "nvidia_com_gpu", 8, (0, 40), "Running"),
    "speech/pulling": ("a100-3", "nvidia_com_gpu", 2, (), "Pending"),
    "speech/waiting": ("", "nvidia_com_gpu", 4, (), "Pending"),
    "speech/ended": ("a100-1", "nvidia_com_gpu", 4, (), "Succeeded"),
    "assistant/part": ("a100-5", "nvidia_com_mig_2g_20gb", 1, (1000,), "Running"),
    "search/turn": ("t4-1", "nvidia_com_gpu", 1, (800,), "Running"),
    "search/service": ("l4-1", "nvidia_com_gpu", 1, (0,), "Running"),
}
WAITED = {"1": 1, "2.5": 1, "5": 5, "10": 9, "20": 10, "+Inf": 10}
"""Jobs admitted each minute, by the longest that they waited, in seconds."""


@pytest.fixture(scope="module")
def serving() -> Cluster:
    return load("gpu-serving")


def series() -> list[dict[str, str]]:
    found = {
        f'kube_node_status_allocatable{{{STATE},node="{node}",resource="{resource}",unit="integer"}}': f"{count}"
        for node, resource, count in (
            ("a100-1", "nvidia_com_gpu", 8),
            ("a100-5", "nvidia_com_mig_2g_20gb", 12),
            ("t4-1", "nvidia_com_gpu", 16),
            ("a100-1", "cpu", 64),
        )
    }
    for name, (node, resource, count, active, phase) in PODS.items():
        namespace, pod = name.split("/")
        of = f'{STATE},namespace="{namespace}",pod="{pod}",uid="{pod}-1"'
        asked = f'kube_pod_container_resource_requests{{{of},container="main",node="{node}",resource'
        found[f'{asked}="{resource}",unit="integer"}}'] = f"{count}"
        found[f'{asked}="cpu",unit="core"}}'] = "16"
        for each in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
            found[f'kube_pod_status_phase{{{of},phase="{each}"}}'] = f"{int(each == phase)}"
        owner = "ReplicaSet" if pod == "service" else "Job"
        found[f'kube_pod_owner{{{of},owner_kind="{owner}",owner_name="x",owner_is_controller="true"}}'] = "1"
        for gpu, part in enumerate(active):
            labels = f'gpu="{gpu}",UUID="GPU-{node}-{gpu}",Hostname="{node}",namespace="gpu-operator",pod="exporter"'
            held = f'exported_namespace="{namespace}",exported_pod="{pod}",exported_container="main"'
            found[f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels},{held}}}"] = f"{part / 1000:g}"
            found[f"DCGM_FI_DEV_GPU_UTIL{{{labels},{held}}}"] = "99"
    # Nobody holds it, and it is busy with something else.
    found['DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="7",UUID="GPU-z",namespace="gpu-operator",pod="exporter"}'] = "1"
    for role in ("leader", "follower"):
        for queue, flavor, resource, count in (
            ("speech", "a100", "nvidia.com/gpu", 16),
            ("assistant", "a100-slices", "nvidia.com/mig-2g.20gb", 14),
            ("search", "t4", "nvidia.com/gpu", 32),
            ("search", "l4", "nvidia.com/gpu", 4),
        ):
            at = f'cohort="teams",cluster_queue="{queue}",flavor="{flavor}",resource="{resource}",replica_role="{role}"'
            found[f"kueue_cluster_queue_nominal_quota{{{at}}}"] = f"{count}"
    constant = [{"series": one, "values": f"{value}x{MINUTES}"} for one, value in found.items()]
    bucket = 'kueue_admission_wait_time_seconds_bucket{cluster_queue="speech",priority_class="",replica_role="leader"'
    counted = [{"series": f'{bucket},le="{le}"}}', "values": f"0+{jobs}x{MINUTES}"} for le, jobs in WAITED.items()]
    return constant + counted


def told(cluster: Cluster, tmp_path: Path, **test: Any) -> None:
    """Run promtool on the cluster's rules and the samples."""
    kept = [one["spec"] for one in rules(cluster) if one["metadata"]["name"] == "gpu-use"]
    promtool.judge(tmp_path, kept[0], {"interval": "1m", "input_series": series(), **test})


def by_team(kind: str, **values: float) -> dict[str, Any]:
    found = [{"labels": f'{{namespace="{name}"}}', "value": value} for name, value in values.items()]
    return {"expr": f"round(namespace:gpus_{kind}:sum, 0.0001)", "eval_time": f"{HOURS}h", "exp_samples": found}


def test_gpus_are_counted_by_team(serving: Cluster, tmp_path: Path) -> None:
    told(
        serving,
        tmp_path,
        promql_expr_test=[
            by_team("allocated", speech=14, assistant=0.2857, search=1.25),
            by_team("busy", speech=1.76, assistant=0.2857, search=0.2),
            by_team("idle", speech=8, search=1),
            by_team("quota", speech=16, assistant=4, search=12),
        ],
    )


def test_machines_that_cluster_api_made_count_by_their_pool(serving: Cluster, tmp_path: Path) -> None:
    """A T4 of theirs is four turns as well; a GPU of another pool is whole."""
    scaling = Scaling(maximum=4)
    pools = {
        name: structs.replace(pool, scaling=scaling) for name, pool in serving.pools.items() if name in {"t4", "l4"}
    }
    autoscaler = Autoscaler(management="here")
    cluster = structs.replace(serving, pools=serving.pools | pools, autoscaler=autoscaler)
    found = {}
    for node, pool, held in (("md-x7", "t4", 2), ("md-y2", "l4", 1)):
        of = f'{STATE},namespace="robotics",pod="{node}",uid="{node}"'
        found[f'kube_node_labels{{{STATE},node="{node}",label_gen_internal_pool="{pool}"}}'] = 1
        found[f'kube_node_status_allocatable{{{STATE},node="{node}",resource="nvidia_com_gpu"}}'] = 8
        found[f'kube_pod_container_resource_requests{{{of},node="{node}",resource="nvidia_com_gpu"}}'] = held
        found[f'kube_pod_status_phase{{{of},phase="Running"}}'] = 1
    made = [{"series": name, "values": f"{value}x{MINUTES}"} for name, value in found.items()]
    offered = {"labels": "{}", "value": 15.43 + 2 + 8}
    told(
        cluster,
        tmp_path,
        input_series=[*series(), *made],
        promql_expr_test=[
            {"expr": "round(cluster:gpus:sum, 0.01)", "eval_time": f"{HOURS}h", "exp_samples": [offered]},
            by_team("allocated", speech=14, assistant=0.2857, search=1.25, robotics=1.5),
        ],
    )


# What each panel shows of the samples above, by its title: the values of its queries, by team. A range has a sample at
# each of its ends.
ENDS = 61 / 60
SHOWN: dict[str, list[dict[str, float]]] = {
    "GPUs in the cluster": [{"": 15.43}],
    "GPUs allocated": [{"": 15.54}],
    "GPUs busy": [{"": 2.25}],
    "GPUs idle for an hour": [{"": 9}],
    "GPUs allocated, and quota": [
        {"speech": 14, "assistant": 0.29, "search": 1.25},
        {"speech": 16, "assistant": 4, "search": 12},
    ],
    "GPUs busy by team": [{"speech": 1.76, "assistant": 0.29, "search": 0.2}],
    "GPUs idle for an hour by team": [{"speech": 8, "search": 1}],
    "Busy share of what is allocated": [{"speech": 0.13, "assistant": 1, "search": 0.16}],
    "GPU-hours": [
        {"speech": 14 * ENDS, "assistant": 2 / 7 * ENDS, "search": 1.25 * ENDS},
        {"speech": 1.76 * ENDS, "assistant": 2 / 7 * ENDS, "search": 0.2 * ENDS},
        {"speech": 8 * ENDS, "search": 1 * ENDS},
    ],
    "Waiting in the queue": [{"speech": 5}, {"speech": 15}],
    "Pods that hold idle GPUs now": [{"speech": 8, "search": 1}],
}


def panels(cluster: Cluster) -> dict[str, list[str]]:
    """Return the dashboard's queries as Grafana sends them, by panel."""
    (model,) = (
        json.loads(one["data"]["use-by-team.json"]) for one in dashboards(cluster) if "use-by-team.json" in one["data"]
    )
    sent = {"team": ".*", "__range": "1h"}
    return {
        panel["title"]: [re.sub(r"\$(\w+)", lambda one: sent[one[1]], target["expr"]) for target in panel["targets"]]
        for panel in model["panels"]
    }


def test_each_panel_shows_what_is_there(serving: Cluster, tmp_path: Path) -> None:
    queries = panels(serving)
    assert queries.keys() == SHOWN.keys()
    wanted = [
        {
            "expr": f"round(sum by (namespace, cluster_queue) ({query}), 0.01)",
            "eval_time": f"{HOURS}h",
            "exp_samples": [
                {
                    "labels": f'{{{"cluster_queue" if "kueue" in query else "namespace"}="{team}"}}' if team else "{}",
                    "value": round(value, 2),
                }
                for team, value in values.items()
            ],
        }
        for title, panel in queries.items()
        for query, values in zip(panel, SHOWN[title], strict=True)
    ]
    told(serving, tmp_path, promql_expr_test=wanted)


@pytest.mark.parametrize(("hours", "fires"), [(3, ()), (5, ("GPUsHeldIdle",))])
def test_a_job_that_holds_gpus_idle_is_told(
    serving: Cluster, tmp_path: Path, hours: int, fires: tuple[str, ...]
) -> None:
    """Not while it may still begin, and no service, which waits for requests."""
    alert = {
        "exp_labels": {"severity": "warning", "namespace": "speech", "pod": "asleep"},
        "exp_annotations": {
            "summary": "Pod asleep of speech holds 8 GPUs idle",
            "description": "In the last 4 h none of its GPUs worked for more than 5 % of any minute, and nobody else "
            "can have them. Ask the team what it waits for, or delete the job.",
        },
    }
    asked_of = {"alertname": "GPUsHeldIdle", "eval_time": f"{hours}h", "exp_alerts": [alert] * len(fires)}
    told(serving, tmp_path, alert_rule_test=[asked_of])


def test_what_was_not_measured_is_not_idle(serving: Cluster, tmp_path: Path) -> None:
    """The exporter was away for most of the time."""
    held = [one for one in series() if not one["series"].startswith("DCGM")]
    gone = [
        {**one, "values": f"_x{MINUTES - 20} {one['values'].partition('x')[0]}x20"}
        for one in series()
        if one["series"].startswith("DCGM")
    ]
    alert = {"alertname": "GPUsHeldIdle", "eval_time": f"{HOURS}h", "exp_alerts": []}
    told(serving, tmp_path, input_series=held + gone, promql_expr_test=[by_team("idle")], alert_rule_test=[alert])
