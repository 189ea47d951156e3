"""What pods find of a node's GPUs: whole ones, instances of split ones (MIG), or turns on shared ones."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from generator.model.nodes import Gpu, Gpus
from generator.model.quantity import Quantity
from generator.model.teams import Quota

if TYPE_CHECKING:
    from fractions import Fraction

VENDOR = "nvidia.com/"
"""How the names of the resources and labels of NVIDIA's GPUs begin."""
GPU = f"{VENDOR}gpu"
MIG = f"{VENDOR}mig-"
WHOLE = "all-disabled"
"""The MIG configuration of GPUs that are not split."""
BALANCED = "all-balanced"

# What one GPU is split into at most, by model and then by its memory in GB: the memory of an instance of one slice, of
# two, of three or four, and of seven.
_SIZES = {
    "A100": {40: (5, 10, 20, 40), 80: (10, 20, 40, 80)},
    "A800": {40: (5, 10, 20, 40), 80: (10, 20, 40, 80)},
    "H20": {96: (12, 24, 48, 96)},
    "H100": {80: (10, 20, 40, 80), 94: (12, 24, 47, 94), 96: (12, 24, 48, 96)},
    "H200": {141: (18, 35, 71, 141)},
    "H800": {80: (10, 20, 40, 80), 94: (12, 24, 47, 94)},
    "GH200": {96: (12, 24, 48, 96), 144: (18, 36, 72, 144)},
    "B200": {180: (23, 45, 90, 180)},
    "GB200": {186: (23, 47, 93, 186)},
    # They can be split as well: into what is not known here.
    "B300": {},
    "GB300": {},
}
_A30 = {"1g.6gb": 4, "1g.6gb+me": 1, "2g.12gb": 2, "2g.12gb+me": 1, "4g.24gb": 1}
_SLICES = 7
SPLITTABLE = frozenset({"A30", *_SIZES})
"""The models that can be split (MIG)."""
# The largest memory of one GPU as NVIDIA names it: those that are written in GB fit in as many GiB.
_LARGEST = {
    "A2": 16, "A10": 24, "A16": 16, "A30": 24, "A40": 48, "A100": 80, "A800": 80, "B200": 192, "B300": 288,
    "GB200": 192, "GB300": 288, "GH200": 144, "H20": 141, "H100": 96, "H200": 141, "H800": 94, "L4": 24, "L40": 48,
    "L40S": 48, "P100": 16, "T4": 16, "V100": 32,
}  # fmt: skip
# Dense TFLOPS of one GPU in BF16, or in FP16 where it has no BF16; of several forms (SXM, PCIe, NVL) the slowest.
# Facts: NVIDIA's data sheets, which print twice that for tensor cores with sparsity.
_DENSE = {
    "A2": 18, "A10": 125, "A16": 17.9, "A30": 165, "A40": 149.7, "A100": 312, "A800": 312, "B200": 2250, "B300": 2250,
    "GB200": 2500, "GB300": 2500, "GH200": 989, "H20": 148, "H100": 756, "H200": 836, "H800": 756, "L4": 121,
    "L40": 181, "L40S": 362, "P100": 18.7, "T4": 65, "V100": 112,
}  # fmt: skip
_BEFORE_BF16 = frozenset({"P100", "T4", "V100"})

Known = TypeVar("Known")


def named(model: str, table: Mapping[str, Known]) -> Known | None:
    """Return what a table has of a model, however that is written: `NVIDIA-H100-80GB-HBM3` is an H100."""
    words = re.split(r"[^A-Z0-9]+", model.upper())
    return next((table[word] for word in words if word in table), None)


def known(model: str) -> str:
    """Return a model's own name, however it is written; nothing for one that is not known here."""
    return named(model, {name: name for name in _LARGEST}) or ""


def largest(model: str) -> int | None:
    """Return the memory of a model's largest variant in GB, or as a power of two in GiB; None for one that is not known
    here. The smallest variant has no less than half of it.
    """
    return named(model, _LARGEST)


def dense_tflops(model: str) -> float | None:
    """Return the dense TFLOPS of a model in BF16, or in FP16 where it has no BF16; None for one that is not known
    here.
    """
    return named(model, _DENSE)


def has_bf16(model: str) -> bool:
    """Tell whether a model computes in BF16; one that is not known here is taken for a new one."""
    return named(model, dict.fromkeys(_BEFORE_BF16, True)) is None


def can_be_split(model: str) -> bool:
    """Tell whether a model is known here as one that can be split (MIG)."""
    return named(model, dict.fromkeys(SPLITTABLE, True)) is not None


