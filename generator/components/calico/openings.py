"""What changes of Calico's policies open (v3.32.1: `policy-rules` of its documentation)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.connections import Allowance, Policy, names_all, opened
from generator.model.fields import mapping, sequence
from generator.model.opening import written

_WAYS = (("Ingress", "ingress", "source"), ("Egress", "egress", "destination"))
_SELECTORS = ("selector", "namespaceSelector", "serviceAccountSelector", "tier")
_WHO = {"selector", "namespaceSelector", "nets", "notNets", "notSelector", "serviceAccounts", "services", "domains"}
_ANYBODY = {"", "all()", "global()"}


def read(manifest: Mapping[str, Any]) -> Policy:
    """Return what a policy of Calico says."""
    spec = mapping(manifest.get("spec"))
    rules = [(way, ends, mapping(rule)) for way, key, ends in _WAYS for rule in sequence(spec.get(key))]
    named = {str(one) for one in sequence(spec.get("types"))}
    return Policy(
        pods=written({key: spec[key] for key in _SELECTORS if key in spec}),
        shuts=frozenset(named or {way for way, _, _ in rules} or {"Ingress"}),
        allows=tuple(
            Allowance(way, written(rule), _is_for_all(mapping(rule.get(ends))))
            for way, ends, rule in rules
            if str(rule.get("action")) in {"Allow", "Pass"}
        ),
        refuses=tuple(f"{way}: {written(rule)}" for way, _, rule in rules if rule.get("action") == "Deny"),
    )


def _is_for_all(end: Mapping[str, Any]) -> bool:
    named = {key: value for key, value in end.items() if key in _WHO and str(value) not in _ANYBODY}
    return not named or names_all(end.get("nets"))


OPENINGS = read_rules("calico/openings.yaml", opened=partial(opened, read=read))
