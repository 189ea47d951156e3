"""Waivers of the cluster file: findings on built objects that are accepted for a while."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date

from msgspec import Struct

from generator.build.faults import FAULT_CODES, Told
from generator.build.objects import Problem
from generator.model.cluster import Cluster, Waiver
from generator.model.finding import Finding, Severity
from generator.spec.codes import Explained
from generator.spec.near import near

_EXAMPLE = (
    "waivers:\n  - {code: GEN-POD-001, on: DaemonSet monitoring/node-agent, reason: reads the disks' SMART values,"
    " owner: storage@example.org, expires: 2027-03-31}\n"
)


WAIVER_CODES: dict[str, Explained] = {
    one.code: one
    for one in (
        Told(
            code="GEN-WAIVER-001",
            title="a waiver has not expired",
            why="A waiver accepts a finding until a day by which somebody promised to settle it. After that day the "
            "finding counts again, and the waiver itself is an error, so that it is renewed on purpose or removed.",
            wrong="waivers:\n  - {code: GEN-POD-001, reason: until the upgrade, owner: me, expires: 2020-01-31}\n",
            right=_EXAMPLE,
        ),
        Told(
            code="GEN-WAIVER-002",
            title="a waiver is for something",
            why="The finding is gone: the object or the mistake is no longer there. What is left would hide the next "
            "one of its kind.",
            wrong=_EXAMPLE,
            right="(the waiver removed)\n",
            severity=Severity.WARNING,
        ),
        Told(
            code="GEN-WAIVER-003",
            title="a waiver names a finding on built objects",
            why="Only findings of `gen check --rendered` and `--server` can be waived; what is wrong in the cluster "
            "file itself is corrected there.",
            wrong="waivers:\n  - {code: GEN-POD-999, reason: a mistyped code, owner: me, expires: 2027-03-31}\n",
            right=_EXAMPLE,
        ),
    )
}
"""The codes of findings on waivers."""


class Settled(Struct, frozen=True):
    """`kept` problems are to be shown, `waived` are counted by waiver, `findings` are about the waivers themselves."""

    kept: tuple[Problem, ...]
    waived: tuple[tuple[Waiver, int], ...]
    findings: tuple[Finding, ...]


def settle(
    cluster: Cluster, problems: Sequence[Problem], today: date, *, known: Collection[str], judged: Collection[str]
) -> Settled:
    """Apply a cluster's waivers. `known` are all codes that can be waived, `judged` those that could have been found:
    a waiver of one that was not looked for is not called idle.
    """
    valid = [waiver for waiver in cluster.waivers if not _expired(waiver, today)]
    counted: Counter[int] = Counter()
    kept = []
    for problem in problems:
        index = next((index for index, waiver in enumerate(valid) if _covers(waiver, problem)), None)
        if index is None:
            kept.append(problem)
        else:
            counted[index] += 1
    waived = tuple((waiver, counted[index]) for index, waiver in enumerate(valid) if counted[index])
    used = {id(waiver) for waiver, _ in waived}
    findings = [
        found
        for index, waiver in enumerate(cluster.waivers)
        for found in _findings(index, waiver, today, known=known, idle=id(waiver) not in used and waiver.code in judged)
    ]
    return Settled(tuple(kept), waived, tuple(findings))


def expired(cluster: Cluster, today: date) -> Iterator[Finding]:
    """Yield a finding for each waiver whose last day is over."""
    for index, waiver in enumerate(cluster.waivers):
        if _expired(waiver, today):
            yield _ended(index, waiver)


def _ended(index: int, waiver: Waiver) -> Finding:
    return Finding(
        code="GEN-WAIVER-001",
        at=("waivers", index, "expires"),
        message=f"the waiver of {waiver.owner} for {waiver.code} ended with {waiver.expires}",
        fix="settle the finding and remove the waiver, or have its owner renew it",
    )


def _covers(waiver: Waiver, problem: Problem) -> bool:
    return waiver.code == problem.code and waiver.on in {None, problem.object.told}


def _expired(waiver: Waiver, today: date) -> bool:
    """Tell whether the last day is over; a day that is in no calendar never came."""
    try:
        return date.fromisoformat(waiver.expires) < today
    except ValueError:
        return True


def _findings(index: int, waiver: Waiver, today: date, *, known: Collection[str], idle: bool) -> Iterator[Finding]:
    at = ("waivers", index)
    if waiver.code not in known:
        message, fix = _unwaivable(waiver.code, known)
        yield Finding(code="GEN-WAIVER-003", at=(*at, "code"), message=message, fix=fix)
    elif _expired(waiver, today):
        yield _ended(index, waiver)
    elif idle:
        yield Finding(
            code="GEN-WAIVER-002",
            at=(*at, "code"),
            message=f"nothing is found for {waiver.code}{f' on {waiver.on}' if waiver.on else ''}",
            fix="remove the waiver",
            severity=Severity.WARNING,
        )


def _unwaivable(code: str, known: Collection[str]) -> tuple[str, str]:
    """Say why a code cannot be waived, and what to do. Another code is only named where it is of the same family: a
    waiver of anything else would hide what nobody meant.
    """
    from generator.checks.explain import explanations  # noqa: PLC0415 - all rules: needed here only

    if code in FAULT_CODES or code in WAIVER_CODES:
        return f"{code} cannot be waived: it tells that something was not judged at all", "settle it; remove the waiver"
    if code in explanations():
        return f"{code} cannot be waived: it is about the cluster file", "correct the file; remove the waiver"
    family = code.rpartition("-")[0]
    meant = near(code, [one for one in known if one.rpartition("-")[0] == family])
    fix = f"write {meant}" if meant else "`gen check --rendered` shows the codes"
    return f"{code} is no finding on built objects", fix
