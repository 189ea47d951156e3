"""What keeps a component from being vendored: findings without a code, each with the component it is about."""

from collections.abc import Iterable

from generator.model.finding import Finding

Place = tuple[str, str]
"""Cluster and component."""


class RefusedError(Exception):
    """Something cannot be had or used; `finding` says what, and how to mend it. `cause` is the same in all that one
    server's trouble brings.
    """

    def __init__(self, message: str, fix: str, cause: str = "") -> None:
        self.finding = Finding(message=message, fix=fix, cause=cause)
        super().__init__(message)


def grouped(found: Iterable[tuple[Place, Finding]]) -> list[tuple[list[Place], Finding, int]]:
    """Tell trouble with one server once: the clusters and components that it concerns, the first that was said of it,
    and how many others say the same.
    """
    groups: dict[tuple[object, ...], list[tuple[Place, Finding]]] = {}
    for place, finding in found:
        same = (finding.cause, finding.fix) if finding.cause else (place, finding.message, finding.fix)
        groups.setdefault(same, []).append((place, finding))
    return [
        (list(dict.fromkeys(place for place, _ in each)), each[0][1], len({one.message for _, one in each}) - 1)
        for each in groups.values()
    ]
