"""Whether pods can run where they are meant to: nodes, taints, schedulers."""

from collections.abc import Callable, Iterator
from typing import Any

from validation.build import Built, Object, told
from validation.pods import containers, workloads
from validation.selectors import holds

__all__ = ["DAEMONS", "daemons_kept_out", "homeless", "node_less", "ungated_gpus"]

GPU = "nvidia.com/gpu"

# Labels that operators put on nodes, by what they find there.
FOUND = ("feature.node.kubernetes.io/", "nvidia.com/")

DAEMONS = {
    # Where charts take the tolerations of pods that run on every node with a label; without one on every node.
    ("ceph-csi-drivers", "operatorConfig.driverSpecDefaults.nodePlugin.tolerations"): "",
    ("gpu-operator", "daemonsets.tolerations"): GPU,
    ("kube-prometheus-stack", "prometheus-node-exporter.tolerations"): "",
    ("node-feature-discovery", "worker.tolerations"): "",
    ("scratch", "tolerations"): "gen.internal/scratch",
}
"""Daemons of charts. Those of Cilium, Calico and the NFS driver tolerate everything by default."""


def node_less(built: Built) -> list[str]:
    """Return node selectors that no node matches."""
    parts = [(told(application, one), one) for application, one in built.all()]
    parts += [(f"values of {'/'.join(key)}", values) for key, values in built.values.items()]
    return [
        f"{who}: no node has {wanted}"
        for who, part in parts
        for wanted in selectors(part)
        if not any(map(fits(wanted), built.nodes))
    ]


def selectors(part: Any) -> Iterator[Object]:
    """Yield each selector of nodes within something, as `nodeSelectorTerms`, of which one must fit."""
    if isinstance(part, list):
        for one in part:
            yield from selectors(one)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in {"nodeSelector", "nodeLabels"} and isinstance(value, dict) and "nodeSelectorTerms" not in value:
                yield {"terms": [{"matchExpressions": [equals(*pair) for pair in value.items()]}]}
            elif key == "nodeSelectorTerms":
                yield {"terms": value}
            else:
                yield from selectors(value)


def equals(label: str, value: str) -> Object:
    return {"key": label, "operator": "In", "values": [value]}


def fits(wanted: Object) -> Callable[[Object], bool]:
    """Return what tells whether a node matches one of several terms."""
    return lambda node: any(
        all(meets(rule, node) for rule in term.get("matchExpressions", ())) for term in wanted["terms"]
    )


def meets(rule: Object, node: Object) -> bool:
    """Tell whether a node has a label, or may get it from an operator."""
    return rule["key"].startswith(FOUND) or holds(rule, node["labels"])


def homeless(built: Built) -> list[str]:
    """Return pods that no node takes, and DaemonSets that miss a node they select."""
    found = []
    for application, maker, pod in workloads(built):
        chosen = [node for node in built.nodes if chooses(pod, node)]
        admitting = [node for node in chosen if tolerates(pod["spec"].get("tolerations", ()), node)]
        if not admitting:
            found.append(f"{told(application, maker)}: no node takes its pods")
        elif maker["kind"] == "DaemonSet" and len(admitting) < len(chosen):
            missed = ", ".join(node["name"] for node in chosen if node not in admitting)
            found.append(f"{told(application, maker)}: taints keep it off {missed}")
    return found


def chooses(pod: Object, node: Object) -> bool:
    spec = pod["spec"]
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    return all(
        fits(wanted)(node)
        for wanted in (*selectors({"nodeSelector": spec.get("nodeSelector", {})}), *selectors(required))
    )


def tolerates(tolerations: Any, node: Object) -> bool:
    """Tell whether a pod with these tolerations may start on a node."""
    return all(
        any(covers(one, taint) for one in tolerations)
        for taint in node["taints"]
        if taint["effect"] != "PreferNoSchedule"
    )


def covers(toleration: Object, taint: Object) -> bool:
    exists = toleration.get("operator") == "Exists"
    same_key = toleration.get("key") == taint["key"] or (exists and not toleration.get("key"))
    same_value = exists or toleration.get("value", "") == taint.get("value", "")
    return same_key and same_value and toleration.get("effect", taint["effect"]) == taint["effect"]


def daemons_kept_out(built: Built) -> list[str]:
    """Return nodes that charts' daemons must serve and cannot."""
    found = []
    for (component, path), label in DAEMONS.items():
        values: Any = next((values for key, values in built.values.items() if key[0] == component), None)
        if values is None:
            continue
        for key in path.split("."):
            values = values.get(key, {})
        wanted = [node for node in built.nodes if not label or label in node["labels"] or label in node["resources"]]
        found += [
            f"{component}: {path}: taints keep it off {node['name']}" for node in wanted if not tolerates(values, node)
        ]
    return found


def ungated_gpus(built: Built) -> list[str]:
    """Return pods with GPUs that would not start all together, or past the queue. GPUs of teams are given out by
    Kueue and placed by Volcano.
    """
    found = []
    for application, maker, pod in workloads(built):
        if not any(GPU in one.get("resources", {}).get("limits", {}) for one in containers(pod)):
            continue
        if pod["spec"].get("schedulerName") != "volcano":
            found.append(f"{told(application, maker)}: has GPUs and is not placed by Volcano")
        labels = maker["metadata"].get("labels", {})
        if "queues" in built.objects and "kueue.x-k8s.io/queue-name" not in labels:
            found.append(f"{told(application, maker)}: has GPUs and no queue")
    return found
