"""What could not be read or built, and what stands vendored but is not true: findings on files, not on objects."""

import re
from collections.abc import Iterator
from pathlib import Path

from generator.build.go_yaml import UnreadableError
from generator.components import compose
from generator.errors import UsageError
from generator.layout.upstream import INPUTS, KUSTOMIZATION, brings, folder, state
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Position
from generator.model.rule import Explained
from generator.repository.vendored import intact, locked, on_disk, vendored, vendored_names

UNBUILT = Explained(
    code="GEN-BUILD-001",
    title="Kustomize builds every Application",
    text="""
    Argo CD builds the same folder in the same way: what Kustomize cannot build here is not synced there, and nothing in
    it was judged.

    Wrong:
        resources: [absent.yaml]
    Right:
        resources: [present.yaml]
    """,
)
UNREADABLE = Explained(
    code="GEN-FILE-001",
    title="files of manifests can be read",
    text="""
    What cannot be read was not judged, and no API server takes it. Templates of a chart are no manifests yet: beside
    real ones they are only counted.

    Wrong:
        apiVersion: v1
        kind: Service
        metadata: {name: 5}
    Right:
        apiVersion: v1
        kind: Service
        metadata: {name: "5"}
    """,
)
EMPTY = Explained(
    code="GEN-FILE-002",
    title="there is something to judge",
    text="""
    A path without any object, or an empty stream after a program that failed, would otherwise pass as free of errors.

    Wrong:
        kustomize build absent | gen check --rendered -
    Right:
        kustomize build overlays/ml50/minio | gen check --rendered -
    """,
)
STALE = Explained(
    code="GEN-VEND-001",
    title="what is vendored is from today's inputs",
    text="""
    The cluster file, the chart's version or its values have changed since, or a merge took gen.lock from one side and
    the objects from the other: what was judged, and what Argo CD applies, is what other inputs became.

    Wrong:
        (a chart's version raised in the cluster file, and nothing else)
    Right:
        (the same after `gen vendor`)
    """,
)
DAMAGED = Explained(
    code="GEN-VEND-002",
    title="what is vendored is as it was written",
    text="""
    A file below upstream/ is missing, was added or edited, or a merge went wrong: the objects are no longer what the
    locked chart becomes.

    Wrong:
        (an object's file deleted from upstream/)
    Right:
        (the same after `gen vendor`)
    """,
)


class BrokenError(UsageError):
    """Raised for what cannot be read or built; `finding` says where."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(f"{finding.file}: {finding.message}" + (f"; fix: {finding.fix}" if finding.fix else ""))


def unreadable(file: str, error: UnreadableError, content: bytes, fix: str = "") -> Finding:
    """Return the finding on a file that is no YAML."""
    lines = content.rstrip().split(b"\n")
    # A parser that waits for more points behind the end.
    line = min(error.line, len(lines))
    text = lines[line - 1].decode(errors="replace").rstrip()
    at, why = Position(line, 1, len(text) + 1), error.why
    if opened := re.search(r"(?:[:-]|^) *(\{\{|\{(?=\w+\}\S))", text):
        why = f"{why}; `{opened[1]}` begins a map here"
        fix = "quote the text, or fill the template in before it is judged"
    if re.match(r" *\t", text):
        why, fix = "it is indented with a tab, and YAML takes spaces only", "put spaces in place of tabs"
    return UNREADABLE.complete(Finding(file=file, message=f"cannot be read: {why}", fix=fix, at=at, line=text))


def unbuilt(place: str, words: str, component: str = "") -> Finding:
    """Return the finding on a folder that Kustomize cannot build, with its own words."""
    message = " ".join(words.split())
    fix = _mended(place, message, component)
    return UNBUILT.complete(Finding(file=f"{place}/{KUSTOMIZATION}", message=message, fix=fix))


def _mended(place: str, words: str, component: str) -> str:
    if not component:
        return "mend the file that Kustomize names"
    if re.search(r"\bcustom['/]", words):
        return f"mend what is yours in {place}/custom/"
    if "upstream" in words or "/crds" in words:
        return f"gen vendor {component}"
    return f"`gen render` writes what is gen's; what is in {place}/custom/ is yours to mend"


def check_vendored(root: Path, cluster: Cluster) -> Iterator[Finding]:
    """Yield a finding for each component whose vendored files are from older inputs, or are not as `gen vendor` wrote
    them. Reads all of them.
    """
    known = vendored(on_disk(root), cluster.name, vendored_names(root, cluster.name))
    lock = locked(on_disk(root))
    for component in filter(brings, compose(cluster, known)):
        name, place = component.name, folder(cluster.name, component.name)
        found = known.get(name)
        wrong: tuple[Explained, str] | None = None
        if found is None and (root / place).is_dir():
            wrong = DAMAGED, "what it was vendored from is not there"
        elif found and not found.inputs:
            wrong = DAMAGED, "what was found in it cannot be read"
        elif found and state(cluster, component, found, lock) == "stale":
            wrong = STALE, "vendored from other inputs"
        elif found and not intact(root, cluster.name, name, found.found):
            wrong = DAMAGED, "not as `gen vendor` wrote it"
        if wrong:
            message = f"{name}: {wrong[1]}"
            yield wrong[0].complete(Finding(file=f"{place}/{INPUTS}", message=message, fix=f"gen vendor {name}"))
