"""A fleet of clusters divided among several runs: which clusters are whose."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from generator.errors import UsageError

_FORM = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})", re.ASCII)


class Shard(NamedTuple):
    """Part `number` of `of` parts, the first one being 1.

    A cluster's name alone decides its part: another cluster that comes or goes moves none. Parts differ in size as
    chance has it; one may be empty.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `2/8`. Raises UsageError."""
        found = _FORM.fullmatch(text)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or shard.number > shard.of:
            raise UsageError(f"--shard {text}: this is no part of a whole; `--shard 2/8` is the second of eight")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def mine(self, names: Iterable[str]) -> list[str]:
        """Return those of the clusters that are in this part, in their order."""
        from hashlib import blake2b  # noqa: PLC0415 - slow to import, and few runs are divided

        def number(name: str) -> int:
            return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % self.of + 1

        return [name for name in names if number(name) == self.number]
