"""What changes of projects and Applications open: from where Argo CD takes what it applies, and where it may (v3.5.3:
`docs/user-guide/projects.md`, and the definitions of both kinds).
"""

from collections.abc import Iterator
from typing import Any

from generator.components.argo_cd.changes import APPLICATION
from generator.components.argo_cd.project_changes import PROJECT
from generator.components.rule_files import read_rules
from generator.model.change import Beside, ObjectChange
from generator.model.fields import dig, mapping, sequence, walk
from generator.model.opening import written

APPLICATIONS = (*APPLICATION, "argoproj.io/ApplicationSet", "bootstrap/Application")
_LISTS = (
    "destinations",
    "sourceNamespaces",
    "clusterResourceWhitelist",
    "namespaceResourceWhitelist",
    "roles",
    "destinationServiceAccounts",
)
"""What a project allows more of, the longer these are."""
_REFUSALS = ("clusterResourceBlacklist", "namespaceResourceBlacklist", "syncWindows", "signatureKeys")
"""What it refuses more of, the longer these are."""


def _repositories(kind: str, manifest: Any) -> set[str]:
    if kind in PROJECT:
        return {str(one) for one in sequence(dig(manifest, "spec", "sourceRepos"))}
    return {str(value) for path, value in walk(dig(manifest, "spec")) if path and path[-1] == "repoURL"}


def _known(change: ObjectChange, beside: Beside) -> set[str]:
    """Return the repositories that something names before."""
    kinds = (*PROJECT, *APPLICATIONS)
    found = [(kind, one) for kind in kinds for one in beside.old.get(kind, ())]
    return {text for kind, one in [*found, (change.kind, change.old)] for text in _repositories(kind, one)}


def from_strangers(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield the sources that nothing named before, or all of them. Nothing can be said where nothing before is seen."""
    if not (beside.old or change.old):
        return
    for text in sorted(_repositories(change.kind, change.new) - _known(change, beside)):
        if not text.startswith("!"):
            yield "any repository" if text == "*" else f"repository {text}"


def allows_more(change: ObjectChange, beside: Beside) -> Iterator[str]:
    """Yield what else a project allows that it did not."""
    if not change.new:
        return
    old, new = (mapping(dig(side, "spec")) for side in (change.old, change.new))
    for one in sequence(new.get("sourceRepos")):
        if one not in sequence(old.get("sourceRepos")) and str(one) in _known(change, beside):
            yield f"sourceRepos: {one}"
    for key in _LISTS:
        before = sequence(old.get(key))
        found = (one for one in sequence(new.get(key)) if one not in before and not _is_refusal(one))
        yield from (f"{key}: {written(one)}" for one in found)
    yield from _refuses_less(old, new)


def _refuses_less(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    if old.get("namespaceResourceWhitelist") and new.get("namespaceResourceWhitelist") is None:
        yield "every kind within namespaces"
    for key in ("sourceRepos", "destinations", *_REFUSALS):
        left = sequence(new.get(key))
        gone = (one for one in sequence(old.get(key)) if key in _REFUSALS or _is_refusal(one))
        yield from (f"{key} without {written(one)}" for one in gone if one not in left)
    for key in ("sourceIntegrity", "permitOnlyProjectScopedClusters"):
        if old.get(key) and old.get(key) != new.get(key):
            yield f"{key} differs"


def _is_refusal(one: object) -> bool:
    """Tell whether an entry takes away from what others allow: it begins with `!`."""
    texts = [one] if isinstance(one, str) else [value for key, value in mapping(one).items() if key != "name"]
    return any(str(text).startswith("!") for text in texts)


_INLINE = ("plugin", "kustomize", "helm", "directory", "pullRequest", "scmProvider")
"""What makes something else of what is in the repository, or lets those who propose changes say it."""
_FOLLOWED = {"project", "targetRevision", "server", "ignoreDifferences", *_INLINE}


def takes_otherwise(change: ObjectChange, _beside: Beside) -> Iterator[str]:
    """Yield how an Application takes what it applies otherwise than before, or somewhere else, or leaves alone what
    people change by hand; of one that is new only what gen does not see in the repository.
    """
    before, after = (_said(side) for side in (change.old, change.new))
    for key in sorted({*before, *after}) if change.new else ():
        if before.get(key) != after.get(key) and (change.old or key in _INLINE):
            yield f"{key}: {_shown(before.get(key))} -> {_shown(after.get(key))}"


def _shown(values: list[str] | None) -> str:
    return ", ".join(values or ["nothing"])


def _said(manifest: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, value in walk(dig(manifest, "spec")):
        if path and path[-1] in _FOLLOWED:
            found.setdefault(str(path[-1]), []).append(written(value))
    return found


OPENINGS = read_rules("argo_cd/source_openings.yaml", from_strangers, allows_more, takes_otherwise)
