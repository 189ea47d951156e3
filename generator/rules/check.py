"""All rules over built objects, and what they could not judge."""

from collections.abc import Iterator

from generator.build.faults import FAULT_CODES
from generator.build.objects import Built, Problem
from generator.model.finding import Path
from generator.model.plural import plural
from generator.model.served import LAST
from generator.rules import (
    argo_cd,
    budgets,
    images,
    placement,
    queues,
    references,
    resources,
    schemas,
    secrets,
    security,
    selectors,
)
from generator.rules.rule import BuiltRule
from generator.rules.waivers import WAIVER_CODES
from generator.spec.codes import Explained

_MODULES = (
    schemas, references, selectors, argo_cd, security, placement, resources, budgets, images, secrets, queues,
)  # fmt: skip

RULES: dict[str, BuiltRule] = {
    rule.code: rule for rule in sorted((rule for each in _MODULES for rule in each.RULES), key=lambda rule: rule.code)
}
"""Every rule over built objects, by code."""


def explanations() -> dict[str, Explained]:
    """Return what `gen explain` tells of findings on built objects, by code."""
    return {**RULES, **WAIVER_CODES, **FAULT_CODES}


def examine(built: Built) -> list[Problem]:
    """Return what all rules find, in the order of files, objects and codes; never raises."""
    return sorted((one for rule in RULES.values() for one in rule.problems(built)), key=_order)


def _order(problem: Problem) -> tuple[str, str, Path, str, str]:
    one = problem.object
    at = tuple(f"{step:09}" if isinstance(step, int) else step for step in problem.at)
    return one.file, one.told, at, problem.code, problem.message


def unjudged(built: Built) -> Iterator[str]:
    """Say, a line for each, what nobody could judge and why."""
    if built.unvendored:
        yield f"not vendored, so not seen: what {', '.join(built.unvendored)} bring; `gen vendor` commits it"
    where = "what is not vendored" if built.cluster and not built.remote else "what is not here"
    if leading := len(references.unproven(built)):
        yield f"{plural(leading, 'reference')} into {where}"
    if selecting := selectors.unproven(built):
        yield f"{plural(selecting, 'selector')} for pods or Services that may come with {where}"
    yield from schemas.unproven(built)
    if patching := argo_cd.unproven(built):
        yield f"{plural(patching, 'patch', 'patches')} of {where}"
    if built.cluster is None:
        yield f"judged for Kubernetes 1.{LAST}, as part of no cluster (--cluster NAME names one)"
    yield from built.notes
