"""Patches of what is not vendored: nobody sees what they make of it, so that they themselves are compared."""

import posixpath
from collections.abc import Collection, Iterator
from typing import Any

from generator.build.difference import field_changes
from generator.build.kustomization import PATCHES
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.change import PATCH, ObjectChange
from generator.model.fields import mapping, sequence
from generator.review.standing import Standing


def patch_changes(old: Standing, new: Standing, components: Collection[str]) -> Iterator[ObjectChange]:
    """Yield what differs in the patches of components of which something is not vendored, kustomization by
    kustomization. Those of a component that comes or goes do so with it.
    """
    for component in sorted(one for one in components if _stands(old, one) and _stands(new, one)):
        before, after = (dict(_kustomizations(one, component)) for one in (old, new))
        for file in sorted({*before, *after}):
            one, other = before.get(file, {}), after.get(file, {})
            if fields := tuple(field_changes(one, other)):
                yield ObjectChange(
                    on="changed",
                    kind=PATCH,
                    namespace="",
                    name=f"{component}/{file}",
                    application=component,
                    old=one,
                    new=other,
                    fields=fields,
                    file=f"{new.overlays}/{component}/{file}",
                )


def _stands(standing: Standing, component: str) -> bool:
    folder = f"{standing.overlays}/{component}"
    return any(standing.side.has(f"{folder}/{name}") for name in KUSTOMIZATION_NAMES)


def _kustomizations(standing: Standing, component: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the patches of each kustomization of a component, by its file."""
    folder = f"{standing.overlays}/{component}"
    for path in sorted(standing.below(folder)):
        if posixpath.basename(path) in KUSTOMIZATION_NAMES:
            documents = standing.yaml(f"{folder}/{path}")
            found = dict(_patches(standing, posixpath.dirname(f"{folder}/{path}"), mapping(next(iter(documents), {}))))
            if found:
                yield path, found


def _patches(standing: Standing, folder: str, content: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in PATCHES:
        for number, entry in enumerate(sequence(content.get(field))):
            yield f"{field}[{number}]", _resolved(standing, folder, entry)


def _resolved(standing: Standing, folder: str, entry: Any) -> Any:
    """Return an entry with the content of the file that it names, in place of its name."""
    path = entry if isinstance(entry, str) else mapping(entry).get("path")
    if not isinstance(path, str) or not path or "\n" in path:
        return entry
    text = standing.text(posixpath.normpath(posixpath.join(folder, path)))
    return {**mapping(entry), "path": path, "patch": text or ""}
