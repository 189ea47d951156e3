"""Rules about what pools say of their nodes: labels, taints, GPUs."""

import re
from collections.abc import Iterator

from generator.checks.places import by_place, entries, listed_twice, sections
from generator.components.common import OWN_LABELS, RACK
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put, remove, rename
from generator.model.nodes import Gpu
from generator.model.quantity import Quantity
from generator.model.rule import rule, warning
from generator.model.text import Taint

# Prefix (a DNS name, optional) and name, as the API server takes label and taint keys.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DNS = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# What a kubelet may say of itself in Kubernetes' own name spaces (facts: network-gpu 10, NodeRestriction).
_ALLOWED = frozenset({
    "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type",
})  # fmt: skip
_ALLOWED_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")
# Largest memory of one GPU in GiB as NVIDIA names it, and whether it can be split (MIG).
_MODELS = {
    "A2": (16, False), "A10": (24, False), "A16": (16, False), "A30": (24, True), "A40": (48, False),
    "A100": (80, True), "B200": (192, True), "B300": (288, True), "GB200": (192, True), "GB300": (288, True),
    "GH200": (144, True), "H100": (94, True), "H200": (141, True), "H800": (80, True), "L4": (24, False),
    "L40": (48, False), "L40S": (48, False), "P100": (16, False), "T4": (16, False), "V100": (32, False),
}  # fmt: skip


