"""Sending a component's images to the mirror, and pinning them: in our own objects as they are written, in those that
clusters share or that a chart made through Kustomize, which sees containers only; the rest is patched.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct

from generator.components.component import Manifest, Patch
from generator.layout.image_fields import ImageField, image_fields, takes_digest
from generator.layout.image_references import rewrite, split, upstream_name, with_registry
from generator.layout.image_texts import replace_image
from generator.model.fields import dig
from generator.model.finding import Path
from generator.model.mirror import at_mirror, is_below


class SharedImage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image in an object that an overlay does not write itself: `target` finds the object in a Kustomize patch,
    `pointer` (JSON pointer) the text in it; the rest is as in `ImageField`.
    """

    target: dict[str, str]
    pointer: str
    text: str
    name: str
    image: str
    visible: bool = False


class ImageRewriting(Struct, frozen=True):
    """How images are rewritten: below `mirror` (registry and path), and with `digests` by normalised reference."""

    mirror: str | None = None
    digests: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        """Whether anything may be rewritten."""
        return bool(self.mirror or self.digests)

    def digest(self, image: str) -> str:
        """Return the digest that is locked for an image, "" where there is none or it has one already."""
        return "" if "@" in image else self.digests.get(upstream_name(image, self.mirror), "")

    def values(self, fields: Sequence[ImageField]) -> dict[str | int, str]:
        """Return what becomes of the text that holds these images, and of the version beside it, by their keys."""
        one = fields[0]
        new = {one.path[-1]: self.text(one.text, fields)}
        if one.in_parts and one.pinnable and (digest := self.digest(one.image)):
            new["version"] = f"{split(one.image)[1]}@{digest}"
        return new

    def text(self, text: str, fields: Sequence[ImageField]) -> str:
        """Return a text that holds some images with each of their names rewritten."""
        for name, field in {field.name: field for field in fields}.items():
            new = self._name(field)
            text = new if text == name else replace_image(text, name, new)
        return text

    def _name(self, field: ImageField) -> str:
        if not field.in_parts:
            return rewrite(field.name, self.mirror, self.digests)
        if is_below(field.image, self.mirror):
            return field.name
        first = _first_part(field)
        moved = at_mirror(first, self.mirror)
        return field.name if moved == first else moved


def _first_part(field: ImageField) -> str:
    """Return a registry or repository, which is the first part of an image, with its host."""
    if field.name == "docker.io" and field.image.startswith("docker.io/library/"):
        return "docker.io/library"
    return field.name if is_below(field.image, field.name) else with_registry(field.name)


def shared_images(manifests: Iterable[Manifest]) -> tuple[SharedImage, ...]:
    """Return every image that objects name, for patches on them: `gen vendor` keeps this of what it inflated."""
    return tuple(
        SharedImage(
            target=_target(manifest),
            pointer=_pointer(field.path),
            text=field.text,
            name=field.name,
            image=field.image,
            visible=field.visible,
        )
        for manifest in manifests
        for field in image_fields(manifest)
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


def _pointer(path: Path) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def rewritten(manifest: Manifest, rewriting: ImageRewriting) -> Manifest:
    """Return an object of ours with all its images rewritten."""
    found = _by_path(image_fields(manifest)) if rewriting else {}
    made = deepcopy(manifest) if found else manifest
    for path, fields in found.items():
        part = dig(made, *path[:-1])
        for key, text in rewriting.values(fields).items():
            part[key] = text
    return made


def _by_path(fields: Iterable[ImageField]) -> dict[Path, list[ImageField]]:
    found: dict[Path, list[ImageField]] = defaultdict(list)
    for field in fields:
        found[field.path].append(field)
    return found


def rewritten_patch(patch: Patch, rewriting: ImageRewriting) -> Patch:
    """Return one of our patches with the images in its values rewritten."""
    operations = tuple(_operation(operation, rewriting) for operation in patch.operations) if rewriting else ()
    return Patch(target=patch.target, operations=operations or patch.operations)


def _operation(operation: Manifest, rewriting: ImageRewriting) -> Manifest:
    if operation["op"] not in {"add", "replace"}:
        return operation
    # As if it stood in the object, so that its keys are known.
    steps = ["value", *operation["path"].split("/")]
    value: Any = operation["value"]
    for step in reversed(steps):
        value = {step: value}
    return {**operation, "value": dig(rewritten(value, rewriting), *steps)}


def renames(found: Iterable[SharedImage], rewriting: ImageRewriting) -> list[Manifest]:
    """Return the `images:` of an overlay: the new name of each image that Kustomize sees."""
    names = sorted({split(one.name)[0] for one in found if one.visible})
    new = {name: split(rewrite(name, rewriting.mirror, {}))[0] for name in names}
    return [{"name": name, "newName": new[name]} for name in names if new[name] != name]


def pins(found: Sequence[SharedImage], rewriting: ImageRewriting) -> list[Manifest]:
    """Return the `images:` that pin what Kustomize sees. They come before the user's patches, so that these win."""
    pinned = {one.name: digest for one in found if _pinnable(one, found) and (digest := rewriting.digest(one.image))}
    return [
        {"name": split(name)[0], "newTag": split(name)[1], "digest": digest} for name, digest in sorted(pinned.items())
    ]


def _pinnable(one: SharedImage, found: Sequence[SharedImage]) -> bool:
    """Tell whether `images:` can pin it: it gives all tags of a name the same digest."""
    name = split(one.name)[0]
    return one.visible and len({other.name for other in found if other.visible and split(other.name)[0] == name}) == 1


def text_patches(found: Sequence[SharedImage], rewriting: ImageRewriting) -> list[Patch]:
    """Return patches, one for each object, on what `images:` does not reach."""
    patches: dict[str, tuple[dict[str, str], dict[str, list[SharedImage]]]] = {}
    for one in found:
        if not one.visible or (rewriting.digest(one.image) and not _pinnable(one, found)):
            patches.setdefault(str(one.target), (one.target, {}))[1].setdefault(one.pointer, []).append(one)
    made = [Patch(target=target, operations=_operations(texts, rewriting)) for target, texts in patches.values()]
    return [patch for patch in made if patch.operations]


def _operations(texts: Mapping[str, list[SharedImage]], rewriting: ImageRewriting) -> tuple[Manifest, ...]:
    new = {
        f"{pointer.rpartition('/')[0]}/{key}": text
        for pointer, ones in texts.items()
        for key, text in rewriting.values([_field(one) for one in ones]).items()
        if text != ones[0].text
    }
    return tuple({"op": "replace", "path": pointer, "value": text} for pointer, text in new.items())


def _field(one: SharedImage) -> ImageField:
    path = tuple(one.pointer.split("/")[1:])
    pinnable = takes_digest(one.target.get("group", ""), one.target["kind"], path)
    return ImageField(path, one.text, one.name, one.image, pinnable=pinnable)
