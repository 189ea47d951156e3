"""Definitions of kinds, applied before Argo CD starts: for each one that comes while it runs it lists and watches all
kinds anew, which takes minutes where there are hundreds.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from generator.build.applications import build_some
from generator.build.kinds import CRD
from generator.build.objects import ROOT, Built, Object
from generator.build.stage import stage, temporary_folder
from generator.components.common import SYNC_WAVE
from generator.live.api import Request
from generator.live.applications import APPLICATIONS, syncs_by_itself
from generator.live.bootstrap.step import Item, State, Step
from generator.live.dry_run.definitions import PLACE, served
from generator.live.running import RefusedError, RunningCluster
from generator.model.cluster import Cluster
from generator.model.plural import plural

NAME = "definitions"


def definitions(root: Path, cluster: Cluster, without: Sequence[str]) -> list[Object]:
    """Return the definitions of kinds that Argo CD brings by itself, in the order of their waves, `without` those of
    some components. What is not vendored, or cannot be built, is left out: Argo CD tells of that.
    """
    names = {folder.name for folder in (root / "overlays" / cluster.name).iterdir()} - {*without}
    with temporary_folder() as copy:
        stage(root, cluster.name, copy)
        built = build_some(copy, cluster.name, [f"overlays/{cluster.name}/{name}" for name in sorted(names)])
    waves = _waves(built)
    found = [one for one in built.of(CRD) if one.component in waves]
    return sorted(found, key=lambda one: (waves[one.component], one.component, one.name))


def _waves(built: Built) -> dict[str, int]:
    applications = [one for one in built.of("Application") if one.component == ROOT and syncs_by_itself(one.manifest)]
    return {one.name: int(one.annotations.get(SYNC_WAVE) or 0) for one in applications}


def definitions_step(running: RunningCluster, wanted: Callable[[], Sequence[Object]]) -> Step:
    """Look which definitions the cluster lacks. What is there is never changed, and nothing is brought once there is
    the root Application: from then on only waves, windows and people say what comes when.
    """
    if running.get(f"{APPLICATIONS}/{ROOT}"):
        return Step(name=NAME, items=(Item(State.DONE, "Argo CD brings them"),))
    due = _missing(running, wanted())
    if not due:
        return Step(name=NAME, items=(Item(State.DONE, "none is missing"),))
    what = f"{plural(len(due), 'kind')} that the cluster does not know"
    return Step(name=NAME, items=(Item(State.TO_DO, what),), act=lambda: _apply(running, due))


def _missing(running: RunningCluster, wanted: Sequence[Object]) -> list[Object]:
    found = running.together([Request(path=f"{PLACE}/{one.name}") for one in wanted])
    return [one for one, there in zip(wanted, found, strict=True) if there is None]


def _apply(running: RunningCluster, due: Sequence[Object]) -> Iterator[str]:
    """Apply definitions and wait until they are served. What is refused is Argo CD's to bring, which tells why."""
    applied = []
    for one in due:
        try:
            running.apply(f"{PLACE}/{one.name}", one.manifest)
        except RefusedError as error:
            yield f"left to Argo CD: {error}"
        else:
            applied.append(one)
            yield f"applied {one.full_name}"
    for finding in served(running.api, applied):
        yield f"{finding.about}: {finding.message}"
