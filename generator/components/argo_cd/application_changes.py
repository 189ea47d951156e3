"""What changes of an Application itself mean, beside what it holds (Argo CD v3.5.3, `docs/user-guide`)."""

from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange

APPLICATION = ("argoproj.io/Application",)
DOCS = "https://argo-cd.readthedocs.io/en/stable/user-guide"


def says_less(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether something is no longer left out of comparisons."""
    old, new = ([] if value is ABSENT else value for value in (field.old, field.new))
    both = isinstance(old, list) and isinstance(new, list)
    return any(one not in new for one in old) if both else field.old not in (ABSENT, "")


def begins(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Argo CD does it by itself from now on."""
    return field.new is True


APPLICATION_CHANGES = (
    ChangeRule(
        code="GEN-CHG-170",
        kinds=APPLICATION,
        paths=("spec.ignoreDifferences",),
        effect=Effect.NONE,
        reason="more is left out where Argo CD compares, or it is said otherwise",
        link=f"{DOCS}/diffing/",
    ),
    ChangeRule(
        code="GEN-CHG-171",
        kinds=APPLICATION,
        paths=("spec.ignoreDifferences",),
        effect=Effect.UNKNOWN,
        reason="fields that controllers or people write are set back to what Git says, again and again",
        link=f"{DOCS}/diffing/",
        when=says_less,
    ),
    ChangeRule(
        code="GEN-CHG-172",
        kinds=APPLICATION,
        paths=("spec.destination.namespace",),
        effect=Effect.UNKNOWN,
        reason="objects that name no namespace are made in this one, and go from the old one",
        instead="have each object name its namespace",
    ),
    ChangeRule(
        code="GEN-CHG-173",
        kinds=APPLICATION,
        paths=("spec.project",),
        effect=Effect.UNKNOWN,
        reason="where the other project does not allow its source, its destination or a kind, it moves no more; what "
        "runs goes on",
        link=f"{DOCS}/projects/",
    ),
    ChangeRule(
        code="GEN-CHG-174",
        kinds=APPLICATION,
        paths=("spec.syncPolicy", "spec.revisionHistoryLimit", "spec.info"),
        effect=Effect.NONE,
        reason="it counts from the next sync",
        link=f"{DOCS}/sync-options/",
    ),
    ChangeRule(
        code="GEN-CHG-175",
        kinds=APPLICATION,
        paths=("spec.syncPolicy.automated.prune", "spec.syncPolicy.automated.selfHeal"),
        effect=Effect.OUTAGE,
        reason="with the next sync leftovers that Git no longer has are deleted, or changes by hand undone",
        instead="look at what `argocd app diff` shows before",
        link=f"{DOCS}/auto_sync/",
        armed=True,
        when=begins,
    ),
)
