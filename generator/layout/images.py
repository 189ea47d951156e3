"""The images that an object names, wherever in it they stand, and how they are named when they come from a mirror.

Fields that hold an image are known by their keys; in other texts (arguments, environment, files in ConfigMaps) whatever
has a registry's host and a tag or digest counts as one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from generator.components.component import Manifest
from generator.model.finding import dotted

__all__ = [
    "Place",
    "find",
    "in_parts",
    "joined",
    "normalised",
    "partial",
    "readable",
    "rewrite",
    "rewritten_text",
    "split",
    "upstream_name",
]

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
_WORD = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?|[a-z0-9-]+(?=:\d))(?::\d+)?"
_TAG = r":(?P<tag>[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_])?)"
_DIGEST = r"@(?P<digest>sha256:[0-9a-f]{64})"
# As text: `re` compiles each when it is first used, and most clusters have no use for them.
_NAME = rf"(?:(?:{_HOST}|localhost)/)?{_WORD}(?:/{_WORD})*"
_REFERENCE = rf"(?P<name>{_NAME})(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:{_DIGEST})?"
# Not behind a scheme, a path or a variable; not before more of a path or a template.
_BEFORE, _AFTER = r"(?<![\w./:@%$}-])", r"(?![\w/@{$-]|[.:][\w/])"
_TOKEN = (
    rf"{_BEFORE}(?P<name>(?:{_HOST}|localhost(?::\d+)?)(?:/{_WORD})+)"
    rf"(?:{_TAG}(?:{_DIGEST})?|@(?P<only>sha256:[0-9a-f]{{64}})){_AFTER}"
)
# `image: postgres:16` in a file within a ConfigMap, `--image=postgres:16`: no host, but the key says what it is.
_KEYED = (
    r"""[iI]mage["']?(?:\s*:\s+|\s*=\s*|\s+)["']?"""
    rf"(?P<image>{_NAME}:[A-Za-z0-9_][\w.-]*(?:@sha256:[0-9a-f]{{64}})?){_AFTER}"
)
# What looks alike: taints, labels and resources, API kinds.
_EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}
_DOMAIN = r"(?!registry\.)(?:.+\.)?(?:kubernetes\.io|k8s\.io|x-k8s\.io|nvidia\.com|amd\.com|intel\.com)"
_KIND = r"v\d+(?:(?:alpha|beta)\d+)?"
_FIELDS = ("tag", "version", "digest")
_LISTS = ("containers", "initContainers")


def normalised(reference: str) -> str:
    """Return a reference with its registry and a tag or digest: `postgres` is `docker.io/library/postgres:latest`."""
    name, tag, digest = split(reference)
    return f"{_complete(name)}{f':{tag}' if tag or not digest else ''}{f'@{digest}' if digest else ''}"


def readable(text: str) -> bool:
    """Tell whether a text is the name of an image, whole; registries are written in lower case, digests are SHA-256."""
    return re.fullmatch(_REFERENCE, text) is not None


def split(reference: str) -> tuple[str, str, str]:
    """Return name, tag and digest; the tag is `latest` where there is neither."""
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{head}{slash}{last}", tag or ("" if digest else "latest"), digest


def _complete(name: str) -> str:
    host, slash, rest = name.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return _complete(rest) if host in {"docker.io", "index.docker.io"} else name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def upstream_name(reference: str, mirror: str | None) -> str:
    """Return the normalised reference as it is without the mirror."""
    inside = mirror and reference.startswith(f"{mirror}/")
    return normalised(reference.removeprefix(f"{mirror}/") if inside else reference)


def rewrite(reference: str, mirror: str | None, digests: Mapping[str, str]) -> str:
    """Return a reference as it is applied: below the mirror, and with its digest where one is locked. One that is there
    already stays; without a mirror and a digest it stays as it is spelt. So does one of a registry with a port, which
    cannot stand in a path: no mirror can have it under its full name.
    """
    image = upstream_name(reference, mirror)
    digest = "" if "@" in image else digests.get(image, "")
    pinned = f"@{digest}" if digest else ""
    if mirror and ":" not in image.partition("/")[0]:
        return f"{mirror}/{image}{pinned}"
    return f"{reference if ':' in reference.rpartition('/')[2] else image}{pinned}" if pinned else reference


