"""Warnings of cluster files that somebody has accepted: `waivers` of the file, as they hold today."""

from datetime import UTC, datetime

from msgspec import structs

from generator.checks import FLEET_RULES
from generator.checks import RULES as FILE_RULES
from generator.cli.explain import explanations
from generator.live.dry_run import refusals
from generator.model.finding import Finding, Position, Severity
from generator.model.rule import explained
from generator.model.waiver import Waiver
from generator.repository.cluster_files import Loaded
from generator.repository.idle_values import IDLE_VALUE
from generator.rules.engine import RULES
from generator.rules.waivers import IDLE, Codes, Waived, waive
from generator.spec.named import named

WARNINGS = {code for code, each in (FILE_RULES | FLEET_RULES).items() if each.severity == Severity.WARNING} | {
    IDLE_VALUE.code
}
"""Codes of cluster files that can be accepted."""
ON_OBJECTS = {*RULES, *explained([refusals])}
"""Codes of built objects, all of which can be waived."""
ACCEPTABLE = WARNINGS | ON_OBJECTS


def accept(one: Loaded) -> tuple[Loaded, tuple[tuple[Waiver, int], ...]]:
    """Return a cluster file without the warnings that are accepted, and with what is wrong with its waivers; and how
    many each waiver accepts.
    """
    waived = _waived(one)
    return _keeping(one, waived.kept).adding(waived.findings), waived.waived


def accept_idle(one: Loaded) -> Loaded:
    """Return the same where what is built is judged as well: that judge tells what else is wrong with the waivers."""
    waived = _waived(one)
    return _keeping(one, waived.kept).adding(each for each in waived.findings if each.code == IDLE.code)


def _waived(one: Loaded) -> Waived:
    warnings = [each for each in one.findings if each.severity == Severity.WARNING]
    if not one.cluster or not one.cluster.waivers:
        return Waived(tuple(warnings), (), ())

    def called(finding: Finding) -> str:
        at = finding.at
        return "" if isinstance(at, Position) else named(one.document.value.get("spec"), at)

    # What a file with errors would bring as warnings nobody knows.
    codes = Codes(explained=explanations(), waivable=ACCEPTABLE, looked_for=() if one.wrong else WARNINGS)
    return waive(one.cluster, warnings, datetime.now(UTC).date(), codes, called)


def _keeping(one: Loaded, warnings: tuple[Finding, ...]) -> Loaded:
    kept = tuple(each for each in one.findings if each.severity == Severity.ERROR or each in warnings)
    return structs.replace(one, findings=kept) if len(kept) < len(one.findings) else one
