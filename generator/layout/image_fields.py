"""The images that an object names, wherever in it they stand.

Fields that hold an image are known by their keys; in other texts (arguments, environment, files in ConfigMaps) whatever
has a registry's host and a tag or digest counts as one, and what stands behind a key for an image.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct, structs

from generator.components import CATALOGUE
from generator.components.component import Manifest
from generator.components.definition import ImageJoining
from generator.layout.image_references import has_tag_or_digest, is_reference, normalised
from generator.layout.image_texts import images_in, is_image_key, may_be_image
from generator.model.finding import Path, dotted


class ImageField(Struct, frozen=True):
    """Where an object names an image: `path` leads to a text; `name` is what stands in that `text` for the image, the
    whole of it or a part; `image` is the whole reference, normalised. `visible` tells whether Kustomize's `images:`
    changes it. A mirror's prefix goes before `name` even where tag or repository stand in fields of their own;
    `pinnable` tells whether something takes a digest: the text itself, or the `version` beside it.
    """

    path: Path
    text: str
    name: str
    image: str
    visible: bool = False
    pinnable: bool = True

    @property
    def in_parts(self) -> bool:
        """Whether the rest of the image stands in fields of its own."""
        host = self.path[-1] == "registry" and "/" not in self.name
        return host or (self.path[-1] in {"registry", "repository"} and not has_tag_or_digest(self.name))


_VERSIONS = ("tag", "version", "digest")
_LISTS = ("containers", "initContainers")


def image_fields(manifest: Manifest) -> Iterator[ImageField]:
    """Yield every image an object names. What CRDs say of fields names none."""
    if manifest.get("kind") == "CustomResourceDefinition":
        return
    group, kind = str(manifest.get("apiVersion")).partition("/")[0], str(manifest.get("kind"))
    for key, value in manifest.items():
        if key not in {"apiVersion", "kind", "metadata", "status"}:
            for field in _walk(value, (key,)):
                pinnable = field.in_parts and takes_digest(group, kind, field.path)
                yield structs.replace(field, pinnable=True) if pinnable else field


def takes_digest(group: str, kind: str, path: Path) -> bool:
    """Tell whether an operator takes a digest behind the version of an image in parts, of which the first is there."""
    return group in _joining() and not has_system_added(group, kind, path)


def has_system_added(group: str, kind: str, path: Path) -> bool:
    """Tell whether an operator adds the node's system to the tag, so that no registry has this one."""
    joining = _joining().get(group)
    fields = joining.system_added.get(kind, ()) if joining else ()
    return path[-1] == "repository" and dotted(path[:-1]) in fields


@cache
def _joining() -> dict[str, ImageJoining]:
    """Return how operators read images in parts, by the API group of their custom resources."""
    found = (definition.image_joining for definition in CATALOGUE.values())
    return {joining.group: joining for joining in found if joining}


def _walk(value: Any, path: Path) -> Iterator[ImageField]:
    if isinstance(value, str):
        yield from _text(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flag(value, index, path) if isinstance(item, str) else _walk(item, (*path, index))
    elif isinstance(value, dict):
        yield from _map(value, path)


def _map(value: Manifest, path: Path) -> Iterator[ImageField]:
    parts = _parts(value)
    if parts:
        yield from _assembled(value, path, parts)
    for key, item in value.items():
        if key in parts or (key == "image" and (path[-1:] == ("rbd",) or value.get("enabled") is False)):
            continue
        if key == "value" and isinstance(item, str) and is_image_key(str(value.get("name", ""))) and may_be_image(item):
            yield from _whole(item, (*path, key))
        elif not _is_else(key, item):
            yield from _walk(item, (*path, key))


def _is_else(key: object, value: object) -> bool:
    """Tell quickly that neither a text nor its key speaks of an image: most do not, and no key that is no text."""
    if not isinstance(key, str) or not isinstance(value, str):
        return not isinstance(key, str)
    return not ("/" in value or "mage" in value or "MAGE" in value or key == "reference" or is_image_key(key))


def _parts(value: Manifest) -> tuple[str, ...]:
    """Return the fields of which an image is put together: {repository, image, version}, {registry, repository, tag}
    and the like; nothing where it is not.
    """
    if "repository" not in value and "registry" not in value:
        return ()
    texts = [key for key in ("registry", "repository", "image", *_VERSIONS) if isinstance(value.get(key), str)]
    names = [key for key in texts if key not in _VERSIONS and value[key]]
    at = [key for key in texts if key in _VERSIONS and value[key]]
    apart = "repository" in names or ("registry" in names and "image" in names)
    good = apart and (at or "image" in names) and is_reference("/".join(value[key] for key in names))
    return tuple(texts) if good else ()


def _assembled(value: Manifest, path: Path, parts: tuple[str, ...]) -> Iterator[ImageField]:
    """Yield the image of such fields, unless an operator is told not to start it (`enabled: false`)."""
    names = [key for key in ("registry", "repository", "image") if key in parts and value[key]]
    name = "/".join(value[key] for key in names)
    at = next((value[key] for key in ("digest", "tag", "version") if key in parts and value[key]), "")
    if at and not has_tag_or_digest(name):
        name += f"@{at}" if at.startswith("sha256:") else f":{at}"
    if value.get("enabled") is not False and is_reference(name):
        first = value[names[0]]
        field = ImageField((*path, names[0]), first, first, normalised(name))
        yield structs.replace(field, pinnable=not field.in_parts)


def _flag(items: list[Any], index: int, path: Path) -> Iterator[ImageField]:
    """Yield what stands in one text of a list: `--image` and the image may be two of them."""
    before = items[index - 1] if index else None
    two = isinstance(before, str) and before.startswith("-") and "=" not in before and is_image_key(before)
    at = (*path, index)
    yield from _whole(items[index], at) if two and may_be_image(items[index]) else _text(items[index], at)


def _whole(text: str, path: Path, *, visible: bool = False) -> Iterator[ImageField]:
    if is_reference(text):
        yield ImageField(path, text, text, normalised(text), visible)
    else:
        yield from _tokens(text, path)


def _text(text: str, path: Path) -> Iterator[ImageField]:
    key = path[-1]
    if isinstance(key, str) and (key in {"image", "baseImage"} or key.endswith("Image")) and len(text) < 512:
        yield from _whole(text, path, visible=key == "image" and _is_container(path))
    elif path[-2:] == ("image", "reference") or (isinstance(key, str) and is_image_key(key) and may_be_image(text)):
        yield from _whole(text, path)
    else:
        yield from _tokens(text, path)


def _is_container(path: Path) -> bool:
    return len(path) > 2 and path[-3] in _LISTS and isinstance(path[-2], int)


def _tokens(text: str, path: Path) -> Iterator[ImageField]:
    for name in images_in(text):
        yield ImageField(path, text, name, normalised(name))
