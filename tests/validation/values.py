"""Whether charts have the values that we set: Helm drops what a chart does not know in silence."""

import json
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from generator.build.objects import Built
from validation.build import Loader
from validation.releases import Releases
from validation.schemas import schemas_of, shared

UNSEEN = {
    # Templates take these, but the values file has them in comments or not at all.
    "ceph-csi-drivers": {
        "operatorConfig.driverSpecDefaults.nodePlugin.resources",
        "operatorConfig.driverSpecDefaults.controllerPlugin.priorityClassName",
    },
    "gpu-operator": {"dcgmExporter.podLabelAllowlistRegex"},
    "local-static-provisioner": {"priorityClassName"},
    # The first and the last likewise; the others are values of charts inside this one.
    "kube-prometheus-stack": {
        "alertmanager.alertmanagerSpec.configSecret",
        "grafana.grafana.ini",
        "grafana.ingress.ingressClassName",
        "grafana.rbac.useExistingClusterRole",
        "grafana.resources",
        "grafana.sidecar.dashboards.resource",
        "grafana.sidecar.dashboards.searchNamespace",
        "grafana.sidecar.datasources.resource",
        "grafana.sidecar.datasources.searchNamespace",
        "grafana.sidecar.resources",
        "grafana.testFramework",
        "kube-state-metrics.metricLabelsAllowlist",
        "kube-state-metrics.resources",
        "prometheus-node-exporter.priorityClassName",
        "prometheus-node-exporter.resources",
        "prometheus-node-exporter.tolerations",
        "prometheusOperator.admissionWebhooks.certManager.issuerRef",
    },
}
"""Paths of values that a chart has and its values file does not show: looked up in the charts' templates."""

SUBCHARTS = {("rook-ceph", "ceph-csi-operator"): "ceph-csi-operator/v1.0.4/values/ceph-csi-operator.values.yaml"}
"""The values files of charts inside others, by both charts' names."""


def unknown(built: Built, charts: Releases) -> list[str]:
    """Return the paths that we set and the chart does not have."""
    found = []
    for (component, release), chart in charts.items():
        file = values_file(built, component, chart.name)
        if file:
            known = {**read(file), **inside(chart.name)}
            unseen = UNSEEN.get(chart.name, set())
            ours = missing(chart.values, known, "")
            found += [f"{component}: {release}: {path}" for path in ours if not below(path, unseen)]
    return found


def unknown_values(values: Any, file: str, unseen: frozenset[str] = frozenset()) -> list[str]:
    """Return the paths that a chart's values file, below `../shared/upstream`, does not have, but for what is unseen in
    it.
    """
    return [path for path in missing(values, read(shared(file)), "") if not below(path, unseen)]


def schema_problems(built: Built, charts: Releases) -> list[str]:
    """Return what charts' own schemas have against our values."""
    found = []
    for (component, release), chart in charts.items():
        file = values_file(built, component, chart.name)
        schema = file.with_name("values.schema.json") if file else None
        if schema and schema.exists():
            found += [f"{component}: {release}: {error}" for error in schema_errors(chart.values, schema)]
    return found


def schema_errors(values: Any, schema: Path) -> list[str]:
    """Return what a chart's own schema has against values."""
    errors = jsonschema.Draft202012Validator(json.loads(schema.read_text())).iter_errors(values)
    return [f"{error.json_path}: {error.message}" for error in errors]


INFLATED = {("prometheus-adapter", "5.3.0")}
"""Charts whose values are in no folder here: the real one was inflated with ours, once."""


def no_file(built: Built, charts: Releases) -> list[str]:
    """Return the charts whose values nobody can look up here."""
    return [
        f"{component}: {chart.name} {chart.version}"
        for (component, _), chart in charts.items()
        if chart.values
        and not values_file(built, component, chart.name)
        and (chart.name, chart.version) not in INFLATED
    ]


def values_file(built: Built, component: str, chart: str) -> Path | None:
    """Return a chart's values.yaml, of the version the cluster uses."""
    assert built.cluster
    for folder in schemas_of(component, built.cluster):
        for name in (f"values/{chart}.values.yaml", f"{chart}.values.yaml", "values.yaml"):
            file = shared(folder) / name
            if file.exists():
                return file
    return None


def inside(chart: str) -> dict[str, Any]:
    """Return the values of the charts inside a chart, by their names."""
    return {name: read(shared(file)) for (outer, name), file in SUBCHARTS.items() if outer == chart}


def below(path: str, places: Collection[str]) -> bool:
    return any(path == place or path.startswith(f"{place}.") for place in places)


@cache
def read(file: Path) -> Any:
    return yaml.load(file.read_bytes(), Loader)


def missing(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """Yield the paths of ours that are not in theirs. An empty map of theirs takes any key, and so does nothing; a list
    is known by all keys of its maps, and resources take both requests and limits.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        for one in ours:
            yield from missing(one, merged(theirs), path)
    if not isinstance(ours, dict) or theirs in ({}, [], None) or path.endswith("resources"):
        return
    for key, value in ours.items():
        here = f"{path}.{key}".lstrip(".")
        if not isinstance(theirs, dict) or key not in theirs:
            yield here
        else:
            yield from missing(value, theirs[key], here)


def merged(items: list[Any]) -> Any:
    """Return one map with all keys of a list's maps."""
    maps = [one for one in items if isinstance(one, dict)]
    return {key: value for one in maps for key, value in one.items()} if maps else {}
