"""Rules about where pods can run: node selectors, affinities and taints against the nodes of the cluster file."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import structs

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods, pods_of
from generator.build.workflow_pods import AT_SUBMISSION
from generator.components import CATALOGUE, OPERATED
from generator.components.component import Manifest
from generator.components.operated import OperatedKind
from generator.components.parts import toleration
from generator.model.fields import dig, existing, mapping, sequence, spots, walk
from generator.model.finding import Finding, Path, dotted
from generator.model.opening import written
from generator.model.rule import rule
from generator.model.text import Taint
from generator.rules.nodes import Worker, nodes_of
from generator.spec.near import near

FOUND = tuple(prefix for one in CATALOGUE.values() for prefix in one.node_labels)
"""How labels begin that operators put on nodes, by what they find there."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GROUPING = ("topologySpreadConstraints.*", f"affinity.podAffinity.{REQUIRED}.*")
"""Where pods say by which label of nodes they are to be apart or together."""


class Obstacle(NamedTuple):
    """What keeps a pod off a node, and where the pod says it: a selector's rule, a taint, or what has a known fix."""

    at: Path
    message: str
    fix: str = ""
    rule: Any = None
    taint: Taint | None = None


@rule("GEN-POD-010", "some node takes the pod")
def placed(built: Built) -> Iterator[Finding]:
    """A pod that selects labels no node has, or does not tolerate the taints of those that have them, waits for ever,
    and with it the Application that made it. Nodes are those of the cluster file, with the labels and taints they
    register with; labels that operators find out (`nvidia.com/`, `feature.node.kubernetes.io/`) are taken as there.

    Wrong:
        nodeSelector: {gen.internal/pool: gpu-traning}
    Right:
        nodeSelector: {gen.internal/pool: gpu-training}
        tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    """
    nodes = nodes_of(built)
    for pod in pods(built) if nodes else ():
        if all(obstacles(pod, node) for node in nodes):
            wanted = [name for name in devices(pod) if any(node.has(name) != 0 for node in nodes)]
            able = [node for node in nodes if all(node.has(name) != 0 for name in wanted)] or nodes
            nearest, node = min(((obstacles(pod, node), node) for node in able), key=lambda pair: distance(pair[0]))
            told = " and ".join(one.message for one in nearest)
            message = f"no node takes its pods; pool {node.pool} comes nearest ({node.name}): {told}"
            yield pod.finding(message, *nearest[0].at, fix=without(nearest, nodes))


def devices(pod: Pod) -> set[str]:
    """Return the names of what a pod asks for that only some nodes have: GPUs and the like."""
    limits = (mapping(dig(one, "resources", "limits")) for _, one in containers(pod))
    return {str(name) for each in limits for name in each if "/" in str(name)}


def without(found: list[Obstacle], nodes: tuple[Worker, ...]) -> str:
    """Return what to write so that none of these is left, tolerations as one list."""
    others = [one.fix or values_of(one.rule, nodes) for one in found if not one.taint]
    taints = [one.taint for one in found if one.taint]
    return "; ".join(dict.fromkeys([*others, *([tolerate(*taints)] if taints else [])]))


def distance(obstacles: list[Obstacle]) -> tuple[int, int]:
    """Return how far a node is from taking a pod: a node that the pod selects is what it means, whatever its taints."""
    return sum(one.rule is not None for one in obstacles), len(obstacles)


def values_of(rule: Any, nodes: tuple[Worker, ...]) -> str:
    """Return which values nodes have for the label of a rule: the one that is meant, or some."""
    key = str(dig(rule, "key"))
    known = sorted({node.labels[key] for node in nodes if key in node.labels})
    if not known:
        return f"leave it out: no node has a label {key}"
    close = near(str(dig(rule, "values", 0)), known)
    return f"{key}: {close}" if close else f"{key} is {', '.join(known[:8])}{' ...' if len(known) > 8 else ''}"


@rule("GEN-POD-011", "daemon sets reach the nodes they serve")
def daemons_reach(built: Built) -> Iterator[Finding]:
    """A node that a network, storage, GPU or monitoring agent does not tolerate has no network, no volumes, no GPUs or
    no graphs, and nothing says so: the daemon set counts only the nodes that it may run on.

    Wrong:
        kind: DaemonSet
        spec: {template: {spec: {tolerations: []}}}
    Right:
        kind: DaemonSet
        spec: {template: {spec: {tolerations: [{operator: Exists}]}}}
    """
    nodes = nodes_of(built)
    for pod in pods(built):
        served = CATALOGUE.get(pod.maker.component)
        label = served.daemons_on if served else None
        if pod.maker.kind == "DaemonSet" and label is not None:
            wanted = [node for node in nodes if (not label or label in node.labels) and not unselected(pod, node)]
            missed = [one for node in wanted for one in untolerated(pod, node)]
            yield from kept_off(pod.finding("", "spec", "tolerations"), missed)
    for one in built.objects:
        for kind in OPERATED.get(one.kind, ()):
            yield from made_daemons_reach(one, kind, nodes)


