"""Acceptance: pools tried as a whole, by jobs that wait in the queue, against what their hardware should reach."""

from generator.components.acceptance.names import JOBS, NAMESPACE, OBJECTS, TEST
from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.operated import MadePods
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import labelled


def acceptance(cluster: Cluster) -> Component:
    """Return what tries pools."""
    from generator.components.acceptance.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="acceptance",
    tier=Tier.SCHEDULING,
    make=acceptance,
    wanted=lambda cluster: cluster.acceptance and cluster.teams,
    absence="`acceptance` names no image, or there are no teams, and so no queue",
    namespaces=(NAMESPACE, JOBS),
    own_kinds=("kueue.x-k8s.io/ClusterQueue", *CLUSTER_ROLES),
    pods=(MadePods({TEST: OBJECTS}, JOBS),),
    changes=lambda: read_rules(
        "acceptance/changes.yaml", of_the_tests=labelled("app.kubernetes.io/part-of", NAMESPACE)
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAMESPACE}"),)),
    notes="Tries the nodes of a pool together by the operation `acceptance`: "
    "[operations.md](operations.md#accepting-a-pool).",
)
