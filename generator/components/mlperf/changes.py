"""What changes of benchmarks mean: nothing that runs reads them before the next run."""

from generator.components.mlperf.names import BENCHMARKS, NAMESPACE, OPERATION, SCRIPTS
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-980",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="the next benchmark follows the file; one that runs goes on as it began, and so does its judgement",
        when=named(NAMESPACE, BENCHMARKS),
    ),
    ChangeRule(
        code="GEN-CHG-981",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next benchmark is judged by it: nobody has written down whether figures can still be compared",
        instead="read it, and run a benchmark of which the figure is known (`gen workflow submit mlperf`)",
        when=named(NAMESPACE, SCRIPTS),
    ),
    ChangeRule(
        code="GEN-CHG-982",
        kinds=("argoproj.io/WorkflowTemplate",),
        paths=("spec",),
        but=("spec.templates.*.container.image",),
        effect=Effect.UNKNOWN,
        reason="the next run does something else: nobody has written down whether it still judges and compares",
        instead="read it, and run a benchmark of which the figure is known (`gen workflow submit mlperf`)",
        when=named(NAMESPACE, OPERATION),
    ),
)
