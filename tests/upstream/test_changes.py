"""What a new version changes."""

from typing import Any

from generator.layout.mirror import shared_images
from generator.layout.upstream import Found
from generator.upstream.changes import Changes, changes


def pod(name: str, *images: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images)]
    return {
        "apiVersion": version,
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def compared(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Changes:
    return changes((old, Found(images=shared_images(old))), (new, Found(images=shared_images(new))))


def test_objects_fields_and_images() -> None:
    old = [pod("a", "x.org/a:1", "x.org/b:1", hostNetwork=True), pod("gone", "x.org/c:1"), pod("same", "x.org/d:1")]
    new = [pod("a", "x.org/a:2", "x.org/b:1", priority=1), pod("new", "x.org/d:1"), pod("same", "x.org/d:1")]
    found = compared(old, new)
    assert found.added == ("Pod new",)
    assert found.removed == ("Pod gone",)
    assert found.changed == {"Pod a": ("spec.containers[0].image", "spec.hostNetwork", "spec.priority")}
    assert found.images == ("x.org/a:2",)
    assert found.images_gone == ("x.org/a:1", "x.org/c:1")


def test_another_api_version_is_a_change_and_a_longer_list_is_one_field() -> None:
    found = compared([pod("a", "x.org/a:1", version="g/v1")], [pod("a", "x.org/a:1", "x.org/b:1", version="g/v2")])
    assert found.changed == {"Pod a (g)": ("apiVersion", "spec.containers")}


def test_nothing_is_nothing() -> None:
    assert compared([pod("a")], [pod("a")]) == Changes()
