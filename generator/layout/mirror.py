"""Sending a component's images to the mirror, and pinning them: in our own objects as they are written, in those that
clusters share or that a chart made through Kustomize, which sees containers only; the rest is patched.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest, Patch
from generator.layout.images import Place, find, in_parts, joined, rewrite, rewritten_text, split, upstream_name


class Sighting(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image in an object that stands elsewhere: `target` finds the object in a Kustomize patch, `pointer` (JSON
    pointer) the text in it; the rest is as in `Place`.
    """

    target: dict[str, str]
    pointer: str
    text: str
    name: str
    image: str
    visible: bool = False


class Imaging(Struct, frozen=True):
    """How images are rewritten: below `mirror` (registry and path), and with `digests` by normalised reference."""

    mirror: str | None = None
    digests: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        """Whether anything may be rewritten."""
        return bool(self.mirror or self.digests)

    def digest(self, image: str) -> str:
        """Return the digest that is locked for an image, "" where there is none or it has one already."""
        return "" if "@" in image else self.digests.get(upstream_name(image, self.mirror), "")

    def fields(self, places: Sequence[Place]) -> dict[str | int, str]:
        """Return what becomes of the text that holds these places, and of the version beside it, by their keys."""
        one = places[0]
        new = {one.path[-1]: rewritten_text(one.text, places, self.mirror, self.digests)}
        if in_parts(one) and one.pinnable and (digest := self.digest(one.image)):
            new["version"] = f"{split(one.image)[1]}@{digest}"
        return new


def sightings(manifests: Iterable[Manifest]) -> tuple[Sighting, ...]:
    """Return every image that objects name, for patches on them: `gen vendor` keeps this of what it inflated."""
    return tuple(
        Sighting(
            target=_target(manifest),
            pointer=_pointer(place.path),
            text=place.text,
            name=place.name,
            image=place.image,
            visible=place.visible,
        )
        for manifest in manifests
        for place in find(manifest)
    )


def _target(manifest: Manifest) -> dict[str, str]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    metadata = manifest["metadata"]
    return {
        **({"group": group} if group else {}),
        "version": version,
        "kind": manifest["kind"],
        # Kustomize takes names for regular expressions.
        "name": metadata["name"].replace(".", r"\."),
        **({"namespace": metadata["namespace"]} if metadata.get("namespace") else {}),
    }


def _pointer(path: Sequence[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def rewritten(manifest: Manifest, imaging: Imaging) -> Manifest:
    """Return an object of ours with all its images rewritten."""
    found = _by_path(find(manifest)) if imaging else {}
    made = deepcopy(manifest) if found else manifest
    for path, places in found.items():
        part = dig(made, path[:-1])
        for key, text in imaging.fields(places).items():
            part[key] = text
    return made


def _by_path(places: Iterable[Place]) -> dict[tuple[str | int, ...], list[Place]]:
    found: dict[tuple[str | int, ...], list[Place]] = defaultdict(list)
    for place in places:
        found[place.path].append(place)
    return found


def dig(value: Any, path: Sequence[str | int]) -> Any:
    """Return what stands there."""
    for step in path:
        value = value[step]
    return value


def rewritten_patch(patch: Patch, imaging: Imaging) -> Patch:
    """Return one of our patches with the images in its values rewritten."""
    operations = tuple(_operation(operation, imaging) for operation in patch.operations) if imaging else ()
    return Patch(target=patch.target, operations=operations or patch.operations)


def _operation(operation: Manifest, imaging: Imaging) -> Manifest:
    if operation["op"] not in {"add", "replace"}:
        return operation
    # As if it stood in the object, so that its keys are known.
    steps = ["value", *operation["path"].split("/")]
    value: Any = operation["value"]
    for step in reversed(steps):
        value = {step: value}
    return {**operation, "value": dig(rewritten(value, imaging), steps)}


def renames(found: Iterable[Sighting], imaging: Imaging) -> list[Manifest]:
    """Return the `images:` of an overlay: the new name of each image that Kustomize sees."""
    names = sorted({split(one.name)[0] for one in found if one.visible})
    new = {name: split(rewrite(name, imaging.mirror, {}))[0] for name in names}
    return [{"name": name, "newName": new[name]} for name in names if new[name] != name]


def pins(found: Sequence[Sighting], imaging: Imaging) -> list[Manifest]:
    """Return the `images:` that pin what Kustomize sees. They come before the user's patches, so that these win."""
    pinned = {one.name: digest for one in found if _pinnable(one, found) and (digest := imaging.digest(one.image))}
    return [
        {"name": split(name)[0], "newTag": split(name)[1], "digest": digest} for name, digest in sorted(pinned.items())
    ]


def _pinnable(one: Sighting, found: Sequence[Sighting]) -> bool:
    """Tell whether `images:` can pin it: it gives all tags of a name the same digest."""
    name = split(one.name)[0]
    return one.visible and len({other.name for other in found if other.visible and split(other.name)[0] == name}) == 1


def text_patches(found: Sequence[Sighting], imaging: Imaging) -> list[Patch]:
    """Return patches, one for each object, on what `images:` does not reach."""
    patches: dict[str, tuple[dict[str, str], dict[str, list[Sighting]]]] = {}
    for one in found:
        if not one.visible or (imaging.digest(one.image) and not _pinnable(one, found)):
            patches.setdefault(str(one.target), (one.target, {}))[1].setdefault(one.pointer, []).append(one)
    made = [Patch(target=target, operations=_operations(texts, imaging)) for target, texts in patches.values()]
    return [patch for patch in made if patch.operations]


def _operations(texts: Mapping[str, list[Sighting]], imaging: Imaging) -> tuple[Manifest, ...]:
    new = {
        f"{pointer.rpartition('/')[0]}/{key}": text
        for pointer, ones in texts.items()
        for key, text in imaging.fields([_place(one) for one in ones]).items()
        if text != ones[0].text
    }
    return tuple({"op": "replace", "path": pointer, "value": text} for pointer, text in new.items())


def _place(one: Sighting) -> Place:
    path = tuple(one.pointer.split("/")[1:])
    pinnable = joined(one.target.get("group", ""), one.target["kind"], path)
    return Place(path, one.text, one.name, one.image, pinnable=pinnable)