def made_daemons_reach(one: Object, kind: OperatedKind, nodes: tuple[Worker, ...]) -> Iterator[Finding]:
    """Yield where the daemon sets that an operator makes of an object do not reach the nodes they serve."""
    wanted = [node for node in nodes if kind.tolerations and (not kind.serves or node.has(kind.serves) != 0)]
    missed = [found for node in wanted for found in blocking(dig(one.manifest, *kind.tolerations), node)]
    yield from kept_off(one.finding("", *existing(one.manifest, kind.tolerations)), missed)


def kept_off(where: Finding, missed: list[tuple[Worker, Taint]]) -> Iterator[Finding]:
    """Yield one finding for each taint that keeps agents off nodes."""
    for taint in dict.fromkeys(taint for _, taint in missed):
        names = [node.name for node, one in missed if one == taint]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        message = f"the taint {taint} keeps its pods off {names[0]}{more}"
        yield structs.replace(where, message=message, fix=tolerate(taint))


@rule("GEN-POD-012", "node selectors match a node")
def selected(built: Built) -> Iterator[Finding]:
    """A flavor, a volume or an operator that selects labels which no node has gets nothing: the queue admits jobs that
    never start, the volume binds nowhere, the operator waits for nodes.

    Wrong:
        kind: ResourceFlavor
        spec: {nodeLabels: {gen.internal/pool: gpu}}
    Right:
        kind: ResourceFlavor
        spec: {nodeLabels: {gen.internal/pool: gpu-training}}
    """
    nodes = nodes_of(built)
    for one in built.objects if nodes else ():
        if one.kind != "CustomResourceDefinition" and not any(pods_of(one, built)):
            yield from unmatched(one, nodes)


def unmatched(one: Object, nodes: tuple[Worker, ...]) -> Iterator[Finding]:
    """Yield the selectors in an object that match no node."""
    for at, part in walk(one.manifest):
        terms = terms_of(at[-1] if at else "", part)
        if terms and not any(meets(term, node) for term in terms for node in nodes):
            told = " or ".join(rule_text(rule) for term in terms for rule in rules(term))
            first = next((rule for term in terms for rule in rules(term)), None)
            fix = values_of(first, nodes) if first else ""
            yield one.finding(f"no node matches {dotted(at)}: {told}", *at, fix=fix)


def terms_of(key: object, part: Any) -> list[Any]:
    """Return what a value selects nodes by, as terms of which one must match; empty where it selects none."""
    if key == "nodeSelectorTerms":
        return sequence(part)
    if key not in ("nodeSelector", "nodeLabels") or not isinstance(part, dict) or "nodeSelectorTerms" in part:
        return []
    if part.keys() & {"matchLabels", "matchExpressions"}:
        return [{"matchExpressions": [*pairs(part.get("matchLabels")), *sequence(part.get("matchExpressions"))]}]
    return [{"matchExpressions": pairs(part)}] if part else []


def pairs(labels: object) -> list[Manifest]:
    """Return labels as the expressions that a selector of them means."""
    return [{"key": key, "operator": "In", "values": [value]} for key, value in mapping(labels).items()]


def obstacles(pod: Pod, node: Worker) -> list[Obstacle]:
    """Return all that keeps a pod off a node, in the order in which a person would look."""
    if name := pod.spec.get("nodeName"):
        wrong = name != node.name and AT_SUBMISSION not in str(name)
        return [Obstacle(("spec", "nodeName"), f"it names node {name}", "leave it out")] if wrong else []
    tainted = [
        Obstacle(("spec", "tolerations"), f"the taint {taint} is not tolerated", taint=taint)
        for _, taint in untolerated(pod, node)
    ]
    return [*unselected(pod, node), *ungrouped(pod, node), *tainted]


