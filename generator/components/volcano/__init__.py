"""Volcano: places whole gangs of pods and does nothing else."""

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Chart, Component, Tier
from generator.components.definition import Definition, Evidence, Shown, Version, Versions
from generator.components.operated import Made, OperatedKind
from generator.components.rule_files import read_rules
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.versions import goes_to_another_minor, of

VERSIONS = Versions(
    "volcano",
    (
        Version(
            version="v1.14.1",
            charts=(Chart(name="volcano", repository="https://volcano-sh.github.io/helm-charts", version="1.14.1"),),
            schemas=("volcano/v1.14.1",),
            proven="v1.14.1",
            kubernetes=(28, 35),
        ),
        # Its sharding controller stays off, as all but the two that the patch below names.
        Version(
            version="v1.15.1",
            charts=(Chart(name="volcano", repository="https://volcano-sh.github.io/helm-charts", version="1.15.1"),),
            schemas=("volcano/v1.15.1",),
            kubernetes=(28, 35),
        ),
    ),
)

NAMESPACE = "volcano-system"
SCHEDULER = "volcano"
"""What `schedulerName` of a pod says."""
GANG = "scheduling.volcano.sh/group-min-member"
"""The annotation of a Job; its value is how many of its pods start together."""
JOB_GROUPS = ("batch.volcano.sh", "flow.volcano.sh")
"""API groups of its own jobs."""


def volcano(cluster: Cluster) -> Component:
    """Install the scheduler and the controller that makes PodGroups, wherever teams share the cluster."""
    from generator.components.volcano.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


OWN_QUEUES = Shown("scheduling.volcano.sh", "queues")
"""Its queues: gen gives quotas by Kueue's."""


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.volcano.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="volcano",
    tier=Tier.SCHEDULING,
    make=volcano,
    wanted=lambda cluster: cluster.teams,
    absence="there are no teams",
    versions=VERSIONS,
    jumps=lambda: read_rules("volcano/jumps.yaml", goes_to_another_minor=of("volcano", goes_to_another_minor)),
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    brings=(Made("Queue", "default"),),
    # Volcano's own Job: Kubernetes' has neither.
    kinds=(OperatedKind(kind="Job", names=(("Queue", "spec.queue"), ("PriorityClass", "spec.priorityClassName"))),),
    changes=change_rules,
    shown_by=Evidence(images=("/vc-scheduler",)),
    notes="Places gangs and does nothing else. Its own queues, preemption and jobs are off: each would be a second "
    "queue beside Kueue's, in which a stopped job keeps its place and the next one waits for ever.",
)
