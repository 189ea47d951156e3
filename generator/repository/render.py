"""Rendering a repository: every cluster to a tree, the tree against what stands, the difference onto the disk."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from msgspec import Struct, structs

from generator.errors import UsageError
from generator.layout.files import Files
from generator.layout.lock import LOCK, LockFile, lock_file
from generator.layout.tree import Known, Tree, lay_out, merge
from generator.layout.upstream import FOUND, INPUTS, KUSTOMIZATION, folder
from generator.model.cluster import Cluster, cluster_file
from generator.repository.cluster_files import Loaded, examine
from generator.repository.hand_edits import hand_edits
from generator.repository.history import Snapshot
from generator.repository.outcome import Outcome, Rendered, count
from generator.repository.own_code import refuse_newer, this_gen
from generator.repository.parallel import spread
from generator.repository.places import RENDERED, gone, misnamed, names
from generator.repository.plan import Change, Owned, Plan, plan
from generator.repository.plan_notes import plan_notes
from generator.repository.scaffold import SCHEMA, published_schema, scaffold
from generator.repository.unused_custom import unused
from generator.repository.vendored import (
    OvertakenError,
    OwnFileError,
    Standing,
    intact,
    locked,
    on_disk,
    standing,
    vendored,
    vendored_names,
)
from generator.repository.write_lock import exclusive
from generator.repository.writer import write

# The user's, or another command's: never written, never removed.
KEPT = (
    "clusters/*/cluster.yaml",
    "clusters/*/argocd/custom/*",
    "overlays/*/*/custom/*",
)


class VendoredChange(Struct, frozen=True, kw_only=True):
    """What `gen vendor` brings: new `files` of upstream folders and of CRDs in bases, the `folders` they replace whole,
    and the digests that were found for them. `seen` is what stood vendored when it began, `unused` what gen.lock names
    and nothing needs any more.
    """

    files: Mapping[str, bytes] = {}
    folders: tuple[str, ...] = ()
    lock: LockFile = LockFile()
    seen: Standing | None = None
    unused: frozenset[str] = frozenset()


NOTHING = VendoredChange()


def render(  # noqa: PLR0913 - what a render may be told
    root: Path,
    loaded: Sequence[Loaded],
    *,
    dry_run: bool,
    discard: Collection[str] = (),
    waiting: Callable[[str], None],
    fresh: VendoredChange = NOTHING,
    verify: bool = False,
    unchanged: Mapping[str, Rendered] = {},
) -> Outcome:
    """Render the clusters `loaded` into the repository at `root`; clusters left out keep what they have. What stands
    vendored is kept, and replaced where `fresh` brings it anew; `verify` reads all of it and compares it with its seal.
    Clusters that are `unchanged` count as rendered: nothing differs from what they were rendered as.

    Writes nothing with `dry_run`, or when a file was edited by hand and is not in `discard`. Raises OwnFileError for
    a conflict in what gen itself needs, OvertakenError when another process has vendored since `fresh` was made,
    UsageError where the repository cannot be read or written: it is as it was.
    """
    with exclusive(root, waiting) as held:
        if fresh.seen is not None and fresh.seen != standing(held.root):
            raise OvertakenError(f"{root}: another gen has vendored here meanwhile; run again")
        refuse_newer(on_disk(held.root), discard)
        planned = _planned(held.root, loaded, fresh, unchanged)
        found, laid = planned.plan, planned.laid
        verdict = hand_edits(held.root, found, tree_of, writer=this_gen(), discard=discard)
        outcome = Outcome(
            plan=structs.replace(found, unchanged=found.unchanged + count(unchanged.values(), besides=planned.files)),
            rendered=dict(sorted({**unchanged, **planned.rendered}.items())),
            seconds=planned.seconds,
            damaged=_damaged(held.root, laid) if verify else (),
            edits=verdict.edits,
            notes=(*verdict.notes, *plan_notes(found), *unused(held.root, laid, planned.everything)),
        )
        if not dry_run and not outcome.refused:
            write(held, found)
    return outcome


def changes(root: Path, loaded: Sequence[Loaded]) -> tuple[Change, ...]:
    """Return what rendering these clusters would change, hand edits too. Takes no lock and asks nobody. Raises as
    `render`.
    """
    refuse_newer(on_disk(root), ())
    return _planned(root, loaded, NOTHING, {}).plan.changes


class _Planned(NamedTuple):
    """What clusters are laid out as, all files that should stand for it, and what differs from what stands."""

    laid: Tree
    files: Files
    plan: Plan
    rendered: dict[str, Rendered]
    seconds: dict[str, float]
    everything: Sequence[str]


def _planned(
    root: Path, loaded: Sequence[Loaded], fresh: VendoredChange, unchanged: Mapping[str, Rendered]
) -> _Planned:
    clusters, everything = [one.cluster for one in loaded if one.cluster], names(root)
    whole = {*unchanged, *(cluster.name for cluster in clusters)} >= set(everything)
    lock = _joined(locked(on_disk(root)), fresh)
    trees, seconds = _lay_out(root, clusters, lock, fresh)
    laid = merge(trees)
    files = {**laid.files, **fresh.files, **shared_files(lock)}
    if whole:
        refuse_misnamed(root)
    mine = owned(everything, clusters, laid, fresh, whole=whole, unchanged=unchanged, gone=gone(root) if whole else ())
    found = plan(root, files, {**laid.once, **scaffold()}, mine)
    rendered = {one.name: _rendered(one.name, tree) for one, tree in zip(clusters, trees, strict=True)}
    return _Planned(laid, files, found, rendered, seconds, everything)


def refuse_misnamed(root: Path) -> None:
    """Raise UsageError where a whole cluster would be removed because its file was given another name."""
    if wrong := misnamed(root):
        raise UsageError(f"{'; '.join(wrong.values())}; nothing was written: all that stands for it would be removed")


def _damaged(root: Path, laid: Tree) -> tuple[str, ...]:
    places = [
        (cluster, name)
        for cluster, states in laid.states.items()
        for name, state in states.items()
        if state == "vendored"
    ]
    known = {cluster: vendored(on_disk(root), cluster, laid.states[cluster]) for cluster in laid.states}
    return tuple(
        f"{cluster}/{name}" for cluster, name in places if not intact(root, cluster, name, known[cluster][name].found)
    )


def owned(  # noqa: PLR0913 - what decides
    everything: Sequence[str],
    clusters: Sequence[Cluster],
    laid: Tree,
    fresh: VendoredChange,
    *,
    whole: bool,
    unchanged: Mapping[str, Rendered] = {},
    gone: Collection[str] = (),
) -> Owned:
    """Return what a render may remove. When only some clusters are rendered, bases and workflows that others
    may use stay; so do the folders of clusters that are not rendered, never those of clusters that are `gone`.
    What stands vendored is `gen vendor`'s, as long as the cluster has the component.
    """
    rendered = everything if whole else [cluster.name for cluster in clusters]
    changed = [name for name in rendered if name not in unchanged]
    folders = [f"clusters/{name}/{part}" for name in (*changed, *gone) for part in RENDERED]
    shared = ["base", "overlays", "workflows"] if whole else [f"overlays/{name}" for name in changed]
    kept = {f"overlays/{name}" for name in unchanged}.union(*(one.held for one in unchanged.values()))
    return Owned(
        folders=(*folders, *shared, *fresh.folders),
        kept=KEPT,
        held=(laid.held | kept) - {*fresh.folders},
        standing=frozenset(path for one in unchanged.values() for path in one.shared),
    )


def _joined(standing: LockFile, fresh: VendoredChange) -> LockFile:
    """Return the lock with what is fresh, without what is unused."""
    new = fresh.lock
    pairs = ((standing.charts, new.charts), (standing.manifests, new.manifests), (standing.images, new.images))
    charts, manifests, images = (
        {name: digest for name, digest in {**now, **then}.items() if name not in fresh.unused} for now, then in pairs
    )
    return LockFile(charts=charts, manifests=manifests, images=images)


def _lay_out(
    root: Path, clusters: Sequence[Cluster], lock: LockFile, fresh: VendoredChange
) -> tuple[list[Tree], dict[str, float]]:
    brought = _brought(fresh.files)
    jobs = [_Job(root, cluster, lock, brought.get(cluster.name, {})) for cluster in clusters]
    timed = spread(_timed, jobs)
    seconds = {cluster.name: spent for cluster, (_, spent) in zip(clusters, timed, strict=True)}
    return [tree for tree, _ in timed], seconds


def _rendered(name: str, tree: Tree) -> Rendered:
    own = (f"clusters/{name}/", f"overlays/{name}/")
    shared = [path for path in tree.files if not path.startswith(own)]
    return Rendered(
        components=tree.components[name],
        states=tree.states[name],
        held=tuple(sorted(tree.held)),
        own=len(tree.files) - len(shared) + len(tree.once),
        shared=(*shared, SCHEMA, LOCK),
    )


def _brought(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Return what decides the layout among fresh files, by cluster: a few small ones of many, for other processes."""
    found: dict[str, dict[str, bytes]] = {}
    for path, content in files.items():
        parts = path.split("/")
        if parts[0] == "overlays" and parts[-1] in {INPUTS, FOUND, KUSTOMIZATION}:
            found.setdefault(parts[1], {})[path] = content
    return found


