"""The scripts of operations on nodes, and a cluster for them that is a shelf of objects."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mergepatch import merged

from generator.components.node_operations.templates import FILES, scripts

Object = dict[str, Any]


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the scripts be imported, with the variables that their steps are told; afterwards forget them."""
    for name in FILES:
        (folder / name).write_text(scripts()["data"][name])
    monkeypatch.syspath_prepend(folder)
    told = dict.fromkeys(("STORAGE_SECONDS", "DRAIN_SECONDS", "PLACE_SECONDS"), "0.2")
    told |= {"MOMENT": "0.01", "AWAY": "0.2", "GANG_SECONDS": "0", "NODE_SECONDS": "3600", "CONTROL_PLANE_OUTAGE": "no"}
    told |= {"ACTION": "patch", "FRESH_HOURS": "72", "CERTIFICATE_DAYS": "90"}
    for name, value in (told | {"RUN": "kubernetes-upgrade-x7k2p", "RUN_UID": "x7k2p"}).items():
        monkeypatch.setenv(name, value)
    yield
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


class Shelf:
    """Objects by their addresses, and what was asked to change. What is evicted goes at once; nothing else happens."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.changes: list[tuple[str, str, Object]] = []

    def put(self, path: str, one: Object) -> Object:
        self.objects[path] = one
        return one

    def get(self, path: str) -> Object | None:
        return self.objects.get(path)

    def items(self, path: str, **query: str) -> list[Object]:
        chosen = dict(one.split("=", 1) for one in query.get("fieldSelector", "").split(",") if one)
        node, name = chosen.get("spec.nodeName"), chosen.get("metadata.name")
        space, _, plural = path.rpartition("/")
        found = [one for at, one in self.objects.items() if within(at, space, plural)]
        found = [one for one in found if not name or one["metadata"]["name"] == name]
        return [one for one in found if not node or one["spec"].get("nodeName") == node]

    def each(self, path: str, **query: str) -> Iterator[Object]:
        yield from self.items(path, **query)

    def ask(self, method: str, path: str, body: Object | None = None, _form: str = "") -> Object | None:
        self.changes.append((method, path, body or {}))
        if method == "POST" and path.endswith("/eviction"):
            self.objects.pop(path.removesuffix("/eviction"), None)
            return {}
        if method == "PATCH" and (one := self.objects.get(path)):
            made = merged(one, body)
            one.clear()
            one.update(made)
            return one
        return None

    def patch(self, path: str, change: Object) -> Object:
        done = self.ask("PATCH", path, change)
        assert done is not None, path
        return done

    def evict(self, pod: Object) -> None:
        metadata = pod["metadata"]
        self.ask("POST", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction")

    def asked(self, method: str) -> list[str]:
        """Return of which objects this was asked."""
        return [path.removesuffix("/eviction").rpartition("/")[2] for how, path, _ in self.changes if how == method]


def within(at: str, space: str, plural: str) -> bool:
    """Tell whether an address is one of a list, of one namespace or of all."""
    folder, _, _ = at.rpartition("/")
    of_all = folder.startswith(f"{space}/namespaces/") and folder.endswith(f"/{plural}") and "/namespaces/" not in space
    return folder == f"{space}/{plural}" or of_all
