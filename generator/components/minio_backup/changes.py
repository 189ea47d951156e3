"""What changes of the backups of MinIO's buckets mean, beside those of every backup's schedule."""

from generator.components.minio_backup.names import NAMESPACE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

_INSTEAD = "read it, and run one backup by hand (`gen workflow submit backup-NAME`)"

CHANGES = (
    ChangeRule(
        code="GEN-CHG-904",
        kinds=("argoproj.io/WorkflowTemplate",),
        paths=("spec",),
        but=("spec.templates.*.container.image",),
        effect=Effect.UNKNOWN,
        reason="the next backup does something else: nobody has written down whether it still copies everything",
        instead=_INSTEAD,
        when=named(NAMESPACE, "backup"),
    ),
    ChangeRule(
        code="GEN-CHG-905",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next backup runs it: nobody has written down whether it still copies everything",
        instead=_INSTEAD,
        when=named(NAMESPACE, "backup-scripts"),
    ),
)
