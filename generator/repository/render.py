"""Rendering a repository: every cluster to a tree, the tree against what stands, the difference onto the disk."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from time import perf_counter

from msgspec import Struct

from generator import __version__
from generator.layout.tree import Tree, lay_out, lock, merge
from generator.model.cluster import Cluster
from generator.repository.handedits import HandEdit, hand_edits
from generator.repository.history import Snapshot
from generator.repository.lock import exclusive
from generator.repository.plan import Owned, Plan, plan
from generator.repository.project import Loaded, cluster_file, examine, names
from generator.repository.scaffold import published_schema, scaffold
from generator.repository.writer import write

__all__ = ["KEPT", "Outcome", "render", "tree_of"]

# The user's, or another command's: never written, never removed.
KEPT = (
    "clusters/*/cluster.yaml",
    "clusters/*/argocd/custom/*",
    "overlays/*/*/custom/*",
    "overlays/*/*/upstream/*",
)
# Below this many clusters starting processes costs more than it saves (facts: python, many clusters).
MANY = 20


class Outcome(Struct, frozen=True, kw_only=True):
    """What a render did, or would do: `seconds` is how long each cluster took to compute."""

    plan: Plan
    components: dict[str, tuple[str, ...]]
    seconds: dict[str, float]
    edits: tuple[HandEdit, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether hand edits kept it from writing."""
        return bool(self.edits)


def render(
    root: Path,
    loaded: Sequence[Loaded],
    *,
    dry_run: bool,
    discard: Collection[str] = (),
    waiting: Callable[[str], None],
) -> Outcome:
    """Render the clusters `loaded` into the repository at `root`; clusters left out keep what they have.

    Writes nothing with `dry_run`, or when a file was edited by hand and is not in `discard`. Raises UsageError where
    the repository cannot be read or written; it is then as it was.
    """
    clusters = [one.cluster for one in loaded if one.cluster]
    everything = names(root)
    laid, seconds = _lay_out(clusters)
    whole = {cluster.name for cluster in clusters} >= set(everything)
    files = {**laid.files, **_shared()}
    with exclusive(root, waiting) as held:
        found = plan(held.root, files, {**laid.once, **scaffold()}, owned(everything, clusters, whole=whole))
        verdict = hand_edits(held.root, found, tree_of, version=__version__, discard=discard)
        outcome = Outcome(
            plan=found, components=laid.components, seconds=seconds, edits=verdict.edits, notes=verdict.notes
        )
        if not dry_run and not outcome.refused:
            write(held, found)
    return outcome


def owned(everything: Sequence[str], clusters: Sequence[Cluster], *, whole: bool) -> Owned:
    """Return what a render may remove. When only some clusters are rendered, bases and workflows that others
    may use stay; so do the folders of clusters that are not rendered, never those of clusters that are gone.
    """
    rendered = everything if whole else [cluster.name for cluster in clusters]
    folders = [f"clusters/{name}/{part}" for name in rendered for part in ("argocd", "bootstrap")]
    shared = ["base", "overlays", "workflows"] if whole else [f"overlays/{name}" for name in rendered]
    return Owned(folders=(*folders, *shared), kept=KEPT)


def _lay_out(clusters: Sequence[Cluster]) -> tuple[Tree, dict[str, float]]:
    if len(clusters) < MANY:
        timed = [_timed(cluster) for cluster in clusters]
    else:
        # Importing these costs 10 ms, which few clusters need not spend.
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
        from multiprocessing import get_context  # noqa: PLC0415

        with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
            timed = list(pool.map(_timed, clusters, chunksize=max(1, len(clusters) // 16)))
    seconds = {cluster.name: spent for cluster, (_, spent) in zip(clusters, timed, strict=True)}
    return merge(tree for tree, _ in timed), seconds


def _timed(cluster: Cluster) -> tuple[Tree, float]:
    begun = perf_counter()
    return lay_out(cluster), perf_counter() - begun


def _shared() -> dict[str, bytes]:
    return {"schemas/cluster.schema.json": published_schema(), **lock()}


def tree_of(snapshot: Snapshot) -> dict[str, bytes] | None:
    """Render the cluster files of a commit with this version of gen; None where one of them is wrong."""
    trees: list[Tree] = []
    for file in snapshot.files("clusters"):
        name = file.split("/")[1]
        if file != cluster_file(name):
            continue
        loaded = examine(snapshot.read(file) or b"", file, name)
        if loaded.cluster is None or loaded.wrong:
            return None
        trees.append(lay_out(loaded.cluster))
    return {**merge(trees).files, **_shared()}