def profiles(gpu: Gpu) -> dict[str, int]:
    """Return the instances that one GPU can be split into, each with the most there can be of it; none for a model that
    is not known here. Of models with several sizes of memory the nearest counts.

    Facts: NVIDIA's MIG User Guide, "Supported MIG Profiles", and gpu-operator's default-mig-parted-config.
    """
    if named(gpu.model, {"A30": True}):
        return dict(_A30)
    known = named(gpu.model, _SIZES)
    if not known:
        return {}
    one, two, four, seven = known[min(known, key=lambda size: _distance(gpu.memory, size))]
    return {
        f"1g.{one}gb": 7, f"1g.{one}gb+me": 1, f"1g.{two}gb": 4, f"2g.{two}gb": 3, f"3g.{four}gb": 2,
        f"4g.{four}gb": 1, f"7g.{seven}gb": 1,
    }  # fmt: skip


def _distance(memory: Quantity, size: int) -> int:
    """Compare as people write it: `80Gi` and `80G` both mean a GPU of 80 GB."""
    return min(abs(memory.value - size * 2**30), abs(memory.value - size * 10**9))


def configurations(gpu: Gpu) -> dict[str, dict[str, int]]:
    """Return the names of configurations that the MIG manager makes by itself for a GPU, each with the instances that
    one GPU then has; none for a model that is not known here. `all-enabled` is left out: it gives pods nothing.

    Facts: mig-parted, pkg/mig/builder (one for each profile, `+` written as `.`, and the balanced one).
    """
    found = profiles(gpu)
    if not found:
        return {}
    made = {f"all-{name.replace('+', '.')}": {name: most} for name, most in found.items()}
    balanced = {1: 2, 2: 1, 3: 1} if any(name.startswith("7g.") for name in found) else {1: 2, 2: 1}
    # Of a number of slices the profile with the least memory, of which there can be the most.
    usual = {slices: next(name for name in found if name.startswith(f"{slices}g.")) for slices in balanced}
    return {WHOLE: {}, **made, BALANCED: {usual[slices]: count for slices, count in balanced.items()}}


def instances(gpu: Gpu) -> dict[str, int]:
    """Return the instances of a node whose GPUs are split, by profile; none where they stay whole."""
    if gpu.mig is None:
        return {}
    if gpu.mig.instances:
        return dict(gpu.mig.instances)
    return {name: count * gpu.count for name, count in configurations(gpu).get(gpu.mig.profile, {}).items()}


def instance_resource(profile: str) -> str:
    """Return what pods ask for to get an instance, where the strategy is `mixed` (k8s-device-plugin: `+` is `.`)."""
    return f"{MIG}{profile.replace('+', '.')}"


def devices(gpus: Gpus, gpu: Gpu | None) -> dict[str, int]:
    """Return the extended resources that a node offers for its GPUs, and how many of each: the one answer for quotas,
    queues and the rules on pods. With the strategy `single` instances are called as whole GPUs are.
    """
    if gpu is None:
        return {}
    split = instances(gpu)
    found = {GPU: sum(split.values()) if split else gpu.count}
    if split and gpus.mig_strategy == "mixed":
        found = {instance_resource(name): count for name, count in split.items()}
    return {name: count * (gpu.time_slices or 1) for name, count in found.items() if count}


def weight(resource: str) -> int:
    """Return how many slices of a GPU one of these is: CPU and memory are shared out by them."""
    match = re.match(r"([1-7])g\.", resource.removeprefix(MIG))
    return int(match[1]) if match else _SLICES


def gpus_each(gpus: Gpus, gpu: Gpu | None) -> "dict[str, Fraction]":
    """Return how much of a GPU one of each resource of `devices` is: of a split one by slices, of a shared by turns.
    Several sizes of instance under one name (the strategy `single`) count as their mean.
    """
    from fractions import Fraction  # noqa: PLC0415 - no check asks for this

    found = devices(gpus, gpu)
    if gpu is None:
        return {}
    slices = max((weight(name) for name in profiles(gpu)), default=_SLICES) * (gpu.time_slices or 1)
    return {
        name: Fraction(gpu.count, count) if name == GPU else Fraction(weight(name), slices)
        for name, count in found.items()
    }


def quota_devices(quota: Quota) -> dict[str, int]:
    """Return the extended resources that a quota names."""
    named_here = {GPU: quota.gpus} if quota.gpus is not None else {}
    return named_here | {instance_resource(name): count for name, count in quota.instances.items()}
