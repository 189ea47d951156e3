"""What pods of jobs have in common, whoever starts them: who places them and as whom they run, on which nodes."""

from generator.components.common import POOL
from generator.components.component import Manifest
from generator.components.parts import UNPRIVILEGED, pod_security, toleration
from generator.components.queues import BATCH, common_taints
from generator.components.volcano import SCHEDULER
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity

USER = 1000
# Programs write below their home, and caches beside their code.
SECURITY: Manifest = {**UNPRIVILEGED, "readOnlyRootFilesystem": False}
HOME = {"HOME": "/tmp", "USER": "job"}  # noqa: S108 - the pod's own
"""Variables for a user who has no entry in most images: caches go by these."""
SHM_MOUNT: Manifest = {"name": "shm", "mountPath": "/dev/shm"}  # noqa: S108 - the pod's own


def placement(priority: str | None) -> Manifest:
    """Return who places a pod, with the class of its queue, and as whom it runs: as a restricted namespace wants it."""
    return {
        "schedulerName": SCHEDULER,
        **({"priorityClassName": f"{BATCH}{priority}"} if priority else {}),
        "securityContext": {
            **pod_security(USER, runAsGroup=USER, fsGroup=USER),
            # A big volume would be walked at every start.
            "fsGroupChangePolicy": "OnRootMismatch",
        },
        "automountServiceAccountToken": False,
        # A Service that is called as a variable's name begins (`master`) would put an address into it.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 60,
    }


def on_pool(cluster: Cluster, pool: str) -> Manifest:
    """Select the nodes of a pool and tolerate its taints: no others, so that no job strays to another pool's."""
    taints = common_taints(cluster, pool)
    return {"nodeSelector": {POOL: pool}, "tolerations": [toleration(taint) for taint in taints]}


def shared_memory(size: int) -> Manifest:
    """Return the volume of /dev/shm, in bytes. Workers of a data loader and NCCL's ranks on one node meet there; the
    default is 64 MiB.
    """
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(Quantity.of(size, binary=True))}}


def variables(values: dict[str, str]) -> list[Manifest]:
    """Write variables as a container has them."""
    return [{"name": name, "value": value} for name, value in values.items()]
