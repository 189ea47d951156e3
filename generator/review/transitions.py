"""What the definitions of custom kinds say of changes: their validation rules that name `oldSelf`.

A rule of an optional field is asked only where the field is there before and after; to add it or to take it away passes
unless a rule higher up says otherwise. Lists whose items have no keys are compared as a whole: a rule within one is
never asked. (kubernetes.io, "Transition rules".)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct, structs

from generator.build.difference import same
from generator.build.kinds import defined_kind
from generator.components.component import Manifest
from generator.model.change import ANY, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.fields import dig, mapping, sequence
from generator.review.cel import Decide, deciding

CODE = "GEN-CHG-160"
LINK = (
    "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#transition-rules"
)
TRANSITION = ChangeRule(
    code=CODE,
    kinds=(ANY,),
    effect=Effect.IMPOSSIBLE,
    reason="the definition of its kind refuses the change, and says why; where it is written in a form that only the "
    "server understands, the effect is unknown",
    instead="make an object of a new name beside it",
    link=LINK,
)
"""What the rules that are read from definitions have in common."""

Way: TypeAlias = tuple[str, ...]
EACH = "*"


def transition_rules(definitions: Iterable[Manifest]) -> tuple[ChangeRule, ...]:
    """Return what definitions refuse of changes, with their own words. Where nobody can tell by a rule's form whether
    it holds, the effect is unknown.
    """
    return tuple(each for crd in definitions for each in _of(crd))


def _of(crd: Manifest) -> Iterator[ChangeRule]:
    group, kind = defined_kind(crd)
    for version in sequence(dig(crd, "spec", "versions")):
        schema = mapping(dig(version, "schema", "openAPIV3Schema"))
        for way, one in _walk(schema, ()):
            if way[:1] == ("status",):
                continue
            text = " ".join(str(one["rule"]).split())
            optional = one.get("optionalOldSelf") is True
            rule = _Rule(f"{group}/{dig(version, 'name')}", schema, way, text, optional, deciding(text))
            yield _change_rule(f"{group}/{kind}", rule, str(one.get("message") or "").strip())


def _walk(schema: Mapping[str, Any], way: Way) -> Iterator[tuple[Way, Mapping[str, Any]]]:
    """Yield each rule on a change with the way to what it is about."""
    for one in sequence(schema.get("x-kubernetes-validations")):
        if re.search(r"\boldSelf\b", str(dig(one, "rule"))):
            yield way, one
    for key, below in mapping(schema.get("properties")).items():
        yield from _walk(mapping(below), (*way, key))
    if isinstance(below := schema.get("additionalProperties"), dict):
        yield from _walk(below, (*way, EACH))
    if schema.get("x-kubernetes-list-type") == "map":
        yield from _walk(mapping(schema.get("items")), (*way, EACH))
    for key in ("allOf", "anyOf", "oneOf"):
        for part in sequence(schema.get(key)):
            yield from _walk(mapping(part), way)


class _Rule(Struct, frozen=True, eq=False):
    """A rule of a definition, and the way to what it is about. `decide` is None where nobody can tell."""

    version: str
    schema: dict[str, Any]
    way: Way
    text: str
    optional: bool
    decide: Decide | None


def _change_rule(kind: str, rule: _Rule, message: str) -> ChangeRule:
    verb = "refuses" if rule.decide else "may refuse"
    return structs.replace(
        TRANSITION,
        kinds=(kind,),
        paths=(".".join(f"[{step}]" if "." in step else step for step in rule.way),),
        effect=Effect.IMPOSSIBLE if rule.decide else Effect.UNKNOWN,
        reason=f"its definition {verb} it: {message or rule.text}",
        when=partial(_counts, rule),
        settles=2 if rule.decide else 0,
    )


def _counts(rule: _Rule, change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a rule is asked, and refuses: for this field, where it compares several."""
    if change.new.get("apiVersion") != rule.version:
        return False
    named = set(re.findall(r"[sS]elf\.(\w+)", rule.text))
    step = str(field.path[len(rule.way)]) if len(field.path) > len(rule.way) else ""
    if named and step and step not in named:
        return False
    whole = _pairs(_filled(rule.schema, change.old), _filled(rule.schema, change.new), rule.way)
    pairs = [(old, new) for old, new in whole if rule.optional or None not in (old, new)]
    return any(not same(old, new) and not (rule.decide and rule.decide(new, old)) for old, new in pairs)


def _filled(schema: Mapping[str, Any], part: Any) -> Any:
    """Return a value with the defaults of its type, as a server has it before it asks."""
    if isinstance(part, list):
        return [_filled(mapping(schema.get("items")), item) for item in part]
    if not isinstance(part, dict):
        return part
    properties, others = mapping(schema.get("properties")), mapping(schema.get("additionalProperties"))
    missing = {key: one["default"] for key, one in properties.items() if key not in part and "default" in mapping(one)}
    return {key: _filled(mapping(properties.get(key)) or others, value) for key, value in {**part, **missing}.items()}


def _pairs(old: Any, new: Any, way: Way) -> Iterator[tuple[Any, Any]]:
    """Yield the values at a way on both sides; None where there is none. Items of lists are matched by what names
    them.
    """
    if not way:
        yield old, new
        return
    step, rest = way[0], way[1:]
    if step != EACH:
        yield from _pairs(dig(old, step), dig(new, step), rest)
        return
    before, after = _items(old), _items(new)
    for key in before.keys() & after.keys():
        yield from _pairs(before[key], after[key], rest)


def _items(part: Any) -> dict[str, Any]:
    if isinstance(part, dict):
        return part
    return {str(dig(one, "name") or dig(one, "manager") or number): one for number, one in enumerate(sequence(part))}
