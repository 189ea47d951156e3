"""What a rule is, and what `gen explain` tells about a finding.

Every code is declared in one form, an `Explained` in the module that yields its findings. A rule is the function that
yields them, decorated with `rule`: its docstring says why. Findings that no single function yields, as those of the
reader, name a constant of their module. Python holds them all, and no file of data: a code without an explanation is a
name that is not defined, and to make all of them takes less time than to parse one page of YAML.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, structs

from generator.model.finding import Finding, Severity

Subject = TypeVar("Subject")
Check: TypeAlias = Callable[[Subject], Iterator[Finding]]


class Explained(Struct, frozen=True, kw_only=True):
    """A code of findings: the rule in a few words, why it exists, and a wrong and a right piece of a file."""

    code: str
    title: str
    why: str
    wrong: str
    right: str
    severity: Severity = Severity.ERROR

    def complete(self, finding: Finding) -> Finding:
        """Return a finding with this code and its severity."""
        return structs.replace(finding, code=self.code, severity=self.severity)


class Rule(Explained, Generic[Subject], frozen=True, kw_only=True):
    """A rule over one cluster, over all clusters of a repository, or over everything that is built. `check` never
    raises, whatever it is given, and leaves code and severity out.
    """

    check: Check[Subject]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield the rule's findings, complete."""
        return map(self.complete, self.check(subject))


def rule(
    code: str, title: str, *, wrong: str, right: str, severity: Severity = Severity.ERROR
) -> Callable[[Check[Subject]], Rule[Subject]]:
    """Make a rule of a function. Its docstring says why the rule exists; `wrong` and `right` are pieces of a file."""

    def make(check: Check[Subject]) -> Rule[Subject]:
        why = " ".join((check.__doc__ or "").split())
        return Rule(code=code, title=title, why=why, wrong=wrong, right=right, severity=severity, check=check)

    return make


warning = partial(rule, severity=Severity.WARNING)
"""`rule` for what is only shown."""


def explained(*groups: Iterable[ModuleType]) -> dict[str, Explained]:
    """Return what modules declare, by code: group after group, each in the order of the codes. Raises ValueError for a
    code that is declared twice.
    """
    found: dict[str, Explained] = {}
    for modules in groups:
        declared = [each for module in modules for each in vars(module).values() if isinstance(each, Explained)]
        for each in sorted(declared, key=lambda each: each.code):
            # What one module imports from another is the same thing.
            if found.setdefault(each.code, each) is not each:
                raise ValueError(f"declared twice: {each.code}")
    return found


def rules(modules: Iterable[ModuleType]) -> dict[str, Rule[Any]]:
    """Return the rules among what modules declare."""
    return {code: each for code, each in explained(modules).items() if isinstance(each, Rule)}
