"""What a change of an object means for the running cluster: the words that components and kinds say it with."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from generator.model.fields import dig

Steps: TypeAlias = tuple[str | int, ...]
"""The way to a field that changed. Items of a list that have a name are called by it: `[minio]`."""


class Absent:
    """Stands for a value that is not there, which `null` does not."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()


class Effect(StrEnum):
    """What the running cluster feels of a change, the quietest first; `felt` says it in words. `unknown` is not said of
    anything harmless: it means that nobody has written down what happens.
    """

    NONE = "none"
    ROLLING = "rolling"
    RESTART = "restart"
    MOVES = "moves"
    UNKNOWN = "unknown"
    PREEMPTS = "preempts"
    BY_HAND = "by hand"
    DRAIN = "drain"
    REBOOT = "reboot"
    OUTAGE = "outage"
    IMPOSSIBLE = "impossible"
    DATA_LOSS = "data-loss"

    @property
    def loudness(self) -> int:
        """A number that is larger the more the change is felt."""
        return _LOUDNESS[self]

    @property
    def needs_approval(self) -> bool:
        """Whether such a change stops a merge until somebody approves it."""
        return self in {Effect.IMPOSSIBLE, Effect.DATA_LOSS}

    @property
    def word(self) -> str:
        """How people read it, behind a number too: `none` as `not felt`."""
        return "not felt" if self is Effect.NONE else self.value

    @property
    def felt(self) -> str:
        """What is felt, in words."""
        return _FELT[self]

    @property
    def advice(self) -> str:
        """What to do before it is merged; empty where there is nothing to do."""
        return _ADVICE.get(self, "")


_LOUDNESS = {effect: number for number, effect in enumerate(Effect)}
_FELT = {
    Effect.NONE: "nothing, or only what comes later anew",
    Effect.ROLLING: "pods are replaced one after the other",
    Effect.RESTART: "all pods of something at once",
    Effect.MOVES: "data or objects move from one place to another",
    Effect.UNKNOWN: "nobody has written down what happens",
    Effect.PREEMPTS: "running jobs may be stopped for others",
    Effect.BY_HAND: "nothing happens until somebody does it",
    Effect.DRAIN: "nodes are emptied of their pods",
    Effect.REBOOT: "nodes start again",
    Effect.OUTAGE: "a service, or the pod network, is away for a while",
    Effect.IMPOSSIBLE: "it is refused, or upstream forbids it: its Application stops there",
    Effect.DATA_LOSS: "what was stored is gone",
}
_CHOOSE = "choose the hour, and tell those who use it"
_ADVICE = {
    Effect.UNKNOWN: "read which fields differ and what upstream says of them, and try it on a test cluster; "
    "who learns what happens adds a rule to gen (CONTRIBUTING.md)",
    Effect.PREEMPTS: _CHOOSE,
    Effect.BY_HAND: "the reason says what to do, and where",
    Effect.DRAIN: _CHOOSE,
    Effect.REBOOT: _CHOOSE,
    Effect.OUTAGE: _CHOOSE,
    Effect.IMPOSSIBLE: "go the way that stands behind `instead`; or approve it, and say why",
    Effect.DATA_LOSS: "see that it is stored elsewhere, or that nobody needs it; then approve it, and say why",
}


def effect_named(name: str) -> Effect | None:
    """Return the class that somebody means: as data calls it, as people read it, with or without a `later`."""
    plain = name.lower().replace("-", " ").removesuffix(" later")
    return next((one for one in Effect if plain in {one.word, one.value.replace("-", " ")}), None)


class FieldChange(Struct, frozen=True):
    """One field of an object that is there before and after: `ABSENT` where it was not, or is no longer."""

    path: Steps
    old: Any
    new: Any


