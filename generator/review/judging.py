"""What each change means: the rules of kinds and components, held against what differs."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, structs

from generator.kinds.leaving import is_taken_along, stays_behind
from generator.model.change import ABSENT, NOTHING, Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import unprotected
from generator.model.opening import OpeningRule
from generator.review.values import HIDDEN, holds_secret


class Meaning(Struct, frozen=True):
    """Why a change has an effect: the rule that says so, and the fields it says it of. Without a rule nobody has
    written down what they do.
    """

    effect: Effect
    rule: ChangeRule | None
    fields: tuple[FieldChange, ...]


class Opening(Struct, frozen=True):
    """What somebody gains by a change, in words, and the rule that says so."""

    rule: OpeningRule
    gains: tuple[str, ...]


class JudgedChange(Struct, frozen=True):
    """A change of an object, with what it means, the loudest first, and what it opens."""

    change: ObjectChange
    meanings: tuple[Meaning, ...]
    opens: tuple[Opening, ...] = ()

    @property
    def effect(self) -> Effect:
        """The loudest of what is meant."""
        return self.meanings[0].effect


CLUSTER = "<cluster>"
"""Stands in the words of rules for the cluster that they are said of."""


def judge(
    changes: Iterable[ObjectChange], rules: Sequence[ChangeRule], beside: Beside = NOTHING, cluster: str = CLUSTER
) -> list[JudgedChange]:
    """Return each change with what it means on a cluster, the loudest first, then in their order."""
    said = [_said_on(rule, cluster) for rule in rules]
    opening = [rule for rule in said if isinstance(rule, OpeningRule)]
    felt = [rule for rule in said if not isinstance(rule, OpeningRule)]
    found = [
        JudgedChange(change, _meanings(change, felt, beside), tuple(_opened(change, opening, beside)))
        for change in changes
    ]
    return sorted(found, key=lambda one: -one.effect.loudness)


def _said_on(rule: ChangeRule, cluster: str) -> ChangeRule:
    if CLUSTER not in f"{rule.reason}{rule.instead}":
        return rule
    reason, instead = (text.replace(CLUSTER, cluster) for text in (rule.reason, rule.instead))
    return structs.replace(rule, reason=reason, instead=instead)


def _opened(change: ObjectChange, rules: Sequence[OpeningRule], beside: Beside) -> Iterator[Opening]:
    whole = FieldChange((), change.old, ABSENT)
    if change.on == "removed" and stays_behind(change, whole, beside):
        return
    taken = change.on == "removed" and is_taken_along(change, whole, beside)
    meant = structs.replace(change, old=unprotected(change.old)) if taken else change
    for rule in rules:
        gains = dict.fromkeys(rule.gains(meant, beside)) if rule.speaks_of(meant) else ()
        if gains:
            yield Opening(rule, tuple(HIDDEN if holds_secret(text) else text for text in gains))


def _meanings(change: ObjectChange, rules: Sequence[ChangeRule], beside: Beside) -> tuple[Meaning, ...]:
    fitting = [
        _as_removal(rule, change, rules, beside) if rule.as_removal else rule
        for rule in rules
        if rule.speaks_of(change)
    ]
    fields: dict[tuple[str, str], list[FieldChange]] = {}
    known: dict[tuple[str, str], ChangeRule | None] = {}
    for field in change.fields:
        rule = _applied(change, field, fitting, beside)
        # Rules that are read from definitions share a code, and each has a reason of its own.
        key = (rule.code, rule.reason) if rule else ("", "")
        known.setdefault(key, rule.said_of(change, field) if rule else None)
        fields.setdefault(key, []).append(field)
    found = [
        Meaning(rule.effect if rule else _unknown(change), rule, tuple(fields[key])) for key, rule in known.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.effect.loudness))


def _as_removal(rule: ChangeRule, change: ObjectChange, rules: Sequence[ChangeRule], beside: Beside) -> ChangeRule:
    """Return a rule with the effect of the object's removal, where that is louder, and with what is said of it."""
    parts = (part for field in change.fields for part in _parts(field))
    if all(rule.specificity(change, part, beside) is None for part in parts):
        return rule
    old = unprotected(change.old)
    field = FieldChange((), old, ABSENT)
    gone = structs.replace(change, on="removed", old=old, new={}, fields=(field,), to="")
    found = _rule(gone, field, [one for one in rules if one.speaks_of(gone) and not one.as_removal], beside)
    effect = found.effect if found else Effect.UNKNOWN
    if effect.loudness <= rule.effect.loudness:
        return rule
    # Of what nobody knows, the rule itself has said all.
    said = found.said_of(gone, field) if found else rule
    reason = f"{rule.reason}: {said.reason}" if found else rule.reason
    return structs.replace(rule, effect=effect, reason=reason)


