"""What changes of `health-report` mean: nothing that runs reads them before the next report."""

from generator.components.health_report.names import FACTS, NAMESPACE, SCRIPTS
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-963",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next report reads other things: nobody has written down whether it still tells what needs somebody",
        instead="read it, and have one made (`gen workflow submit health-report --watch`)",
        when=named(NAMESPACE, SCRIPTS),
    ),
    ChangeRule(
        code="GEN-CHG-964",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="the next report holds the cluster against what its file says then",
        when=named(NAMESPACE, FACTS),
    ),
)
