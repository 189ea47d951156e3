"""What changes of Prometheus, Alertmanager and Grafana mean.

The operator was read at v0.93.1 (`pkg/k8s/statefulset.go`, `Documentation/platform/storage.md`).
"""

import re

from generator.components.rule_files import read_rules
from generator.model.change import CHART, FieldChange, ObjectChange, reaches, value_at
from generator.model.quantity import Quantity

RELEASE = "kube-prometheus-stack"
OF_CHART = "values.prometheus.prometheusSpec"
ALERTING = "values.alertmanager.enabled"
CLAIMS = (f"{OF_CHART}.storageSpec", "values.alertmanager.alertmanagerSpec.storage", "spec.storage")
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


CHANGES = read_rules(
    "kube_prometheus_stack/changes.yaml",
    of_the_stack,
    keeps_less,
    comes_or_goes,
    was_reached,
    alerting_ends,
    alerting_begins,
    stays_in_place=lambda change, field: not comes_or_goes(change, field),
)
