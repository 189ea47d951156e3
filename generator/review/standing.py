"""One cluster as one side has it."""

import posixpath
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents
from generator.model.fields import mapping
from generator.repository.sides import Side

BOOTSTRAP = "bootstrap"
"""The folder of files that people bring to nodes; stands for the Application where none holds them."""


class Standing(Struct, frozen=True):
    """A side of the comparison, and what the cluster is called there."""

    side: Side
    name: str

    @property
    def bootstrap(self) -> str:
        """Where the files that people bring to nodes lie."""
        return f"clusters/{self.name}/{BOOTSTRAP}"

    @property
    def overlays(self) -> str:
        """Where its Applications lie."""
        return f"overlays/{self.name}"

    def below(self, folder: str) -> dict[str, str]:
        """Return the identities of the files below a folder, by their paths in it."""
        prefix = f"{folder}/"
        return {path.removeprefix(prefix): one for path, one in self.side.below(folder).items()}

    def text(self, path: str) -> str | None:
        """Return what a file says, None where there is none."""
        return self.side.read(path).decode(errors="replace") if self.side.has(path) else None

    def yaml(self, path: str) -> list[Any]:
        """Return the documents of a file, none where it is not there or cannot be read."""
        text = self.text(path)
        try:
            return documents(text) if text is not None else []
        except UnreadableError:
            return []

    def nodes(self) -> dict[str, dict[str, str]]:
        """Return what each node gets, by its name: labels by key, taints by key and effect."""
        found: dict[str, dict[str, str]] = {}
        for line in (self.text(posixpath.join(self.bootstrap, LABELS)) or "").splitlines():
            what, _, rest = line.partition(" ")
            if what in {"label", "taint"}:
                node, *changes = rest.split()
                found.setdefault(node, {}).update(_set(changes))
        return found

    def application(self, component: str, file: str) -> dict[str, Any]:
        """Return the one document of a file of an Application, empty where there is none."""
        found = self.yaml(f"{self.overlays}/{component}/{file}")
        return mapping(found[0]) if found else {}


LABELS = "nodes/labels.list"
"""Says of each node its labels and taints."""


def _set(changes: list[str]) -> Iterator[tuple[str, str]]:
    for change in changes:
        key, _, value = change.partition("=")
        value, colon, effect = value.partition(":")
        if not change.endswith("-"):
            yield f"{key}{colon}{effect}", value
