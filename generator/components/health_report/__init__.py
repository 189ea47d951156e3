"""The report of health and capacity: once a week what needs somebody, how the rest is, and when things will be full."""

from generator.components.argo_workflows import operated
from generator.components.common import CLUSTER_ROLES, MONITORING
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named

NAME = "health-report"
NAMESPACE = "health-report"
SCRIPTS = "health-report-scripts"
FACTS = "health-report-facts"
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME}


def health_report(cluster: Cluster) -> Component:
    """Return what reports."""
    from generator.components.health_report.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name=NAME,
    tier=Tier.MONITORING,
    make=health_report,
    wanted=operated,
    absence="no operations run here",
    namespaces=(NAMESPACE,),
    reach=(MONITORING,),
    own_kinds=CLUSTER_ROLES,
    changes=lambda: read_rules(
        "health_report/changes.yaml", of_its_scripts=named(NAMESPACE, SCRIPTS), of_facts=named(NAMESPACE, FACTS)
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAME}"),)),
    notes="Reports each Monday what needs somebody, how the rest is, and when storage will be full: "
    "[operations.md](operations.md#the-report-of-health-and-capacity).",
)
