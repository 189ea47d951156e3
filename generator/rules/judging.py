"""What is built, judged: whole clusters, or any folder, alone or within a cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import chain
from pathlib import Path

from msgspec import Struct, structs

from generator.build.applications import build
from generator.build.broken import check_vendored
from generator.build.crds import with_definitions
from generator.build.folder import read_manifests, substituted
from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.plural import plural
from generator.model.waiver import Waiver
from generator.repository.cluster_files import Loaded
from generator.repository.locate import Located, Locator
from generator.rules.engine import examine, unjudged
from generator.rules.waivers import Codes, Waived, waive


class Answers(Struct, frozen=True, kw_only=True):
    """What an API server says against objects, in the order in which Argo CD would meet them, how many it judged and,
    in words, what it could not.
    """

    findings: tuple[Finding, ...] = ()
    judged: int = 0
    unjudged: tuple[str, ...] = ()


class Judges(Struct, frozen=True, kw_only=True):
    """Who judges objects, and by what: the `rules`, an API `server`, or both; `schemas` are files and folders with
    CRDs that are not among the objects. Waivers hold until `today`.
    """

    rules: bool
    server: Callable[[Built], Answers] | None
    schemas: tuple[Path, ...]
    codes: Codes
    today: date


class Judged(Struct, frozen=True, kw_only=True):
    """A cluster or folder, how many objects it has, and what was found in it. `notes` and `unseen` are those of what
    was built; `unjudged` is what the rules could not judge, in words, and `unasked` what the server could not.
    """

    name: str
    objects: int
    found: list[Located]
    waived: tuple[tuple[Waiver, int], ...]
    unjudged: tuple[str, ...]
    unasked: tuple[str, ...]
    notes: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def findings(self) -> list[Finding]:
        """What was found, without its places."""
        return [each.finding for each in self.found]


def judge_clusters(root: Path, loaded: Iterable[Loaded], judges: Judges) -> Iterator[Judged]:
    """Judge each cluster as it stands in the repository. Raises UsageError where Kustomize or a server fails."""
    loaded = [*loaded]
    locator = Locator(loaded, root)
    for one in loaded:
        if one.cluster:
            yield _cluster(root, one, one.cluster, judges, locator)


def judge_paths(
    root: Path, paths: Iterable[Path], cluster: Cluster | None, judges: Judges, namespace: str = ""
) -> Iterator[Judged]:
    """Judge the objects of folders and files, as part of a cluster where there is one: what they name and select may
    then be the cluster's, whose waivers hold. What names no namespace goes to `namespace`. There files are judged
    together, as one may name what is in another, if no object is in two of them: which of such belong together nobody
    knows, nor without a cluster what is applied at all. Raises UsageError for what is not there, and as
    `judge_clusters`.
    """
    around = built_around(root, cluster, judges) if cluster else None
    for found in _joined((brought(path, namespace), around is None or path.is_dir()) for path in paths):
        yield judge_brought(found, around, judges)


def built_around(root: Path, cluster: Cluster, judges: Judges) -> Built:
    """Return a cluster that others' objects are judged as part of. Raises UsageError where Kustomize fails."""
    return with_definitions(build(root, cluster), judges.schemas)


def _cluster(root: Path, one: Loaded, cluster: Cluster, judges: Judges, locator: Locator) -> Judged:
    built = with_definitions(build(root, cluster, tolerant=True), judges.schemas)
    broken = (*built.findings, *check_vendored(root, cluster))
    findings, unasked = _findings(built, judges)
    # What is not vendored, or was not built, may well have what a waiver is for.
    whole = not (built.unseen or broken)
    codes = judges.codes if whole else structs.replace(judges.codes, looked_for=())
    waived = waive(cluster, findings, judges.today, codes)
    of_waivers = [structs.replace(each, file=one.document.file) for each in waived.findings]
    return Judged(
        name=one.name,
        objects=len(built.objects),
        found=locator.locate([*of_waivers, *broken, *waived.kept]),
        waived=waived.waived,
        unjudged=_unjudged(built, judges),
        unasked=unasked,
        notes=built.notes,
        unseen=built.unseen,
    )


