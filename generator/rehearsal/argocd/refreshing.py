"""When Argo CD is told to compare its Applications with a commit: at once, as a webhook of Git has it, and once again
for what it could not compare.
"""

from collections.abc import Callable, Sequence

from generator.live.applications import ROOT, Application
from generator.rehearsal.argocd.course import Course

AGAIN = 20.0
"""Seconds without any progress after which Argo CD compares again what it could not: in a cluster it does so by itself,
every two to three minutes, and what it lacked may have come with another Application.
"""


class Refreshing:
    """Has `ask` called with the name of each Application that is to be compared now. Root is compared with all others
    only where it changes itself (`root_changes`), else after them: it compares the Applications as such, which being
    refreshed changes for a moment, and would sync all of them for nothing.
    """

    def __init__(self, ask: Callable[[str], None], *, root_changes: bool) -> None:
        self._ask, self._root_asked, self._asked_again = ask, root_changes, False

    def begin(self, found: Sequence[Application]) -> None:
        """Have all compared with a commit that has just come."""
        for one in found:
            if one.name != ROOT or self._root_asked:
                self._ask(one.name)

    def round(self, course: Course, now: float) -> None:
        """Have compared what is due at a moment, in seconds after the commit."""
        if not self._root_asked and not any(one.refreshing for one in course.found.values()):
            self._root_asked = True
            self._ask(ROOT)
        if not self._asked_again and now - course.moved > AGAIN:
            self._asked_again = True
            for name in course.stuck:
                self._ask(name)
