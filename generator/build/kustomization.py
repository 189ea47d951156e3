"""The file of a kustomization: what it names, and what of that Kustomize would fetch."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from generator.build.broken import BrokenError, unreadable
from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.layout.image_references import with_registry
from generator.model.fields import dig, mapping, sequence

_PLUGINS = ("generators", "transformers", "validators")
_FOLDERS = ("resources", "bases", "components", *_PLUGINS)
"""The fields that take folders, also of repositories elsewhere, and, but for components, files."""

PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902", "replacements")
"""The fields that change what others bring."""

_FILES = (*PATCHES, "configurations", "crds", "openapi", "configMapGenerator", "secretGenerator")
_LOADED = {"path", "env", "envs", "files"}
_NOUNS = {"resources": "resource", "bases": "resource", "components": "component"}

# As Kustomize tells a repository from a path, of all its versions.
_REPOSITORY = re.compile(r"git::|[\w+.-]+://|[a-z][\w-]*@.+[:/]|gh:|(?:www\.)?github\.com[:/]", re.IGNORECASE)
_URL = re.compile(r"(?:[^=/]*=)?(https?://.*)", re.IGNORECASE)


class Kustomization(Struct, frozen=True):
    """The kustomization of a folder: its file, what that says, and whether it is the user's own."""

    file: Path
    content: dict[str, Any]
    own: bool = False

    @property
    def folder(self) -> Path:
        """The folder that its paths start from."""
        return self.file.parent


class Remote(Struct, frozen=True):
    """What a kustomization wants from the network: the field of its file, the address, or the name of a chart, and all
    that the field says of it.
    """

    file: Path
    field: str
    address: str
    said: Any = None

    def note(self, file: str) -> str:
        """Say, for a file called like this, that nobody looked."""
        if self.field == "helmCharts":
            return f"Helm chart {self.address} in {file}: not looked at; commit what Helm makes of it"
        return f"remote {_NOUNS.get(self.field, 'file')} {self.address} in {file}: not looked at; commit the file"


def kustomization(folder: Path, *, own: bool = False) -> Kustomization | None:
    """Return the kustomization of a folder, None where there is none. Raises BrokenError where it cannot be read."""
    file = next((folder / name for name in KUSTOMIZATION_NAMES if (folder / name).is_file()), None)
    if file is None:
        return None
    content = file.read_bytes()
    try:
        found = documents(content, strict=True)
    except UnreadableError as error:
        raise BrokenError(unreadable(str(file), error, content)) from None
    return Kustomization(file, mapping(next(iter(found), None)), own)


def split_remotes(one: Kustomization, *, charts: bool = False) -> tuple[dict[str, Any], list[Remote]]:
    """Return what a kustomization says without anything that Kustomize would fetch, and what it would. Helm charts,
    which it only fetches when told to, stay but for `charts`.
    """
    kept, found = dict(one.content), []
    for field in (*_FOLDERS, *_FILES):
        value = one.content.get(field)
        entries = value if isinstance(value, list) else [value]
        addresses = [_address(one, field, entry) for entry in entries]
        if any(addresses):
            kept[field] = [entry for entry, address in zip(entries, addresses, strict=True) if not address]
            found += [Remote(one.file, field, *each) for each in zip(addresses, entries, strict=True) if each[0]]
    if charts:
        listed = sequence(kept.pop("helmCharts", None))
        found += [Remote(one.file, "helmCharts", str(mapping(each).get("name")), each) for each in listed]
    if not kept.get("openapi", True):
        del kept["openapi"]
    # Without any field that lists something a kustomization is refused as empty.
    return ({"resources": [], **kept} if found else kept), found


def _address(one: Kustomization, field: str, entry: Any) -> str:
    """Return what Kustomize would fetch for an entry, empty where that is nothing."""
    if field in _FOLDERS:
        file = one.folder / str(entry)
        if _REPOSITORY.match(str(entry)) and not os.path.isfile(file):  # noqa: PTH113 - takes any text
            return str(entry)
        entry = _configured(file, str(entry)) if field in _PLUGINS else []
    return next((found[1] for text in _named(entry) if (found := _URL.match(text))), "")


def _configured(file: Path, text: str) -> list[Any]:
    """Return what configures a plugin: a file, or the text itself."""
    try:
        return documents(file.read_bytes() if os.path.isfile(file) else text)  # noqa: PTH113 - takes any text
    except UnreadableError:
        return []


def _named(value: Any, key: str = "path") -> Iterator[str]:
    """Yield the files that an entry names."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _named(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _named(part, key)
    elif isinstance(value, str) and key in _LOADED:
        yield value


def folders(one: Kustomization) -> Iterator[Path]:
    """Yield the folders that a kustomization builds from."""
    for field in _FOLDERS:
        for entry in sequence(one.content.get(field)):
            if os.path.isdir(one.folder / str(entry)):  # noqa: PTH112 - takes any text
                yield one.folder / str(entry)


def named_files(one: Kustomization) -> tuple[set[str], set[str]]:
    """Return the files that a kustomization names as objects, and those that it names as something else: patches and
    what configures it, or the content of ConfigMaps. CRDs are objects, wherever they are named.
    """
    objects = {str(entry) for field in ("resources", "bases", "crds") for entry in sequence(one.content.get(field))}
    others = {text for field in (*_PLUGINS, *_FILES) if field != "crds" for text in _named(one.content.get(field))}
    return _below(one, objects), _below(one, {text.rpartition("=")[2] for text in others})


def retagged_images(one: Kustomization) -> set[str]:
    """Return the images, without tags, of which a kustomization sets the tag or digest."""
    listed = [mapping(each) for each in sequence(one.content.get("images"))]
    return {with_registry(str(each.get("name"))) for each in listed if each.get("newTag") or each.get("digest")}


def _below(one: Kustomization, names: set[str]) -> set[str]:
    return {os.path.normpath(one.folder / name) for name in names if "\n" not in name}


def write(file: Path, content: dict[str, Any]) -> None:
    """Replace the file of a kustomization in a copy; of a link not what is behind it."""
    file.unlink()
    file.write_text(json.dumps(content))  # JSON is YAML


def patch_targets(folder: Path, below: str = "") -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the target of each patch in the kustomizations of a staged folder: the file, the patch's number in it, and
    the target. Only patches that name a target: Kustomize itself refuses others that match nothing. Nor those that take
    their target away: what they match is not there any more.
    """
    one = kustomization(folder / below)
    if one is None:
        return
    for index, patch in enumerate(sequence(one.content.get("patches"))):
        if isinstance(patch, dict) and isinstance(patch.get("target"), dict) and not _deletes(patch, one.folder):
            said = {str(key): str(value) for key, value in patch["target"].items()}
            yield f"{below}{one.file.name}", index, said
    for entry in (*sequence(one.content.get("resources")), *sequence(one.content.get("components"))):
        inner = os.path.normpath(str(entry))
        if inner != "." and ".." not in inner and (folder / below / inner).is_dir():
            yield from patch_targets(folder, f"{below}{inner}/")


def _deletes(patch: dict[str, Any], folder: Path) -> bool:
    """Tell whether a patch takes away what it is for."""
    try:
        text = str(patch.get("patch") or (folder / str(patch.get("path"))).read_text(encoding="utf-8"))
        return "$patch" in text and any(dig(one, "$patch") == "delete" for one in documents(text))
    except (OSError, UnicodeDecodeError, UnreadableError):
        return False
