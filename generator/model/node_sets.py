"""Many nodes in few words."""

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)")


def node_set(names: Iterable[str]) -> str:
    """Return names as ClusterShell and Slurm fold them, each run of numbers as one: `gpu-[01-15], login`. Numbers of
    one run have the same number of digits, or begin without zeros.
    """
    runs: list[tuple[str, list[str]]] = []
    for name in sorted(names, key=_order):
        base, number = _apart(name)
        if number and runs and runs[-1][0] == base and _next(runs[-1][1][-1]) == number:
            runs[-1][1].append(number)
        else:
            runs.append((base, [number]))
    return ", ".join(_folded(base, numbers) for base, numbers in runs)


def _apart(name: str) -> tuple[str, str]:
    found = _NUMBERED.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def _order(name: str) -> tuple[str, int, str]:
    base, number = _apart(name)
    return base, int(number or 0), number


def _next(number: str) -> str:
    return f"{int(number) + 1:0{len(number)}}" if number else ""


def _folded(base: str, numbers: list[str]) -> str:
    if len(numbers) < 3:
        return ", ".join(f"{base}{number}" for number in numbers)
    return f"{base}[{numbers[0]}-{numbers[-1]}]"
