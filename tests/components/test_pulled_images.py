import kubernetes_validate
import msgspec
import pytest
from msgspec import structs

from generator.components.component import Manifest
from generator.components.pulled_images import DEFINITION, NAMESPACE, pulled_images
from generator.model.base import ImageReference
from generator.model.cluster import Cluster

PYTORCH, TRITON = "nvcr.io/nvidia/pytorch:25.10-py3", "registry.example.org:5000/ml/triton@sha256:" + "0" * 64


def with_images(cluster: Cluster, **images: tuple[str, ...]) -> Cluster:
    pools = {name: structs.replace(pool, images=images.get(name, ())) for name, pool in cluster.pools.items()}
    return structs.replace(cluster, pools=pools)


def daemon_sets(cluster: Cluster) -> dict[str, Manifest]:
    component = pulled_images(cluster)
    assert [space.name for space in component.namespaces] == [NAMESPACE]
    return {one["metadata"]["name"]: one for one in component.objects if one["kind"] == "DaemonSet"}


def test_only_for_pools_that_name_images(ml50: Cluster) -> None:
    assert not DEFINITION.wanted(ml50)
    found = daemon_sets(with_images(ml50, **{"gpu-training": (PYTORCH,)}))
    assert found.keys() == {"gpu-training"}


def test_each_image_is_started_once_without_anything_of_its_own(ml50: Cluster) -> None:
    (one,) = daemon_sets(with_images(ml50, **{"gpu-training": (PYTORCH, TRITON)})).values()
    kubernetes_validate.validate(one, "1.35", strict=True)
    pod = one["spec"]["template"]["spec"]
    tools, *images = pod["initContainers"]
    assert tools["command"][-1] == "/gen-tools/true"
    assert [each["image"] for each in images] == [PYTORCH, TRITON]
    assert {tuple(each["command"]) for each in images} == {("/gen-tools/true",)}
    assert {each["env"][0]["value"] for each in images} == {"void"}  # no GPU, and no word on the driver


def test_it_runs_on_the_nodes_of_its_pool_alone(ml50: Cluster) -> None:
    (one,) = daemon_sets(with_images(ml50, **{"gpu-training": (PYTORCH,)})).values()
    pod = one["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gen.internal/pool": "gpu-training"}
    taints = {
        (taint.key, taint.effect) for each in ml50.machines if each.pool == "gpu-training" for taint in each.taints
    }
    assert taints
    assert {(each["key"], each["effect"]) for each in pod["tolerations"]} == taints


@pytest.mark.parametrize("image", [PYTORCH, TRITON, "docker.io/library/python:3.12-slim@sha256:" + "a" * 64])
def test_an_image_has_a_registry_and_says_which_one_it_is(image: str) -> None:
    assert msgspec.convert(image, ImageReference) == image


@pytest.mark.parametrize(
    "image",
    [
        "pytorch",
        "nvcr.io/nvidia/pytorch",
        "nvcr.io/nvidia/pytorch:latest",
        "nvcr.io/NVIDIA/pytorch:1",
        "a.b/c:1\n",
        "a.b/c:1 --x",
    ],
)
def test_what_moves_or_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(image, ImageReference)
