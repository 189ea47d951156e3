"""What changes of `gpu-care` mean: nothing that runs reads them before the next run."""

from generator.components.gpu_care.names import SCRIPTS
from generator.components.node_operations.names import NAMESPACE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-962",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next look, within minutes, judges GPUs otherwise: nobody has written down whether it still finds "
        "sick ones, and taints no healthy node",
        instead="read it, and look at what it says of all nodes after the first look (`gen workflow logs`)",
        when=named(NAMESPACE, SCRIPTS),
    ),
)
