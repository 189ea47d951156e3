"""A repository's cluster files: read, decoded and checked, without writing anything."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import eq
from pathlib import Path

from msgspec import Struct, structs

from generator.checks import check, check_together
from generator.errors import UsageError
from generator.model.cluster import Cluster, cluster_file
from generator.model.finding import Finding, Position, Severity, put
from generator.model.finding import Path as Steps
from generator.model.rule import Explained
from generator.repository.parallel import spread
from generator.repository.places import misnamed, names
from generator.spec.decode import decode, decode_rest
from generator.spec.document import Document, from_the_top
from generator.spec.near import suggest
from generator.spec.reader import SIZE, read
from generator.spec.value_codes import MISSING_KEY

MISNAMED = Explained(
    code="GEN-REPO-001",
    title="a cluster's name is its folder's name",
    text="""
    Paths in Argo CD are made of the name; another name here would write into another cluster's folders.

    Wrong:
        # clusters/ml50/cluster.yaml
        metadata:
          name: ml51
    Right:
        # clusters/ml50/cluster.yaml
        metadata:
          name: ml50
    """,
)

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


class Loaded(Struct, frozen=True):
    """One cluster file: `cluster` is None where it could not be decoded, `findings` are in the order of the text, and
    `held` is how many findings of rules wait until mistakes of form are settled.
    """

    name: str
    document: Document
    cluster: Cluster | None
    findings: tuple[Finding, ...]
    held: int = 0

    @property
    def wrong(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.severity == Severity.ERROR for finding in self.findings)

    def adding(self, findings: Iterable[Finding]) -> "Loaded":
        """Return the same with those of some findings that are about this file, or name none."""
        own = [finding for finding in findings if finding.file in {"", self.document.file}]
        return structs.replace(self, findings=_ordered(self.document, [*self.findings, *own])) if own else self


def no_such_cluster(name: str, known: Sequence[str]) -> str:
    """Return the sentence for a name that none of the clusters has."""
    listed = f"clusters here: {', '.join(known) or 'none'}"
    return f"{cluster_file(name)}: there is no such file; {suggest(name, known, listed)}"


def load(root: Path, wanted: Sequence[str] = (), instead: Mapping[str, bytes] = {}) -> list[Loaded]:
    """Read, decode and check the clusters named, or all of them; `instead` holds what some of their files would say, by
    path.

    Rules over several clusters see whatever else of the repository the wanted ones may be at odds with; what is found
    is told of these. Raises UsageError for a name without a file, and for a file that cannot be read.
    """
    known = names(root)
    for name in wanted:
        if name not in known:
            raise UsageError(misnamed(root).get(name) or no_such_cluster(name, known))
    if not known and (wrong := misnamed(root)):
        raise UsageError("; ".join(wrong.values()))
    if not known:
        raise UsageError(f"{root / 'clusters'}: no cluster.yaml below it; `gen init NAME` makes the first one")
    jobs = [(root, name, instead.get(cluster_file(name))) for name in known if not wanted or name in wanted]
    loaded = spread(_load, jobs)
    clusters = {one.name: one.cluster for one in loaded if one.cluster}
    others = _others(root, [name for name in known if wanted and name not in wanted], clusters)
    # Of two that are at odds the later one is told of it: here one of those that somebody asks about.
    together = [*check_together({**others, **clusters})]
    return [_with_folders_judged(root, one.adding(together)) for one in loaded]


def _with_folders_judged(root: Path, one: Loaded) -> Loaded:
    """Return a cluster file with what is wrong with the folders of the repository that it names."""
    if not one.cluster or not any(extra.folder for extra in one.cluster.extras.values()):
        return one
    from generator.repository.extra_folders import folder_findings  # noqa: PLC0415 - it imports what lays out

    return one.adding(folder_findings(root, one.cluster))


def _others(root: Path, names: Sequence[str], clusters: Mapping[str, Cluster]) -> dict[str, Cluster]:
    """Return those of the other clusters that may be at odds with `clusters`."""
    if not names:
        return {}
    from generator.repository.neighbours import neighbours  # noqa: PLC0415 - only where some are named

    near = neighbours(clusters.values(), names, lambda name: content_of(root, cluster_file(name)))
    return {one.name: one.cluster for one in spread(_load, [(root, name, None) for name in near]) if one.cluster}


def _load(job: tuple[Path, str, bytes | None]) -> Loaded:
    root, name, instead = job
    file = cluster_file(name)
    return examine(content_of(root, file) if instead is None else instead, file, name)


def content_of(root: Path, file: str) -> bytes:
    """Return what a cluster file says, and of one that is too large just enough to tell. Raises UsageError."""
    target = _target(root, file)
    try:
        kind = stat.S_IFMT(target.stat().st_mode)
        if kind != stat.S_IFREG:
            # A pipe would be waited for, and a device has no end.
            what = _KINDS.get(kind, "a device")
            raise UsageError(f"{file}: cannot be read: it is {what}; a cluster file is a regular file")
        with target.open("rb") as opened:
            return opened.read(SIZE + 1)
    except FileNotFoundError:
        raise UsageError(f"{file}: cannot be read: it is a link to nothing; put the file itself here") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


def _target(root: Path, file: str) -> Path:
    """Return where a file of the repository lies. Raises UsageError where a link leads out of it."""
    steps = accumulate(file.split("/"), "{}/{}".format)
    if not any(os.path.islink(f"{root}/{step}") for step in steps):  # noqa: PTH114 - a tenth of Path's time
        return Path(root, file)
    target = Path(os.path.realpath(root / file))
    if not target.is_relative_to(os.path.realpath(root)):
        raise UsageError(
            f"{file}: a link leads outside the repository, to {target}, which Git does not keep; "
            "put the file itself here"
        )
    return target


def examine(content: bytes, file: str, name: str) -> Loaded:
    """Read, decode and check one file."""
    document = read(content, file)
    if not document.value:
        return Loaded(name, document, None, _ordered(document, [*document.findings, *_readable(document)]))
    decoded = decode(document)
    if not isinstance(decoded, Cluster):
        new = _beside(document.findings, decoded, document)
        rest, held = _of_the_rest(document, new)
        return Loaded(name, document, None, _ordered(document, [*document.findings, *new, *rest]), held)
    findings = [*document.findings, *check(decoded), *_misplaced(decoded, name)]
    return Loaded(name, document, decoded, _ordered(document, findings))


def _beside(told: Iterable[Finding], mistakes: Iterable[Finding], document: Document) -> list[Finding]:
    """Return the mistakes of form about keys and values of which nothing was told as YAML."""
    places = {finding.at for finding in told}

    def there(finding: Finding) -> set[Position]:
        return {document.locate(structs.replace(finding, key=key))[0] for key in (True, False)}

    return [finding for finding in mistakes if not places & there(finding)]


def _readable(document: Document) -> list[Finding]:
    """Return the mistakes of form in what could be read behind a syntax error; a key that is missing may be what could
    not be read.
    """
    rest = document.rest
    decoded = decode(rest) if rest else None
    if rest is None or not isinstance(decoded, list):
        return []
    told = [each for each in _beside(document.findings, decoded, rest) if each.code != MISSING_KEY.code]
    return [structs.replace(each, at=rest.locate(each)[0], edits=()) for each in told]


def _of_the_rest(document: Document, mistakes: list[Finding]) -> tuple[list[Finding], int]:
    """Return what the rules find in a file with mistakes, and how many findings are held back: those that may come of
    what was left out or filled in.
    """
    found = decode_rest(document, mistakes)
    if not found:
        return [], 0
    cluster, places = found
    judged = list(check(cluster))
    if any(place[:1] == ("spec",) and place[1:] in _SECTIONS for place in places):
        return [], len(judged)
    sure = (each for each in judged if _is_sound(document, each, places) and not _looks_at(each, places))
    told = [*sure] if places else judged
    return told, len(judged) - len(told)


_SECTIONS = {(name,) for name in Cluster.__struct_encode_fields__}
"""Whole sections: rules of all the others may rest on them."""
_GIVING = {(), ("pool",), ("hardware",)}
"""What of a node or pool says what machines there are; nothing, where it is unreadable as a whole."""


def _is_sound(document: Document, finding: Finding, places: list[Steps]) -> bool:
    """Tell whether a finding is about a value that is given; or about a key, where it names both places that do not
    fit, and the sections that hold them are right.
    """
    if isinstance(finding.at, Position):
        return False
    at = from_the_top(finding.at)
    if not finding.key:
        return document.raw(at) is not None
    if not finding.also or isinstance(finding.also, Position) or not document.has(at):
        return False
    own = {at[:2], from_the_top(finding.also)[:2]}
    return not any(place[:2] in own or len(place) < 2 for place in places)


def _looks_at(finding: Finding, places: list[Steps]) -> bool:
    """Tell whether a finding is about one of these places, what is in it, or the section or list that holds it; or
    about what machines give, where that of some is not known; or whether its fix would write into one of them.
    """
    own = [from_the_top(at) for at in (finding.at, finding.also) if at and not isinstance(at, Position)]
    beside = any(len(at) >= len(place) - 1 and all(map(eq, at, place)) for at in own for place in places)
    lost = any(place[1] in {"nodes", "pools"} and place[3:4] in _GIVING for place in places if len(place) > 2)
    written = any(from_the_top(edit.at)[: len(place)] == place for edit in finding.edits for place in places)
    return beside or written or (lost and any(map(_counts_machines, own)))


def _counts_machines(at: Steps) -> bool:
    return len(at) > 2 and (at[1] in {"pools", "storage"} or "quotas" in at)


def _misplaced(cluster: Cluster, name: str) -> Iterable[Finding]:
    if cluster.name != name:
        message = f"the cluster is called {cluster.name}, its folder {name}"
        fix = f"call it {name}, or move the file to {cluster_file(cluster.name)}"
        at = ("metadata", "name")
        yield MISNAMED.complete(Finding(at=at, message=message, fix=fix, edits=put(at, name)))


def _ordered(document: Document, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, which are about this file, in the order of its text."""
    placed = [structs.replace(finding, file=document.file) for finding in findings]
    return tuple(sorted(placed, key=lambda finding: (document.locate(finding)[0], finding.code, finding.message)))
