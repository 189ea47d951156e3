"""Kueue in other ways than it was applied."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from apiserver import programs

from generator.rehearsal.twin import kueue as real
from generator.rehearsal.twin.plane import Plane

Object = dict[str, Any]

BY_SUMS: Object = {
    "featureGates": {
        "TopologyAwareScheduling": False,
        "TASProfileMixed": False,
        "TASFailedNodeReplacement": False,
        "TASFailedNodeReplacementFailFast": False,
        "TASReplaceNodeOnPodTermination": False,
        "TASReplaceNodeOnNodeTaints": False,
        "TASHandleOverlappingFlavors": False,
        "TASRecomputeAssignmentWithinSchedulingCycle": False,
        "VisibilityOnDemand": False,
    }
}
"""How Kueue was before it looked at nodes: what it lets in may find none, and Volcano must hold it together."""


def kueue(api: Plane, *changes: Object) -> contextlib.AbstractContextManager[None]:
    """Run Kueue; skips the test where it is not built."""
    programs("kueue")
    return real.kueue(api, *changes)


Starter = Callable[..., contextlib.AbstractContextManager[None]]


class Restartable:
    """A program that tests may run in another way for a while."""

    def __init__(self, api: Plane, starter: Starter) -> None:
        self.api, self.starter = api, starter
        self.stack = contextlib.ExitStack()

    def start(self, *changes: Any) -> None:
        self.stack.enter_context(self.starter(self.api, *changes))

    def stop(self) -> None:
        self.stack.close()

    @contextlib.contextmanager
    def changed(self, *changes: Any) -> Iterator[None]:
        """Run it changed as long as the block."""
        self.stop()
        self.start(*changes)
        try:
            yield
        finally:
            self.stop()
            self.start()
