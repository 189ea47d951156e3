"""The report of health and capacity: once a week what needs somebody, how the rest is, and when things will be full."""

from generator.components.argo_workflows import operated
from generator.components.common import CLUSTER_ROLES, MONITORING
from generator.components.component import Component, Namespace, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.health_report.facts import config_map
from generator.components.health_report.names import FACTS, NAME, NAMESPACE, SCRIPTS
from generator.components.health_report.rights import policies, rights
from generator.components.health_report.template import schedule, scripts, workflow_template
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named


def health_report(cluster: Cluster) -> Component:
    """Return what reports. It has a namespace of its own: who may have a report made there may nothing else."""
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Operations: a weekly report of health and capacity",
        version="v1",
        namespaces=(Namespace(NAMESPACE),),
        base=(scripts(),),
        objects=(
            *rights(cluster),
            *policies(cluster),
            config_map(cluster),
            workflow_template(cluster),
            schedule(cluster),
        ),
        needs=("argo-workflows",),
    )


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
