"""Pieces of rules that alert."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from generator.components.component import Manifest
from generator.model.nodes import Machine

Rule: TypeAlias = dict[str, Any]
Severity: TypeAlias = Literal["critical", "warning"]

GAP = "15m"
"""How long a program may tell nothing without what it told counting as over: it is restarted now and then."""
LOGS = "see docs/operations.md, Logs"
"""Where it stands what helps against each alert of logs."""


def prometheus_rule(metadata: Manifest, group: str, rules: Iterable[Rule], **more: str) -> Manifest:
    """Return the object with one group of rules; Prometheus looks at them one after the other."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": {"groups": [{"name": group, **more, "rules": list(rules)}]},
    }


def group(name: str, namespace: str, rules: Iterable[Rule], **more: str) -> Manifest:
    """Return the object of a group of rules, which is named alike."""
    return prometheus_rule({"name": name, "namespace": namespace}, name, rules, **more)


def alert(name: str, severity: Severity, summary: str, expr: str, long: str = "") -> Rule:
    """Return an alert of what is so for `long`, and else of what is so once."""
    lasts = {"for": long} if long else {}
    return {
        "alert": name,
        "expr": expr,
        **lasts,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }


def grown(metric: str, long: str) -> str:
    """Return how much counters grew within a time. One begins at 1, with the first that it counts, and ends with its
    program: `increase` sees neither. One that is as old as what Prometheus knows of its program is not new: Prometheus
    may itself have begun then, without what it knew before.
    """
    target = "job, instance, pod"
    known = f"max by ({target}) (sum_over_time(up[{long}]))"
    began = f"count_over_time({metric}[{long}]) < on ({target}) group_left () {known}"
    return f"(max_over_time({metric}[{long}]) and {began} or increase({metric}[{long}]))"


def silent(name: str, metric: str, of: str, look: str) -> Rule:
    """Return the alert of a program that tells nothing any more: all other rules on it are silent then."""
    summary = f"{of} has told Prometheus nothing for 10 minutes: {look}"
    return alert(name, "critical", summary, f"absent({metric})", "10m")


def of_nodes(machines: Iterable[Machine]) -> str:
    """Return the selector of the series of some nodes."""
    return f'node=~"{"|".join(machine.name for machine in machines)}"'


def unmeasured(name: str, machines: Iterable[Machine], metric: str, of: str, look: str) -> Rule:
    """Return the alert of nodes that are well and whose devices nobody measures."""
    ready = f'kube_node_status_condition{{condition="Ready",status="true",{of_nodes(machines)}}}'
    expr = f"max by (node) ({ready}) == 1 unless on (node) {metric}"
    return alert(
        name, "warning", f"Nobody has measured {of} of {{{{ $labels.node }}}} for 15 minutes: {look}", expr, "15m"
    )
