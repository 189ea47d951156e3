"""A rehearsal made by hand, for the tests of its forms."""

from typing import Any

from generator.rehearsal.outcome import Wave
from generator.rehearsal.promises import Promise
from generator.rehearsal.rehearsal import Event, Happened, Rehearsal


def rehearsal(*happened: Happened, **more: Any) -> Rehearsal:
    plain: dict[str, Any] = {
        "cluster": "one", "old": "main", "new": "the working tree", "nodes": 3, "jobs": 2, "objects": (10, 1),
        "before": (), "waves": (Wave(number=3, applications=("queues",), seconds=0.5),), "disagreements": (),
        "kept": False, "promises": (), "not_proven": ("Argo CD",), "seconds": {"build": 1.5},
    }  # fmt: skip
    return Rehearsal(happened=happened, **plain | more)


def eventful(text: str, many: int = 1) -> Rehearsal:
    """Return one in which everything happened, each so many times, with a text in every place."""
    every = [Happened(event=one, what=f"{one} {text}", why=f"why {text}", foretold=f"told {text}") for one in Event]
    return rehearsal(
        *every * many,
        waves=tuple(Wave(number=n, applications=(text,) * 3, seconds=n, hung=(text,) * n) for n in range(3)),
        disagreements=(f"disagreed {text}",) * many,
        promises=tuple(Promise(name=f"promise {text}", held=one, seen=f"seen {text}") for one in (True, False, None)),
        not_proven=(f"not proven {text}",) * many,
        kept=True,
    )
