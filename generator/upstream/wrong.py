"""What keeps a component from being vendored."""

from collections.abc import Iterable

from msgspec import Struct

Place = tuple[str, str]
"""Cluster and component."""


class Wrong(Struct, frozen=True):
    """One thing that keeps a component from being vendored, and the smallest fix. `cause` is the same in all that one
    server's trouble brings, and empty in what stands for itself.
    """

    what: str
    fix: str
    cause: str = ""


class RefusedError(Exception):
    """Something cannot be had or used; `wrong` says what, and how to mend it."""

    def __init__(self, what: str, fix: str, cause: str = "") -> None:
        self.wrong = Wrong(what, fix, cause)
        super().__init__(what)


def grouped(found: Iterable[tuple[Place, Wrong]]) -> list[tuple[list[Place], Wrong, int]]:
    """Tell trouble with one server once: the clusters and components that it concerns, the first that was said of it,
    and how many others say the same.
    """
    groups: dict[tuple[object, ...], list[tuple[Place, Wrong]]] = {}
    for place, wrong in found:
        same = (wrong.cause, wrong.fix) if wrong.cause else (place, wrong.what, wrong.fix)
        groups.setdefault(same, []).append((place, wrong))
    return [
        (list(dict.fromkeys(place for place, _ in each)), each[0][1], len({wrong.what for _, wrong in each}) - 1)
        for each in groups.values()
    ]
