"""Rules about disruption budgets: nodes must be drained for every upgrade."""

from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built, Object
from generator.build.pods import Pod, pods
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import Finding, Path, Severity
from generator.model.rule import rule
from generator.rules.selections import holds

KEPT = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")


@rule("GEN-PDB-001", "a budget lets one pod go")
def lets_go(built: Built) -> Iterator[Finding]:
    """A budget that allows no pod to be missing stops every drain: the node is never empty, and its upgrade or repair
    waits until somebody deletes the pod by force.

    Wrong:
        # replicas: 2
        spec: {minAvailable: 2}
    Right:
        # replicas: 2
        spec: {minAvailable: 1}
    """
    for budget, counted, copies in covered(built):
        if copies != 1 and allowed(budget, copies) <= 0:
            told = f"of {copies} pods" if counted else "of however many pods"
            yield budget.finding(f"no one {told} may ever go", *field(budget), fix="maxUnavailable: 1")


@rule("GEN-PDB-002", "a single pod has no budget that keeps it", severity=Severity.WARNING)
def single_pod(built: Built) -> Iterator[Finding]:
    """With one replica a budget does not keep the service up, it only stops the drain of the node that has it.

    Wrong:
        # replicas: 1
        spec: {minAvailable: 1}
    Right:
        # replicas: 2
        spec: {minAvailable: 1}
    """
    for budget, _, copies in covered(built):
        if copies == 1 and allowed(budget, copies) <= 0:
            message = "there is one pod, and it may not go: its node cannot be drained"
            yield budget.finding(message, *field(budget), fix="run two replicas, or maxUnavailable: 1")


@rule("GEN-PDB-003", "one budget for a pod")
def one_budget(built: Built) -> Iterator[Finding]:
    """The API server answers every eviction of a pod with two budgets by an error, so that its node cannot be
    drained.

    Wrong:
        # two budgets
        selector: {matchLabels: {app: web}}
    Right:
        # one budget
        selector: {matchLabels: {app: web}}
    """
    seen = set()
    for pod in pods(built):
        found = [one for one in budgets(built) if selects(one, pod)]
        for other in found[1:]:
            if (found[0].full_name, other.full_name) not in seen:
                seen.add((found[0].full_name, other.full_name))
                message = f"pods of {pod.maker.full_name} have another budget, {found[0].full_name}"
                yield other.finding(message, "spec", "selector", fix="remove one of the two")


def covered(built: Built) -> Iterator[tuple[Object, bool, int]]:
    """Yield each budget with whether its pods can be counted, and how many there are at most. A budget for pods that
    nobody here makes is judged by its own words alone: as for very many.
    """
    everything = [pod for pod in pods(built) if pod.maker.kind in KEPT]
    for budget in budgets(built):
        counts = [copies(pod.maker, built) for pod in everything if selects(budget, pod)]
        if sum(counts) or not counts:
            yield budget, bool(counts), sum(counts) or 10**6


def budgets(built: Built) -> Iterator[Object]:
    """Yield the disruption budgets."""
    return (one for one in built.of("PodDisruptionBudget") if isinstance(one.manifest.get("spec"), dict))


def copies(maker: Object, built: Built) -> int:
    """Return how many pods an object keeps: as many as it says, or at most as its autoscaler may make."""
    scaler = scaler_of(maker, built)
    return number(scaler.spec.get("maxReplicas"), 1) if scaler else number(maker.spec.get("replicas"), 1)


def scaler_of(maker: Object, built: Built) -> Object | None:
    """Return the autoscaler of what keeps pods, if it has one."""
    for scaler in built.of("HorizontalPodAutoscaler"):
        spec = scaler.spec
        same = dig(spec, "scaleTargetRef", "kind") == maker.kind and dig(spec, "scaleTargetRef", "name") == maker.name
        if same and scaler.namespace == maker.namespace:
            return scaler
    return None


def number(value: object, default: int) -> int:
    """Return a count of pods as the budget or the workload gives it, or the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6 else default


def allowed(budget: Object, total: int) -> int:
    """Return how many of so many pods may be missing. Shares are rounded up, as the controller does."""
    spec = budget.spec
    if spec.get("maxUnavailable") is not None:
        return part(spec["maxUnavailable"], total)
    return total - part(spec.get("minAvailable"), total) if spec.get("minAvailable") is not None else total


def part(value: Any, total: int) -> int:
    """Return a number of pods, or a share of them; what is neither allows anything."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal() and len(value) < 8:
        return -(-total * int(value[:-1]) // 100)
    return number(value, 0) if isinstance(value, int) else total // 2


def field(budget: Object) -> Path:
    """Return the way to the number that a budget names."""
    spec = budget.spec
    return ("spec", "maxUnavailable" if spec.get("maxUnavailable") is not None else "minAvailable")


def selects(budget: Object, pod: Pod) -> bool:
    """Tell whether a budget is for a pod. An empty selector is for all of the namespace, a missing one for none."""
    selector = budget.spec.get("selector")
    if (budget.namespace or "default") != pod.namespace or not isinstance(selector, dict):
        return False
    exact = all(pod.labels.get(key) == value for key, value in mapping(selector.get("matchLabels")).items())
    return exact and all(holds(mapping(rule), pod.labels) for rule in sequence(selector.get("matchExpressions")))
