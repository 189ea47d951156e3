"""Many nodes in few words."""

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)")
# Of sets that people write; compiled where they are read.
_PART = r"(?:[^\[\],\s]|\[[^\[\]]*\])+"
_RANGE = r"\[([^\[\]]*)\]"
_RUN = r"([0-9]{1,9})(?:-([0-9]{1,9}))?"
MOST = 5000
"""Names of one set: Kubernetes is made for so many nodes (its page on large clusters)."""


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


def names_of(text: str) -> list[str]:
    """Return the names that a set stands for, in its order, as ClusterShell and Slurm unfold it: `gpu-[01-03,07]`,
    `r[1-2]n[1-4]`, several with commas between. The zeros of a run's first number say how many digits all have. Raises
    ValueError, which says what is wrong.
    """
    parts = re.findall(_PART, text)
    if not parts or text.count("[") > 100 or re.sub(r"[,\s]", "", text) != re.sub(r"[,\s]", "", "".join(parts)):
        raise ValueError(f"`{text}` is no set of nodes such as gpu-[01-15]")
    names: list[str] = []
    for part in parts:
        names += _unfolded(part)
        if len(names) > MOST:
            raise ValueError(f"`{text}` is more than {MOST} nodes")
    return names


def _unfolded(part: str) -> list[str]:
    found = re.search(_RANGE, part)
    if not found:
        return [part]
    numbers = [number for run in found[1].split(",") for number in _numbers(run.strip(), part)]
    rest = _unfolded(part[found.end() :])
    if len(numbers) * len(rest) > MOST:
        raise ValueError(f"`{part}` is more than {MOST} nodes")
    return [f"{part[: found.start()]}{number}{after}" for number in numbers for after in rest]


def _numbers(run: str, part: str) -> list[str]:
    found = re.fullmatch(_RUN, run)
    first, last = (found[1], found[2] or found[1]) if found else ("", "")
    if not found or int(last) < int(first):
        raise ValueError(f"`[{run}]` of `{part}` is no run of numbers such as [01-15]")
    if int(last) - int(first) >= MOST:
        raise ValueError(f"`{part}` is more than {MOST} nodes")
    return [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]


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
