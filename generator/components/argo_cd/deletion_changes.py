"""What it means when an Application goes, or when it is to take what it holds with it (Argo CD v3.5.3)."""

from generator.components.argo_cd.changes import APPLICATION, DOCS
from generator.model.change import Beside, ChangeRule, Effect, FieldChange, ObjectChange
from generator.model.compared import cascades, is_protected

DELETION = f"{DOCS}/user-guide/app_deletion/#about-the-deletion-finalizer"


def goes_alone(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an Application leaves what it holds."""
    return not cascades(change.old) and not is_protected(change, field)


def takes_along(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether an Application is deleted with what it holds."""
    return cascades(change.old) and not is_protected(change, field)


def holds_unseen(change: ObjectChange, field: FieldChange, beside: Beside) -> bool:
    """Tell whether an Application takes along what was not built, so that none of it is told by itself."""
    return takes_along(change, field) and change.name not in beside.built


def begins(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application takes along what it holds from now on."""
    return cascades(change.new) and not cascades(change.old)


def ends(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an Application leaves what it holds from now on."""
    return cascades(change.old) and not cascades(change.new)


DELETION_CHANGES = (
    ChangeRule(
        code="GEN-CHG-325",
        kinds=APPLICATION,
        on="removed",
        effect=Effect.BY_HAND,
        reason="it has no finalizer that deletes what it holds: it goes, all of that stays behind, and nobody manages "
        "it any more",
        instead="`kubectl delete` what is not needed any more",
        link=DELETION,
        when=goes_alone,
    ),
    ChangeRule(
        code="GEN-CHG-326",
        kinds=APPLICATION,
        on="removed",
        effect=Effect.OUTAGE,
        reason="its finalizer has Argo CD delete every object that it made but CRDs and those with `Delete=false`, "
        "dependents first; they are told one by one",
        instead="take the finalizer away in a commit of its own first, if the objects are to stay",
        link=DELETION,
        when=takes_along,
    ),
    ChangeRule(
        code="GEN-CHG-706",
        kinds=APPLICATION,
        on="removed",
        effect=Effect.DATA_LOSS,
        reason="its finalizer has Argo CD delete every object that it made but CRDs and those with `Delete=false`; "
        "what it holds was not built here, and claims or namespaces may be among it",
        instead="take the finalizer away in a commit of its own first, if the objects are to stay; else look at "
        "`argocd app resources NAME`",
        link=DELETION,
        beside=holds_unseen,
    ),
    ChangeRule(
        code="GEN-CHG-327",
        kinds=APPLICATION,
        paths=("metadata.finalizers",),
        effect=Effect.OUTAGE,
        armed=True,
        reason="nothing now; when the Application goes, its objects go with it, claims and what is stored too, but for "
        "those with `Delete=false`",
        instead="leave the finalizer out of what holds data",
        link=DELETION,
        when=begins,
    ),
    ChangeRule(
        code="GEN-CHG-707",
        kinds=APPLICATION,
        paths=("metadata.finalizers",),
        effect=Effect.NONE,
        reason="when the Application goes, its objects stay behind from now on",
        link=DELETION,
        when=ends,
    ),
)
