"""What changes of Cilium's policies open (v1.20.0: `Documentation/security/policy`)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.connections import Allowance, Policy, names_all, opened
from generator.model.fields import dig, mapping, sequence
from generator.model.opening import written

_WAYS = (("Ingress", "ingress", "from"), ("Egress", "egress", "to"))
_PORTS = {"toPorts", "icmps", "authentication"}


def read(manifest: Mapping[str, Any]) -> Policy:
    """Return what a policy of Cilium says, in `spec` and in `specs`."""
    specs = [mapping(one) for one in (manifest.get("spec"), *sequence(manifest.get("specs"))) if one]
    found = [(way, key, ends, spec) for spec in specs for way, key, ends in _WAYS]
    denied = ((way, rule) for way, key, _, spec in found for rule in sequence(spec.get(f"{key}Deny")))
    return Policy(
        pods=" ".join(sorted({written(one.get("endpointSelector") or one.get("nodeSelector") or {}) for one in specs})),
        shuts=frozenset(way for way, key, _, spec in found if _shuts(spec, key)),
        allows=tuple(
            _allowance(way, mapping(rule), ends) for way, key, ends, spec in found for rule in sequence(spec.get(key))
        ),
        refuses=tuple(f"{way}: {written(rule)}" for way, rule in denied),
    )


def _allowance(way: str, rule: dict[str, Any], ends: str) -> Allowance:
    bare = {key: value for key, value in rule.items() if key != "toPorts"}
    any_port = written(bare) if rule.get("toPorts") and bare else ""  # an empty rule names nobody
    return Allowance(way, written(rule), _is_for_all(rule, ends), any_port=any_port)


def _shuts(spec: Mapping[str, Any], key: str) -> bool:
    said = dig(spec, "enableDefaultDeny", key)
    return bool(said) if said is not None else spec.get(key) is not None or spec.get(f"{key}Deny") is not None


def _is_for_all(rule: Mapping[str, Any], ends: str) -> bool:
    """Tell whether a rule names no other end, all of them, or the world. An empty rule names nobody."""
    named = {key: value for key, value in rule.items() if str(key).startswith(ends) and key not in _PORTS}
    entities = sequence(rule.get(f"{ends}Entities"))
    return (bool(rule) and not named) or bool({"all", "world"} & {*map(str, entities)}) or names_all(named)


OPENINGS = read_rules("cilium/openings.yaml", opened=partial(opened, read=read))
