"""Rules about settings of components."""

from collections.abc import Iterator

from generator.checks.rule import rule
from generator.checks.versions import COMPONENTS
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.model.versions import CATALOGUE

__all__: list[str] = []


@rule(
    "GEN-COMP-001",
    "chart values for components with a chart",
    wrong="components: {minio: {values: {replicas: 8}}}\n",
    right="components: {cilium: {values: {debug: {enabled: true}}}}\n",
    severity=Severity.WARNING,
)
def values_taken(cluster: Cluster) -> Iterator[Finding]:
    """Some components are plain objects without a chart: values change nothing there, and there is no Helm release to
    adopt.
    """
    for name, settings in cluster.components.items():
        charts = any(version.charts for version in CATALOGUE.get(name, ()))
        given = [field for field in ("values", "adopt") if getattr(settings, field)]
        if settings.managed and name in COMPONENTS and given and not charts:
            message = f"{name} has no chart, so {' and '.join(given)} {'have' if given[1:] else 'has'} no effect"
            fix = f"patch its objects in overlays/{cluster.name}/{name}/custom"
            yield Finding(at=("components", name, given[0]), key=True, message=message, fix=fix)
