"""What a newly inflated component changes: objects, their fields, and images. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest
from generator.layout.upstream import Found
from generator.upstream.split import called


class Changes(Struct, frozen=True, kw_only=True):
    """Objects that came, went and changed, with the paths of the fields that did; images that came and went."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = {}
    images: tuple[str, ...] = ()
    images_gone: tuple[str, ...] = ()


def changes(old: tuple[Sequence[Manifest], Found], new: tuple[Sequence[Manifest], Found]) -> Changes:
    """Compare two sets of objects, and what was found in all of their component; an object whose API version changed
    counts as changed.
    """
    before, after = {_named(one): one for one in old[0]}, {_named(one): one for one in new[0]}
    old_images, new_images = ({one.image for one in found.images} for _, found in (old, new))
    both = sorted(before.keys() & after.keys())
    return Changes(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed={name: tuple(_paths(before[name], after[name], "")) for name in both if before[name] != after[name]},
        images=tuple(sorted(new_images - old_images)),
        images_gone=tuple(sorted(old_images - new_images)),
    )


def _named(manifest: Manifest) -> str:
    group = manifest["apiVersion"].rpartition("/")[0]
    return f"{called(manifest)} ({group})" if group else called(manifest)


def _paths(old: Any, new: Any, path: str) -> Iterator[str]:
    """Name the fields that differ, as deep as both have the same shape."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key) or (key in old) != (key in new):
                yield from _paths(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            if one != other:
                yield from _paths(one, other, f"{path}[{index}]")
    else:
        yield path
