"""What rules say of GPUs that are right."""

import pytest
from msgspec import structs

from generator.checks.gpus import gpu_memory, mig_possible
from generator.model.cluster import Cluster
from generator.model.gpus import _SIZES, profiles
from generator.model.nodes import Gpu, Mig
from generator.model.quantity import Quantity

SIZES = [(model, f"{size}{unit}") for model, sizes in _SIZES.items() for size in sizes for unit in ("G", "Gi")]


@pytest.mark.parametrize(("model", "memory"), SIZES)
def test_a_model_whose_instances_are_known_can_be_split_and_has_its_memory(
    model: str, memory: str, a30: Cluster
) -> None:
    gpu = Gpu(model=model, count=2, memory=Quantity.parse(memory))
    split = structs.replace(gpu, mig=Mig(profile=f"all-{next(iter(profiles(gpu)))}"))
    cluster = of_gpus(a30, split)
    assert [*mig_possible.check(cluster), *gpu_memory.check(cluster)] == []


@pytest.mark.parametrize("model", ["B300", "GB300"])
def test_some_models_can_be_split_into_what_is_not_known(model: str, a30: Cluster) -> None:
    split = Gpu(model=model, count=2, memory=Quantity.parse("288Gi"), mig=Mig(profile="x", instances={"1g.34gb": 7}))
    assert list(mig_possible.check(of_gpus(a30, split))) == []


@pytest.mark.parametrize(("model", "memory"), [("A100", "40G"), ("V100", "16G"), ("A100", "40Gi")])
def test_the_smallest_variant_is_half_of_the_largest_however_it_is_written(
    model: str, memory: str, a30: Cluster
) -> None:
    assert list(gpu_memory.check(of_gpus(a30, Gpu(model=model, count=2, memory=Quantity.parse(memory))))) == []


def of_gpus(cluster: Cluster, gpu: Gpu) -> Cluster:
    pools = {
        name: structs.replace(pool, hardware=structs.replace(pool.hardware, gpu=gpu if pool.hardware.gpu else None))
        for name, pool in cluster.pools.items()
    }
    assert any(pool.hardware.gpu for pool in pools.values())
    return structs.replace(cluster, pools=pools, nodes=())
