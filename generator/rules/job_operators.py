"""Rules about who runs jobs: an operator of the kind is on the cluster."""

from collections.abc import Iterator

from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.components import CATALOGUE, JOBS, unrun
from generator.model.finding import Finding
from generator.model.rule import rule

OPERATED = {(one.group, one.kind) for kinds in JOBS for one in kinds}


@rule("GEN-JOB-004", "an operator runs the kind of job")
def operated(built: Built) -> Iterator[Finding]:
    """Without the operator that brings its CRD a kind of jobs is not served, and the API server refuses it. What
    `gen vendor` brings is what the cluster file wants (`frameworks`). A component of your own may bring any kind.

    Wrong:
        # frameworks: [mpi]
        kind: PyTorchJob
    Right:
        kind: Job
    """
    kinds = [one.kind for each in JOBS for one in each]
    for one in built.objects:
        if built.cluster and (told := not_run(one, built)):
            ran = ["Job", *sorted(kind for kind in kinds if not unrun(built.cluster, kind))]
            fix = f"make one of {', '.join(ran)}; `gen workload new` writes one"
            yield one.finding(told, "kind", fix=fix)


def not_run(one: Object, built: Built) -> str:
    """Return why nobody runs a job here; empty where somebody does, or may: what is not seen of a component that is not
    gen's may be its operator.
    """
    foreign = any(name not in CATALOGUE for name in (*built.unseen, *built.remote))
    if not built.cluster or foreign or (one.group, one.kind) not in OPERATED or not Kinds.of(built).foreign(one):
        return ""
    return unrun(built.cluster, one.kind)
