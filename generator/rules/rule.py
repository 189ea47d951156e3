"""What a rule over built objects is."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from msgspec import structs

from generator.build.faults import Told
from generator.build.objects import Built, Problem
from generator.model.finding import Severity
from generator.spec.near import near

Check: TypeAlias = Callable[[Built], Iterator[Problem]]


class BuiltRule(Told, frozen=True, kw_only=True):
    """A rule over everything that is built. `check` never raises, whatever the objects, and leaves code and severity
    out.
    """

    check: Check

    def problems(self, built: Built) -> Iterator[Problem]:
        """Yield the rule's problems, complete."""
        for problem in self.check(built):
            yield structs.replace(problem, code=self.code, severity=self.severity)


def built_rule(
    code: str, title: str, *, wrong: str, right: str, severity: Severity = Severity.ERROR
) -> Callable[[Check], BuiltRule]:
    """Make a rule of a function. Its docstring says why it exists; `wrong` and `right` are pieces of a manifest."""

    def make(check: Check) -> BuiltRule:
        why = " ".join((check.__doc__ or "").split())
        return BuiltRule(code=code, title=title, why=why, wrong=wrong, right=right, severity=severity, check=check)

    return make


def instead(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the fix of a mistyped word: the one that is meant, or `otherwise` where none is near."""
    meant = near(word, known)
    return f"write `{meant}`" if meant else otherwise
