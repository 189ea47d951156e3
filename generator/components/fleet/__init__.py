"""All clusters of the repository rendered, or vendored, and checked by pods of one of them."""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named

NAMESPACE = "fleet"


def fleet(cluster: Cluster) -> Component:
    """Return the WorkflowTemplate `fleet`: clone, render in parts, join, check in parts, push."""
    from generator.components.fleet.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="fleet",
    tier=Tier.GITOPS,
    make=fleet,
    wanted=lambda cluster: cluster.gitops.fleet,
    absence="it renders no fleet",
    namespaces=(NAMESPACE,),
    changes=lambda: read_rules(
        "fleet/changes.yaml",
        of_the_operation=named(NAMESPACE, "fleet"),
        of_its_scripts=named(NAMESPACE, "fleet-scripts"),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=fleet"),)),
    notes="Renders all clusters of the repository in parts, checks them in parts, and pushes one commit to a "
    "branch: [fleets.md](fleets.md).",
)
