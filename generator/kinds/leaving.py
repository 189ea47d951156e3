"""What happens to objects whose Application goes: with its finalizer they are deleted, protected from pruning or not,
else all of them stay.

Read in Argo CD v3.5: `controller/appcontroller.go`, `shouldBeDeleted`.
"""

from generator.kinds.definitions import CRD
from generator.kinds.general import of_all
from generator.kinds.syncing import APPLICATION
from generator.model.change import Beside, Effect, FieldChange, ObjectChange
from generator.model.compared import cascades, is_protected, options, outlives
from generator.model.fields import dig

DELETION = "https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/#about-the-deletion-finalizer"


def _goes(change: ObjectChange, beside: Beside) -> object:
    """Return the Application that held an object and goes as well; None where it stays, or where the object moved."""
    old, new = (
        {dig(one, "metadata", "name"): one for one in side.get(APPLICATION, ())} for side in (beside.old, beside.new)
    )
    return None if change.on == "moved" or change.application in new else old.get(change.application)


def _deletes(application: object, change: ObjectChange) -> bool:
    """Tell whether an Application that leaves Git takes an object along."""
    left = change.kind in CRD or outlives(change.old) or "Prune=false" in options(application)
    return cascades(application) and not left


def is_taken_along(change: ObjectChange, field: FieldChange, beside: Beside) -> bool:
    """Tell whether an object that is only protected from pruning is deleted with its Application."""
    return is_protected(change, field) and _deletes(_goes(change, beside), change)


def stays_behind(change: ObjectChange, field: FieldChange, beside: Beside) -> bool:
    """Tell whether an object stays because its Application goes without it, and would have been deleted alone."""
    application = _goes(change, beside)
    left = application is not None and not _deletes(application, change)
    return left and change.kind != APPLICATION and not is_protected(change, field)


LEAVING = (
    of_all(
        code="GEN-CHG-704",
        on="removed",
        effect=Effect.OUTAGE,
        reason="its Application goes and has the finalizer that deletes all it holds: `Prune=false` does not keep it",
        instead="annotate it with `Delete=false` in a commit before, or take the Application's finalizer away",
        link=DELETION,
        as_removal=True,
        beside=is_taken_along,
        settles=3,
    ),
    of_all(
        code="GEN-CHG-705",
        on="removed",
        effect=Effect.BY_HAND,
        reason="its Application goes and leaves it: it stays in the cluster as it is, and nobody manages it any more",
        instead="`kubectl delete` it, if it is to go",
        link=DELETION,
        beside=stays_behind,
        settles=3,
    ),
)
