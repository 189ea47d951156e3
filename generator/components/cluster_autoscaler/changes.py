"""What changes of the autoscaler mean for machines and jobs."""

from generator.components.cluster_autoscaler.names import NAME, NAMESPACE
from generator.model.change import ChangeRule, Effect, FieldChange, ObjectChange

FAQ = "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.2/cluster-autoscaler/FAQ.md"


def own(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the autoscaler's own Deployment."""
    return change.name == NAME and change.namespace == NAMESPACE


CHANGES = (
    ChangeRule(
        code="GEN-CHG-860",
        kinds=("apps/Deployment",),
        on="removed",
        effect=Effect.OUTAGE,
        reason="no machine is made any more, and none that idles goes; jobs that wait for machines wait for ever, "
        "those that run go on",
        instead="first let the MachineDeployments have as many replicas as are to stay",
        link=FAQ,
        when=own,
    ),
    ChangeRule(
        code="GEN-CHG-861",
        kinds=("apps/Deployment",),
        paths=("spec.template.spec.containers.*.command",),
        effect=Effect.ROLLING,
        reason="its pods are replaced; what it remembers of idle machines begins anew, so that none goes at once",
        link=FAQ,
        when=own,
    ),
)
