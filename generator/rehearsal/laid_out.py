"""One side of a change as files of its own, and as the objects that Argo CD would apply of it."""

from pathlib import Path

from msgspec import Struct, structs

from generator.build.applications import build_some
from generator.build.manifests import documents
from generator.build.objects import Built
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.model.cluster import Cluster, cluster_file
from generator.rehearsal.charts import inflate
from generator.repository.reach import Reach, applications
from generator.repository.sides import FOLDERS, Side
from generator.spec.decode import decode
from generator.spec.reader import read


class LaidOut(Struct, frozen=True, kw_only=True):
    """A cluster on one side: its file, what is built of it, the folder for nodes, and what there is to say of that.
    `root` is the root Application, where Argo CD itself is to sync it.
    """

    cluster: Cluster
    built: Built
    bootstrap: Path
    notes: tuple[str, ...]
    root: Manifest | None = None


def lay_out(side: Side, name: str, folder: Path, *, argocd: bool = False) -> LaidOut:
    """Write the files of a cluster into an empty folder and build them, with `argocd` for Argo CD itself. Raises
    UsageError.
    """
    file = cluster_file(name)
    if not side.has(file):
        raise UsageError(f"{file}: not in {side.label}; a rehearsal needs the cluster before and after the change")
    cluster = decode(read(side.read(file), file))
    if not isinstance(cluster, Cluster):
        raise UsageError(f"{file}: cannot be read in {side.label}; `gen check` tells why")
    side.gather(f"clusters/{name}", f"overlays/{name}", "base", "workflows")
    wanted = {*applications(side.below(f"overlays/{name}"))}
    _write(side, name, folder, wanted)
    notes = inflate(folder, name, argocd=argocd)
    built = build_some(folder, name, wanted)
    if built.findings:
        first = built.findings[0]
        raise UsageError(f"{side.label}: {first.file}: {first.message}; nothing was rehearsed")
    return LaidOut(
        cluster=cluster,
        built=structs.replace(built, cluster=cluster),
        bootstrap=folder / "clusters" / name / "bootstrap",
        notes=tuple(notes),
        root=_root(side, name) if argocd else None,
    )


def _root(side: Side, name: str) -> Manifest:
    file = f"clusters/{name}/bootstrap/application-root.yaml"
    if not side.has(file):
        raise UsageError(f"{file}: not in {side.label}, so that nobody tells Argo CD where to begin; run `gen render`")
    (found,) = documents(side.read(file))
    return dict(found)


def _write(side: Side, name: str, folder: Path, wanted: set[str]) -> None:
    reach = Reach(side)
    places = {place for each in (f"clusters/{name}/argocd", *wanted) for place in reach.of(each)}
    for each in (*FOLDERS, f"overlays/{name}"):
        (folder / each).mkdir(exist_ok=True, parents=True)
    for path in {path for place in (*places, f"clusters/{name}/bootstrap/kubeadm") for path in side.below(place)}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(side.read(path))
