"""Schedules: a CronWorkflow whose runs are known by a label to be a backup's, or a drill's."""

from collections.abc import Mapping

from generator.components.common import OWN_LABELS
from generator.components.component import Manifest
from generator.model.backup import AnyBackup, Tried
from generator.model.cron import in_numbers
from generator.model.fields import dig, sequence

BACKUP, DRILL = "backup", "drill"
"""What a schedule runs: its name begins with it, and its runs have a label of it, with the backup's name."""


def label(of: str) -> str:
    """Return the label of the runs of backups, or of drills."""
    return f"{OWN_LABELS}/{of}"


def cron_workflow(item: AnyBackup, namespace: str, labels: dict[str, str], spec: Manifest) -> Manifest:
    """Return a backup's CronWorkflow, whose runs are as `spec` says. While one still copies, the next is left out."""
    return _scheduled(BACKUP, item.name, namespace, labels, (item.schedule, item.suspended), spec)


def drill_workflow(item: Tried, namespace: str, labels: dict[str, str], spec: Manifest) -> Manifest:
    """Return the CronWorkflow of a backup's drill, which rests with the backup."""
    when = (item.drill_schedule, item.suspended or item.drill.suspended)
    return _scheduled(DRILL, item.name, namespace, labels, when, spec)


def _scheduled(  # noqa: PLR0913, PLR0917 - what two kinds of schedules differ in
    of: str, name: str, namespace: str, labels: dict[str, str], when: tuple[str, bool], spec: Manifest
) -> Manifest:
    """Return a CronWorkflow. A run that could not start in time is made up for within an hour."""
    schedule, suspended = when
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": f"{of}-{name}", "namespace": namespace, "labels": labels},
        "spec": {
            "schedules": [in_numbers(schedule)],
            "timezone": "Etc/UTC",
            "suspend": suspended,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "successfulJobsHistoryLimit": 7,
            "failedJobsHistoryLimit": 7,
            "workflowMetadata": {"labels": {**labels, label(of): name}},
            "workflowSpec": spec,
        },
    }


def arguments(template: Manifest, values: Mapping[str, str | None]) -> Manifest:
    """Return the arguments of a template, each as its file tells of it; None: a run must say it."""
    known = {one["name"]: one for one in sequence(dig(template, "spec", "arguments", "parameters"))}
    told = {name: {} if value is None else {"value": value} for name, value in values.items()}
    parameters = [{"name": name, **value, **_other(known.get(name, {}))} for name, value in told.items()]
    return {"arguments": {"parameters": parameters}}


def _other(parameter: Manifest) -> Manifest:
    return {key: value for key, value in parameter.items() if key not in ("name", "value")}


def given(arguments: dict[str, str]) -> Manifest:
    """Return arguments as a workflow has them."""
    return {"arguments": {"parameters": [{"name": name, "value": value} for name, value in arguments.items()]}}
