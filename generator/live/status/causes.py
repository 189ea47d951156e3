"""Why something is stuck: what, why, and what helps."""

from collections.abc import Iterable

from msgspec import Struct

SHOWN = 3
"""Objects of one cause that are named."""


class Cause(Struct, frozen=True, kw_only=True):
    """Why something is stuck. `component` is the Application that it is of, empty where it is none's; `objects` are
    those that it is true of, by their names; `why` is a sentence without its end, and `command` is what helps.
    """

    component: str
    objects: tuple[str, ...]
    why: str
    command: str = ""

    @property
    def named(self) -> str:
        """The objects, in one line."""
        more = len(self.objects) - SHOWN
        return ", ".join(self.objects[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def grouped(causes: Iterable[Cause]) -> list[Cause]:
    """Return causes, those that are equal but for their objects as one, in the order in which they first come."""
    found: dict[tuple[str, str], tuple[Cause, dict[str, None]]] = {}
    for one in causes:
        _, objects = found.setdefault((one.component, one.why), (one, {}))
        objects.update(dict.fromkeys(one.objects))
    return [
        Cause(component=one.component, objects=tuple(objects), why=one.why, command=one.command)
        for one, objects in found.values()
    ]