def _unknown(change: ObjectChange) -> Effect:
    """Return what is said where no rule speaks: an object that comes anew changes nothing that runs."""
    return Effect.NONE if change.on == "added" else Effect.UNKNOWN


def _applied(
    change: ObjectChange, field: FieldChange, rules: Sequence[ChangeRule], beside: Beside
) -> ChangeRule | None:
    """Return the rule that counts for a field: where the API server refuses it, what is done about that, whatever would
    settle it otherwise.
    """
    plain = [one for one in rules if not one.on_refusal]
    rule = _rule(change, field, plain, beside)
    settled = rule is not None and rule.settles > 1
    unsettled = _rule(change, field, [one for one in plain if one.settles < 2], beside) if settled else None
    if not any(one and one.effect is Effect.IMPOSSIBLE and not one.by for one in (rule, unsettled)):
        return rule
    forced = (one for one in rules if one.on_refusal and one.specificity(change, field, beside) is not None)
    return next(forced, rule)


def _rule(change: ObjectChange, field: FieldChange, rules: Sequence[ChangeRule], beside: Beside) -> ChangeRule | None:
    found: list[tuple[int, bool, int, ChangeRule | None]] = []
    settling = [rule for rule in rules if rule.settles and rule.specificity(change, field, beside) is not None]
    # What is settled of a whole section is not asked of its parts.
    for one in (field,) if settling else _parts(field):
        fits = [(fit, rule) for rule in rules if (fit := rule.specificity(change, one, beside)) is not None]
        fit, rule = _closest(fits)
        loudness = (rule.effect if rule else _unknown(change)).loudness
        found.append((loudness, not (rule and rule.settles), fit, rule))
    return max(found, key=lambda each: each[:3])[3]


def _closest(fits: Sequence[tuple[int, ChangeRule]]) -> tuple[int, ChangeRule | None]:
    """Return the rule that counts, and how closely it fits: the most specific one, of equal ones the loudest. What a
    component says counts before what the kind of its objects says, but for what is settled or refused.
    """
    general, own = (
        max(some, key=lambda fit: (fit[0], fit[1].effect.loudness), default=(0, None))
        for some in ([fit for fit in fits if not fit[1].by], [fit for fit in fits if fit[1].by])
    )
    if own[1] is None or general[1] is None:
        return own if general[1] is None else general
    refused = general[1].effect is Effect.IMPOSSIBLE and own[1].effect.loudness < Effect.IMPOSSIBLE.loudness
    return general if refused or general[1].settles > max(1, own[1].settles) else own


def _parts(field: FieldChange) -> Iterator[FieldChange]:
    """Yield a field, or, where a whole section came or went, what is in it: rules speak of what lies deepest."""
    whole = field.new if field.old is ABSENT else field.old if field.new is ABSENT else None
    if not field.path or not isinstance(whole, dict) or not whole:
        yield field
        return
    for key, value in whole.items():
        old, new = (ABSENT, value) if field.old is ABSENT else (value, ABSENT)
        yield from _parts(FieldChange((*field.path, key), old, new))