def _labels(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the keys of labels."""
    for at, section in sections(cluster):
        yield from (((*at, "labels", key), key) for key in section.labels)


def _taints(cluster: Cluster) -> Iterator[tuple[Path, Taint]]:
    for at, section in sections(cluster):
        yield from entries(section.taints or (), *at, "taints")


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_DNS.fullmatch(prefix)))


@rule("GEN-NODE-020", "label keys that Kubernetes takes")
def label_keys(cluster: Cluster) -> Iterator[Finding]:
    """A kubelet that is told a label with a wrong key does not start.

    Wrong:
        labels: {gpu type: h100}
    Right:
        labels: {example.org/gpu-type: h100}
    """
    for at, key in _labels(cluster):
        if not _is_key(key):
            fix = "letters, digits, - _ . (63 at most), after a DNS name and / if you like"
            yield Finding(at=at, key=True, message=f"`{key}` is not a label key", fix=fix)


@rule("GEN-NODE-021", "labels that a node may carry")
def label_allowed(cluster: Cluster) -> Iterator[Finding]:
    """A kubelet must not give itself labels of Kubernetes' own name spaces (kubernetes.io, k8s.io): it refuses to
    start. Labels below gen.internal, and the rack's label, are written by gen.

    Wrong:
        labels: {node-role.kubernetes.io/gpu: ''}
    Right:
        labels: {example.org/role: gpu}
    """
    for at, key in _labels(cluster):
        if owner := _owner(key):
            message = f"the label {key} belongs to {owner}"
            own = f"{cluster.site.domain}/{key.split('/')[-1]}"
            fix, edits = ("use `rack`", ()) if key == RACK else (own, rename(at, own))
            yield Finding(at=at, key=True, message=message, fix=fix, edits=edits)


def _owner(key: str) -> str:
    prefix = key.rpartition("/")[0]
    if prefix == OWN_LABELS or key == RACK:
        return "gen"
    reserved = re.fullmatch(r"(.+\.)?(kubernetes|k8s)\.io", prefix)
    return "Kubernetes" if reserved and key not in _ALLOWED and not prefix.endswith(_ALLOWED_PREFIXES) else ""


@rule("GEN-NODE-022", "taints that Kubernetes takes")
def taint_syntax(cluster: Cluster) -> Iterator[Finding]:
    """The key and value of a taint follow the rules for labels; node.kubernetes.io is the node controller's.

    Wrong:
        taints: [nvidia.com//gpu=present:NoSchedule]
    Right:
        taints: [nvidia.com/gpu=present:NoSchedule]
    """
    for at, taint in _taints(cluster):
        if not _is_key(taint.key) or (taint.value and not _NAME.fullmatch(taint.value)):
            fix = "as in nvidia.com/gpu=present:NoSchedule"
            yield Finding(at=at, message=f"the taint {taint} has a wrong key or value", fix=fix)
        elif taint.key.startswith("node.kubernetes.io/"):
            own = f"{cluster.site.domain}/{taint.key.split('/')[-1]}:{taint.effect}"
            message = f"the taint {taint} is set and removed by Kubernetes itself"
            yield Finding(at=at, message=message, edits=put(at, own))


@rule("GEN-NODE-023", "a taint once")
def taints_unique(cluster: Cluster) -> Iterator[Finding]:
    """The API server refuses a node that has two taints of one key and effect.

    Wrong:
        taints: [pool=gpu:NoSchedule, pool=training:NoSchedule]
    Right:
        taints: [pool=gpu:NoSchedule]
    """
    for place, section in sections(cluster):
        taints = entries(section.taints or (), *place, "taints")
        items = ((f"{taint.key}:{taint.effect}", at) for at, taint in taints)
        yield from listed_twice(items, "the taint {} is given twice")


def _gpus(cluster: Cluster) -> Iterator[tuple[Path, Gpu]]:
    """Yield what the file says of GPUs, once for each place."""
    for at, section in sections(cluster):
        if section.hardware and section.hardware.gpu:
            yield (*at, "hardware", "gpu"), section.hardware.gpu


def _model(gpu: Gpu) -> tuple[int, bool] | None:
    """Return what is known of a model, however it is written: `NVIDIA-H100-80GB-HBM3` is an H100."""
    words = re.split(r"[^A-Z0-9]+", gpu.model.upper())
    return next((_MODELS[word] for word in words if word in _MODELS), None)


@warning("GEN-NODE-030", "a GPU section means GPUs")
def gpu_count(cluster: Cluster) -> Iterator[Finding]:
    """Nodes without GPUs need no section; on a node that overrides its pool, 0 says that it has none.

    Wrong:
        gpu: {model: H100, count: 0, memory: 80Gi}
    Right:
        # no gpu section
    """
    for at, gpu in _gpus(cluster):
        if gpu.count == 0 and at[0] == "pools":
            fix, edits = "remove it, or give the count", remove(at)
            yield Finding(at=(*at, "count"), message="a gpu section with no GPUs", fix=fix, edits=edits)


@warning("GEN-NODE-031", "MIG on GPUs that can be split")
def mig_possible(cluster: Cluster) -> Iterator[Finding]:
    """Only some models can be split into instances; on others the MIG manager reports `failed` for ever.

    Wrong:
        gpu: {model: L40S, count: 4, memory: 48Gi, mig: {profile: all-1g.12gb}}
    Right:
        gpu: {model: H100, count: 4, memory: 80Gi, mig: {profile: all-1g.10gb}}
    """
    able = sorted(name for name, (_, mig) in _MODELS.items() if mig)
    for at, gpu in _gpus(cluster):
        known = _model(gpu)
        if gpu.mig and not (known and known[1]):
            message = f"{gpu.model} {'cannot be' if known else 'is not known as a model that can be'} split by MIG"
            fix = f"remove `mig`: {', '.join(able)} can"
            where = (*at, "mig")
            yield Finding(at=where, key=True, also=(*at, "model"), message=message, fix=fix, edits=remove(where))


@warning("GEN-NODE-032", "the memory of one GPU")
def gpu_memory(cluster: Cluster) -> Iterator[Finding]:
    """`memory` is that of one GPU: not of the node's GPUs together, nor of a MIG instance. The smallest variant of a
    model has half as much as the largest.

    Wrong:
        gpu: {model: H100, count: 8, memory: 640Gi}
    Right:
        gpu: {model: H100, count: 8, memory: 80Gi}
    """
    for at, gpu in _gpus(cluster):
        known = _model(gpu)
        if known and gpu.memory > Quantity.parse(f"{known[0]}Gi"):
            each = Quantity.of(gpu.memory.value // max(gpu.count, 1), binary=True)
            fits = gpu.count > 1 and each.value <= known[0] * 2**30
            message = f"one {gpu.model} has at most {known[0]}Gi, and memory is {gpu.memory}"
            edits = put((*at, "memory"), str(each if fits else f"{known[0]}Gi"))
            yield Finding(at=(*at, "memory"), message=message, edits=edits)
        elif known and gpu.memory.value * 2 < known[0] * 2**30:
            message = f"one {gpu.model} has up to {known[0]}Gi and never less than half of it; memory is {gpu.memory}"
            yield Finding(at=(*at, "memory"), message=message, edits=put((*at, "memory"), f"{known[0]}Gi"))


@warning("GEN-NODE-033", "GPU nodes keep other pods off")
def gpu_tainted(cluster: Cluster) -> Iterator[Finding]:
    """Pods that need no GPU fill the CPUs and memory of GPU nodes, and GPUs stay idle for the lack of them.

    Wrong:
        gpu-training:
          hardware: {gpu: {model: H100, count: 8, memory: 80Gi}, ...}
    Right:
        gpu-training:
          hardware: {gpu: {model: H100, count: 8, memory: 80Gi}, ...}
          taints: [nvidia.com/gpu=present:NoSchedule]
    """
    mixed = any(not machine.gpus and machine.role == "worker" for machine in cluster.machines)
    untainted = [machine for machine in cluster.gpu_nodes if mixed and not machine.taints]
    for at, (first, *_) in by_place(cluster, untainted, "gpu").items():
        message = f"{first.name} has GPUs and no taint"
        edits = put((*at[:-2], "taints"), ["nvidia.com/gpu=present:NoSchedule"])
        yield Finding(at=at, message=message, edits=edits)
