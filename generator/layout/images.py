"""The images that an object names, wherever in it they stand, and how they are named when they come from a mirror.

Fields that hold an image are known by their keys; in other texts (arguments, environment, files in ConfigMaps) whatever
has a registry's host and a tag or digest counts as one, and what stands behind a key for an image.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from generator.components.component import Manifest
from generator.layout.image_texts import REFERENCE, has_mark, is_key, is_named, named, replaced
from generator.model.finding import dotted

Path = tuple[str | int, ...]


class Place(Struct, frozen=True):
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


# API groups whose operators write `repository/image:version` with whatever `version` says, a tag and a digest as well:
# gpu-operator v26.7.0 (internal/image/image.go), network-operator v26.4.1 (pkg/render/render.go).
_JOINING = {"nvidia.com", "mellanox.com"}
# What they complete with the node's system, as in `580.95.05-ubuntu24.04` (gpu-operator: controllers/object_controls.go
# `resolveDriverTag`, api/nvidia/v1alpha1/nvidiadriver_types.go), by kind and field.
_PARTIAL = {
    "ClusterPolicy": {"spec.driver", "spec.gds", "spec.gdrcopy", "spec.vgpuManager"},
    "NVIDIADriver": {"spec", "spec.gds", "spec.gdrcopy"},
    "NicClusterPolicy": {"spec.ofedDriver"},
    "NicNodePolicy": {"spec.ofedDriver"},
}
_FIELDS = ("tag", "version", "digest")
_LISTS = ("containers", "initContainers")


def normalised(reference: str) -> str:
    """Return a reference with its registry and a tag or digest: `postgres` is `docker.io/library/postgres:latest`."""
    name, tag, digest = split(reference)
    return f"{_complete(name)}{f':{tag}' if tag or not digest else ''}{f'@{digest}' if digest else ''}"


def readable(text: str) -> bool:
    """Tell whether a text is the name of an image, whole; registries are written in lower case, digests are SHA-256."""
    return re.fullmatch(REFERENCE, text) is not None


def split(reference: str) -> tuple[str, str, str]:
    """Return name, tag and digest; the tag is `latest` where there is neither."""
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{head}{slash}{last}", tag or ("" if digest else "latest"), digest


def _complete(name: str) -> str:
    host, slash, rest = name.partition("/")
    if _has_host(name):
        return _complete(rest) if host in {"docker.io", "index.docker.io"} else name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _has_host(name: str) -> bool:
    host, slash, _ = name.partition("/")
    return bool(slash) and ("." in host or ":" in host or host == "localhost")


def is_own(reference: str, mirror: str | None) -> bool:
    """Tell whether an image is the site's own: it lies on the mirror, and not below a registry that it is copied from.
    Its first folder is then no host.
    """
    return bool(mirror) and reference.startswith(f"{mirror}/") and not _has_host(reference.removeprefix(f"{mirror}/"))


def upstream_name(reference: str, mirror: str | None) -> str:
    """Return the normalised reference as it is without the mirror; the site's own image has no other name."""
    own = mirror is None or is_own(reference, mirror)
    return normalised(reference if own else reference.removeprefix(f"{mirror}/"))


def rewrite(reference: str, mirror: str | None, digests: Mapping[str, str]) -> str:
    """Return a reference as it is applied: below the mirror, and with its digest where one is locked. One that is there
    already stays; without a mirror and a digest it stays as it is spelt. So does the site's own, and one of a registry
    with a port, which cannot stand in a path: no mirror can have it under its full name. Without a tag it gets none:
    whoever reads it may add one.
    """
    image = upstream_name(reference, mirror)
    digest = "" if "@" in image else digests.get(image, "")
    pinned = f"@{digest}" if digest else ""
    if mirror and not image.startswith(f"{mirror}/") and ":" not in image.partition("/")[0]:
        return f"{mirror}/{image if pinned or has_mark(reference) else split(image)[0]}{pinned}"
    return f"{reference if has_mark(reference) else image}{pinned}" if pinned else reference


def rewritten_text(text: str, places: Sequence[Place], mirror: str | None, digests: Mapping[str, str]) -> str:
    """Return a text that holds some places with each of their names rewritten."""
    for name, place in {place.name: place for place in places}.items():
        new = _new_name(place, mirror, digests)
        text = new if text == name else replaced(text, name, new)
    return text


def _new_name(place: Place, mirror: str | None, digests: Mapping[str, str]) -> str:
    if not in_parts(place):
        return rewrite(place.name, mirror, digests)
    inside = mirror is None or place.image.startswith(f"{mirror}/")
    prefix = _prefix(place)
    return place.name if inside or ":" in prefix.partition("/")[0] else f"{mirror}/{prefix}"


def in_parts(place: Place) -> bool:
    """Tell whether the rest of the image stands in fields of its own."""
    host = place.path[-1] == "registry" and "/" not in place.name
    return host or (place.path[-1] in {"registry", "repository"} and not has_mark(place.name))


