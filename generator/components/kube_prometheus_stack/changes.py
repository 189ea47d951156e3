"""What changes of Prometheus, Alertmanager and Grafana mean.

The operator was read at v0.93.1 (`pkg/k8s/statefulset.go`, `Documentation/platform/storage.md`).
"""

import re

from generator.model.change import CHART, ChangeRule, Effect, FieldChange, ObjectChange, reaches, value_at
from generator.model.quantity import Quantity

RELEASE = "kube-prometheus-stack"
PROMETHEUS, ALERTMANAGER = "monitoring.coreos.com/Prometheus", "monitoring.coreos.com/Alertmanager"
CONFIGURATION = "monitoring.coreos.com/AlertmanagerConfig"
OF_CHART = "values.prometheus.prometheusSpec"
ALERTING = "values.alertmanager.enabled"
KEPT = (f"{OF_CHART}.retention", f"{OF_CHART}.retentionSize", "spec.retention", "spec.retentionSize")
CLAIMS = (f"{OF_CHART}.storageSpec", "values.alertmanager.alertmanagerSpec.storage", "spec.storage")
WATCHING = tuple(
    f"monitoring.coreos.com/{kind}"
    for kind in ("ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PrometheusRule")
)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
_PARTS = re.compile(r"(\d+)(ms|[smhdwy])")


