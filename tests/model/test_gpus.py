"""What pods find of GPUs that are whole, split or shared."""

from fractions import Fraction
from typing import Literal

import pytest

from generator.model.gpus import configurations, devices, gpus_each, profiles
from generator.model.nodes import Gpu, Gpus, Mig
from generator.model.quantity import Quantity

GPU = "nvidia.com/gpu"


def gpu(model: str, memory: str, count: int = 4, profile: str = "", turns: int | None = None) -> Gpu:
    mig = Mig(profile=profile) if profile else None
    return Gpu(model=model, count=count, memory=Quantity.parse(memory), mig=mig, time_slices=turns)


# Rows of gpu-operator's default-mig-parted-config (assets/state-mig-manager, 0400_configmap.yaml).
@pytest.mark.parametrize(
    ("model", "memory", "configuration", "made"),
    [
        ("A30", "24Gi", "all-1g.6gb", {"1g.6gb": 4}),
        ("A30", "24Gi", "all-balanced", {"1g.6gb": 2, "2g.12gb": 1}),
        ("A30", "24Gi", "all-2g.12gb.me", {"2g.12gb+me": 1}),
        ("A100", "40Gi", "all-1g.10gb", {"1g.10gb": 4}),
        ("A100", "80Gi", "all-1g.10gb", {"1g.10gb": 7}),
        ("NVIDIA-H100-80GB-HBM3", "80G", "all-balanced", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ("H100", "94Gi", "all-3g.47gb", {"3g.47gb": 2}),
        ("H100", "96G", "all-3g.48gb", {"3g.48gb": 2}),
        ("H200", "141Gi", "all-2g.35gb", {"2g.35gb": 3}),
        ("GH200", "144Gi", "all-1g.36gb", {"1g.36gb": 4}),
        ("B200", "192Gi", "all-7g.180gb", {"7g.180gb": 1}),
        ("GB200", "186Gi", "all-balanced", {"1g.23gb": 2, "2g.47gb": 1, "3g.93gb": 1}),
    ],
)
def test_configurations_are_those_of_the_operator(model: str, memory: str, configuration: str, made: object) -> None:
    assert configurations(gpu(model, memory))[configuration] == made


def test_nothing_is_known_of_other_models() -> None:
    assert profiles(gpu("L40S", "48Gi")) == {}
    assert configurations(gpu("B300", "288Gi")) == {}


@pytest.mark.parametrize(
    ("profile", "strategy", "turns", "offered"),
    [
        ("", "single", None, {GPU: 4}),
        ("", "mixed", 3, {GPU: 12}),
        ("all-disabled", "mixed", None, {GPU: 4}),
        ("all-2g.12gb", "single", None, {GPU: 8}),
        ("all-2g.12gb", "single", 2, {GPU: 16}),
        ("all-2g.12gb", "mixed", None, {"nvidia.com/mig-2g.12gb": 8}),
        ("all-balanced", "mixed", 2, {"nvidia.com/mig-1g.6gb": 16, "nvidia.com/mig-2g.12gb": 8}),
    ],
)
def test_nodes_offer_gpus_by_one_rule(profile: str, strategy: str, turns: int | None, offered: object) -> None:
    gpus = Gpus(mig_strategy=strategy)  # type: ignore[arg-type]
    assert devices(gpus, gpu("A30", "24Gi", profile=profile, turns=turns)) == offered


def test_a_node_without_gpus_offers_none() -> None:
    assert devices(Gpus(), None) == devices(Gpus(), gpu("A30", "24Gi", count=0)) == {}


@pytest.mark.parametrize(
    ("one", "strategy", "parts"),
    [
        (gpu("H100", "80Gi"), "mixed", {GPU: Fraction(1)}),
        (gpu("T4", "16Gi", turns=4), "mixed", {GPU: Fraction(1, 4)}),
        (gpu("A100", "80Gi", profile="all-3g.40gb"), "mixed", {"nvidia.com/mig-3g.40gb": Fraction(3, 7)}),
        # Four slices are all of an A30.
        (gpu("A30", "24Gi", profile="all-2g.12gb"), "mixed", {"nvidia.com/mig-2g.12gb": Fraction(1, 2)}),
        (gpu("A100", "80Gi", profile="all-1g.10gb", turns=2), "mixed", {"nvidia.com/mig-1g.10gb": Fraction(1, 14)}),
        (gpu("A100", "80Gi", profile="all-1g.10gb"), "single", {GPU: Fraction(1, 7)}),
    ],
)
def test_a_part_of_a_gpu_counts_as_a_part(one: Gpu, strategy: Literal["single", "mixed"], parts: object) -> None:
    assert gpus_each(Gpus(mig_strategy=strategy), one) == parts
