"""Small values that are written as one text in the cluster file."""

import re
from ipaddress import IPv4Address, IPv4Network, summarize_address_range
from typing import Self

_TAINT = re.compile(r"([A-Za-z0-9./_-]+)(?:=([A-Za-z0-9._-]*))?:(NoSchedule|PreferNoSchedule|NoExecute)")


class Text:
    """A value that equals another when it is written alike. Not a NamedTuple or a dataclass: msgspec
    would read those as arrays and objects, without asking the decode hook.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class Taint(Text):
    """A node taint, written `key=value:Effect` as `kubectl taint` takes it."""

    __slots__ = ("effect", "key", "value")

    def __init__(self, key: str, value: str, effect: str) -> None:
        self.key = key
        self.value = value
        self.effect = effect

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `nvidia.com/gpu=present:NoSchedule`; raises ValueError."""
        match = _TAINT.fullmatch(text)
        if not match:
            raise ValueError(f"`{text}` is not a taint such as nvidia.com/gpu=present:NoSchedule")
        return cls(match[1], match[2] or "", match[3])

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Port(Text):
    """A port of a fabric switch, written `ib-leaf-1/12`; ports count from 1."""

    __slots__ = ("number", "switch")

    def __init__(self, switch: str, number: int) -> None:
        self.switch = switch
        self.number = number

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `ib-leaf-1/12`; raises ValueError."""
        switch, _, number = text.rpartition("/")
        if not switch or not re.fullmatch("[1-9][0-9]{0,4}", number):
            raise ValueError(f"`{text}` is not a switch port such as ib-leaf-1/12")
        return cls(switch, int(number))

    def __str__(self) -> str:
        return f"{self.switch}/{self.number}"


class AddressRange(Text):
    """IPv4 addresses from `first` to `last`, both included; written `10.0.0.0/28` or `10.0.0.1-10.0.0.9`."""

    __slots__ = ("first", "last")

    def __init__(self, first: IPv4Address, last: IPv4Address) -> None:
        self.first = first
        self.last = last

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a CIDR or `first-last`; raises ValueError."""
        if "/" in text:
            network = IPv4Network(text)
            return cls(network[0], network[-1])
        first, dash, last = text.partition("-")
        if not dash:
            raise ValueError(f"`{text}` is not a range such as 10.0.0.0/28 or 10.0.0.1-10.0.0.9")
        return cls(IPv4Address(first.strip()), IPv4Address(last.strip()))

    def __contains__(self, address: object) -> bool:
        return isinstance(address, IPv4Address) and self.first <= address <= self.last

    def meets(self, other: "AddressRange | IPv4Network") -> bool:
        """Tell whether some address is in both."""
        first, last = (other[0], other[-1]) if isinstance(other, IPv4Network) else (other.first, other.last)
        return self.first <= last and first <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    @property
    def size(self) -> int:
        """How many addresses; 0 or less when `last` is before `first`."""
        return int(self.last) - int(self.first) + 1

    @property
    def networks(self) -> list[IPv4Network]:
        """The fewest networks that make it up; none when it is empty."""
        return list(summarize_address_range(self.first, self.last)) if self.size > 0 else []
