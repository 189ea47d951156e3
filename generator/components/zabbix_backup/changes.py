"""What changes of the backup of Zabbix's database mean, beside those of every backup's schedule."""

from generator.components.zabbix_backup.names import DRILL, NAMESPACE, PART, RESTORE
from generator.model.change import ChangeRule, Effect
from generator.model.compared import named

_INSTEAD = (
    "read it, and run it once by hand (`gen workflow submit backup-zabbix`, `gen workflow submit restore-zabbix`)"
)

CHANGES = (
    ChangeRule(
        code="GEN-CHG-902",
        kinds=("argoproj.io/WorkflowTemplate",),
        paths=("spec",),
        but=("spec.templates.*.container.image", "spec.volumeClaimTemplates"),
        effect=Effect.UNKNOWN,
        reason="the next run does something else: nobody has written down whether it still dumps, tries or brings back",
        instead=_INSTEAD,
        when=named(NAMESPACE, PART, RESTORE, DRILL),
    ),
    ChangeRule(
        code="GEN-CHG-903",
        kinds=("/ConfigMap",),
        paths=("data",),
        effect=Effect.UNKNOWN,
        reason="the next run uses it: nobody has written down whether it still dumps or brings back",
        instead=_INSTEAD,
        when=named(NAMESPACE, f"{PART}-scripts"),
    ),
)