class _Job(NamedTuple):
    """One cluster to be laid out, beside what stands on disk and what is fresh."""

    root: Path
    cluster: Cluster
    lock: LockFile
    fresh: Mapping[str, bytes]


def _timed(job: _Job) -> tuple[Tree, float]:
    begun = perf_counter()
    disk, name = on_disk(job.root), job.cluster.name
    brought = {path.split("/")[2] for path in job.fresh}
    known = vendored(
        lambda path: job.fresh.get(path) or disk(path), name, sorted({*vendored_names(job.root, name), *brought})
    )
    if broken := [component for component, one in known.items() if not one.inputs]:
        # Without what was found there, projects and the mirror would lose what the component needs.
        raise OwnFileError(
            f"{folder(name, broken[0])}/{FOUND}",
            f": cannot be read, as after a merge with a conflict in it; `gen vendor {' '.join(broken)}` makes it anew",
        )
    return lay_out(job.cluster, Known(upstream=known, lock=job.lock)), perf_counter() - begun


def shared_files(lock: LockFile) -> dict[str, bytes]:
    """Return the files that are the same whatever the clusters."""
    return {SCHEMA: published_schema(), **lock_file(lock, this_gen().code)}


def tree_of(snapshot: Snapshot, cluster: str = "") -> dict[str, bytes] | None:
    """Render the file of a cluster of a commit, or all of them, with this gen; None where one, or `gen.lock`, is wrong.
    What was vendored then is taken as it stands there: only inflating it again could tell.
    """
    try:
        lock = locked(snapshot.read)
    except OwnFileError:
        return None
    trees: list[Tree] = []
    place = f"overlays/{cluster}" if cluster else "overlays"
    upstream = {path: b"" for path in snapshot.files(place) if path.split("/")[3:4] == ["upstream"]}
    for name in [cluster] if cluster else sorted({path.split("/")[1] for path in snapshot.files("clusters")}):
        content = snapshot.read(file := cluster_file(name))
        if content is None:
            continue
        loaded = examine(content, file, name)
        if loaded.cluster is None or loaded.wrong:
            return None
        brought = {path.split("/")[2] for path in upstream if path.startswith(f"overlays/{name}/")}
        known = Known(upstream=vendored(snapshot.read, name, sorted(brought)), lock=lock)
        trees.append(lay_out(loaded.cluster, known))
    bases = () if cluster else snapshot.files("base")
    definitions = [path for path in bases if path.split("/")[3:4] == ["crds"]]
    standing = {path: snapshot.read(path) or b"" for path in (*upstream, *definitions)}
    return {**standing, **merge(trees).files, **shared_files(lock)}
