"""What could not be read or built at all, and what stands vendored but is not true: told by file, not by object."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from generator.components import compose
from generator.errors import UsageError
from generator.layout.upstream import INPUTS, KUSTOMIZATION, brings, folder, state
from generator.model.cluster import Cluster
from generator.model.finding import Position, Severity
from generator.build.reading import UnreadableError
from generator.repository.standing import intact, locked, on_disk, vendored, vendored_names
from generator.spec.codes import Explained

UNREADABLE, EMPTY, UNBUILT = "GEN-FILE-001", "GEN-FILE-002", "GEN-BUILD-001"
STALE, DAMAGED = "GEN-VEND-001", "GEN-VEND-002"


class Told(Explained, frozen=True, kw_only=True):
    """A code of findings that are an error unless it says otherwise."""

    severity: Severity = Severity.ERROR


FAULT_CODES: Mapping[str, Explained] = {
    one.code: one
    for one in (
        Told(
            code=UNBUILT,
            title="Kustomize builds every Application",
            why="Argo CD builds the same folder in the same way: what Kustomize cannot build here is not synced there, "
            "and nothing in it was judged.",
            wrong="resources: [absent.yaml]\n",
            right="resources: [present.yaml]\n",
        ),
        Told(
            code=UNREADABLE,
            title="files of manifests can be read",
            why="What cannot be read was not judged, and no API server takes it. Templates of a chart are no manifests "
            "yet: beside real ones they are only counted.",
            wrong="apiVersion: v1\nkind: Service\nmetadata: {name: 5}\n",
            right='apiVersion: v1\nkind: Service\nmetadata: {name: "5"}\n',
        ),
        Told(
            code=EMPTY,
            title="there is something to judge",
            why="A path without any object, or an empty stream after a program that failed, would otherwise pass as "
            "free of errors.",
            wrong="kustomize build absent | gen check --rendered -\n",
            right="kustomize build overlays/ml50/minio | gen check --rendered -\n",
        ),
        Told(
            code=STALE,
            title="what is vendored is from today's inputs",
            why="The cluster file, the chart's version or its values have changed since, or a merge took gen.lock from "
            "one side and the objects from the other: what was judged, and what Argo CD applies, is what other inputs "
            "became.",
            wrong="(a chart's version raised in the cluster file, and nothing else)\n",
            right="(the same after `gen vendor`)\n",
        ),
        Told(
            code=DAMAGED,
            title="what is vendored is as it was written",
            why="A file below upstream/ is missing, was added or edited, or a merge went wrong: the objects are no "
            "longer what the locked chart becomes.",
            wrong="(an object's file deleted from upstream/)\n",
            right="(the same after `gen vendor`)\n",
        ),
    )
}
"""The codes of faults."""


class Fault(Struct, frozen=True, kw_only=True):
    """One fault: its file, relative to the repository's root or as the user named it, and where in it."""

    code: str
    file: str
    message: str
    fix: str = ""
    position: Position = Position(1, 1, 1)
    line: str = ""


class BrokenError(UsageError):
    """Raised for a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(f"{fault.file}: {fault.message}" + (f"; fix: {fault.fix}" if fault.fix else ""))


def unreadable(file: str, error: UnreadableError, content: bytes, fix: str = "") -> Fault:
    """Return the fault of a file that is no YAML."""
    lines = content.rstrip().split(b"\n")
    # A parser that waits for more points behind the end.
    line = min(error.line, len(lines))
    text = lines[line - 1].decode(errors="replace").rstrip()
    at = Position(line, 1, len(text) + 1)
    return Fault(code=UNREADABLE, file=file, message=f"cannot be read: {error.why}", fix=fix, position=at, line=text)


def unbuilt(place: str, words: str, component: str = "") -> Fault:
    """Return the fault of a folder that Kustomize cannot build, with its own words."""
    told = " ".join(words.split())
    return Fault(code=UNBUILT, file=f"{place}/{KUSTOMIZATION}", message=told, fix=_mended(place, told, component))


def _mended(place: str, words: str, component: str) -> str:
    if not component:
        return "mend the file that Kustomize names"
    if re.search(r"\bcustom['/]", words):
        return f"mend what is yours in {place}/custom/"
    if "upstream" in words or "/crds" in words:
        return f"gen vendor {component}"
    return f"`gen render` writes what is gen's; what is in {place}/custom/ is yours to mend"


def untrue(root: Path, cluster: Cluster) -> Iterator[Fault]:
    """Yield a fault for each component whose vendored files are from older inputs, or are not as `gen vendor` wrote
    them. Reads all of them.
    """
    known = vendored(on_disk(root), cluster.name, vendored_names(root, cluster.name))
    lock = locked(on_disk(root))
    for component in filter(brings, compose(cluster, known)):
        name, place = component.name, folder(cluster.name, component.name)
        file, fix = f"{place}/{INPUTS}", f"gen vendor {name}"
        found = known.get(name)
        if found is None and (root / place).is_dir():
            yield Fault(code=DAMAGED, file=file, message=f"{name}: what it was vendored from is not there", fix=fix)
        elif found and not found.inputs:
            yield Fault(code=DAMAGED, file=file, message=f"{name}: what was found in it cannot be read", fix=fix)
        elif found and state(cluster, component, found, lock) == "stale":
            yield Fault(code=STALE, file=file, message=f"{name}: vendored from other inputs", fix=fix)
        elif found and not intact(root, cluster.name, name, found.found):
            yield Fault(code=DAMAGED, file=file, message=f"{name}: not as `gen vendor` wrote it", fix=fix)
