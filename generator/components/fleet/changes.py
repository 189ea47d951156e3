"""What changes of the workflow that renders a fleet mean."""

from generator.components.fleet import NAMESPACE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-910",
        kinds=("argoproj.io/WorkflowTemplate",),
        paths=("spec",),
        effect=Effect.NONE,
        reason="a run that goes on keeps what it started with; the next one follows, and pushes to a branch of its own",
        when=named(NAMESPACE, "fleet"),
    ),
    ChangeRule(
        code="GEN-CHG-911",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="a run that goes on reads it in its next step; what it pushes is reviewed before clusters see it",
        when=named(NAMESPACE, "fleet-scripts"),
    ),
)
