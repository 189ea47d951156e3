"""What is said of charts, versions and whole clusters where no component says more."""

from functools import partial

from generator.model.change import (
    CHART,
    CLUSTER,
    ELSEWHERE,
    PATCH,
    VERSION,
    ChangeRule,
    Effect,
    FieldChange,
    ObjectChange,
)
from generator.model.versions import goes_back

_PODS = {"resources", "tolerations", "nodeSelector", "affinity", "priorityClassName", "podAnnotations", "podLabels"}
_VENDOR = "`gen vendor` on both sides: then its objects are compared"


def of_pods(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a value goes into the templates of pods, and nowhere else."""
    return bool(_PODS & {str(step) for step in field.path})


of_charts = partial(ChangeRule, kinds=(CHART,))
of_clusters = partial(ChangeRule, kinds=(CLUSTER,))

RULES = (
    of_charts(
        code="GEN-CHG-370",
        effect=Effect.UNKNOWN,
        reason="what the chart makes of it is not vendored, so nobody can see it",
        instead=_VENDOR,
    ),
    ChangeRule(
        code="GEN-CHG-799",
        kinds=(PATCH,),
        effect=Effect.UNKNOWN,
        reason="what it patches is not vendored, so nobody can see what it makes of it",
        instead=_VENDOR,
    ),
    of_charts(
        code="GEN-CHG-371",
        paths=("values",),
        effect=Effect.ROLLING,
        reason="its pods are replaced one after the other",
        when=of_pods,
    ),
    of_charts(
        code="GEN-CHG-372",
        paths=("chart", "repository"),
        effect=Effect.NONE,
        reason="the same version from elsewhere; what differs in it is told when it is vendored",
    ),
    of_charts(
        code="GEN-CHG-373",
        on="removed",
        effect=Effect.OUTAGE,
        reason="all that the chart made goes with it, but for its CRDs, which are protected",
    ),
    of_charts(
        code="GEN-CHG-374",
        paths=("namespace",),
        effect=Effect.OUTAGE,
        reason="all that the chart made is deleted in the one namespace and made again in the other",
    ),
    ChangeRule(
        code="GEN-CHG-375",
        kinds=(VERSION,),
        effect=Effect.NONE,
        reason="what comes with it is told of its objects",
    ),
    ChangeRule(
        code="GEN-CHG-376",
        kinds=(VERSION,),
        effect=Effect.UNKNOWN,
        reason="upstreams try the way up, hardly ever back: what the newer version has stored the older one may not "
        "read",
        instead="a backup from before, and upstream's notes on going back",
        when=goes_back,
    ),
    of_clusters(
        code="GEN-CHG-380",
        on="removed",
        effect=Effect.BY_HAND,
        reason="nothing is deleted: its Application `root` finds no folder any more, tells that as an error, and "
        "applies nothing; the cluster runs on, and nobody manages it",
        instead="take the cluster down first, if it is to go",
        link="https://github.com/argoproj/argo-cd/issues/23157",
    ),
    of_clusters(
        code="GEN-CHG-381",
        on="added",
        effect=Effect.BY_HAND,
        reason="nothing runs before somebody installs it",
        instead="clusters/<cluster>/bootstrap/README.md",
    ),
    ChangeRule(
        code="GEN-CHG-383",
        kinds=(ELSEWHERE,),
        effect=Effect.UNKNOWN,
        reason="it is not built here, so nobody can see what comes or goes with it",
        instead="commit it as manifests, below the Application's `custom` or in a folder of this repository that an "
        "Application of its own reads and that holds nothing else: then its objects are compared",
    ),
    of_clusters(
        code="GEN-CHG-382",
        on="renamed",
        effect=Effect.BY_HAND,
        reason="the running cluster still reads the old folders, which are gone: its Application `root` tells that as "
        "an error, and applies nothing. What follows comes once somebody applies the new one",
        instead="`kubectl apply` clusters/<new name>/bootstrap/application-root.yaml, after reading what follows",
        link="https://github.com/argoproj/argo-cd/issues/23157",
    ),
)
