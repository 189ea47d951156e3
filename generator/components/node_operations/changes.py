"""What changes of operations on nodes mean: nothing that runs reads them before the next run."""

from generator.components.node_operations.facts import FACTS
from generator.components.node_operations.names import NAMESPACE, SCRIPTS
from generator.model.change import ChangeRule, Effect
from generator.model.compared import every, labelled, named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-960",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.NONE,
        reason="the steps of operations on nodes ask for it each time: what they compare a node with follows the file",
        when=every(named(NAMESPACE), labelled(FACTS)),
    ),
    ChangeRule(
        code="GEN-CHG-961",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next operation on a node does something else: nobody has written down whether it still stops no "
        "job in part and lets no sick node in",
        instead="read it, and try it on a node that may stand still (`gen workflow submit node-removal`)",
        when=named(NAMESPACE, SCRIPTS),
    ),
)
