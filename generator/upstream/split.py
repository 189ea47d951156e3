"""What a chart or an upstream manifest says, as objects: lists opened, nulls dropped, hooks and Secrets decided, CRDs
apart. Pure, and the same for every cluster with the same inputs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from generator.components.common import SYNC_WAVE
from generator.components.component import Manifest, Release, protect
from generator.model.fields import mapping
from generator.model.finding import Finding
from generator.model.secret_texts import PRIVATE_KEY
from generator.upstream.documents import SourcedDocument
from generator.upstream.version_labels import selected_labels, without_versions

HOOK = "helm.sh/hook"
TESTS = frozenset({"test", "test-success", "test-failure"})
# The API server refuses Secrets of these types without their keys; empty values it takes.
KEYS = {"kubernetes.io/tls": ("tls.crt", "tls.key"), "kubernetes.io/ssh-auth": ("ssh-privatekey",)}
_NAME = re.compile(r"[^/%\\\x00-\x1f\x7f]{1,200}")
_SPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,100}")


class Item(Struct, frozen=True):
    """One object, what it came from ("chart cilium 1.20.0"), and its template where Helm tells."""

    manifest: Manifest
    origin: str
    source: str

    def told(self, what: str) -> str:
        """Say something of it, with where it comes from."""
        return f"{self.origin}: {what}" + (f" ({self.source})" if self.source else "")


class Part(Struct, frozen=True):
    """What one chart or manifest became. With `findings` nothing of it may be used. `idle` are the keys of the cluster
    file's values that did nothing.
    """

    items: tuple[Item, ...] = ()
    definitions: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    idle: tuple[tuple[str, ...], ...] = ()


def split(
    documents: Iterable[SourcedDocument],
    origin: str,
    release: Release | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Part:
    """Return the objects of a chart's documents, or of an upstream manifest's, which has no `release`: there, a Secret
    without data is kept as it is, and `secrets` decides for others by name, with the namespace that they have. A source
    without any object is wrong: it did not come whole.
    """
    values = [(value, document.source) for document in documents for value in _opened(document.value)]
    if not values:
        fix = "look at what is served there, and at the component's values; then run again"
        return Part(findings=(Finding(message=f"{origin}: there is no object in it", fix=fix),))
    work = _Work(origin, release, secrets or {})
    for value, source in values:
        work.take(value, source)
    return work.part()


def called(manifest: Manifest) -> str:
    """Return what messages call an object: `Kind namespace/name`."""
    metadata = manifest["metadata"]
    space = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest['kind']} {space}{metadata['name']}"


def _annotations(manifest: Manifest) -> dict[str, Any]:
    found = manifest["metadata"].get("annotations")
    return found if isinstance(found, dict) else {}


def _opened(value: Any) -> Iterator[Any]:
    """Give the items of a List, nested ones too; null documents are nothing."""
    pending = [value]
    while pending:
        one = pending.pop(0)
        if isinstance(one, dict) and str(one.get("kind", "")).endswith("List") and isinstance(one.get("items"), list):
            pending[:0] = one["items"]
        elif one is not None:
            yield one


def _without_nulls(value: Any) -> Any:
    """Drop null fields at every depth, as the API server does; null items of lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


