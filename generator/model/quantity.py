"""Amounts as Kubernetes writes them."""

import re
from decimal import Decimal
from functools import total_ordering
from typing import Self

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_MILLI = {unit: factor * 1000 for unit, factor in (_BINARY | _DECIMAL | {"": 1}).items()} | {"m": 1}
_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|Ei|m|k|M|G|T|P|E)?")
_LIMIT = 2**63 * 1000
_DIGITS = 24  # as many as Decimal multiplies exactly


@total_ordering
class Quantity:
    """A Kubernetes quantity (bytes, cores or a count), never negative, a whole number of thousandths, below 8Ei.

    `str()` is the canonical form that the API server itself would write (`1Gi` for `1024Mi`, `500m` for
    `0.5`): other forms are rewritten by controllers and then differ from Git for ever. Below 1024 and for fractions
    it is decimal whatever was read, as in apimachinery's CanonicalizeBytes.
    """

    PATTERN = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|m|k|M|G|T|P|E)?$(?!\n)"

    __slots__ = ("_binary", "milli")

    def __init__(self, milli: int, *, binary: bool = False) -> None:
        self.milli = milli
        self._binary = binary

    @classmethod
    def parse(cls, text: str | int) -> Self:
        """Read `1.5Ti`, `500m` or `128`; raises ValueError for anything else."""
        match = _TEXT.fullmatch(str(text))
        if isinstance(text, bool) or not match or len(match[1]) > _DIGITS:
            raise ValueError(f"`{text}` is not an amount such as 128, 500m or 1.5Ti")
        number, unit = match.groups()
        milli = Decimal(number) * _MILLI[unit or ""]
        if milli != int(milli):
            raise ValueError(f"`{text}` is finer than a thousandth")
        if milli >= _LIMIT:
            raise ValueError(f"`{text}` is more than Kubernetes can hold, 8Ei")
        return cls(int(milli), binary=unit in _BINARY)

    @classmethod
    def of(cls, value: int, *, binary: bool = False) -> Self:
        """Make the quantity of a whole number; `binary` writes it with Ki, Mi, Gi ... where that is exact."""
        return cls(value * 1000, binary=binary)

    @property
    def value(self) -> int:
        """The whole number, rounded up as the API server does."""
        return -(-self.milli // 1000)

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        if self.milli % 1000:
            return f"{self.milli}m"
        units = _BINARY if self._binary and self.value >= 1024 else _DECIMAL
        for unit, factor in reversed(units.items()):
            if self.value and self.value % factor == 0:
                return f"{self.value // factor}{unit}"
        return str(self.value)

    def __repr__(self) -> str:
        return f"Quantity({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.milli == other.milli

    def __lt__(self, other: Self) -> bool:
        return self.milli < other.milli

    def __hash__(self) -> int:
        return hash(self.milli)

    def human(self) -> str:
        """Bytes for people: `1.2 PiB`, three significant digits."""
        amount = float(self.value)
        for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
            if amount < 1024:
                return f"{_three_digits(amount)} {unit}"
            amount /= 1024
        return f"{_three_digits(amount)} PiB"


def whole_gib(size: int) -> str:
    """Write bytes in whole GiB, no more than there are."""
    return str(Quantity.of(size // 2**30 * 2**30, binary=True))


def _three_digits(amount: float) -> str:
    """Return a number with three significant digits, of large ones all that stand before the point."""
    return f"{amount:.0f}" if amount >= 999.5 else f"{amount:.3g}"
