"""`gen vendor`: what stands upstream, committed as the objects it becomes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from generator.layout.files import Files
from generator.layout.lock import LockFile
from generator.layout.mirror import shared_images
from generator.layout.states import State
from generator.layout.upstream import DEFINITION, Found, crds, folder
from generator.model.finding import Finding
from generator.repository.cluster_files import Loaded
from generator.repository.outcome import Outcome
from generator.repository.places import names
from generator.repository.render import VendoredChange, render
from generator.repository.vendored import OvertakenError, locked, on_disk, standing, vendored
from generator.repository.write_lock import exclusive
from generator.upstream.changes import Changes, changes
from generator.upstream.charts import FetchOptions
from generator.upstream.component_files import (
    FileLayout,
    FinishedTask,
    all_component_objects,
    lay_out_files,
    objects_in,
)
from generator.upstream.component_objects import ComponentObjects
from generator.upstream.findings import Place
from generator.upstream.gather import gather
from generator.upstream.tasks import Task, needed, sites, tasks
from generator.upstream.vendored_files import on_disk as vendored_folder
from generator.upstream.vendored_files import read
from generator.upstream.vendored_hand_edits import Comparison, edited

NOTHING = FileLayout({}, ())
# Each time somebody else has ended in between, so that all of several processes come to an end.
_ATTEMPTS = 5


class Options(Struct, frozen=True, kw_only=True):
    """What `gen vendor` is to do. `components`: only these, whatever their state. `check`: inflate all of it
    again from what is locked, and write nothing. `cluster_files`: changed ones, by path, to be written with the rest.
    """

    how: FetchOptions
    components: tuple[str, ...] = ()
    check: bool = False
    dry_run: bool = False
    discard: frozenset[str] = frozenset()
    cluster_files: Mapping[str, bytes] = {}


class Vendored(Struct, frozen=True, kw_only=True):
    """What became of one component; `state` is what stood before, `seconds` those of fetching and inflating."""

    cluster: str
    component: str
    state: State
    objects: int
    definitions: int
    pulled: int
    seconds: float
    changes: Changes = Changes()


class Report(Struct, frozen=True, kw_only=True):
    """What was done. With `findings`, nothing was written, and `outcome` is None or says what was refused. `used` is
    what the clusters need of what gen.lock names.
    """

    did: tuple[Vendored, ...]
    untouched: int
    findings: tuple[tuple[Place, Finding], ...]
    notes: tuple[str, ...]
    used: frozenset[str]
    outcome: Outcome | None = None

    @property
    def refused(self) -> bool:
        """Whether hand edits kept it from writing."""
        return self.outcome is not None and self.outcome.refused

    @property
    def failed(self) -> set[Place]:
        """The clusters and components with something wrong."""
        return {place for place, _ in self.findings}

    @property
    def differing(self) -> list[str]:
        """The vendored files that are not what the locked charts become."""
        return (
            [change.path for change in self.outcome.plan.changes if _is_vendored(change.path)] if self.outcome else []
        )


def vendor(
    root: Path, loaded: Sequence[Loaded], options: Options, tell: Callable[[str], None], waiting: Callable[[str], None]
) -> Report:
    """Inflate what is to be inflated, and write it with everything that follows from it. Nothing is written with
    findings, with `check` or with `dry_run`. Begins again when another process has vendored meanwhile. Raises
    UsageError.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _attempt(root, loaded, options, tell, waiting)
        except OvertakenError:
            tell("another gen has vendored here meanwhile: beginning again")
    return _attempt(root, loaded, options, tell, waiting)


