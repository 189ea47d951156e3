"""What policies of networks let through, whatever their kind, and what a change of one opens."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from generator.model.blocks import within
from generator.model.change import Beside, ObjectChange
from generator.model.compared import stays
from generator.model.fields import dig, walk

_ALL = re.compile(r"(0\.0\.0\.0|[0:]*::)/0")


class Allowance(Struct, frozen=True):
    """One rule that lets connections through: `way` is `Ingress` or `Egress`; `everybody` where it names no other end,
    or all addresses. Where it excepts addresses, `whole` is the rule without that, and `but` are these; where it names
    ports, `any_port` is the rule without them.
    """

    way: str
    rule: str
    everybody: bool
    whole: str = ""
    but: tuple[str, ...] = ()
    any_port: str = ""

    @property
    def text(self) -> str:
        """It in words."""
        return f"{self.where} {'everywhere' if self.everybody else 'more'}: {self.rule}"

    @property
    def where(self) -> str:
        """Its way in words."""
        return {"Ingress": "in from", "Egress": "out to"}.get(self.way, self.way)

    def has_instead(self, other: "Allowance") -> bool:
        """Tell whether it is another rule but for the addresses that each excepts."""
        return bool(self.whole) and (self.way, self.whole) == (other.way, other.whole)

    def is_less_than(self, other: "Allowance") -> bool:
        """Tell whether it is another rule but for the ports that it names."""
        return bool(self.any_port) and (self.way, self.any_port) == (other.way, other.rule)


class Policy(Struct, frozen=True, kw_only=True):
    """What a policy says: whose connections it shuts in which directions, what it lets through, what it refuses."""

    pods: str
    shuts: frozenset[str]
    allows: tuple[Allowance, ...]
    refuses: tuple[str, ...] = ()


Read: TypeAlias = Callable[[Mapping[str, Any]], Policy]
"""What reads a policy of one kind."""


def names_all(part: object) -> bool:
    """Tell whether all addresses are among what a rule names."""
    return any(isinstance(value, str) and _ALL.fullmatch(value) for _, value in walk(part))


def shuts_less(change: ObjectChange, read: Read) -> Iterator[str]:
    """Yield how a policy shuts less than before: it is gone, holds for other pods, or refuses less."""
    if not change.old or stays(change):
        return
    old, new = read(change.old), read(change.new)
    if not change.new:
        yield "it is gone"
        return
    if old.pods != new.pods:
        yield f"it holds for other pods: {new.pods}"
    yield from (f"{way} is not shut any more" for way in sorted(old.shuts - new.shuts))
    yield from (f"not refused any more: {one}" for one in old.refuses if one not in new.refuses)


def lets_more(change: ObjectChange, beside: Beside, read: Read, *, everybody: bool) -> Iterator[str]:
    """Yield what a policy lets through that it did not, for everybody or for some. One that comes with its namespace
    opens nothing: nothing was there.
    """
    if not change.new or (change.on == "added" and change.namespace and not _was_there(change.namespace, beside)):
        return
    held = read(change.old).allows if change.old else ()
    news = (one for one in read(change.new).allows if one not in held)
    for one in (new for new in news if not any(new.is_less_than(other) for other in held)):
        before = next((other for other in held if one.has_instead(other)), None)
        if before is None and one.everybody is everybody:
            yield one.text
        elif before is not None and not everybody:
            freed = (block for block in before.but if not within([block], one.but))
            yield from (f"{one.where} {block}, which was excepted" for block in freed)


def opened(change: ObjectChange, beside: Beside, read: Read) -> Iterator[str]:
    """Yield what a policy shuts no more, and what it lets through that it did not."""
    yield from shuts_less(change, read)
    for everybody in (True, False):
        yield from lets_more(change, beside, read, everybody=everybody)


def _was_there(namespace: str, beside: Beside) -> bool:
    if not beside.old:
        return True
    spaces = (dig(one, "metadata", "name") for one in beside.old.get("/Namespace", ()))
    return namespace in spaces or any(
        dig(one, "metadata", "namespace") == namespace for kind in beside.old.values() for one in kind
    )
