"""A repository's cluster files: read, decoded and checked, without writing anything."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from generator.checks import check, check_together
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity
from generator.repository.many import spread
from generator.spec.decode import decode
from generator.spec.document import Document
from generator.spec.reader import read


class Loaded(Struct, frozen=True):
    """One cluster file: `cluster` is None where it could not be decoded, `findings` are in the order of the text."""

    name: str
    document: Document
    cluster: Cluster | None
    findings: tuple[Finding, ...]

    @property
    def wrong(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity == Severity.ERROR for finding in self.findings)


def cluster_file(name: str) -> str:
    """Return where the file of a cluster lies, relative to the repository's root."""
    return f"clusters/{name}/cluster.yaml"


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` with a folder `clusters`. Raises UsageError."""
    for folder in (start, *start.parents):
        if (folder / "clusters").is_dir():
            return folder
    raise UsageError(f"{start}: there is no folder `clusters` here or above; `gen init NAME` begins a repository")


def names(root: Path) -> list[str]:
    """Return the names of the repository's clusters, in order."""
    return sorted(path.parent.name for path in root.glob("clusters/*/cluster.yaml"))


def load(root: Path, wanted: Sequence[str] = ()) -> list[Loaded]:
    """Read, decode and check the clusters named, or all of them.

    Rules over several clusters always see the whole repository; their findings are given for the clusters
    wanted. Raises UsageError for a name without a file and for a file that cannot be read.
    """
    known = names(root)
    for name in wanted:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"{cluster_file(name)}: there is no such file; clusters here: {listed}")
    if not known:
        raise UsageError(f"{root / 'clusters'}: no cluster.yaml below it; `gen init NAME` makes the first one")
    loaded = spread(_load, [(root, name) for name in known])
    together = check_together({one.name: one.cluster for one in loaded if one.cluster})
    by_name: dict[str, list[Finding]] = {}
    for name, finding in together:
        by_name.setdefault(name, []).append(finding)
    return [_with(one, by_name.get(one.name, ())) for one in loaded if not wanted or one.name in wanted]


def _load(job: tuple[Path, str]) -> Loaded:
    root, name = job
    file = cluster_file(name)
    try:
        content = (root / file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return examine(content, file, name)


def examine(content: bytes, file: str, name: str) -> Loaded:
    """Read, decode and check one file."""
    document = read(content, file)
    if not document.value:
        # What could not be read at all would only show up again as missing keys.
        return Loaded(name, document, None, document.findings)
    decoded = decode(document)
    if not isinstance(decoded, Cluster):
        places = {document.locate(finding)[0] for finding in document.findings}
        new = [finding for finding in decoded if document.locate(finding)[0] not in places]
        return Loaded(name, document, None, _sorted(document, [*document.findings, *new]))
    findings = [*document.findings, *check(decoded), *_misplaced(decoded, name)]
    return Loaded(name, document, decoded, _sorted(document, findings))


def _misplaced(cluster: Cluster, name: str) -> Iterable[Finding]:
    if cluster.name != name:
        yield Finding(
            code="GEN-REPO-001",
            at=("metadata", "name"),
            message=f"the cluster is called {cluster.name}, its folder {name}",
            fix=f"call it {name}, or move the file to {cluster_file(cluster.name)}",
        )


def _with(loaded: Loaded, more: Iterable[Finding]) -> Loaded:
    return structs.replace(loaded, findings=_sorted(loaded.document, [*loaded.findings, *more]))


def _sorted(document: Document, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (document.locate(finding)[0], finding.code, finding.message)))
