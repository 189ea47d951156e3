"""What changed, told in few rows: equal changes together, with what brought them and what goes with them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from generator.model.change import Effect, FieldChange
from generator.model.fields import dig, walk
from generator.model.plural import plural
from generator.review.judging import JudgedChange, Meaning
from generator.review.report import ClusterReport, shown
from generator.review.values import one_line

_QUIET = frozenset({Effect.NONE, Effect.UNKNOWN})
_TEMPLATE = ("spec", "template", "metadata", "annotations")
_HASH = re.compile(r"(?:\w+:)?[0-9a-f]{8,128}")
_READS = {
    "/ConfigMap": (("configMap", "name"), ("configMapRef", "name"), ("configMapKeyRef", "name")),
    "/Secret": (("secret", "secretName"), ("secret", "name"), ("secretRef", "name"), ("secretKeyRef", "name")),
}
"""Where a pod's template names what it reads, by kind (core/v1 EnvFromSource, EnvVarSource, VolumeSource, and the
sources of a projected volume)."""


class Felt(NamedTuple):
    """What is felt of a change. `later`: not now, but with the next restart, drain or deletion."""

    effect: Effect
    later: bool = False

    @property
    def word(self) -> str:
        """How people read it: `outage`, `outage later`."""
        return f"{self.effect.word}{' later' * self.later}"

    @property
    def order(self) -> tuple[int, bool]:
        """What is larger the more it is felt: what comes later less than what comes now."""
        return self.effect.loudness, not self.later


def felt(meaning: Meaning) -> Felt:
    """Return what is felt of one meaning."""
    return Felt(meaning.effect, bool(meaning.rule and meaning.rule.armed) and meaning.effect is not Effect.NONE)


class Row(Struct, frozen=True, kw_only=True):
    """Changes that are alike in all but names. `because` are those that made them: a ConfigMap whose checksum a pod's
    template carries. `inside` came or went with them: what is in a namespace. `wave` is their Application's, None for
    files that people bring to nodes.
    """

    changes: tuple[JudgedChange, ...]
    because: tuple[JudgedChange, ...] = ()
    inside: tuple[JudgedChange, ...] = ()
    wave: int | None = None

    @property
    def first(self) -> JudgedChange:
        """One that stands for all."""
        return self.changes[0]

    @property
    def effect(self) -> Effect:
        """The loudest of what is meant."""
        return self.first.effect

    @property
    def felt(self) -> Felt:
        """The same, with whether it comes later."""
        return max(map(felt, self.first.meanings), key=lambda one: one.order)

    @property
    def application(self) -> str:
        """The Application that holds them."""
        return self.first.change.application

    @property
    def title(self) -> str:
        """How people call them: `NetworkPolicy team in 4 namespaces`."""
        return one_line(_title(self.changes))

    @property
    def more(self) -> str:
        """What belongs to it: `because ConfigMap zabbix/settings changed`; empty for most."""
        to = self.first.change.to
        parts = [f"to {to}"] if to else []
        if self.inside:
            parts.append(f"with {plural(len(self.inside), 'object')} in it")
        if self.because:
            parts.append(f"because {listed([shown(one) for one in self.because])} changed")
        return one_line(", ".join(parts))

    @property
    def done(self) -> str:
        """What happened to them: `changed, because ConfigMap zabbix/settings changed`."""
        return f"{self.first.change.happened}{', ' * bool(self.more)}{self.more}"

    def fields(self, meaning: Meaning) -> Iterator[tuple[JudgedChange, FieldChange]]:
        """Yield the fields that a meaning is about, each with its object, those of the cause in place of checksums."""
        for field in meaning.fields:
            if field.path and not (self.because and _is_checksum(field)):
                yield self.first, field
        if meaning is self.first.meanings[0]:
            for cause in self.because:
                yield from ((cause, field) for each in cause.meanings for field in each.fields if field.path)


class _Links(Struct, frozen=True):
    """What is told with something else, by the number (`id`) of what it is told with."""

    inside: Mapping[int, tuple[JudgedChange, ...]]
    because: Mapping[int, tuple[JudgedChange, ...]]

    def folded(self, judged: Iterable[JudgedChange]) -> set[int]:
        """Return what needs no row of its own."""
        found = {id(each) for members in self.inside.values() for each in members}
        causes = ((cause, each) for each in judged for cause in self.because.get(id(each), ()))
        return found | {id(cause) for cause, each in causes if _explained(cause, each)}


def rows(one: ClusterReport) -> list[Row]:
    """Return the changes of a cluster, the loudest first, then in the order of waves."""
    links = _Links(_inside(one.judged), _because(one.judged))
    folded = links.folded(one.judged)
    alike: dict[Any, list[JudgedChange]] = {}
    for each in one.judged:
        if id(each) not in folded:
            alike.setdefault(_signature(each, links), []).append(each)
    found = [_row(one, each, links) for each in alike.values()]
    return sorted(found, key=lambda row: (-row.effect.loudness, row.felt.later, place(row)))


def place(row: Row) -> tuple[int, str]:
    """Return where a row stands in the order of what is applied: by wave, then by Application; before all else what
    people do by hand.
    """
    return (-(10**6) if row.wave is None else row.wave, row.application)


def by_place(found: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by wave and Application, in the order of these."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(found, key=place):
        wave = f"wave {row.wave}, " if row.wave is not None else ""
        groups.setdefault(one_line(f"{wave}{row.application}"), []).append(row)
    return groups


def counts(found: Iterable[Row]) -> dict[Felt, int]:
    """Return how many objects feel what, the loudest first; what only goes with others does not count."""
    counted = Counter(row.felt for row in found for _ in row.changes)
    return dict(sorted(counted.items(), key=lambda each: each[0].order, reverse=True))


def in_words(found: Iterable[Row]) -> str:
    """Return `1 outage, 2 unknown`."""
    return ", ".join(f"{number} {one.word}" for one, number in counts(found).items())


def _row(one: ClusterReport, alike: list[JudgedChange], links: _Links) -> Row:
    with_them = tuple(each for found in alike for each in links.inside.get(id(found), ()))
    wave = one.found.waves.get(alike[0].change.application)
    return Row(changes=tuple(alike), because=links.because.get(id(alike[0]), ()), inside=with_them, wave=wave)


def _signature(each: JudgedChange, links: _Links) -> Any:
    """Return what changes have in common that are told as one."""
    change = each.change
    causes = links.because.get(id(each), ())
    fields = [
        (meaning.effect, meaning.rule.code if meaning.rule else "", *_differing(each, meaning, hashed=bool(causes)))
        for meaning in each.meanings
    ]
    own = id(each) if change.to or not change.namespace or id(each) in links.inside else 0
    return change.application, change.on, change.kind, str(fields), tuple(id(cause) for cause in causes), own


def _differing(each: JudgedChange, meaning: Meaning, *, hashed: bool) -> Iterator[str]:
    secret = each.change.kind == "/Secret"
    for field in meaning.fields:
        if field.path and not (hashed and _is_checksum(field)):
            yield str(field.path) if secret else repr(field)


def _inside(judged: Iterable[JudgedChange]) -> dict[int, tuple[JudgedChange, ...]]:
    """Return what comes or goes with its namespace and means nothing of its own, by the namespace's change."""
    found = list(judged)
    spaces: dict[tuple[str, str], JudgedChange] = {
        (each.change.on, each.change.name): each
        for each in found
        if each.change.kind == "/Namespace" and each.change.on in {"added", "removed"}
    }
    members: dict[int, list[JudgedChange]] = {}
    for each in found:
        space = spaces.get((each.change.on, each.change.namespace))
        if space and each.effect in _QUIET:
            members.setdefault(id(space), []).append(each)
    return {key: tuple(each) for key, each in members.items()}


