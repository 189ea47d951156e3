"""Fields for images whose text is no reference: which image that is, only whoever runs it knows.

Kubernetes takes a text in its own objects as it stands, but for variables in arguments and in the environment, which
are left open here as those in files of ConfigMaps are. Other kinds have templates; of those, the parameters that an
Argo workflow gives itself are followed. A text that the mirror begins is from the mirror, whatever follows.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from msgspec import Struct

from generator.components.component import Manifest
from generator.layout.image_fields import ImageField, image_fields
from generator.layout.image_references import is_reference, normalised
from generator.layout.image_texts import KEY, is_image_key
from generator.model.fields import dig, in_one_text, mapping, sequence, walk
from generator.model.finding import Path


class UnreadableImage(Struct, frozen=True):
    """Where an object names an image that cannot be read: the way there, and the text. `wrong` tells that it is a
    mistake; otherwise something may fill it in when it runs, or the field may be for something else.
    """

    path: Path
    text: str
    wrong: bool

    @property
    def named(self) -> str:
        """What is written there, as a message begins."""
        return f"`{self.text}`" if self.text else "an empty text"

    @property
    def fix(self) -> str:
        """The smallest change that makes the text readable."""
        if not self.text:
            return "name one: registry/path:tag"
        if re.search(_TEMPLATE, self.text):
            if self.wrong:
                return "write the image itself: nothing replaces a variable here"
            parameters = "give every parameter in it a value or a default in the same object, or "
            return f"{parameters if '{{' in self.text else ''}write the image itself"
        if "@" in self.text and not re.search(r"@sha256:[0-9a-f]{64}$", self.text):
            return "a digest is sha256: and 64 hexadecimal digits"
        name, colon, tag = self.text.partition(":")
        lower = f"{name.lower()}{colon}{tag}"
        return f"in lower case: {lower}" if is_reference(lower) else "registry/path:tag, without spaces"


_LISTS = {"containers", "initContainers", "ephemeralContainers", "sidecars"}
_ONE = {"container", "script"}
_PARAMETER = r"\{\{\s*=?\s*(inputs|workflow)\.parameters(?:\.([\w-]+)|\[\s*'([^']+)'\s*\])\s*\}\}"
_TEMPLATE = r"\{\{|\$[({]"
_FIELDS = {"image", "reference", "repository"}
_BUILT_IN = {"", "apps", "batch"}
_FILES = {"ConfigMap", "Secret"}
# What stands behind a key in a text, with variables and templates in it whole.
_BEHIND = rf"""{KEY}(?P<text>(?:\{{\{{.{{0,99}}?\}}\}}|\$\(.{{0,99}}?\)|\$\{{.{{0,99}}?\}}|[^\s"',;\\])*)"""
# Values within values, and as many results as a person could list.
_DEEP, _MOST = 4, 64


class Unread(NamedTuple):
    """The texts in fields for an image that are no reference; and what stands for an image in arguments, variables and
    files of ConfigMaps, and is to be filled in.
    """

    no_references: list[tuple[Path, str]]
    to_be_filled_in: list[tuple[Path, str]]


def unreadable_images(manifest: Manifest, texts: Unread | None = None) -> Iterator[UnreadableImage]:
    """Yield every field for an image whose text is no reference and cannot be made one; `texts` are what `unread` found
    in it.
    """
    # In their fields Kubernetes' own kinds have no templates.
    built_in = str(manifest.get("apiVersion")).rpartition("/")[0] in _BUILT_IN
    no_references, to_be_filled_in = texts or unread(manifest)
    for path, text in no_references:
        if not _references(manifest, path, text):
            yield UnreadableImage(path, text, built_in or (_is_container(path) and not re.search(_TEMPLATE, text)))
    for path, text in to_be_filled_in:
        if not _references(manifest, path, text):
            yield UnreadableImage(path, text, wrong=False)


def named_images(manifest: Manifest, texts: Unread | None = None) -> Iterator[ImageField]:
    """Yield every image that an object names, also what its templates become with the values in the same object;
    `texts` as above.
    """
    found = set()
    for field in image_fields(manifest):
        found.add(field.image)
        yield field
    for path, text in chain(*(texts or unread(manifest))):
        for reference in _references(manifest, path, text):
            if (image := normalised(reference)) not in found:
                yield ImageField(path, text, text, image)


def unread(manifest: Manifest) -> Unread:
    """Look through an object, but for what CRDs say of fields, and what controllers write."""
    found = Unread([], [])
    said = {key: value for key, value in manifest.items() if key not in {"metadata", "status"}}
    if manifest.get("kind") == "CustomResourceDefinition" or not _may_name_images(said):
        return found
    file = manifest.get("kind") in _FILES
    for path, part in walk(said):
        if isinstance(part, dict) and not file:
            found.no_references.extend(((*path, key), text) for key, text in _no_references(part, path))
        elif isinstance(part, str) and ("{{" in part or "$" in part) and re.search(_TEMPLATE, part):
            found.to_be_filled_in.extend(_to_be_filled_in(manifest, path, part))
    return found


def _may_name_images(said: Manifest) -> bool:
    """Tell whether there may be a field for an image in an object, or a template."""
    content = in_one_text(said)
    return content is None or any(part in content for part in ("mage", "repository", "{{", "${", "$("))


def _no_references(part: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts in fields for an image that are no reference, but for parts that an operator does not start."""
    for key, text in part.items() if part.get("enabled") is not False else ():
        # An operator has an image of its own where a field of its settings is empty; a container has none.
        meant = isinstance(text, str) and _may_be_field(key) and (text or _is_container((*path, key)))
        if meant and _is_field(part, path, key) and not is_reference(text):
            yield key, text


def _to_be_filled_in(manifest: Manifest, path: Path, text: str) -> Iterator[tuple[Path, str]]:
    """Yield what in a text with a template stands for an image."""
    if is_image_key(_key(manifest, path)):
        yield path, text
    elif manifest.get("kind") in _FILES or path[-2:-1] in {("args",), ("command",)}:
        behind = (match["text"] for match in re.finditer(_BEHIND, text))
        yield from ((path, one) for one in behind if re.search(_TEMPLATE, one))


def _key(manifest: Manifest, path: Path) -> str:
    """Return the flag or variable that a text belongs to, or the name of a file in a ConfigMap."""
    *way, last = path
    if isinstance(last, int):
        before = dig(manifest, *way, last - 1)
        return before if isinstance(before, str) and before.startswith("-") and "=" not in before else ""
    if last == "value" and way[-2:-1] == ["env"]:
        return str(dig(manifest, *way, "name"))
    return last if manifest.get("kind") in _FILES else ""


def _may_be_field(key: object) -> bool:
    """Tell whether a field of this name may hold an image, whatever is beside it."""
    return isinstance(key, str) and (key in _FIELDS or key.endswith("Image"))


def _is_field(part: dict[Any, Any], path: Path, key: object) -> bool:
    if key == "image":
        # Ceph calls volumes so.
        return path[-1:] != ("rbd",)
    if key == "reference":
        return path[-1:] == ("image",)
    assembled = part.get("tag") or part.get("digest") or ("image" in part and part.get("version"))
    named = (key == "repository" and assembled) or (isinstance(key, str) and key.endswith("Image"))
    return bool(named) and "://" not in str(part[key])


def _is_container(path: Path) -> bool:
    return path[-1] == "image" and (path[-2:-1] in {(one,) for one in _ONE} or (len(path) > 2 and path[-3] in _LISTS))


def _references(manifest: Manifest, path: Path, text: str) -> list[str]:
    """Return all that a text may become, nothing where any of it stays unknown."""
    if not str(manifest.get("apiVersion")).startswith("argoproj.io/"):
        return []
    found = list(islice(_filled(manifest, path, text, _DEEP), _MOST + 1))
    return found if len(found) <= _MOST and all(is_reference(one) for one in found) else []


def _filled(manifest: Manifest, path: Path, text: str, deep: int) -> Iterator[str]:
    """Yield what a text becomes; it stays as it is where its parameters have no value."""
    match = re.search(_PARAMETER, text)
    values = _values(manifest, path, match) if match and deep else []
    if not values:
        yield text
    for at, value in values:
        start, end = match.span() if match else (0, 0)
        yield from _filled(manifest, at or path, f"{text[:start]}{value}{text[end:]}", deep - 1)


def _values(manifest: Manifest, path: Path, match: re.Match[str]) -> list[tuple[Path, str]]:
    """Return what a parameter may be, each with the way to where it stands: parameters in it are those of that place.
    Of a template's own these are what callers in the same object give, what the workflow does, and the default.
    """
    name = match[2] or match[3]
    at = path[: path.index("templates")] if "templates" in path else path[:1]
    spec = mapping(dig(manifest, *at))
    if match[1] == "workflow":
        return _named(dig(spec, "arguments", "parameters"), name)
    template = mapping(dig(manifest, *path[: len(at) + 2]))
    title = template.get("name")
    called = [value for caller, part in walk(spec, at) for value in _passed(caller, part, title, name)]
    begun = _named(dig(spec, "arguments", "parameters"), name) if spec.get("entrypoint") == title else []
    return [*called, *begun, *_named(dig(template, "inputs", "parameters"), name)]


def _passed(at: Path, part: object, template: object, name: str) -> list[tuple[Path, str]]:
    calls = template and mapping(part).get("template") == template
    return [(at, value) for _, value in _named(dig(part, "arguments", "parameters"), name)] if calls else []


def _named(parameters: Any, name: str) -> list[tuple[Path, str]]:
    """Return value and default of a parameter; what it takes from elsewhere is a text that is no image."""
    found = [mapping(one) for one in sequence(parameters) if mapping(one).get("name") == name]
    values = [str(one[key]) for one in found for key in ("value", "default") if isinstance(one.get(key), str | int)]
    values += ["{{valueFrom}}" for one in found if "valueFrom" in one]
    return [((), value) for value in values]
