"""All rules over built objects, and what they could not judge."""

from collections.abc import Iterator

from generator.build.objects import Built
from generator.model.finding import Finding
from generator.model.plural import plural
from generator.model.rule import Rule, rules
from generator.model.served import LAST
from generator.rules import (
    argo_cd,
    autoscaling,
    budgets,
    claims,
    images,
    job_operators,
    launchers,
    names,
    node_ports,
    placement,
    queues,
    references,
    resources,
    schemas,
    secrets,
    security,
    selectors,
    services,
    team_admission,
    team_pods,
    team_rights,
    team_routes,
    team_workflows,
    train_jobs,
    unknown_kinds,
)

MODULES = (
    schemas, unknown_kinds, names, references, selectors, argo_cd, security, placement, resources, budgets, images,
    secrets, queues, team_pods, team_admission, launchers, job_operators, train_jobs, autoscaling, claims,
    services, team_rights, team_routes, team_workflows, node_ports,
)  # fmt: skip

RULES: dict[str, Rule[Built]] = rules(MODULES)
"""Every rule over built objects, by code."""


def examine(built: Built) -> list[Finding]:
    """Return what all rules find, each once, in the order of files, objects and codes; never raises."""
    # Pods of one workflow say the same at one place.
    found = dict.fromkeys(one for rule in RULES.values() for one in rule.findings(built))
    return sorted(found, key=_order)


def _order(one: Finding) -> tuple[str, str, tuple[str, ...], str, str]:
    at = tuple(f"{step:09}" if isinstance(step, int) else step for step in one.at)
    return one.file, one.about, at, one.code, one.message


def unjudged(built: Built) -> Iterator[str]:
    """Say, a line for each, what nobody could judge and why."""
    if built.unvendored:
        yield f"not vendored, so not seen: what {', '.join(built.unvendored)} bring; `gen vendor` commits it"
    where = "what is not vendored" if built.cluster and not built.remote else "what is not here"
    if leading := len(references.unproven(built)):
        yield f"{plural(leading, 'reference')} into {where}"
    if selecting := selectors.unproven(built):
        yield f"{plural(selecting, 'selector')} for pods or Services that may come with {where}"
    if habits := references.habits(built):
        counted = plural(habits, "subject or Service", "subjects and Services")
        yield f"{counted} that vendored objects name and nothing makes"
    yield from unknown_kinds.unproven(built)
    if patching := argo_cd.unproven(built):
        yield f"{plural(patching, 'patch', 'patches')} of {where}"
    if built.cluster is None:
        yield f"judged for Kubernetes 1.{LAST}, as part of no cluster (--cluster NAME names one)"
    yield from built.notes
