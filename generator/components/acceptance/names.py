"""Where acceptance runs, and what its objects are known by."""

from generator.components.common import OWN_LABELS
from generator.model.cluster import Cluster

NAMESPACE = "acceptance"
"""Of the operation's steps ..."""
JOBS = "acceptance-jobs"
"""... and of the jobs that they start, which the queue holds back as it does a team's."""
RECORDS = f"{OWN_LABELS}/acceptance"
"""A label: of ConfigMaps with what steps know of a pool (`pool`), and with what was measured (`record`)."""
SCRIPTS, PROGRAMS = "acceptance-scripts", "acceptance-programs"
PORT = 29500
"""Where torchrun's processes meet, as it has it by itself."""
TEST, OBJECTS = f"{OWN_LABELS}/test", "objects"
"""The label of the pods that may reach the stores, and its value."""
PUT, GET = "put-mbytes", "get-mbytes"


def labels(name: str = NAMESPACE) -> dict[str, str]:
    """Return the labels of an object."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAMESPACE}


def priority(cluster: Cluster) -> str | None:
    """Return the lowest class of jobs: whoever wants the nodes gets them. None where there are no classes."""
    classes = cluster.scheduling.priorities
    return min(classes, key=lambda name: classes[name]) if classes else None
