"""What changes of the backup of etcd mean, beside those of every backup's schedule."""

from generator.components.etcd_backup.names import NAMESPACE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

CHANGES = (
    ChangeRule(
        code="GEN-CHG-900",
        kinds=("argoproj.io/WorkflowTemplate",),
        paths=("spec",),
        but=("spec.templates.*.container.image",),
        effect=Effect.UNKNOWN,
        reason="the next run does something else: nobody has written down whether it still brings snapshots there",
        instead="read it, and run it once by hand (`gen workflow submit backup-etcd`)",
        when=named(NAMESPACE, "etcd-backup"),
    ),
    ChangeRule(
        code="GEN-CHG-901",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next run uses it: nobody has written down whether it still brings snapshots to the bucket",
        instead="read it, and run it once by hand (`gen workflow submit backup-etcd`)",
        when=named(NAMESPACE, "etcd-backup-scripts"),
    ),
)
