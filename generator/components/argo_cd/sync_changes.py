"""What it means when an Application is synced otherwise: by itself or not, and with other options (Argo CD v3.5.3)."""

from collections.abc import Mapping
from typing import Any

from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.fields import dig, sequence

AUTOMATED = "spec.syncPolicy.automated"
OPTIONS = "spec.syncPolicy.syncOptions"
SKIPPED = "argocd.argoproj.io/skip-reconcile"
HARMLESS = {"ApplyOutOfSyncOnly", "CreateNamespace", "PruneLast", "SkipDryRunOnMissingResource"}
"""Options that change when or in which order a sync writes objects, and nothing of what it writes."""


def _by_itself(manifest: Mapping[str, Any]) -> bool:
    found = value_at(manifest, AUTOMATED)
    return isinstance(found, dict) and found.get("enabled") is not False


def _does(manifest: Mapping[str, Any], what: str) -> bool:
    return _by_itself(manifest) and value_at(manifest, f"{AUTOMATED}.{what}") is True


def stops(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application no longer syncs by itself."""
    return _by_itself(change.old) and not _by_itself(change.new)


def starts(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application syncs by itself from now on."""
    return _by_itself(change.new) and not _by_itself(change.old)


def begins(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Argo CD does it by itself from now on."""
    what = str(field.path[-1])
    return _does(change.new, what) and not _does(change.old, what)


def ends(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Argo CD still syncs by itself, and does this no more."""
    what = str(field.path[-1])
    return _by_itself(change.new) and _does(change.old, what) and not _does(change.new, what)


def _options(change: ObjectChange) -> tuple[set[str], set[str]]:
    """Return the options that came, and those that went."""
    old, new = ({str(one) for one in sequence(value_at(side, OPTIONS))} for side in (change.old, change.new))
    return new - old, old - new


def replaces(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether objects are put in whole from now on."""
    return "Replace=true" in _options(change)[0]


def shares(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether objects that another Application holds are no longer refused."""
    return "FailOnSharedResource=true" in _options(change)[1]


def only_harmless(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether only options differ that change nothing of what is written."""
    came, went = _options(change)
    return {one.partition("=")[0] for one in came | went} <= HARMLESS


def skipped(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether Argo CD no longer looks at an Application."""
    return bool(dig(change.new, "metadata", "annotations", SKIPPED) == "true")


SYNC_CHANGES = read_rules(
    "argo_cd/sync_changes.yaml", stops, starts, begins, ends, skipped, replaces, shares, only_harmless
)
