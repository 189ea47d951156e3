"""Two states of a repository, compared by what each would have Argo CD apply."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from generator.build.difference import differences
from generator.build.objects import ROOT, Built
from generator.components.common import SYNC_WAVE
from generator.components.component import Manifest
from generator.model.change import ABSENT, CLUSTER, NOTHING, Beside, FieldChange, ObjectChange
from generator.model.finding import Finding
from generator.repository.reach import Reach, applications, holding, sharing
from generator.repository.sides import FOLDERS, Side
from generator.review.bootstrap import bootstrap_changes
from generator.review.charts import chart_changes
from generator.review.component_versions import version_changes
from generator.review.elsewhere import elsewhere_changes, moved_folders
from generator.review.patches import patch_changes
from generator.review.plain_folders import with_plain
from generator.review.standing import BOOTSTRAP, Standing

_VENDORED = re.compile(r"^overlays/[^/]+/[^/]+/upstream/|^base/[^/]+/[^/]+/crds/")


class ClusterChanges(Struct, frozen=True, kw_only=True):
    """What differs on one cluster. `waves` are those of Applications, on the new side where they are on both. `unseen`
    names Applications of which something is not vendored: versions and values of charts are all that is compared of it.
    `findings` tell what could not be built, on either side. `beside` is all that was built.
    """

    cluster: str
    changes: tuple[ObjectChange, ...]
    waves: Mapping[str, int] = {}
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    beside: Beside = NOTHING


def compare(old: Side, new: Side, paths: Collection[str], clusters: Collection[str] = ()) -> list[ClusterChanges]:
    """Return what differs from `old` to `new`, cluster by cluster, for those that differ; `paths` are the files that
    do. Only Applications whose files differ are built. Raises UsageError.
    """
    folders = {*applications(paths), *sharing(new, paths), *holding(new, paths)}
    names = {path.split("/")[1] for path in (*folders, *paths) if path.split("/")[0] in {"clusters", "overlays"}}
    for side in (old, new):
        side.gather(*(f"{top}/{name}" for name in names for top in ("clusters", "overlays")), "base", "workflows")
    before, after = ({name for name in names if _stands(side, name)} for side in (old, new))
    called = _called_otherwise(old, new, before, after)
    found: list[ClusterChanges] = []
    for name in sorted(names - {*called.values()}):
        former = called.get(name, name)
        if clusters and name not in clusters and former not in clusters:
            continue
        if (name in after) != (former in before):
            found.append(whole(old, new, name))
        elif former != name or _differs(name, paths, folders):
            found.append(_cluster(Standing(old, former), Standing(new, name), folders, paths))
    return found


def _stands(side: Side, name: str) -> bool:
    """Tell whether there is something for the cluster's root Application to apply: `custom/` stays the user's."""
    return any(not path.startswith("custom/") for path in Standing(side, name).below(f"clusters/{name}/argocd"))


def _called_otherwise(old: Side, new: Side, before: set[str], after: set[str]) -> dict[str, str]:
    """Return the former name of each cluster that goes by another one: it has most of the nodes of one that went."""
    gone = {name: Standing(old, name).nodes().keys() for name in before - after}
    found: dict[str, str] = {}
    for name in sorted(after - before):
        nodes = Standing(new, name).nodes().keys()
        alike = {other: 2 * len(nodes & names) / (len({*nodes, *names}) or 1) for other, names in gone.items()}
        former = max(alike, key=lambda other: alike[other], default="")
        if former and alike[former] > 1 and former not in found.values():
            found[name] = former
    return found


def whole(old: Side, new: Side, name: str) -> ClusterChanges:
    """Return the one row of a cluster that came or went."""
    on, side = ("added", new) if _stands(new, name) else ("removed", old)
    change = cluster_change(on, name, {"nodes": sorted(Standing(side, name).nodes())})
    return ClusterChanges(cluster=name, changes=(change,))


def cluster_change(on: Any, name: str, known: dict[str, Any], to: str = "") -> ObjectChange:
    """Return the change of a whole cluster that came, went or is called `to` now; `known` is what is told of it."""
    old, new = (known if on != "added" else {}), (known if on != "removed" else {})
    whole = FieldChange((), old or ABSENT, new or ABSENT)
    return ObjectChange(
        on=on, kind=CLUSTER, namespace="", name=name, application="", old=old, new=new, fields=(whole,), to=to
    )


def _differs(name: str, paths: Iterable[str], folders: Iterable[str]) -> bool:
    mine = (f"overlays/{name}/", f"clusters/{name}/argocd/", f"clusters/{name}/{BOOTSTRAP}/")
    return any(path.startswith(mine) for path in (*paths, *(f"{folder}/" for folder in folders)))


def _cluster(old: Standing, new: Standing, folders: Collection[str], paths: Collection[str]) -> ClusterChanges:
    """Compare one cluster, which may go by another name than before: then all of it is built."""
    renamed = old.name != new.name
    wanted = None if renamed else _of(new.name, {*folders, *_moved(old, new, folders, paths)})
    both = build_side(old.side, old.name, wanted), build_side(new.side, new.name, wanted)
    (before, after), plain = with_plain((old.side, new.side), both)
    changes = [
        *([cluster_change("renamed", old.name, {"nodes": sorted(old.nodes())}, new.name)] if renamed else []),
        *version_changes(old, new),
        *chart_changes(old, new),
        *patch_changes(old, new, {*before.unvendored, *after.unvendored}),
        *_seen(differences(before.objects, after.objects), before, after),
        *elsewhere_changes(before, after, paths, plain),
        *bootstrap_changes(old, new),
    ]
    return ClusterChanges(
        cluster=new.name,
        changes=tuple(changes),
        waves={**_waves(before), **_waves(after)},
        unseen=tuple(sorted({*before.unvendored, *after.unvendored})),
        notes=tuple(dict.fromkeys((*before.notes, *after.notes))),
        findings=(*before.findings, *after.findings),
        beside=Beside(_by_kind(before), _by_kind(after), _told(before, after)),
    )


def _moved(old: Standing, new: Standing, folders: Collection[str], paths: Collection[str]) -> set[str]:
    """Return the folders of Applications that have another one now, whose files may be as they were."""
    argocd = f"clusters/{new.name}/argocd"
    if argocd not in folders and not any(path.startswith(f"{argocd}/") for path in paths):
        return set()
    return moved_folders(*(build_side(one.side, one.name, ()) for one in (old, new)))


def _of(name: str, folders: Collection[str]) -> set[str]:
    return {folder for folder in folders if folder.startswith(f"overlays/{name}/")}


def _seen(changes: Iterable[ObjectChange], before: Built, after: Built) -> Iterator[ObjectChange]:
    """Yield the changes, but for objects of upstream that only one side has vendored, and for those of Applications
    that could not be built on one side: they did not come or go.
    """
    unseen = {"added": {*before.unvendored}, "removed": {*after.unvendored}}
    broken = {*before.broken, *after.broken}
    for change in changes:
        if change.application in broken:
            continue
        if change.application not in unseen.get(change.on, ()) or not _VENDORED.search(change.file):
            yield change


def _told(before: Built, after: Built) -> frozenset[str]:
    """Return the Applications of which all that goes is told by itself: objects, or charts that are not vendored."""
    seen = {*(one.component for one in before.objects), *before.unvendored}
    return frozenset(seen - {*before.broken, *after.broken})


def _by_kind(built: Built) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for one in built.objects:
        found.setdefault(f"{one.group}/{one.kind}", []).append(one.manifest)
    return found


def build_side(side: Side, name: str, some: Collection[str] | None) -> Built:
    """Build the Applications of one side of a cluster whose folders are in `some`, or all, from a copy of the files
    that they are made of. Raises UsageError.
    """
    # Slow to import, and `gen render` tells what it overwrites without.
    from generator.build.applications import build_some  # noqa: PLC0415
    from generator.build.stage import temporary_folder  # noqa: PLC0415

    wanted = {*applications(side.below(f"overlays/{name}"))} if some is None else some
    argocd = f"clusters/{name}/argocd"
    if not _stands(side, name):
        return Built(name=name, cluster=None, objects=())
    reach = Reach(side)
    places = {place for folder in (argocd, *wanted) for place in reach.of(folder)}
    with temporary_folder() as copy:
        for folder in (*FOLDERS, f"overlays/{name}"):
            (copy / folder).mkdir(exist_ok=True)
        for path in {path for place in places for path in side.below(place)}:
            _write(copy / path, side.read(path))
        return build_some(copy, name, wanted)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _waves(built: Built) -> dict[str, int]:
    applications = [one for one in built.of("Application") if one.component == ROOT]
    found = {one.name: str(one.annotations.get(SYNC_WAVE, "0")) for one in applications}
    return {name: int(wave) if wave.lstrip("-").isdigit() else 0 for name, wave in found.items()}
