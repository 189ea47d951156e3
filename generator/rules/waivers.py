"""Waivers of the cluster file: findings on built objects, and warnings of the file, that are accepted for a while."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date

from msgspec import Struct

from generator.build import broken
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.model.rule import Explained, explained
from generator.model.waiver import Waiver
from generator.spec.near import near

# As it stands in the texts below.
_EXAMPLE = """waivers:
          - {code: GEN-POD-001, on: DaemonSet monitoring/node-agent, reason: reads the disks' SMART values, \
owner: storage@example.org, expires: 2027-03-31}
"""

EXPIRED = Explained(
    code="GEN-WAIVER-001",
    title="a waiver has not expired",
    text="""
    A waiver accepts a finding until a day by which somebody promised to settle it. After that day the finding counts
    again, and the waiver itself is an error, so that it is renewed on purpose or removed.

    Wrong:
        waivers:
          - {code: GEN-POD-001, reason: until the upgrade, owner: me, expires: 2020-01-31}
    Right:
        """
    + _EXAMPLE,
)
IDLE = Explained(
    code="GEN-WAIVER-002",
    title="a waiver is for something",
    text=f"""
    The finding is gone: the object or the mistake is no longer there. What is left would hide the next one of its kind.

    Wrong:
        {_EXAMPLE}    Right:
        (the waiver removed)
    """,
    severity=Severity.WARNING,
)
UNWAIVABLE = Explained(
    code="GEN-WAIVER-003",
    title="a waiver names a finding that can be accepted",
    text="""
    Findings of `gen check --rendered` and `--server` can be waived, and warnings of the cluster file; an error in the
    cluster file is corrected there.

    Wrong:
        waivers:
          - {code: GEN-POD-999, reason: a mistyped code, owner: me, expires: 2027-03-31}
    Right:
        """
    + _EXAMPLE,
)


class Codes(Struct, frozen=True, kw_only=True):
    """`explained` are all codes that gen knows, `waivable` those that can be waived, and `looked_for` those of them
    that could have been found: a waiver of one that was not looked for is not called idle.
    """

    explained: Collection[str]
    waivable: Collection[str]
    looked_for: Collection[str]


class Waived(Struct, frozen=True):
    """`kept` findings are to be shown, `waived` are counted by waiver, `findings` are about the waivers themselves."""

    kept: tuple[Finding, ...]
    waived: tuple[tuple[Waiver, int], ...]
    findings: tuple[Finding, ...]


def _of_object(finding: Finding) -> str:
    return finding.about


def waive(
    cluster: Cluster,
    findings: Sequence[Finding],
    today: date,
    codes: Codes,
    called: Callable[[Finding], str] = _of_object,
) -> Waived:
    """Apply a cluster's waivers to findings; `called` says by which name a waiver means one."""
    valid = [waiver for waiver in cluster.waivers if not _expired(waiver, today)]
    counted: Counter[int] = Counter()
    kept = []
    for finding in findings:
        index = next((index for index, waiver in enumerate(valid) if _covers(waiver, finding, called)), None)
        if index is None:
            kept.append(finding)
        else:
            counted[index] += 1
    waived = tuple((waiver, counted[index]) for index, waiver in enumerate(valid) if counted[index])
    used = {id(waiver) for waiver, _ in waived}
    wrong = [
        found
        for index, waiver in enumerate(cluster.waivers)
        for found in _wrong(index, waiver, today, codes, used=id(waiver) in used)
    ]
    return Waived(tuple(kept), waived, tuple(wrong))


def _ended(index: int, waiver: Waiver) -> Finding:
    message = f"the waiver of {waiver.owner} for {waiver.code} ended with {waiver.expires}"
    fix = "settle the finding and remove the waiver, or have its owner renew it"
    return EXPIRED.complete(Finding(at=("waivers", index, "expires"), message=message, fix=fix))


def _covers(waiver: Waiver, finding: Finding, called: Callable[[Finding], str]) -> bool:
    return waiver.code == finding.code and waiver.on in {None, called(finding)}


def _expired(waiver: Waiver, today: date) -> bool:
    """Tell whether the last day is over; a day that is in no calendar never came."""
    try:
        return date.fromisoformat(waiver.expires) < today
    except ValueError:
        return True


def _wrong(index: int, waiver: Waiver, today: date, codes: Codes, *, used: bool) -> Iterator[Finding]:
    at = ("waivers", index, "code")
    if waiver.code not in codes.waivable:
        message, fix = _unwaivable(waiver.code, codes)
        yield UNWAIVABLE.complete(Finding(at=at, message=message, fix=fix))
    elif _expired(waiver, today):
        yield _ended(index, waiver)
    elif waiver.code in codes.looked_for and not used:
        message = f"nothing is found for {waiver.code}{f' on {waiver.on}' if waiver.on else ''}"
        yield IDLE.complete(Finding(at=at, message=message, fix="remove the waiver"))


def _unwaivable(code: str, codes: Codes) -> tuple[str, str]:
    """Say why a code cannot be waived, and what to do. Another code is only named where it is of the same family: a
    waiver of anything else would hide what nobody meant.
    """
    if code in explained([broken]) or code in {EXPIRED.code, IDLE.code, UNWAIVABLE.code}:
        return f"{code} cannot be waived: it tells that something was not judged at all", "settle it; remove the waiver"
    if code in codes.explained:
        return f"{code} cannot be waived: it is an error in the cluster file", "correct the file; remove the waiver"
    family = code.rpartition("-")[0]
    meant = near(code, [one for one in codes.waivable if one.rpartition("-")[0] == family])
    fix = f"write {meant}" if meant else "`gen explain --codes` lists them"
    return f"{code} is no finding that can be waived", fix
