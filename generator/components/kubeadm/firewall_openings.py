"""What the host firewall lets through that it did not: what is reached on the nodes of a pool, and by whom."""

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network

from msgspec import Struct

from generator.components.kubeadm.firewall import RULES as FILE
from generator.model.change import Beside, ObjectChange

Network = IPv4Network | IPv6Network

_SET = re.compile(r"set (\w+) \{[^{}]*elements = \{([^{}]*)\}")
_RULE = re.compile(
    r"(?:ip6? saddr @(\w+) )?(?:(tcp|udp) dport (\d+)(?:-(\d+))?|meta l4proto (\d+)) accept(?: comment \"([^\"]*)\")?"
)
_ALL = "all ports"


class _Passage(Struct, frozen=True):
    """What one rule lets through for one network, or for anybody. A rule that gen does not write is its own text."""

    what: str
    first: int = 0
    last: int = 0
    by: Network | None = None
    name: str = ""
    peer: str = ""

    def covers(self, other: "_Passage") -> bool:
        """Tell whether all that another lets through passes here as well."""
        if self.what == _ALL:
            return True
        inside = self.what == other.what and self.first <= other.first and other.last <= self.last
        return inside and (self.by is None or (other.by is not None and _within(other.by, self.by)))

    @property
    def text(self) -> str:
        """What is reached: `tcp 9100 (node-exporter)`."""
        ports = f" {self.first}" * bool(self.last) + f"-{self.last}" * (self.first != self.last)
        return f"{self.what}{ports}" + f" ({self.name})" * bool(self.name)


def reaches_more(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield what is reached on nodes that was not, and by whom; of several pools' also where it is not on all."""
    found: dict[str, list[str]] = {}
    for pool, text in change.old.items() if change.fields[0].path[-len(FILE) :] == FILE else ():
        for gain in _gains(str(text), change.new.get(pool)):
            found.setdefault(gain, []).append(pool)
    for gain, pools in found.items():
        yield gain if len(pools) == len(change.old) else f"{gain}, on nodes of {', '.join(sorted(pools))}"


def _gains(old: str, new: str | None) -> Iterator[str]:
    """Yield what these rules let through and the former did not; without rules everything passes."""
    if new is None:
        yield f"{_ALL}, for whoever reaches the node: it has no rules any more"
        return
    before = tuple(_passages(old))
    groups: dict[tuple[str, str], list[str]] = {}
    for one in _passages(new):
        if not any(each.covers(one) for each in before):
            groups.setdefault((one.text, one.peer), []).append(str(one.by or ""))
    for (text, peer), networks in groups.items():
        yield f"{text}, for {_whom(peer, networks)}"


def _whom(peer: str, networks: Iterable[str]) -> str:
    return f"{', '.join(networks)} ({peer})" if peer else "whoever reaches the node"


def _passages(text: str) -> Iterator[_Passage]:
    sets = {name: tuple(_networks(elements)) for name, elements in _SET.findall(text)}
    for line in text.splitlines():
        yield from _passages_of(line.strip(), sets)


def _passages_of(line: str, sets: Mapping[str, tuple[Network, ...]]) -> Iterator[_Passage]:
    if line == "policy accept":
        yield _Passage(_ALL)
    elif rule := _RULE.fullmatch(line):
        peer, protocol, first, last, number, name = rule.groups(default="")
        what = protocol or f"protocol {number}"
        ends = (int(first or 0), int(last or first or 0))
        for by in sets.get(peer, ()) if peer else (None,):
            # `admins4` and `admins6` are the same people.
            yield _Passage(what, *ends, by, name, peer.rstrip("46"))
    elif " accept" in line and not line.startswith("#"):
        yield _Passage(line)


def _networks(elements: str) -> Iterator[Network]:
    for element in elements.split(","):
        try:
            yield ip_network(element.strip(), strict=False)
        except ValueError:
            continue  # a rule that nftables refuses lets nobody in


def _within(inner: Network, outer: Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)
