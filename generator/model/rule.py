"""What a rule is, and what `gen explain` tells about a finding.

Every code is declared in one form, an `Explained` in the module that yields its findings. A rule is the function that
yields them, decorated with `rule`: its docstring explains it. Findings that no single function yields, as those of the
reader, name a constant of their module, with a text of the same form. Python holds them all, and no file of data: a
code without an explanation is a name that is not defined. The texts are taken apart only when somebody asks.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, structs

from generator.model.finding import Finding, Severity, in_words

Subject = TypeVar("Subject")
Check: TypeAlias = Callable[[Subject], Iterator[Finding]]


class Explained(Struct, frozen=True, kw_only=True):
    """A code of findings: the rule in a few words, and a text for people. As the docstring of a rule it says why the
    rule exists, and shows a wrong and a right piece of a file, in this form.

        Pods and nodes that share addresses cannot reach each other.

        Wrong:
            podCIDR: 10.10.0.0/16
        Right:
            podCIDR: 10.244.0.0/16
    """

    code: str
    title: str
    text: str
    severity: Severity = Severity.ERROR

    @property
    def why(self) -> str:
        """Why the rule exists, on one line."""
        return " ".join(self._parts[0].split())

    @property
    def wrong(self) -> str:
        """A piece of a file that breaks it."""
        return self._parts[1]

    @property
    def right(self) -> str:
        """A piece of a file that keeps it."""
        return self._parts[2]

    @property
    def _parts(self) -> tuple[str, str, str]:
        from textwrap import dedent  # noqa: PLC0415 - only for those who ask

        first, _, rest = self.text.partition("\n")
        why, _, examples = f"{first}\n{dedent(rest)}".partition("\nWrong:\n")
        wrong, _, right = examples.partition("\nRight:\n")
        return why, _example(wrong), _example(right)

    def complete(self, finding: Finding) -> Finding:
        """Return a finding with this code and its severity, and with the words of its edits where it has none of its
        own.
        """
        fix = finding.fix or in_words(finding.edits)
        return structs.replace(finding, code=self.code, severity=self.severity, fix=fix)


class Rule(Explained, Generic[Subject], frozen=True, kw_only=True):
    """A rule over one cluster, over all clusters of a repository, or over everything that is built. `check` never
    raises, whatever it is given, and leaves code and severity out.
    """

    check: Check[Subject]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield the rule's findings, complete."""
        return map(self.complete, self.check(subject))


def _example(indented: str) -> str:
    return "".join(line.removeprefix("    ") + "\n" for line in indented.splitlines())


def rule(code: str, title: str, severity: Severity = Severity.ERROR) -> Callable[[Check[Subject]], Rule[Subject]]:
    """Make a rule of a function. Its docstring is the text of the explanation."""

    def make(check: Check[Subject]) -> Rule[Subject]:
        return Rule(code=code, title=title, text=check.__doc__ or "", severity=severity, check=check)

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