def _prefix(place: Place) -> str:
    """Return a registry or repository, which is the first part of an image, with its host."""
    if place.name == "docker.io" and place.image.startswith("docker.io/library/"):
        return "docker.io/library"
    return place.name if place.image.startswith(f"{place.name}/") else _complete(place.name)


def find(manifest: Manifest) -> Iterator[Place]:
    """Yield every image an object names. What CRDs say of fields names none."""
    if manifest.get("kind") == "CustomResourceDefinition":
        return
    group, kind = str(manifest.get("apiVersion")).partition("/")[0], str(manifest.get("kind"))
    for key, value in manifest.items():
        if key not in {"apiVersion", "kind", "metadata", "status"}:
            for place in _walk(value, (key,)):
                apart = in_parts(place) and joined(group, kind, place.path)
                yield structs.replace(place, pinnable=True) if apart else place


def joined(group: str, kind: str, path: Path) -> bool:
    """Tell whether an operator takes a digest behind the version of an image in parts, of which the first is there."""
    return group in _JOINING and not partial(kind, path)


def partial(kind: str, path: Path) -> bool:
    """Tell whether an operator adds the node's system to the tag, so that no registry has this one."""
    return path[-1] == "repository" and dotted(path[:-1]) in _PARTIAL.get(kind, ())


def _walk(value: Any, path: Path) -> Iterator[Place]:
    if isinstance(value, str):
        yield from _text(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flag(value, index, path) if isinstance(item, str) else _walk(item, (*path, index))
    elif isinstance(value, dict):
        yield from _map(value, path)


def _map(value: Manifest, path: Path) -> Iterator[Place]:
    parts = _parts(value)
    if parts:
        yield from _assembled(value, path, parts)
    for key, item in value.items():
        if key in parts or (key == "image" and (path[-1:] == ("rbd",) or value.get("enabled") is False)):
            continue
        if key == "value" and isinstance(item, str) and is_key(str(value.get("name", ""))) and is_named(item):
            yield from _whole(item, (*path, key))
        elif isinstance(key, str):
            yield from _walk(item, (*path, key))


def _parts(value: Manifest) -> tuple[str, ...]:
    """Return the fields of which an image is put together: {repository, image, version}, {registry, repository, tag}
    and the like; nothing where it is not.
    """
    texts = [key for key in ("registry", "repository", "image", *_FIELDS) if isinstance(value.get(key), str)]
    names = [key for key in texts if key not in _FIELDS and value[key]]
    at = [key for key in texts if key in _FIELDS and value[key]]
    apart = "repository" in names or ("registry" in names and "image" in names)
    good = apart and (at or "image" in names) and re.fullmatch(REFERENCE, "/".join(value[key] for key in names))
    return tuple(texts) if good else ()


def _assembled(value: Manifest, path: Path, parts: tuple[str, ...]) -> Iterator[Place]:
    """Yield the image of such fields, unless an operator is told not to start it (`enabled: false`)."""
    names = [key for key in ("registry", "repository", "image") if key in parts and value[key]]
    name = "/".join(value[key] for key in names)
    at = next((value[key] for key in ("digest", "tag", "version") if key in parts and value[key]), "")
    if at and ":" not in name.rpartition("/")[2]:
        name += f"@{at}" if at.startswith("sha256:") else f":{at}"
    if value.get("enabled") is not False and re.fullmatch(REFERENCE, name):
        first = value[names[0]]
        place = Place((*path, names[0]), first, first, normalised(name))
        yield structs.replace(place, pinnable=not in_parts(place))


def _flag(items: list[Any], index: int, path: Path) -> Iterator[Place]:
    """Yield what stands in one text of a list: `--image` and the image may be two of them."""
    before = items[index - 1] if index else None
    two = isinstance(before, str) and before.startswith("-") and "=" not in before and is_key(before)
    at = (*path, index)
    yield from _whole(items[index], at) if two and is_named(items[index]) else _text(items[index], at)


def _whole(text: str, path: Path, *, visible: bool = False) -> Iterator[Place]:
    if re.fullmatch(REFERENCE, text):
        yield Place(path, text, text, normalised(text), visible)
    else:
        yield from _tokens(text, path)


def _text(text: str, path: Path) -> Iterator[Place]:
    key = path[-1]
    if isinstance(key, str) and (key in {"image", "baseImage"} or key.endswith("Image")) and len(text) < 512:
        yield from _whole(text, path, visible=key == "image" and _is_container(path))
    elif path[-2:] == ("image", "reference") or (isinstance(key, str) and is_key(key) and is_named(text)):
        yield from _whole(text, path)
    else:
        yield from _tokens(text, path)


def _is_container(path: Path) -> bool:
    return len(path) > 2 and path[-3] in _LISTS and isinstance(path[-2], int)


def _tokens(text: str, path: Path) -> Iterator[Place]:
    for name in named(text):
        yield Place(path, text, name, normalised(name))
