"""What a rule is: a small function that yields findings, and what `gen explain` tells about it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import structs

from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.spec.codes import Explained

Check: TypeAlias = Callable[[Cluster], Iterator[Finding]]
FleetCheck: TypeAlias = Callable[[Mapping[str, Cluster]], Iterator[tuple[str, Finding]]]


class Rule(Explained, frozen=True, kw_only=True):
    """A rule over one cluster. `check` never raises, whatever the cluster, and leaves code and severity out."""

    severity: Severity
    check: Check

    def findings(self, cluster: Cluster) -> Iterator[Finding]:
        """Yield the rule's findings, complete."""
        for finding in self.check(cluster):
            yield structs.replace(finding, code=self.code, severity=self.severity)


class FleetRule(Explained, frozen=True, kw_only=True):
    """A rule over all clusters of a repository by name; each finding goes with the name of its cluster."""

    severity: Severity
    check: FleetCheck

    def findings(self, clusters: Mapping[str, Cluster]) -> Iterator[tuple[str, Finding]]:
        """Yield the rule's findings, complete."""
        for name, finding in self.check(clusters):
            yield name, structs.replace(finding, code=self.code, severity=self.severity)


def rule(
    code: str, title: str, *, wrong: str, right: str, severity: Severity = Severity.ERROR
) -> Callable[[Check], Rule]:
    """Make a rule of a function. Its docstring says why the rule exists; `wrong` and `right` are pieces of a file."""

    def make(check: Check) -> Rule:
        return Rule(code=code, title=title, why=_why(check), wrong=wrong, right=right, severity=severity, check=check)

    return make


warning = partial(rule, severity=Severity.WARNING)
"""`rule` for what is only shown."""


def fleet_rule(
    code: str, title: str, *, wrong: str, right: str, severity: Severity = Severity.ERROR
) -> Callable[[FleetCheck], FleetRule]:
    """Make a rule over several clusters of a function, as `rule` does over one."""

    def make(check: FleetCheck) -> FleetRule:
        return FleetRule(
            code=code, title=title, why=_why(check), wrong=wrong, right=right, severity=severity, check=check
        )

    return make


def _why(check: Check | FleetCheck) -> str:
    return " ".join((check.__doc__ or "").split())
