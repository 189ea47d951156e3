"""What changes of acceptance mean: nothing that runs reads them before the next run."""

from generator.components.acceptance.names import NAMESPACE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import labelled

CHANGES = (
    ChangeRule(
        code="GEN-CHG-970",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="steps and jobs of acceptance read it when a run begins: the next one tries and judges by it",
        when=labelled("app.kubernetes.io/part-of", NAMESPACE),
    ),
)