def of_the_stack(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether an object is of the stack, or its release."""
    return change.kind != CHART or change.name == RELEASE


def keeps_less(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether samples are kept for a shorter time, or in less room."""
    old, new = _amount(field.old), _amount(field.new)
    return old is not None and new is not None and new < old


def _amount(value: object) -> float | None:
    """Return seconds of a duration (`1w2d`) or bytes of a size (`500MiB`); None where it is neither."""
    text = str(value)
    parts = _PARTS.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(int(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return float(Quantity.parse(text.removesuffix("B")).value)
    except ValueError:
        return None


def comes_or_goes(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether there was no claim before, or is none any more."""
    way = next(way for way in CLAIMS if reaches(way, field.path))
    return (value_at(change.old, way) is None) != (value_at(change.new, way) is None)


def was_reached(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Grafana's pages had a name before."""
    return of_the_stack(change, field) and bool(value_at(change.old, "values.grafana.ingress.hosts"))


def alerting_ends(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Alertmanager goes."""
    off = value_at(change.new, ALERTING) is False and value_at(change.old, ALERTING) is not False
    return of_the_stack(change, field) and off


def alerting_begins(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether Alertmanager comes."""
    on = value_at(change.old, ALERTING) is False and value_at(change.new, ALERTING) is not False
    return of_the_stack(change, field) and on


CHANGES = (
    ChangeRule(
        code="GEN-CHG-610",
        kinds=(CHART, PROMETHEUS),
        paths=KEPT,
        effect=Effect.ROLLING,
        reason="Prometheus starts again and reads its log first: for minutes nothing is measured and no alert judged",
        when=of_the_stack,
    ),
    ChangeRule(
        code="GEN-CHG-611",
        kinds=(CHART, PROMETHEUS),
        paths=KEPT,
        effect=Effect.OUTAGE,
        reason="samples that are older, or more, than it says now are deleted as soon as Prometheus has started again",
        instead="keep it as it is, unless nobody asks for them any more",
        link="https://prometheus.io/docs/prometheus/latest/storage/#operational-aspects",
        when=lambda change, field: of_the_stack(change, field) and keeps_less(change, field),
    ),
    ChangeRule(
        code="GEN-CHG-612",
        kinds=(CHART, PROMETHEUS, ALERTMANAGER),
        paths=CLAIMS,
        effect=Effect.BY_HAND,
        reason="the operator deletes the StatefulSet with its pods and makes it again; the claims that are there keep "
        "their size and class, and a `retentionSize` that follows the new size lets Prometheus fill what did not grow",
        instead="grow the claims first, where their class allows it: `kubectl -n monitoring patch pvc`; another class "
        "takes a new claim, which begins empty",
        link="https://prometheus-operator.dev/docs/platform/storage/#resizing-volumes",
        when=lambda change, field: of_the_stack(change, field) and not comes_or_goes(change, field),
    ),
    ChangeRule(
        code="GEN-CHG-613",
        kinds=(CHART, PROMETHEUS, ALERTMANAGER),
        paths=CLAIMS,
        effect=Effect.MOVES,
        reason="it begins empty in the other place: a claim stays with what is in it and is no longer read, what lay "
        "on the node's own disk is gone",
        instead="save what somebody asks for: what is older than now is not in its answers any more",
        when=lambda change, field: of_the_stack(change, field) and comes_or_goes(change, field),
    ),
    ChangeRule(
        code="GEN-CHG-614",
        kinds=(CHART,),
        paths=("values.grafana",),
        effect=Effect.ROLLING,
        reason="Grafana starts again; it keeps nothing: dashboards and data sources come from ConfigMaps",
        when=of_the_stack,
    ),
    ChangeRule(
        code="GEN-CHG-615",
        kinds=(CHART,),
        paths=("values.grafana.ingress",),
        effect=Effect.OUTAGE,
        reason="Grafana is no longer reached under its former name; a new one waits for its certificate",
        instead="tell those who use it",
        when=was_reached,
    ),
    ChangeRule(
        code="GEN-CHG-616",
        kinds=(CHART,),
        paths=("values.alertmanager",),
        effect=Effect.OUTAGE,
        reason="Alertmanager goes with its silences: nobody is told of Prometheus' alerts any more",
        instead="see first that the other one tells people: Zabbix, with a problem made on purpose",
        when=alerting_ends,
    ),
    ChangeRule(
        code="GEN-CHG-617",
        kinds=(CHART,),
        paths=("values.alertmanager",),
        effect=Effect.NONE,
        reason="Alertmanager starts beside what runs, as soon as its Secret is there: `alertmanager-webhooks`, or "
        "`alertmanager-config` where the cluster file names no `alerts`",
        when=alerting_begins,
    ),
    ChangeRule(
        code="GEN-CHG-618",
        kinds=(CHART, PROMETHEUS),
        on="removed",
        effect=Effect.OUTAGE,
        reason="nothing is measured and nobody is told of anything any more; the claims stay with what is in them, and "
        "nobody reads them",
        instead="delete the claims by `kubectl` once nobody asks for the samples",
        when=of_the_stack,
    ),
    ChangeRule(
        code="GEN-CHG-619",
        kinds=WATCHING,
        paths=("spec",),
        effect=Effect.NONE,
        reason="Prometheus reads it again within a minute and runs on; what it no longer selects is measured no more",
    ),
    ChangeRule(
        code="GEN-CHG-620",
        kinds=WATCHING,
        on="removed",
        effect=Effect.OUTAGE,
        reason="what only it watched is watched no more: alerts that rest on it stay silent whatever happens",
        instead="see that something else watches it, or that nothing is left to watch",
    ),
    ChangeRule(
        code="GEN-CHG-621",
        kinds=(CONFIGURATION,),
        paths=("spec",),
        effect=Effect.NONE,
        reason="Alertmanager takes it within a minute or two and runs on; until each webhook that it names is in the "
        "Secret `alertmanager-webhooks` everybody is told as before",
    ),
    ChangeRule(
        code="GEN-CHG-622",
        kinds=(CONFIGURATION,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="it says whom Alertmanager tells: who is not in the configuration that comes instead is told no more",
        instead="have the Secret `alertmanager-config` there first, with all whom it shall tell",
    ),
    ChangeRule(
        code="GEN-CHG-623",
        kinds=(CHART, ALERTMANAGER),
        paths=tuple(
            f"{spec}.{key}"
            for spec in ("values.alertmanager.alertmanagerSpec", "spec")
            for key in ("configSecret", "alertmanagerConfiguration")
        ),
        effect=Effect.NONE,
        reason="Alertmanager runs on, and takes its configuration from the other place once all of it is there; "
        "silences stay",
        when=of_the_stack,
    ),
)