def judge_brought(folder: Built, around: Built | None, judges: Judges) -> Judged:
    """Judge what was read of a folder or of files. Raises UsageError where a server fails."""
    whole = with_definitions(_together(folder, around), judges.schemas)
    findings, unasked = _findings(whole, judges)
    own = tuple(one for one in findings if one.object and not one.object.component)
    waived = Waived(own, (), ())
    if whole.cluster:
        # What a waiver is for may be in the rest of the cluster.
        waived = waive(whole.cluster, own, judges.today, structs.replace(judges.codes, looked_for=()))
    return Judged(
        name=folder.name if not around else f"{folder.name} within {around.name}",
        objects=len(folder.objects),
        found=Locator(()).locate([*folder.findings, *waived.kept]),
        waived=waived.waived,
        unjudged=_unjudged(whole, judges),
        unasked=unasked,
        notes=folder.notes,
        unseen=whole.unseen,
    )


def _joined(read: Iterable[tuple[Built, bool]]) -> Iterator[Built]:
    """Join files where no object is in two of them; what is to stay alone, as the second says, does."""
    found = [*read]
    files = [one for one, alone in found if not alone]
    holding = Counter(chain.from_iterable({each.identity for each in one.objects} - {None} for one in files))
    if len(files) < 2 or any(number > 1 for number in holding.values()):
        yield from (one for one, _ in found)
        return
    yield from (one for one, alone in found if alone)
    together = structs.replace(
        files[0],
        name=f"{files[0].name} and {plural(len(files) - 1, 'more file')}",
        objects=tuple(chain.from_iterable(one.objects for one in files)),
        notes=tuple(chain.from_iterable(one.notes for one in files)),
        findings=tuple(chain.from_iterable(one.findings for one in files)),
    )
    yield substituted(together)


def brought(path: Path, namespace: str = "") -> Built:
    """Return what is read of a folder, a file or standard input. What may live in a namespace and names none is put
    into this one, as kubectl does; none is put into an empty one. Raises UsageError as `read_manifests`.
    """
    folder = read_manifests(path)
    known = Kinds.of(folder)
    objects = tuple(_with_namespace(one, namespace, known) for one in folder.objects)
    return structs.replace(folder, objects=objects, into=namespace)


def _with_namespace(one: Object, namespace: str, known: Kinds) -> Object:
    if not namespace or one.namespace or not _lives_in_one(one, known):
        return one
    metadata = {**one.manifest["metadata"], "namespace": namespace}
    return structs.replace(one, manifest={**one.manifest, "metadata": metadata})


def _lives_in_one(one: Object, known: Kinds) -> bool:
    """Tell whether an object lives in a namespace, as far as its kind says in any version. Of what nobody here knows
    the name tells it: a ClusterPolicy lives in none.
    """
    said = [known.namespaced(version, one.kind) for version in (one.version, *known.versions(one.group, one.kind))]
    found = next((each for each in said if each is not None), None)
    return found if found is not None else not (known.ours(one.group) or one.kind.startswith("Cluster"))


def _together(folder: Built, around: Built | None) -> Built:
    if not around:
        return folder
    there = {one.identity for one in around.objects} - {None}
    unplaced = {(one.group, one.kind) for one in around.objects if not one.namespace}
    found = [_taken_out(one, folder.into) if (one.group, one.kind) in unplaced else one for one in folder.objects]
    # Whatever its file is an alternative to, what the cluster has as well is there twice.
    own = [structs.replace(one, variant="") if one.identity in there else one for one in found]
    objects = (*around.objects, *own)
    notes = (*folder.notes, *around.notes)
    remote = (*around.remote, *folder.remote)
    return structs.replace(around, objects=objects, notes=notes, remote=remote, into=folder.into)


def _taken_out(one: Object, namespace: str) -> Object:
    """Return an object without the namespace into which it was put: the cluster has others of its kind, in none."""
    metadata = one.manifest["metadata"]
    if one.namespace != namespace:
        return one
    bare = {key: value for key, value in metadata.items() if key != "namespace"}
    return structs.replace(one, manifest={**one.manifest, "metadata": bare})


def _findings(built: Built, judges: Judges) -> tuple[list[Finding], tuple[str, ...]]:
    """Return what is wrong with objects, and what the server could not judge."""
    found = examine(built) if judges.rules else []
    answers = judges.server(built) if judges.server else Answers()
    return [*found, *answers.findings], answers.unjudged


def _unjudged(built: Built, judges: Judges) -> tuple[str, ...]:
    return tuple(unjudged(built)) if judges.rules else built.notes