class ObjectChange(Struct, frozen=True, kw_only=True):
    """One object that came, went or changed. `kind` is written as "group/Kind", core: "/Kind"; for a file that is no
    object of a server, as those of bootstrap, it is the kind that the file says, or `FILE`. `old` and `new` are the
    whole manifests, empty where there is none; of a `FILE` the texts, by the node or the pool whose they are.
    `application` holds it (before, where it moved).
    """

    on: "On"
    kind: str
    namespace: str
    name: str
    application: str
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    fields: tuple[FieldChange, ...] = ()
    file: str = ""
    to: str = ""
    """The other Application of what moved, the new name of what was renamed."""

    @property
    def happened(self) -> "On":
        """What people call it. Rules speak of a file that comes or goes as of one that said nothing: nodes stay."""
        if self.kind != FILE or (self.old and self.new):
            return self.on
        return "added" if self.new else "removed"


On: TypeAlias = Literal["added", "removed", "changed", "moved", "renamed"]
FILE = "file"
"""A file of bootstrap that says no kind: its fields are lines that differ, each with the steps of the file's path."""
NODE_LABELS = "bootstrap/labels"
"""The list of the labels and taints of nodes that have joined: each by the nodes on which it differs alike."""
SECRETS = "bootstrap/secrets"
"""The list of the Secrets that must exist, by namespace and name."""
NODE = "gen/Node"
"""Nodes of one pool that come or go; `old` or `new` is what kubeadm reads to make the first of them a node."""
CLUSTER = "gen/Cluster"
"""A whole cluster that comes or goes, or is called otherwise."""
CHART = "helm/Chart"
"""A release of a chart, by the name of the release, where its objects are not vendored: `version`, `values` ..."""
ELSEWHERE = "gen/Elsewhere"
"""What an Application takes from where gen does not build it: a chart or a file in the network, a folder beside
the overlays that holds more than plain manifests; by its address."""
PATCH = "kustomize/Patches"
"""The patches of a kustomization whose Application is not vendored, by the file: each by the field it stands in."""
VERSION = "gen/Version"
"""The version of a component: `version`. `components` of `old` and `new` holds the versions of all."""

GONE = {"moved", "renamed"}
"""What is removed in one place and added in another: what is said of a removal holds as well."""

Manifests: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]
"""Whole manifests by kind, written as "group/Kind"."""


class Beside(Struct, frozen=True, eq=False):
    """All that is built of both sides, as far as it was built: Applications in which nothing differs are not. `built`
    names those whose objects `old` has, so that each that goes is told by itself. One is equal to itself alone, so that
    what is asked of it for each change is computed once.
    """

    old: Manifests = {}
    new: Manifests = {}
    built: frozenset[str] = frozenset()

    def knows_nothing_of(self, namespace: str) -> bool:
        """Tell whether a namespace was there before and none of its objects was built: they are of charts that are not
        vendored, or of Applications in which nothing differs.
        """
        if any(dig(one, "metadata", "namespace") == namespace for kind in self.old.values() for one in kind):
            return False
        there, comes = (_spaces(side) for side in (self.old, self.new))
        return namespace in there or namespace not in comes


def _spaces(side: Manifests) -> set[Any]:
    return {dig(one, "metadata", "name") for one in side.get("/Namespace", ())}


NOTHING = Beside()


