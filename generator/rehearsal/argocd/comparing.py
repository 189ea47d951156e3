"""What Argo CD cannot compare. For its server-side diff it has the API server try each object that stands. The first
one that is refused ends the comparison, and as long as that is so, nothing of the Application is synced: no result of a
sync tells of it (argo-cd v3.5: controller/state.go, CompareAppState; controller/appcontroller.go, autoSync).
"""

import re
from collections.abc import Iterable, Iterator

from generator.build.objects import Object
from generator.live.applications import Application
from generator.rehearsal.applying import Applier
from generator.rehearsal.perpetual import trial

CONDITION = "ComparisonError"
_NAMED = re.compile(r"in dryrun mode for resource (?P<kind>[^/ ]+)/(?P<name>[^ ]+): (?P<said>.*)")
"""How gitops-engine names the object that was refused (pkg/diff/diff.go): without its namespace."""


def uncompared(one: Application) -> str:
    """Return why Argo CD could not compare an Application at its last look; nothing where it could."""
    return next((message for kind, message in one.conditions if kind == CONDITION), "")


def sentence(message: str, one: Object) -> str:
    """Return what the API server said of an object, of what ended a comparison; nothing where that was another one."""
    found = _NAMED.search(message)
    return found["said"] if found and (found["kind"], found["name"]) == (one.kind, one.name) else ""


def refusals(applier: Applier, standing: Iterable[Object]) -> Iterator[tuple[Object, str]]:
    """Yield which of some objects that stand the API server refuses, with its words. Argo CD names the first one only:
    whoever mends that would find the next one at the next try.
    """
    some = [(path, one) for one in standing if (path := applier.path(one))]
    answers = applier.api.ask_all(trial(path, one) for path, one in some)
    yield from ((one, answer.message) for (_, one), answer in zip(some, answers, strict=True) if not answer.good)
