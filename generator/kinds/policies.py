"""NetworkPolicies and disruption budgets."""

from functools import partial
from typing import Any

from generator.build.difference import same
from generator.kinds.network import pods_beside
from generator.kinds.reaching import allows_all_of
from generator.model.change import Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.model.unseen import UNSEEN, VENDOR, is_unseen
from generator.rules.selections import matches

POLICY, BUDGET = ("networking.k8s.io/NetworkPolicy",), ("policy/PodDisruptionBudget",)
ISOLATION = "https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation"
DISRUPTIONS = "https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-budgets"


def directions(manifest: Any) -> set[str]:
    """Return the directions that a policy shuts: both by name, else by what it has."""
    spec = mapping(dig(manifest, "spec"))
    named = {str(one) for one in sequence(spec.get("policyTypes"))}
    return named or {"Ingress"} | ({"Egress"} if spec.get("egress") else set())


def only_allows_more(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether all that was allowed still is, for the same pods."""
    old, new = mapping(dig(change.old, "spec")), mapping(dig(change.new, "spec"))
    if not same(old.get("podSelector") or {}, new.get("podSelector") or {}):
        return False
    # What is no longer this policy's to shut another one may shut still: then what this one allowed is cut.
    shut = directions(change.new)
    kept = all(
        way.capitalize() in shut and any(allows_all_of(other, rule, peers) for other in sequence(new.get(way)))
        for way, peers in (("ingress", "from"), ("egress", "to"))
        if way.capitalize() in directions(change.old)
        for rule in sequence(old.get(way))
    )
    return kept and shut <= directions(change.old)


def is_alone(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether a policy comes into a namespace that had objects, and no policy that shut the same directions."""
    others = [
        one for kind in beside.old.values() for one in kind if dig(one, "metadata", "namespace") == change.namespace
    ]
    shut: set[str] = set()
    for one in beside.old.get(POLICY[0], ()):
        if one in others and not mapping(dig(one, "spec", "podSelector")):
            shut |= directions(one)
    return bool(others) and not directions(change.new) <= shut


def others_stay(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether policies stay, of whatever network, that may shut what this one allowed."""
    return any(
        _may_shut(change, kind, one)
        for kind, manifests in beside.new.items()
        for one in manifests
        if kind.endswith("NetworkPolicy") and "Staged" not in kind
    )


def _may_shut(change: ObjectChange, kind: str, other: Any) -> bool:
    """Tell whether a policy may select pods that another one selects, and shut the same direction. One without a
    namespace is for the whole cluster; how those of a network's own kind select is theirs.
    """
    if dig(other, "metadata", "namespace") not in (None, change.namespace):
        return False
    if kind not in POLICY:
        return True
    ours, theirs = (mapping(dig(one, "spec", "podSelector", "matchLabels")) for one in (change.old, other))
    meet = all(theirs.get(key, value) == value for key, value in ours.items())
    return meet and bool(directions(change.old) & directions(other))


def never_lets_go(change: ObjectChange, _field: FieldChange, beside: Beside) -> bool:
    """Tell whether a budget allows no pod to be evicted: by itself, or by how many pods there are."""
    spec = mapping(dig(change.new, "spec"))
    if spec.get("maxUnavailable") in (0, "0", "0%") or spec.get("minAvailable") == "100%":
        return True
    least, selector = spec.get("minAvailable"), mapping(spec.get("selector"))
    if not isinstance(least, int) or isinstance(least, bool):
        return False
    there = [
        pod.maker.spec.get("replicas", 1)
        for pod in pods_beside(beside, "new")
        if pod.namespace == change.namespace and selector and matches(selector, pod.labels)
    ]
    return bool(there) and sum(one for one in there if isinstance(one, int)) <= least


of_policies = partial(ChangeRule, kinds=POLICY)
of_budgets = partial(ChangeRule, kinds=BUDGET)

POLICIES = (
    of_policies(
        code="GEN-CHG-080",
        paths=("spec",),
        effect=Effect.OUTAGE,
        reason="what it no longer allows is cut within seconds, where this or another policy shuts its pods",
        instead="add what is to be allowed first, take away the rest in a commit of its own",
        link=ISOLATION,
    ),
    of_policies(
        code="GEN-CHG-081",
        paths=("spec",),
        effect=Effect.NONE,
        reason="it only allows more",
        link=ISOLATION,
        when=only_allows_more,
    ),
    of_policies(
        code="GEN-CHG-082",
        on="added",
        effect=Effect.OUTAGE,
        reason="the first policy that selects a pod shuts it for everything that none allows",
        instead="policies that allow what is needed, in a commit before",
        link=ISOLATION,
        beside=is_alone,
    ),
    of_policies(
        code="GEN-CHG-128",
        on="added",
        effect=Effect.UNKNOWN,
        reason=UNSEEN,
        instead=VENDOR,
        link=ISOLATION,
        beside=is_unseen,
    ),
    of_policies(
        code="GEN-CHG-083",
        on="removed",
        effect=Effect.UNKNOWN,
        reason="no other policy that was built selects its pods: where there is none, they are open to everybody from "
        "now on; where there is one, what this one allowed is cut",
        link=ISOLATION,
    ),
    of_policies(
        code="GEN-CHG-084",
        on="removed",
        effect=Effect.OUTAGE,
        reason="what it allowed is cut, unless another policy that selects the same pods allows it",
        link=ISOLATION,
        beside=others_stay,
    ),
    of_budgets(
        code="GEN-CHG-085",
        paths=("spec",),
        effect=Effect.NONE,
        reason="it counts when a node is drained",
        link=DISRUPTIONS,
    ),
    of_budgets(
        code="GEN-CHG-086",
        paths=("spec",),
        effect=Effect.DRAIN,
        reason="no pod may be evicted: a drain of its node, for an upgrade of a driver too, never ends",
        instead="`maxUnavailable: 1`",
        link=DISRUPTIONS,
        armed=True,
        beside=never_lets_go,
    ),
    of_budgets(
        code="GEN-CHG-087",
        on="added",
        effect=Effect.DRAIN,
        reason="no pod may be evicted: a drain of its node, for an upgrade of a driver too, never ends",
        instead="`maxUnavailable: 1`",
        link=DISRUPTIONS,
        armed=True,
        beside=never_lets_go,
    ),
    of_budgets(
        code="GEN-CHG-088",
        on="removed",
        effect=Effect.OUTAGE,
        reason="a drain may take all its pods at once",
        link=DISRUPTIONS,
        armed=True,
    ),
)