class ChangeRule(Struct, frozen=True, kw_only=True):
    """What a change of some kinds of objects means.

    `kinds` are written as "group/Kind", or `ANY`. `paths` are patterns of fields, keys with dots between: `*` stands
    for any one step, and what lies below a field is meant with it; "" is the whole object. A step with dots in it is
    written in brackets, as `metadata.annotations[argocd.argoproj.io/sync-options]`, an item of a list likewise. `but`
    are fields that are not meant. Of several rules that match a field the most specific counts; with equal ones the
    loudest. `when` looks closer, at the change of the object and of the field: the rule counts where it returns
    something true; `beside` as well, at what else there is. What a component says of its objects counts before what
    their kind says, but for what is refused. With `settles` 1 no other rule of a kind is asked where this one counts,
    with more none that settles less. What is said of `removed` holds for what moved or was renamed too, unless a rule
    speaks of that itself.
    `armed`: nothing happens now; the effect comes with a later deletion, restart or drain.
    `as_removal`: the object is deleted, if only to be made again: the effect is at least that of its removal from Git,
    protected or not.
    `on_refusal`: it counts only where the API server refuses the change, and in the stead of what says so.
    `reason` says what happens and why, `instead` the gentle way, `link` where that is written; `words` are what stands
    in braces in the first two.
    """

    code: str
    kinds: tuple[str, ...]
    on: On = "changed"
    paths: tuple[str, ...] = ("",)
    but: tuple[str, ...] = ()
    effect: Effect
    reason: str
    instead: str = ""
    link: str = ""
    armed: bool = False
    as_removal: bool = False
    on_refusal: bool = False
    when: Callable[[ObjectChange, FieldChange], object] | None = None
    beside: Callable[[ObjectChange, FieldChange, Beside], object] | None = None
    settles: int = 0
    words: Callable[[ObjectChange, FieldChange], Mapping[str, str]] | None = None
    by: str = ""
    """The component that says so, filled in for it: it knows its objects better than their kinds do."""

    def said_of(self, change: ObjectChange, field: FieldChange) -> "ChangeRule":
        """Return the rule as it speaks of this very change."""
        if self.words is None:
            return self
        words = self.words(change, field)
        return structs.replace(
            self, reason=self.reason.format_map(words), instead=self.instead.format_map(words), words=None
        )

    def speaks_of(self, change: ObjectChange) -> bool:
        """Tell whether it is about such changes of such objects."""
        meant = self.on == change.on or (self.on == "removed" and change.on in GONE)
        return meant and (change.kind in self.kinds or ANY in self.kinds)

    def specificity(self, change: ObjectChange, field: FieldChange, beside: Beside = NOTHING) -> int | None:
        """Return how closely this fits a field, more is closer; None where it does not."""
        if not self.speaks_of(change):
            return None
        lengths = [length for path in self.paths if (length := reaches(path, field.path)) is not None]
        if not lengths or any(reaches(path, field.path) is not None for path in self.but):
            return None
        if self.when is not None and not self.when(change, field):
            return None
        if self.beside is not None and not self.beside(change, field, beside):
            return None
        looks = (self.when is not None) + (self.beside is not None)
        own = 4 * (ANY not in self.kinds) + 2 * min(looks, 1)
        return 1000 * min(self.settles, 1) + 10 * max(lengths) + own + 3 * (self.on == change.on)


ANY = "*"


def named(*names: str) -> Callable[[ObjectChange, FieldChange], bool]:
    """Return a closer look that lets only objects of these names count."""
    return lambda change, _field: change.name in names


def lower(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a number, or a text of digits, comes down."""
    old, new = (int(value) if str(value).isdigit() else None for value in (field.old, field.new))
    return old is not None and new is not None and new < old


def reaches(pattern: str, path: Steps) -> int | None:
    """Return the number of steps of a pattern that leads to a field or above it, None where it does not."""
    steps = _steps(pattern)
    if len(steps) > len(path):
        return None
    fits = all(step in {"*", str(found), str(found).strip("[]")} for step, found in zip(steps, path, strict=False))
    return len(steps) if fits else None


@cache
def _steps(pattern: str) -> tuple[str, ...]:
    return tuple(_split(pattern))


def _split(pattern: str) -> Iterator[str]:
    for found in re.finditer(r"\[([^\]]*)\]|([^.\[]+)", pattern):
        yield found[1] if found[1] is not None else found[2]


def value_at(manifest: Mapping[str, Any], way: str) -> Any:
    """Return the value at a way of keys with dots between, None where there is none."""
    return dig(manifest, *_steps(way))
