"""What it means when an Application is synced otherwise: by itself or not, and with other options (Argo CD v3.5.3)."""

from collections.abc import Mapping
from typing import Any

from generator.components.argo_cd.changes import APPLICATION, DOCS
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange, value_at
from generator.model.fields import dig, sequence

GUIDE = f"{DOCS}/user-guide"
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


OF_ITSELF = (
    ChangeRule(
        code="GEN-CHG-709",
        kinds=APPLICATION,
        paths=(AUTOMATED,),
        effect=Effect.BY_HAND,
        reason="nothing arrives by itself any more: what is merged waits until somebody syncs, and what people change "
        "in the cluster stays",
        instead="`argocd app sync NAME` after each merge",
        link=f"{GUIDE}/auto_sync/",
        when=stops,
    ),
    ChangeRule(
        code="GEN-CHG-710",
        kinds=APPLICATION,
        paths=(AUTOMATED,),
        effect=Effect.UNKNOWN,
        reason="Argo CD syncs it by itself from now on: all that was merged and not synced so far arrives at once",
        instead="look at what `argocd app diff NAME` shows before",
        link=f"{GUIDE}/auto_sync/",
        when=starts,
    ),
    ChangeRule(
        code="GEN-CHG-175",
        kinds=APPLICATION,
        paths=(f"{AUTOMATED}.prune", f"{AUTOMATED}.selfHeal"),
        effect=Effect.OUTAGE,
        reason="with the next sync leftovers that Git no longer has are deleted, or changes by hand undone",
        instead="look at what `argocd app diff` shows before",
        link=f"{GUIDE}/auto_sync/",
        armed=True,
        when=begins,
    ),
    ChangeRule(
        code="GEN-CHG-711",
        kinds=APPLICATION,
        paths=(f"{AUTOMATED}.prune", f"{AUTOMATED}.selfHeal"),
        effect=Effect.BY_HAND,
        reason="what leaves Git stays in the cluster (`prune`), or what people change there stays changed "
        "(`selfHeal`), until somebody sees to it",
        instead="`argocd app diff NAME` now and then, and `argocd app sync NAME --prune`",
        link=f"{GUIDE}/auto_sync/",
        when=ends,
    ),
    ChangeRule(
        code="GEN-CHG-712",
        kinds=APPLICATION,
        paths=(f"{AUTOMATED}.allowEmpty",),
        effect=Effect.OUTAGE,
        reason="where its folder has no object, by mistake too, Argo CD deletes all that it holds; so far it refused",
        instead="leave it out",
        link=f"{GUIDE}/auto_sync/#automatic-pruning-with-allow-empty-v18",
        armed=True,
        when=begins,
    ),
    ChangeRule(
        code="GEN-CHG-719",
        kinds=APPLICATION,
        paths=(AUTOMATED,),
        effect=Effect.NONE,
        reason="it does as much by itself as before, or deletes less",
        link=f"{GUIDE}/auto_sync/",
    ),
    ChangeRule(
        code="GEN-CHG-713",
        kinds=APPLICATION,
        paths=(f"metadata.annotations[{SKIPPED}]",),
        effect=Effect.BY_HAND,
        reason="Argo CD looks at it no more: nothing that is merged arrives",
        instead="take the annotation away when the work is done",
        link=f"{GUIDE}/skip_reconcile/",
        when=skipped,
    ),
)

WITH_OPTIONS = (
    ChangeRule(
        code="GEN-CHG-714",
        kinds=APPLICATION,
        paths=(OPTIONS,),
        effect=Effect.OUTAGE,
        reason="Argo CD puts in each of its objects whole (`Replace=true`): what controllers wrote into them is gone "
        "with each sync, and those with `Force=true` are deleted and made again",
        instead="annotate the one object that needs it",
        link=f"{GUIDE}/sync-options/#replace-resource-instead-of-applying-changes",
        when=replaces,
    ),
    ChangeRule(
        code="GEN-CHG-715",
        kinds=APPLICATION,
        paths=(OPTIONS,),
        effect=Effect.OUTAGE,
        reason="it takes over objects that another Application holds: each sets them back to what it says itself, and "
        "deletes them when they leave its own folder",
        instead="keep `FailOnSharedResource=true`",
        link=f"{GUIDE}/sync-options/#fail-the-sync-if-a-shared-resource-is-found",
        armed=True,
        when=shares,
    ),
    ChangeRule(
        code="GEN-CHG-716",
        kinds=APPLICATION,
        paths=(OPTIONS,),
        effect=Effect.UNKNOWN,
        reason="from the next sync on its objects are written, checked or deleted in another way",
        instead="read what upstream says of the option",
        link=f"{GUIDE}/sync-options/",
    ),
    ChangeRule(
        code="GEN-CHG-174",
        kinds=APPLICATION,
        paths=(OPTIONS,),
        effect=Effect.NONE,
        reason="it counts from the next sync",
        link=f"{GUIDE}/sync-options/",
        when=only_harmless,
    ),
    ChangeRule(
        code="GEN-CHG-717",
        kinds=APPLICATION,
        paths=("spec.syncPolicy.retry", "spec.revisionHistoryLimit", "spec.info"),
        effect=Effect.NONE,
        reason="it says how often Argo CD tries, and what it shows of the past",
        link=f"{GUIDE}/auto_sync/",
    ),
)

SYNC_CHANGES = (*OF_ITSELF, *WITH_OPTIONS)
