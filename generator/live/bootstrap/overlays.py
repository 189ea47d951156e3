"""What a bootstrap applies, built as Argo CD builds it later."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from generator.build.applications import build_some
from generator.build.broken import BrokenError
from generator.build.manifests import documents
from generator.build.objects import ROOT, Built, Object
from generator.build.stage import stage, temporary_folder
from generator.components.argo_cd import DEFINITION
from generator.components.component import NAMESPACES
from generator.errors import UsageError
from generator.model.cluster import Cluster

ARGO_CD = DEFINITION.name


class Overlays(Struct, frozen=True, kw_only=True):
    """The objects of the components that come before Argo CD, and of Argo CD, by component; those that somebody else
    installs have none. `root` are the project of the root Application and itself, `applications` the names of those
    that it makes.
    """

    objects: dict[str, tuple[Object, ...]]
    root: tuple[Object, ...]
    applications: frozenset[str]


def overlays(root: Path, cluster: Cluster) -> Overlays:
    """Build what comes before Argo CD syncs. Raises UsageError where something cannot be built, or is not vendored:
    what is inflated here could be something else than what Argo CD inflates.
    """
    if not (root / "overlays" / cluster.name).is_dir():
        raise UsageError(
            f"overlays/{cluster.name}: there is no such folder; `gen render` writes it, then commit and push"
        )
    names = (NAMESPACES, cluster.networks.cni, ARGO_CD)
    with temporary_folder() as copy:
        stage(root, cluster.name, copy)
        built = build_some(copy, cluster.name, [f"overlays/{cluster.name}/{name}" for name in names])
    _refuse(built)
    return Overlays(
        objects={name: tuple(one for one in built.objects if one.component == name) for name in names},
        root=(*_project(built), *_root(root, cluster)),
        applications=frozenset(one.name for one in built.of("Application") if one.component == ROOT),
    )


def _refuse(built: Built) -> None:
    if built.findings:
        raise BrokenError(built.findings[0])
    if built.unvendored:
        names = " ".join(built.unvendored)
        raise UsageError(
            f"not vendored: {', '.join(built.unvendored)}; what comes before Argo CD is applied as it stands in Git: "
            f"`gen vendor {names}`, then commit and push"
        )
    if built.remote:
        named = ", ".join(f"{one.address} ({one.file})" for one in built.elsewhere)
        raise UsageError(f"{named}: is in the network; what comes before Argo CD must stand in the repository")


def _project(built: Built) -> Iterator[Object]:
    # Argo CD refuses an Application in a project which that would bring itself (facts: layout, Argo CD).
    return (one for one in built.of("AppProject") if one.component == ROOT and one.name == ROOT)


def _root(root: Path, cluster: Cluster) -> Iterator[Object]:
    file = f"clusters/{cluster.name}/bootstrap/application-root.yaml"
    for manifest in documents((root / file).read_bytes()):
        yield Object(manifest, ROOT, file)
