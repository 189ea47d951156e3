"""Benchmarks by MLPerf Inference: Jobs through a team's queue, judged by what LoadGen says, compared with the last."""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.mlperf.names import BENCHMARKS, NAMESPACE, OPERATION, SCRIPTS
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named


def mlperf(cluster: Cluster) -> Component:
    """Return the operation and what it runs."""
    from generator.components.mlperf.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name="mlperf",
    tier=Tier.TENANTS,
    make=mlperf,
    wanted=lambda cluster: cluster.mlperf,
    absence="no benchmarks are described",
    namespaces=(NAMESPACE,),
    own_kinds=(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    ),
    changes=lambda: read_rules(
        "mlperf/changes.yaml",
        of_benchmarks=named(NAMESPACE, BENCHMARKS),
        of_its_scripts=named(NAMESPACE, SCRIPTS),
        of_the_operation=named(NAMESPACE, OPERATION),
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=mlperf"),)),
    notes="Runs benchmarks through the queue of a team by the operation `mlperf`: "
    "[operations.md](operations.md#benchmarks).",
)