def _attempt(
    root: Path, loaded: Sequence[Loaded], options: Options, tell: Callable[[str], None], waiting: Callable[[str], None]
) -> Report:
    with exclusive(root, waiting):
        seen, lock = standing(root), locked(on_disk(root))
        found = sites(root, [one.cluster for one in loaded if one.cluster], lock)
    wanted = tasks(found, options.components, everything=options.check)
    unlocked = [(one, name) for one in wanted for name in sorted(needed(one.component) - lock.sources)]
    # What is checked is checked against the lock: what it does not name is not worth a download.
    todo = [one for one in wanted if one not in [task for task, _ in unlocked]] if options.check else wanted
    made, new = gather(todo, lock, options.how, tell)
    ready = all_component_objects(root, found, made)
    findings = [(one.task.place, each) for one in ready for each in one.objects.findings]
    findings += [(one.place, _unlocked(name)) for one, name in unlocked] if options.check else []
    notes = [f"{'/'.join(one.task.place)}: {note}" for one in ready for note in one.objects.notes]
    notes += [] if findings else _accepted(lock, new)
    laid = NOTHING if findings else lay_out_files(root, found, ready)
    if not findings and not options.check:
        comparison = Comparison(
            root=root, sites=found, laid=laid, lock=_both(lock, new), how=options.how, discard=options.discard
        )
        edits = edited(comparison, todo)
        findings, notes = list(edits.findings), [*notes, *edits.notes]
    did = tuple(_did(root, laid, one) for one in ready)
    used = frozenset(name for site in found for one in site.components for name in needed(one))
    whole = {site.cluster.name for site in found} >= set(names(root))
    fresh = VendoredChange(
        files={**laid.files, **options.cluster_files},
        folders=laid.folders,
        lock=new,
        seen=seen,
        unused=lock.sources - used if whole else frozenset(),
    )
    outcome = None if findings else _write(root, loaded, options, fresh, waiting)
    untouched = sum(len(site.states) for site in found) - len(todo)
    return Report(
        did=did, untouched=untouched, findings=tuple(findings), notes=tuple(notes), used=used, outcome=outcome
    )


def _write(
    root: Path, loaded: Sequence[Loaded], options: Options, fresh: VendoredChange, waiting: Callable[[str], None]
) -> Outcome:
    return render(
        root,
        loaded,
        dry_run=options.dry_run or options.check,
        # What a person wrote into a cluster file stays: only a version in it is new.
        discard={*options.discard, *options.cluster_files},
        waiting=waiting,
        fresh=fresh,
    )


def _both(lock: LockFile, new: LockFile) -> LockFile:
    """Return the lock as it stood, with what it did not name."""
    return LockFile(charts={**new.charts, **lock.charts}, manifests={**new.manifests, **lock.manifests})


def _accepted(lock: LockFile, new: LockFile) -> list[str]:
    """Return what gen.lock held in another digest: who accepts it sees both."""
    before, after = ({**one.charts, **one.manifests} for one in (lock, new))
    return [
        f"{name}: another digest is accepted: {before[name]} -> {digest}"
        for name, digest in after.items()
        if before.get(name, digest) != digest
    ]


def _unlocked(name: str) -> Finding:
    return Finding(message=f"{name} is not in gen.lock yet", fix="run `gen vendor`, and commit what it writes")


def _did(root: Path, laid: FileLayout, one: FinishedTask) -> Vendored:
    task, objects = one.task, one.objects
    return Vendored(
        cluster=task.cluster.name,
        component=task.component.name,
        state=task.state,
        objects=len(objects.items),
        definitions=len(objects.definitions),
        pulled=one.made.pulled,
        seconds=one.made.seconds,
        changes=Changes() if task.state == "not vendored" else _changes(root, laid, task, objects),
    )


def _changes(root: Path, laid: FileLayout, task: Task, objects: ComponentObjects) -> Changes:
    """Compare what stands with what comes; only files that differ are read."""
    cluster, component = task.place
    standing = vendored_folder(root, cluster, component)
    disk, fresh = {**standing.files, **standing.definitions}, _coming(root, laid, task, objects)
    old = objects_in({name: content for name, content in disk.items() if fresh.get(name) != content})
    new = objects_in({name: content for name, content in fresh.items() if disk.get(name) != content})
    known = vendored(on_disk(root), cluster, [component])[component].found
    if not known.seal:
        # A merge left marks in it, or it is gone: what stands beside it names the same images.
        known = Found(images=shared_images(objects_in(standing.files)))
    return changes((old, known), (new, objects.found))


def _coming(root: Path, laid: FileLayout, task: Task, objects: ComponentObjects) -> Files:
    """Return what a component will be made of, by name: CRDs that stay in a base, for other clusters have them, too."""
    base = crds(task.component.name, task.component.version)
    places = (f"{folder(*task.place)}/", f"{base}/")
    fresh = {path.rpartition("/")[2]: content for path, content in laid.files.items() if path.startswith(places)}
    if objects.definitions and not any(name.startswith(DEFINITION) for name in fresh):
        fresh |= read(root / base)
    return fresh


def _is_vendored(path: str) -> bool:
    parts = path.split("/")
    return parts[3:4] in (["upstream"], ["crds"]) and parts[0] in {"overlays", "base"}
