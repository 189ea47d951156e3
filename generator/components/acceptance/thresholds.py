"""What good hardware reaches: the values from which on a test passes, where the cluster file tells the hardware.

Start values (facts: day2 5.4, from Azure's health checks of H100 and H200, and from the field). What a site's own
hardware reached is the better measure: steps compare with that as well, by `PARTS`.
"""

from generator.components.acceptance.names import GET, PUT
from generator.components.rdma import offers
from generator.model.cluster import Cluster
from generator.model.gpus import dense_tflops, has_bf16, named
from generator.model.nodes import Machine

NCCL, LINK = "nccl-gbytes", "link-gbits"
BURN, TRAINING, ANSWERS = "burn-tflops", "training-samples", "inference-samples"
P50, P99 = "inference-p50-ms", "inference-p99-ms"
READ, WRITE = "read-gbytes", "write-gbytes"
READS, WRITES = "random-reads", "random-writes"
VIP = "vip-seconds"
NAMES = (NCCL, LINK, BURN, TRAINING, ANSWERS, P50, P99, READ, WRITE, READS, WRITES, PUT, GET, VIP)
"""What can be asked for: GB/s of an all-reduce by nccl-tests' "busbw", Gbit/s of one link by `ib_write_bw`, TFLOPS of
the slowest GPU of a node, samples a second of one GPU that learns and of one that answers, milliseconds of a request at
most, GB/s and operations in a second of one scratch disk, MB/s of one client of an object store; at most, seconds
without an answer of the control plane's address. Volumes that are shared are measured by what they reached before
alone."""

SECONDS_AWAY = 30
"""Without an answer of the control plane's address: kube-vip's lease lasts 5 and keepalived's looks take 9, then
switches learn the new place. Kubelets are missed after 50."""

OF_LINES = 0.8
"""Of the sum of a node's links, an all-reduce over nodes: 80 of 2 x 400 Gbit/s. With one of two links lost it comes to
less than a half, without GPUDirect RDMA to less than 0.4."""
OF_LINK = {"H100": 0.95, "H200": 0.9}
OF_ANY_LINK = 0.9
OF_DENSE = 0.5
OF_COOL = 0.3
"""Of the TFLOPS in the data sheet, products of large matrices: the power limit holds each GPU below it, those of 75 W
and less far below."""
COOL = ("A2", "L4", "T4")
OF_MODEL = 0.05
"""Of the TFLOPS in the data sheet, the model in synthetic.py: what is below computes in another way than in BF16 on the
GPU, or waits for the others."""
FORWARD = 113e9
"""Operations of one sample in synthetic.py: 512 tokens by 103 million numbers, and the attention. To learn takes three
times that."""
FLOPS = {TRAINING: 3 * FORWARD, ANSWERS: FORWARD}
# A drive of PCIe Gen4.
NVME = {READ: 5.5, WRITE: 3.0, READS: 600_000.0, WRITES: 150_000.0}

PARTS = {
    "nccl": 0.9,
    "pairs": 0.9,
    "burn": 0.9,
    "training": 0.9,
    "inference": 0.7,
    "scratch": 0.9,
    "shared": 0.7,
    "objects": 0.7,
}
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
    found |= _of_gpus(machines, joined=len(machines) == 1 or LINK in found)
    disks = [disk for machine in machines for disk in machine.disks_for("scratch")]
    if cluster.storage.scratch and disks and all(disk.class_ == "nvme" for disk in disks):
        found |= NVME
    return found


def _of_gpus(machines: tuple[Machine, ...], *, joined: bool) -> dict[str, float]:
    """Return what the slowest model of them should reach. Training waits for links: without a fabric, who knows."""
    rates = [dense_tflops(machine.hardware.gpu.model) for machine in machines if machine.hardware.gpu]
    if not machines or len(rates) < len(machines) or None in rates:
        return {}
    gpus = [machine.hardware.gpu.model for machine in machines if machine.hardware.gpu]
    part = min(OF_COOL if named(model, dict.fromkeys(COOL, True)) else OF_DENSE for model in gpus)
    rate = min(one for one in rates if one)
    found = {BURN: round(part * rate, 1)}
    if all(has_bf16(model) for model in gpus):
        names = (TRAINING, ANSWERS) if joined else (ANSWERS,)
        found |= {name: round(OF_MODEL * rate * 1e12 / FLOPS[name], 1) for name in names}
    return found


def link_rate(cluster: Cluster, machines: tuple[Machine, ...]) -> int | None:
    """Return the Gbit/s of one link between these nodes; None where some of them have none."""
    joined = cluster.fabric and machines and all(offers(cluster, machine) for machine in machines)
    return cluster.fabric.speed if cluster.fabric and joined else None


def _of_link(machine: Machine) -> float:
    gpu = machine.hardware.gpu
    return (named(gpu.model, OF_LINK) if gpu else None) or OF_ANY_LINK
