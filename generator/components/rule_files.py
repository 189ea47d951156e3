"""Rules on changes as files: what each rule says is YAML, how it looks closer is Python beside it.

A file holds documents. `rules` of each are by their codes, with the fields of `ChangeRule`, or of `OpeningRule` where
one `opens` something; what else a document says holds for those of its rules that do not say it themselves. `when`
names the function of a rule, or several that must all hold; `beside`, `words` and `gains` name one. `texts` are what
stands in braces in several of its reasons and ways around, `below` are the fields below which the `paths` are meant,
each of them. `on` stands in quotes: YAML 1.1 reads a truth.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from generator.components.component import Manifest
from generator.components.static import read_objects
from generator.model.change import ChangeRule, Effect
from generator.model.compared import (
    came,
    every,
    is_protected,
    lowered,
    raised,
    reordered,
    stayed,
    turned_off,
    turned_on,
    went,
)
from generator.model.versions import next_minor

Look: TypeAlias = Callable[..., Any]

FUNCTIONS = ("when", "beside", "words", "gains")
GENERAL: tuple[Look, ...] = (
    came, went, stayed, turned_on, turned_off, lowered, raised, reordered, is_protected, next_minor,
)  # fmt: skip
"""Functions that rules of any file may name."""


def read_rules(path: str, *looks: Look, **called: Look) -> tuple[ChangeRule, ...]:
    """Return the rules of a file below `generator/components` that look closer by these functions, beside the general
    ones: by their own names, or as they are `called`. A name without a function and a function without a rule are
    mistakes of ours (KeyError).
    """
    own = {**{look.__name__: look for look in looks}, **called}
    known = {**{look.__name__: look for look in GENERAL}, **own}
    said = {code: {**document, **one} for document in read_objects(path) for code, one in document["rules"].items()}
    if unused := own.keys() - {name for one in said.values() for name in _names(one)}:
        raise KeyError(*sorted(unused))
    return tuple(_rule(code, one, known) for code, one in said.items())


def _rule(code: str, said: Manifest, known: Mapping[str, Look]) -> ChangeRule:
    from generator.model.opening import OpeningRule, Opens  # noqa: PLC0415 - for those who compare

    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    texts, below, _ = (fields.pop(key, {}) for key in ("texts", "below", "rules"))
    for key in fields.keys() & {*FUNCTIONS}:
        found = [known[name] for name in _listed(said[key])]
        fields[key] = every(*found) if len(found) > 1 else found[0]
    for key in fields.keys() & {"reason", "instead"}:
        fields[key] = _filled(said[key], texts)
    if below and "paths" in said:
        fields["paths"] = tuple(f"{place}.{path}" for place in below for path in said["paths"])
    for key, words in {"effect": Effect, "opens": Opens}.items():
        if key in said:
            fields[key] = words(said[key])
    return (OpeningRule if "opens" in said else ChangeRule)(code=code, **fields)


def _names(said: Manifest) -> list[str]:
    return [name for key in FUNCTIONS for name in _listed(said.get(key, []))]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _filled(text: str, texts: Mapping[str, str]) -> str:
    """Fill in the texts of a document; what else stands in braces is for `ChangeRule.words`."""
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text
