"""GitLab's code quality report: a JSON list that a job hands over as `artifacts:reports:codequality`.

The format: docs.gitlab.com/ci/testing/code_quality, "Code Quality report format".
"""

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from msgspec import Struct

from generator.cli.terminal import say_json
from generator.model.finding import Severity
from generator.repository.locate import Located

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


class Entry(Struct, frozen=True):
    """One violation: its code, what is wrong, how severe it is, and where."""

    code: str
    text: str
    severity: Severity
    file: str
    line: int = 1


def entries(found: Iterable[Located]) -> list[Entry]:
    """Return findings as entries."""
    return [_entry(one) for one in found]


def _entry(one: Located) -> Entry:
    finding = one.finding
    about = f"{finding.about}: {finding.message}" if finding.object else finding.message
    text = f"{about}; fix: {finding.fix}" if finding.fix else about
    return Entry(finding.code, text, finding.severity, finding.file, one.at.line)


def show_report(found: Iterable[Entry]) -> None:
    """Print the report, an empty list where nothing is wrong."""
    seen = Counter[str]()
    say_json([_data(one, seen) for one in found])


def _data(one: Entry, seen: Counter[str]) -> dict[str, Any]:
    # GitLab tells by it what is new: a line may move, and of equal ones only the first would be shown.
    same = f"{one.code}\0{one.file}\0{one.text}"
    number, seen[same] = seen[same], seen[same] + 1
    return {
        "description": one.text,
        "check_name": one.code,
        "fingerprint": sha256(f"{same}\0{number}".encode()).hexdigest(),
        "severity": SEVERITIES[one.severity],
        "location": {"path": one.file.removeprefix("./"), "lines": {"begin": one.line}},
    }
