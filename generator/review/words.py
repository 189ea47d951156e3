"""What a rule on changes says, in words for people."""

from collections.abc import Iterator

from generator.model.change import ANY, FILE, ChangeRule, Effect
from generator.model.opening import OpeningRule
from generator.review.report import rules
from generator.review.transitions import TRANSITION


def known_rules() -> dict[str, ChangeRule]:
    """Return every rule on changes by its code, in their order."""
    return {rule.code: rule for rule in sorted((*rules(), TRANSITION), key=lambda rule: rule.code)}


def kind_name(kind: str) -> str:
    """Return how people name a kind: `StatefulSet`, `ConfigMap`, `CephCluster`."""
    named = {ANY: "Every kind", FILE: "Files of bootstrap"}
    return named.get(kind) or kind.rpartition("/")[2]


def change_of(rule: ChangeRule) -> str:
    """Return what changes, as `spec.template changes`; the fields stand in code marks."""
    if isinstance(rule, OpeningRule):
        return "it comes, goes or changes"
    if rule.on != "changed":
        return {"added": "it comes", "removed": "it goes", "moved": "it moves", "renamed": "it is renamed"}[rule.on]
    fields = ", ".join(f"`{path}`" for path in rule.paths if path) or "anything of it"
    but = f" but {', '.join(f'`{path}`' for path in rule.but)}" if rule.but else ""
    return f"{fields}{but}"


def effect_of(rule: ChangeRule) -> str:
    """Return the class of a change, and that it comes later where it does; of what opens something, what."""
    if isinstance(rule, OpeningRule):
        return f"opens {rule.opens}{', needs an approval' * rule.stops}"
    louder = ", or as its removal" if rule.as_removal else ""
    return f"{rule.effect}{', armed' * rule.armed}{louder}"


def effect_explanation(effect: Effect) -> Iterator[tuple[str, str]]:
    """Yield what a class means, each part with its title."""
    number = sum(rule.effect is effect for rule in known_rules().values())
    yield "felt", effect.felt
    yield "merge", "stops until somebody approves it" if effect.needs_approval else "needs no approval"
    if effect.advice:
        yield "do", effect.advice
    yield "order", f"{', '.join(Effect)}: the loudest last"
    if number:
        yield "rules", f"{number} say it; `gen explain --codes GEN-CHG` lists all"


def explanation(rule: ChangeRule) -> Iterator[tuple[str, str]]:
    """Yield what a rule says, each part with its title; nothing that it does not say."""
    kinds = ", ".join(kind_name(kind) for kind in rule.kinds)
    looks = rule.when or rule.beside or isinstance(rule, OpeningRule)
    closer = " (in some cases: the reason tells in which)" if looks else ""
    yield "change", f"{kinds}: {change_of(rule)}{closer}"
    yield "class", effect_of(rule)
    yield "why", rule.reason
    if rule.armed:
        yield "armed", "nothing happens now; it comes with a later deletion, restart, drain or write"
    if rule.instead:
        yield "instead", rule.instead
    if rule.link:
        yield "read", rule.link
