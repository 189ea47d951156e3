"""What Argo CD and the garbage collector delete, whatever the kind: hooks, objects that are made anew, owners.

Read in Argo CD v3.5: `gitops-engine/pkg/sync` (`sync_context.go`, `hook/`, `reconcile.go`), `gitops-engine/pkg/diff`
(`diff.go`).
"""

from typing import Any

from generator.kinds.definitions import CRD
from generator.kinds.general import of_all
from generator.model.change import ABSENT, Effect, FieldChange, ObjectChange
from generator.model.compared import KEEP, OPTIONS, options, outlives
from generator.model.fields import dig, mapping, sequence

HOOK, POLICY = "argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy"
HELM_HOOK, HELM_POLICY = "helm.sh/hook", "helm.sh/hook-delete-policy"
HOOKS = "https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/"
SYNC_OPTIONS = "https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options"
APPLICATION = "argoproj.io/Application"
COLLECTED = "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents"
UPDATED = {*CRD, "/Namespace"}
"""Kinds that Argo CD only updates where it is told to replace: all that is in them would go with them."""
_STRENGTH = {"false": 2, "confirm": 1}


def _notes(manifest: Any) -> dict[str, Any]:
    return mapping(dig(manifest, "metadata", "annotations"))


def is_hook(manifest: Any) -> bool:
    """Tell whether an object is no longer one of those that a sync keeps as Git says: a hook, or one to be skipped."""
    notes = _notes(manifest)
    return HOOK in notes or notes.get(HELM_HOOK, "crd-install") != "crd-install"


def delete_policies(manifest: Any) -> set[str]:
    """Return when a hook is deleted, in Argo CD's words in lower case; before it is made again unless it says."""
    notes = _notes(manifest)
    said = {one.strip() for key in (POLICY, HELM_POLICY) for one in str(notes.get(key) or "").split(",")}
    known = {one.replace("-", "").lower() for one in said} & {"beforehookcreation", "hooksucceeded", "hookfailed"}
    return known or {"beforehookcreation"}


def becomes_a_hook(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether a hook's rules begin to delete an object that stands."""
    if not is_hook(change.new):
        return False
    return not is_hook(change.old) or not delete_policies(change.new) <= delete_policies(change.old)


def is_made_anew(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether Argo CD deletes the object and makes it again with each sync: what stands in the cluster counts as
    well as what Git says.
    """
    told = options(change.old) | options(change.new)
    return change.kind not in UPDATED and {"Force=true", "Replace=true"} <= told


def is_forced(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an object is meant to be deleted where the API server refuses its change. Hooks are not compared."""
    return "Force=true" in options(change.old) | options(change.new) and not is_hook(change.new)


def begins_to_replace(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an object is put in whole from now on, and not deleted for it."""
    came = "Replace=true" in options(change.new) - options(change.old)
    return came and not is_made_anew(change, field)


def _strength(manifest: Any, option: str) -> int:
    if option == "Delete" and outlives(manifest):
        return 2
    return max((_STRENGTH.get(one.removeprefix(f"{option}="), 0) for one in options(manifest)), default=0)


def may_be_pruned(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether less than before holds Argo CD back when the object leaves Git."""
    return _strength(change.new, "Prune") < _strength(change.old, "Prune")


def may_be_deleted(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether less than before holds Argo CD back when the object's Application is deleted."""
    return _strength(change.new, "Delete") < _strength(change.old, "Delete")


def has_other_owner(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an object has an owner that it had not."""
    if isinstance(field.new, list):
        return any(one not in sequence(field.old) for one in field.new)
    return field.old is ABSENT or (field.new is not ABSENT and field.path[-1] in {"uid", "name"})


SYNCING = (
    of_all(
        code="GEN-CHG-700",
        effect=Effect.OUTAGE,
        reason="it becomes a hook: a sync no longer keeps it, but deletes it, `Prune=false` or not, and makes it "
        "again with each sync, or not at all (`Skip`)",
        instead="take the annotation away; a hook is for Jobs and for what only they need",
        link=HOOKS,
        as_removal=True,
        when=becomes_a_hook,
        settles=2,
    ),
    of_all(
        code="GEN-CHG-005",
        effect=Effect.OUTAGE,
        reason="Argo CD deletes it and makes it again (`Force=true,Replace=true`), and what belongs to it goes with it",
        instead="take the options away: the former ones count as well as long as they stand in the cluster, so that it "
        "takes a sync of its own",
        link=f"{SYNC_OPTIONS}/#replace-resource-instead-of-applying-changes",
        as_removal=True,
        when=is_made_anew,
        settles=2,
    ),
    of_all(
        code="GEN-CHG-746",
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it, and Argo CD asks it before it compares (server-side diff): neither "
        "`Force=true` nor `Replace=true` comes to bear, and nothing of the Application is synced any more",
        instead="give the object another name, or delete it by hand, with what belongs to it, once this is merged",
        link="https://github.com/argoproj/argo-cd/issues/29348",
        on_refusal=True,
        when=is_forced,
    ),
    of_all(
        code="GEN-CHG-701",
        paths=(f"metadata.annotations[{OPTIONS}]",),
        effect=Effect.UNKNOWN,
        reason="Argo CD puts it in whole from now on (`Replace=true`): what controllers and people wrote into it, and "
        "Git does not say, is gone with each sync",
        instead="leave it out: what the API server refuses it refuses of a replaced object too",
        link=f"{SYNC_OPTIONS}/#replace-resource-instead-of-applying-changes",
        when=begins_to_replace,
    ),
    of_all(
        code="GEN-CHG-006",
        paths=(f"metadata.annotations[{OPTIONS}]",),
        effect=Effect.OUTAGE,
        reason="less protects it: when it leaves Git, Argo CD deletes it with all that belongs to it; with "
        "`Prune=confirm`, once somebody says so",
        instead="leave `Prune=false`, unless it may go",
        link=f"{SYNC_OPTIONS}/#no-prune-resources",
        armed=True,
        as_removal=True,
        when=may_be_pruned,
    ),
    of_all(
        code="GEN-CHG-702",
        paths=(f"metadata.annotations[{OPTIONS}]", f"metadata.annotations[{KEEP}]"),
        effect=Effect.OUTAGE,
        reason="it no longer outlives its Application: when that is deleted with what it holds, it goes too; with "
        "`Delete=confirm`, once somebody says so",
        instead="leave `Delete=false`, unless it may go",
        link=f"{SYNC_OPTIONS}/#no-resource-deletion",
        armed=True,
        as_removal=True,
        when=may_be_deleted,
    ),
    of_all(
        code="GEN-CHG-703",
        paths=("metadata.ownerReferences",),
        effect=Effect.BY_HAND,
        reason="it has an owner now: Kubernetes deletes it when the owner goes, and at once where no object of the "
        "owner's name has its `uid`, which no Git knows",
        instead="leave ownerReferences to controllers",
        link=COLLECTED,
        as_removal=True,
        when=has_other_owner,
    ),
)
