"""What good hardware reaches: the values from which on a test passes, where the cluster file tells the hardware.

Start values (facts: day2 5.4, from Azure's health checks of H100 and H200, and from the field). What a site's own
hardware reached is the better measure: steps compare with that as well, by `PARTS`.
"""

from generator.components.acceptance.stores import GET, PUT
from generator.components.rdma import offers
from generator.model.cluster import Cluster
from generator.model.gpus import named
from generator.model.nodes import Machine

NCCL, LINK = "nccl-gbytes", "link-gbits"
READ, WRITE = "read-gbytes", "write-gbytes"
READS, WRITES = "random-reads", "random-writes"
VIP = "vip-seconds"
NAMES = (NCCL, LINK, READ, WRITE, READS, WRITES, PUT, GET, VIP)
"""What can be asked for: GB/s of an all-reduce by nccl-tests' "busbw", Gbit/s of one link by `ib_write_bw`, GB/s and
operations in a second of one scratch disk, MB/s of one client of an object store; at most, seconds without an answer of
the control plane's address. Volumes that are shared are measured by what they reached before alone."""

SECONDS_AWAY = 30
"""Without an answer of the control plane's address: kube-vip's lease lasts 5 and keepalived's looks take 9, then
switches learn the new place. Kubelets are missed after 50."""

OF_LINES = 0.8
"""Of the sum of a node's links, an all-reduce over nodes: 80 of 2 x 400 Gbit/s. With one of two links lost it comes to
less than a half, without GPUDirect RDMA to less than 0.4."""
OF_LINK = {"H100": 0.95, "H200": 0.9}
OF_ANY_LINK = 0.9
# A drive of PCIe Gen4.
NVME = {READ: 5.5, WRITE: 3.0, READS: 600_000.0, WRITES: 150_000.0}

PARTS = {"nccl": 0.9, "pairs": 0.9, "scratch": 0.9, "shared": 0.7, "objects": 0.7}
"""How much of the median of what passed before is too little: others use what is shared at the same time."""


def thresholds(cluster: Cluster, machines: tuple[Machine, ...]) -> dict[str, float]:
    """Return those that the hardware of these nodes tells. None for an all-reduce inside of one node: whether its GPUs
    are joined by NVSwitch, by bridges or by PCIe alone is not in the cluster file.
    """
    found: dict[str, float] = {}
    if (rate := link_rate(cluster, machines)) is not None:
        links = min(len(machine.hardware.hcas) for machine in machines)
        part = min(_of_link(machine) for machine in machines)
        found = {NCCL: round(OF_LINES * links * rate / 8, 1), LINK: round(part * rate, 1)}
    disks = [disk for machine in machines for disk in machine.disks_for("scratch")]
    if cluster.storage.scratch and disks and all(disk.class_ == "nvme" for disk in disks):
        found |= NVME
    return found


def link_rate(cluster: Cluster, machines: tuple[Machine, ...]) -> int | None:
    """Return the Gbit/s of one link between these nodes; None where some of them have none."""
    joined = cluster.fabric and machines and all(offers(cluster, machine) for machine in machines)
    return cluster.fabric.speed if cluster.fabric and joined else None


def _of_link(machine: Machine) -> float:
    gpu = machine.hardware.gpu
    return (named(gpu.model, OF_LINK) if gpu else None) or OF_ANY_LINK