class _Work:
    """One chart or manifest under way."""

    def __init__(self, origin: str, release: Release | None, secrets: Mapping[str, str]) -> None:
        self._origin = origin
        self._release = release
        self._hooks: Mapping[str, str] = release.hooks if release else {}
        self._secrets: Mapping[str, str] = release.secrets if release else secrets
        self._met: set[tuple[str, str]] = set()
        self._items: list[Item] = []
        self._definitions: list[Item] = []
        self._findings: list[Finding] = []

    def part(self) -> Part:
        """Return what it became, with a note for each decision about something that is not there."""
        decided = [("hook", name) for name in self._hooks] + [("Secret", name) for name in self._secrets]
        notes = [
            f"{self._origin} has no {what} {name}: its decision is not needed any more"
            for what, name in decided
            # What is declared may be in another of a component's manifests, or in none.
            if self._release and (what, name) not in self._met
        ]
        kept = selected_labels(one.manifest for one in self._items)
        items, definitions = (
            tuple(structs.replace(one, manifest=without_versions(one.manifest, kept)) for one in found)
            for found in (self._items, self._definitions)
        )
        return Part(items, definitions, tuple(notes), tuple(self._findings))

    def take(self, value: Any, source: str) -> None:
        """Take one object."""
        item = Item(value, self._origin, source)
        if why := _malformed(value):
            self._findings.append(Finding(message=item.told(why), fix="report it to the chart, or change its values"))
            return
        item = structs.replace(item, manifest=_without_nulls(value))
        if item.manifest["kind"] == "CustomResourceDefinition":
            # With a CRD all objects of its kind go, whatever protects these.
            self._definitions.append(structs.replace(item, manifest=protect(_unhooked(item.manifest))))
            return
        found = self._decided(item) if HOOK in _annotations(item.manifest) else item.manifest
        if found and found["kind"] == "Secret":
            found = self._secret(structs.replace(item, manifest=found))
        if found:
            self._refuse_keys(item, found)
            self._items.append(structs.replace(item, manifest=found))

    def _refuse_keys(self, item: Item, manifest: Manifest) -> None:
        """Refuse what may never be committed in a kind that everybody may read."""
        for key, text in mapping(manifest.get("data")).items() if manifest["kind"] == "ConfigMap" else ():
            if isinstance(text, str) and re.search(PRIVATE_KEY, text):
                what = f"{called(manifest)} holds a private key in {key}"
                fix = "turn it off with values, and give the key as a Secret"
                self._findings.append(Finding(message=item.told(what), fix=fix))

    def _decided(self, item: Item) -> Manifest | None:
        """Carry out the decision for a hook. Tests are never wanted."""
        manifest = item.manifest
        name, hook = manifest["metadata"]["name"], str(_annotations(manifest)[HOOK])
        self._met.add(("hook", name))
        kinds = {each.strip() for each in hook.split(",")}
        decision = "drop" if kinds <= TESTS else self._hooks.get(name)
        if decision is None:
            what = f"{called(manifest)} is a hook ({hook}), and nothing says what becomes of it"
            fix = (
                f"say in the cluster file `hooks: {{{name}: drop}}` below the component in `components` or `extras` "
                "(never applied), `plain` (an object like any other) or `keep` (Argo CD runs it at every sync); or "
                "turn it off with values"
            )
            self._findings.append(Finding(message=item.told(what), fix=fix))
        if decision == "plain":
            return _plain(manifest, kinds)
        return manifest if decision == "keep" else None

    def _secret(self, item: Item) -> Manifest | None:
        manifest = item.manifest
        name = manifest["metadata"]["name"]
        self._met.add(("Secret", name))
        keys = [*mapping(manifest.get("data")), *mapping(manifest.get("stringData"))]
        decided = self._secrets.get(name if self._release else called(manifest).removeprefix("Secret "))
        decision = decided or (None if keys or self._release else "placeholder")
        if decision == "placeholder":
            return _placeholder(manifest)
        if decision == "refuse":
            what, fix = "is one that gen refuses to have made", "change the values so that the chart does not make it"
        else:
            what = "would be made by it, and nothing says what becomes of it"
            fix = self._declaring(manifest, keys)
        if decision != "drop":
            self._findings.append(Finding(message=item.told(f"{called(manifest)} {what}"), fix=fix))
        return None

    def _declaring(self, manifest: Manifest, keys: Sequence[str]) -> str:
        """Say how a Secret is declared, which only components of `extras` can do: those are in their own namespace."""
        name, space = manifest["metadata"]["name"], manifest["metadata"].get("namespace")
        declared = f"`secrets: [{{name: {name}, keys: [{', '.join(keys)}]}}]` below the component in `extras`"
        where = f", whose `namespace` is {space}" if space else ""
        return f"declare it: {declared}{where}" + ("; or turn it off with values" if self._release else "")


def _malformed(value: Any) -> str:
    """Say why something is no Kubernetes object that a file can be named after, "" where it is one."""
    if not isinstance(value, dict):
        return f"a document is no map but {type(value).__name__}"
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name")
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(version, str) or not isinstance(kind, str) or not _KIND.fullmatch(kind):
        return f"an object without a usable apiVersion and kind: {version!r}, {kind!r}"
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith("."):
        return f"{kind} without a usable name: {name!r}"
    space = metadata.get("namespace")
    fits = space in (None, "") or (isinstance(space, str) and _SPACE.fullmatch(space))
    return "" if fits else f"{kind} {name} without a usable namespace: {space!r}"


def _plain(manifest: Manifest, kinds: set[str]) -> Manifest:
    """Return the hook as an object like any other, in the wave before or behind the chart's own; Helm's weights, which
    order hooks among themselves, Argo CD's order of kinds stands for.
    """
    early = any(each.startswith("pre-") for each in kinds)
    return _annotated(_unhooked(manifest), {SYNC_WAVE: "-1" if early else "1"})


def _unhooked(manifest: Manifest) -> Manifest:
    kept = {key: value for key, value in _annotations(manifest).items() if not key.startswith(HOOK)}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**metadata, "annotations": kept} if kept else metadata}


def _annotated(manifest: Manifest, more: Mapping[str, str]) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {**_annotations(manifest), **more}}}


def _placeholder(manifest: Manifest) -> Manifest:
    kept = {key: value for key, value in manifest.items() if key not in {"data", "stringData"}}
    needed: Sequence[str] = KEYS.get(str(manifest.get("type", "")), ())
    return {**kept, "data": dict.fromkeys(needed, "")} if needed else kept
