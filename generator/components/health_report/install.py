"""The report of health and capacity: once a week what needs somebody, how the rest is, and when things will be full."""

from generator.components.component import Component, Namespace
from generator.components.health_report import DEFINITION, NAMESPACE
from generator.components.health_report.facts import config_map
from generator.components.health_report.rights import policies, rights
from generator.components.health_report.template import schedule, scripts, workflow_template
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
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
