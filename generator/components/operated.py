"""What the programs of a component do with objects: what they look for by name, and what they make of them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.fields import dig
from generator.model.finding import Path

OWN, SAID = "in the namespace of the object", "in the namespace that is said beside the name"

Names: TypeAlias = tuple[tuple[str, ...], ...]
"""Rows of what is named: its kind, the way to the name (see `spots`), and where it lives if it lives in a namespace."""


class Named(NamedTuple):
    """What an object names at one place. `namespace` may be `OWN`; a name that is no text names nothing."""

    at: Path
    kind: str
    name: object
    namespace: str = ""


class Made(Struct, frozen=True):
    """An object that no file shows: a program makes it when it runs. `namespace` may be `OWN` where it is made of
    another object; `keys` are those of a Secret or ConfigMap, None where nobody knows them.
    """

    kind: str
    name: str
    namespace: str = ""
    keys: frozenset[str] | None = None


class MadePods(Struct, frozen=True):
    """Labels of the pods that an operator makes of an object, and their namespace, which may be `OWN`."""

    labels: dict[str, str]
    namespace: str = OWN


class Api(Struct, frozen=True, kw_only=True):
    """An API group whose definitions come with a component: all of them, or those of some `kinds` where the others are
    another component's; `title` then tells the two apart. `by_operator`: no chart or manifest holds the definitions,
    an operator makes them when it starts. `offered` are the versions that charts of other components are told of.
    """

    group: str
    kinds: tuple[str, ...] = ()
    title: str = ""
    by_operator: bool = False
    offered: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How people name it."""
        return self.title or self.group


def name_of(manifest: Manifest) -> str:
    """Return the name of an object."""
    return str(dig(manifest, "metadata", "name") or dig(manifest, "metadata", "generateName"))


def nothing(_manifest: Manifest) -> Iterator[Any]:
    """Yield nothing."""
    return iter(())


class OperatedKind(Struct, frozen=True, kw_only=True, eq=False):
    """A kind of object that programs of a component act on: its own, or one of Kubernetes' of which it reads more than
    Kubernetes does. The functions take any object of the kind, whoever wrote it, and never raise.
    """

    kind: str
    group: str = ""
    """Its API group, where its `status` is said."""
    status: Manifest = {}
    """What programs write to its status once an object is well, as far as that is the same for each."""
    names: Names = ()
    """What its objects name."""
    also_names: Callable[[Manifest], Iterator[Named]] = nothing
    """What they name where a row cannot say it."""
    makes: Callable[[Manifest], Iterator[Made]] = nothing
    """The objects that are made of one."""
    pods: Callable[[Manifest], Iterator[MadePods]] = nothing
    """The pods that are made of one."""
    tolerations: Path = ()
    """Where it takes the tolerations of DaemonSets that are made of it, and that must reach all nodes ..."""
    serves: str = ""
    """... or those with this extended resource."""
