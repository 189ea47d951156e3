"""What a rule over built objects is."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct, structs

from generator.model.finding import Severity
from generator.rendered.built import Built, Object
from generator.spec.codes import Explained

__all__ = ["BuiltRule", "Problem", "built_rule"]


class Problem(Struct, frozen=True, kw_only=True):
    """One problem of one object: `at` leads to the value within its manifest. `code` and `severity` are filled in
    by the rule; `fix` is the smallest change that helps, without a full stop.
    """

    object: Object
    message: str
    at: tuple[str | int, ...] = ()
    fix: str = ""
    code: str = ""
    severity: Severity = Severity.ERROR


Check: TypeAlias = Callable[[Built], Iterator[Problem]]


class BuiltRule(Explained, frozen=True, kw_only=True):
    """A rule over everything that is built. `check` never raises, whatever the objects, and leaves code and severity
    out.
    """

    severity: Severity
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