def ungrouped(pod: Pod, node: Worker) -> Iterator[Obstacle]:
    """Yield the labels that a node lacks by which pods must be spread or kept together: it is in none of the groups."""
    ways = [way for way in GROUPING if way.partition(".")[0] in pod.spec]
    for at, one in (spot for way in ways for spot in spots(pod.spec, way)):
        key = str(dig(one, "topologyKey") or "")
        optional = at[0] != "affinity" and dig(one, "whenUnsatisfiable") != "DoNotSchedule"
        exists = {"key": key, "operator": "Exists"}
        if key and not optional and not holds(exists, node):
            what = "together with others" if at[0] == "affinity" else "apart"
            message = f"it has no label {key}, by which they are to be {what}"
            fix = "leave it out, or topologyKey: kubernetes.io/hostname"
            yield Obstacle(("spec", *at, "topologyKey"), message, fix, rule=exists)


def unselected(pod: Pod, node: Worker) -> list[Obstacle]:
    """Return the selectors and required affinities of a pod that a node does not meet."""
    found = [
        Obstacle(("spec", "nodeSelector", rule["key"]), f"it has no {rule_text(rule)}", rule=rule)
        for rule in pairs(pod.spec.get("nodeSelector"))
        if not holds(rule, node)
    ]
    at: Path = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    terms = sequence(dig(pod.spec, *at[1:]))
    if terms and not any(meets(term, node) for term in terms):
        all_rules = [rule for term in terms for rule in rules(term)]
        told = " or ".join(map(rule_text, all_rules))
        found.append(Obstacle(at, f"it does not match {told}", rule=next(iter(all_rules), None)))
    return found


def rules(term: Any) -> list[Any]:
    """Return all expressions of a node selector term."""
    return [*sequence(dig(term, "matchExpressions")), *sequence(dig(term, "matchFields"))]


def rule_text(rule: Any) -> str:
    """Return an expression as people write it."""
    values = ", ".join(map(written, sequence(dig(rule, "values"))))
    operator = dig(rule, "operator")
    return f"{dig(rule, 'key')}={values}" if operator == "In" else f"{dig(rule, 'key')} {operator} {values}".rstrip()


def meets(term: Any, node: Worker) -> bool:
    """Tell whether a node matches a term; one without rules matches none."""
    return bool(rules(term)) and all(holds(rule, node) for rule in rules(term))


def holds(rule: Any, node: Worker) -> bool:
    """Tell whether a node matches one expression, or may once an operator has labelled it."""
    key, operator = str(dig(rule, "key")), dig(rule, "operator")
    wanted = [str(value) for value in sequence(dig(rule, "values"))]
    if key.startswith(FOUND) or any(AT_SUBMISSION in text for text in (key, *wanted)):
        return True
    found = node.name if key == "metadata.name" else node.labels.get(key)
    if operator == "In":
        return found in wanted
    if operator == "NotIn":
        return found not in wanted
    if operator in ("Gt", "Lt"):
        return found is not None and compares(found, wanted, greater=operator == "Gt")
    return (found is not None) == bool(operator == "Exists")


def compares(found: str, wanted: list[str], *, greater: bool) -> bool:
    """Tell whether a label is a number above (or below) one that is wanted."""
    try:
        return any(int(found) > int(each) if greater else int(found) < int(each) for each in wanted)
    except ValueError:
        return False


def untolerated(pod: Pod, node: Worker) -> list[tuple[Worker, Taint]]:
    """Return the taints of a node that keep a pod off. Pods of daemon sets tolerate what the node's state adds."""
    found = blocking(pod.spec.get("tolerations"), node)
    own = pod.maker.kind == "DaemonSet"
    return [one for one in found if not (own and one[1].key.startswith("node.kubernetes.io/"))]


def blocking(tolerations: object, node: Worker) -> list[tuple[Worker, Taint]]:
    """Return the taints of a node that none of the tolerations covers."""
    return [
        (node, taint)
        for taint in node.taints
        if taint.effect != "PreferNoSchedule" and not any(covers(one, taint) for one in sequence(tolerations))
    ]


def covers(toleration: Any, taint: Taint) -> bool:
    """Tell whether a toleration covers a taint. `Gt` and `Lt`, alpha in 1.35, are taken as covering."""
    one = mapping(toleration)
    operator, key = one.get("operator") or "Equal", one.get("key") or ""
    same_key = key == taint.key or (not key and operator == "Exists")
    same_value = operator != "Equal" or str(one.get("value") or "") == taint.value
    return bool(one and same_key and same_value and (one.get("effect") or taint.effect) == taint.effect)


def tolerate(*taints: Taint) -> str:
    """Return the lines that make a pod tolerate taints."""
    each = [", ".join(f"{key}: {value}" for key, value in toleration(taint).items()) for taint in taints]
    return f"tolerations: [{', '.join(f'{{{fields}}}' for fields in each)}]"
