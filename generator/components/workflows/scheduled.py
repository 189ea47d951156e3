"""The schedule of a backup: a CronWorkflow that is known by its label to be one."""

from generator.components.common import OWN_LABELS
from generator.components.component import Manifest
from generator.model.backup import Backup, EtcdBackup


def cron_workflow(item: Backup | EtcdBackup, namespace: str, labels: dict[str, str], spec: Manifest) -> Manifest:
    """Return a backup's CronWorkflow, whose runs are as `spec` says. A run that could not start in time is made up for
    within an hour; while one still copies, the next is left out.
    """
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": f"backup-{item.name}", "namespace": namespace, "labels": labels},
        "spec": {
            "schedules": [item.schedule],
            "timezone": "Etc/UTC",
            "suspend": item.suspended,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 7,
            "failedJobsHistoryLimit": 7,
            "workflowMetadata": {"labels": {**labels, f"{OWN_LABELS}/backup": item.name}},
            "workflowSpec": spec,
        },
    }


def given(arguments: dict[str, str]) -> Manifest:
    """Return arguments as a workflow has them."""
    return {"arguments": {"parameters": [{"name": name, "value": value} for name, value in arguments.items()]}}