def rewritten_text(text: str, places: Sequence[Place], mirror: str | None, digests: Mapping[str, str]) -> str:
    """Return a text that holds some places with each of their names rewritten."""
    for name, place in {place.name: place for place in places}.items():
        new = _new_name(place, mirror, digests)
        # Nothing in a name is special in a replacement.
        text = new if text == name else re.sub(_BEFORE + re.escape(name) + _AFTER, new, text)
    return text


def _new_name(place: Place, mirror: str | None, digests: Mapping[str, str]) -> str:
    if not in_parts(place):
        return rewrite(place.name, mirror, digests)
    inside = mirror is None or place.name.startswith(f"{mirror}/")
    prefix = _prefix(place)
    return place.name if inside or ":" in prefix.partition("/")[0] else f"{mirror}/{prefix}"


def in_parts(place: Place) -> bool:
    """Tell whether the rest of the image stands in fields of its own."""
    return place.path[-1] in {"registry", "repository"} and ":" not in place.name.rpartition("/")[2]


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
        if key == "value" and isinstance(item, str) and _is_key(str(value.get("name", ""))) and ":" in item:
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
    good = apart and (at or "image" in names) and all(re.fullmatch(_NAME, value[key]) for key in names[:-1])
    return tuple(texts) if good and re.fullmatch(_REFERENCE, value[names[-1]]) else ()


def _assembled(value: Manifest, path: Path, parts: tuple[str, ...]) -> Iterator[Place]:
    """Yield the image of such fields, unless an operator is told not to start it (`enabled: false`)."""
    names = [key for key in ("registry", "repository", "image") if key in parts and value[key]]
    name = "/".join(value[key] for key in names)
    at = next((value[key] for key in ("digest", "tag", "version") if key in parts and value[key]), "")
    if at and ":" not in name.rpartition("/")[2]:
        name += f"@{at}" if at.startswith("sha256:") else f":{at}"
    if value.get("enabled") is not False and re.fullmatch(_REFERENCE, name):
        first = value[names[0]]
        place = Place((*path, names[0]), first, first, normalised(name))
        yield structs.replace(place, pinnable=not in_parts(place))


def _flag(items: list[Any], index: int, path: Path) -> Iterator[Place]:
    """Yield what stands in one text of a list: `--image` and the image may be two of them."""
    before = items[index - 1] if index else None
    two = isinstance(before, str) and before.startswith("-") and "=" not in before and _is_key(before)
    at = (*path, index)
    yield from _whole(items[index], at) if two and ":" in items[index] else _text(items[index], at)


def _is_key(name: str) -> bool:
    return name.lower().endswith("image")


def _whole(text: str, path: Path, *, visible: bool = False) -> Iterator[Place]:
    if re.fullmatch(_REFERENCE, text):
        yield Place(path, text, text, normalised(text), visible)
    else:
        yield from _tokens(text, path)


def _text(text: str, path: Path) -> Iterator[Place]:
    key = path[-1]
    if isinstance(key, str) and (key in {"image", "baseImage"} or key.endswith("Image")) and len(text) < 512:
        yield from _whole(text, path, visible=key == "image" and _is_container(path))
    elif path[-2:] == ("image", "reference") or (isinstance(key, str) and _is_key(key) and ":" in text):
        yield from _whole(text, path)
    else:
        yield from _tokens(text, path)


def _is_container(path: Path) -> bool:
    return len(path) > 2 and path[-3] in _LISTS and isinstance(path[-2], int)


def _tokens(text: str, path: Path) -> Iterator[Place]:
    found: dict[str, None] = {}
    if ":" in text or "@" in text:
        found |= dict.fromkeys(match[0] for match in re.finditer(_TOKEN, text) if _is_image(match))
        found |= dict.fromkeys(match["image"] for match in re.finditer(_KEYED, text))
    for name in found:
        yield Place(path, text, name, normalised(name))


def _is_image(match: re.Match[str]) -> bool:
    host, _, rest = match["name"].partition("/")
    if match["digest"] or match["only"]:
        return True
    tag = match["tag"]
    return not (tag in _EFFECTS or re.fullmatch(_DOMAIN, host) or (re.fullmatch(_KIND, rest) and tag[0].isupper()))