def _because(judged: Iterable[JudgedChange]) -> dict[int, tuple[JudgedChange, ...]]:
    """Return which ConfigMaps and Secrets make pods start anew: those that the template reads, where a checksum in it
    differs.
    """
    found = list(judged)
    sources = [each for each in found if each.change.kind in _READS and each.change.on == "changed"]
    causes: dict[int, tuple[JudgedChange, ...]] = {}
    for each in found if sources else ():
        if any(_is_checksum(field) for meaning in each.meanings for field in meaning.fields):
            read = set(_read(dig(each.change.new, "spec", "template")))
            mine = (one for one in sources if one.change.namespace == each.change.namespace)
            if fitting := tuple(one for one in mine if (one.change.kind, one.change.name) in read):
                causes[id(each)] = fitting
    return causes


def _explained(cause: JudgedChange, by: JudgedChange) -> bool:
    """Tell whether a restart says all that its cause means."""
    return all(meaning.rule is None or meaning.effect.loudness <= by.effect.loudness for meaning in cause.meanings)


def _is_checksum(field: FieldChange) -> bool:
    beside = field.path[: len(_TEMPLATE)] == _TEMPLATE and len(field.path) > len(_TEMPLATE)
    return beside and all(isinstance(one, str) and bool(_HASH.fullmatch(one)) for one in (field.old, field.new))


def _read(template: Any) -> Iterator[tuple[str, str]]:
    """Yield the ConfigMaps and Secrets that a template names, with their kind."""
    for _, part in walk(template):
        for kind, ways in _READS.items() if isinstance(part, dict) else ():
            yield from ((kind, name) for one in ways if isinstance(name := dig(part, *one), str))


def _title(changes: tuple[JudgedChange, ...]) -> str:
    if len(changes) == 1:
        return shown(changes[0])
    kind = changes[0].change.kind.rpartition("/")[2]
    names = list(dict.fromkeys(each.change.name for each in changes))
    spaces = list(dict.fromkeys(each.change.namespace for each in changes))
    if len(names) == 1:
        return f"{kind} {names[0]} in {len(changes)} namespaces"
    where = f" in {spaces[0]}" if len(spaces) == 1 and spaces[0] else ""
    return f"{len(changes)} of {kind}{where}: {listed(names)}"


def objects_in(found: Iterable[Row]) -> int:
    """Return how many objects rows tell of; what only goes with others does not count."""
    return sum(len(row.changes) for row in found)


def titles(found: Sequence[Row], most: int = 3, said: Callable[[Row], str] = lambda row: row.title) -> str:
    """Return what is said of the first rows, their titles, and how many objects there are more."""
    more = objects_in(found[most:])
    return ", ".join(map(said, found[:most])) + f" and {more} more" * bool(more)


def listed(names: list[str], most: int = 3) -> str:
    """Return the first names, and how many there are more."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
