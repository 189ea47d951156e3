"""A whole sync of a cluster by Argo CD itself."""

from collections.abc import Iterator
from time import monotonic

from generator.build.objects import ROOT, Built, Object
from generator.components.component import Manifest
from generator.live.applications import APPLICATIONS
from generator.live.dry_run.dry_run import in_order
from generator.model.cluster import Cluster
from generator.model.plural import plural
from generator.rehearsal import perpetual
from generator.rehearsal.applying import Applier
from generator.rehearsal.argocd.acting import Acting
from generator.rehearsal.argocd.asking import ArgoCD, out_of_sync
from generator.rehearsal.argocd.comparing import refusals
from generator.rehearsal.argocd.course import Course
from generator.rehearsal.argocd.installing import install
from generator.rehearsal.argocd.judging import Judge
from generator.rehearsal.argocd.programs import argo_cd
from generator.rehearsal.argocd.publishing import Published, applications, pointed, why_left_out
from generator.rehearsal.argocd.refreshing import Refreshing
from generator.rehearsal.outcome import Fate, Synced
from generator.rehearsal.standin import StandIn
from generator.rehearsal.syncing import Identity, leaving, stands
from generator.rehearsal.twin.twin import Twin

PATIENCE = 60.0
"""Seconds without any progress after which nothing more is waited for: Argo CD tries what fails again after 10, 20 and
40 seconds, so that what only came too early has had two more tries.
"""
MOST = 1500.0
"""Seconds for all of a cluster, on a machine that others use as well."""
RESYNC = 600
"""Seconds between comparisons that nobody asks for: of many Applications they would never end."""
HEAL = 3.0
"""Seconds in which Argo CD has healed what it can: its first attempt comes at once, the second after two."""
PROJECTS = APPLICATIONS.replace("applications", "appprojects")


class ArgoSyncing:
    """Has Argo CD bring a twin to what is built of one side. `root` is the root Application as it was rendered."""

    unproven = (
        "Argo CD's own builds: it synced plain folders with what is built here, and neither ran Kustomize nor Helm"
    )

    def __init__(self, twin: Twin, standin: StandIn, cluster: Cluster, root: Manifest) -> None:
        self.twin, self.argo, self.cluster, self.root = twin, ArgoCD(twin, standin), cluster, root
        plane = twin.plane
        self.published = Published(plane.address.folder / "repository", plane.address.services)
        twin.also(self.published.serving())
        self.stored: dict[Identity, Object] = {}
        self._before: set[str] = set()
        self._waiting: list[tuple[Object, list[Object]]] = []

    def sync(self, built: Built) -> Synced:
        """Publish what is built and follow Argo CD until nothing more comes of it. Raises UsageError."""
        applier = Applier(self.twin, built)
        revision = self.published.publish(built, self.cluster)
        if self.stored:
            self._before = {name for one in self.argo.look() for name in out_of_sync(one)}
        else:
            self._begin(applier, built)
        course = self._follow(applier, built, revision)
        synced = self._judged(applier, built, Judge(course, applier.waves, self._refusals(applier, built, course)))
        self.stored = {one.identity: one for one in built.objects if one.identity}
        return synced

    def resume(self, built: Built, _synced: Synced) -> None:
        """Take up a twin that Argo CD has brought to what is built. It gets to know all of that again in its own time:
        what it said of each Application is kept with them.
        """
        applier = Applier(self.twin, built)
        self.stored = {one.identity: one for one in built.objects if one.identity}
        there = [one for one in built.objects if not why_left_out(one, applier.kinds, self.cluster)]
        self.twin.plane.wait("all kinds are served", lambda: all(map(applier.path, there)))
        self.twin.start_all()
        self.published.publish(built, self.cluster)
        self.twin.also(argo_cd(self.twin.plane, RESYNC))

    def differing(self, built: Built, synced: Synced) -> dict[str, str]:
        """Return what is OutOfSync after two hard refreshes, between which Argo CD had time to heal it, and was not
        before; with the fields that another apply would change. The second one is of those that differ after the first.
        """
        first = self.argo.refresh() - self._before
        if not first:
            return {}
        self.argo.settle(HEAL)
        holders = {one.name for one in self.argo.look() if first & {*out_of_sync(one)}}
        names = first & self.argo.refresh(holders)
        fields = perpetual.differing(Applier(self.twin, built), built, synced)
        unknown = "OutOfSync again after each sync"
        return {name: fields.get(name, unknown) for name in sorted(names)}

    def confirmed(self, built: Built) -> dict[str, str]:
        """Confirm what waits for a person, as the bootstrap's README says, and return what came of it, by object."""
        if not self._waiting:
            return {}
        applier = Applier(self.twin, built)
        self.argo.confirm()
        end = monotonic() + PATIENCE
        while monotonic() < end and not all(self._absent(applier, one) for one, _ in self._waiting):
            self.argo.settle(0.3)
        self.argo.settle(HEAL)
        return {one.full_name: self._came_of(applier, one, held) for one, held in self._waiting}

    def _came_of(self, applier: Applier, one: Object, held: list[Object]) -> str:
        if not self._absent(applier, one):
            return f"confirmed, it still stands after {PATIENCE:g} s"
        stays = [each.full_name for each in held if not self._absent(applier, each)]
        if not held:
            return "once it was confirmed, it went"
        told = f"once it was confirmed, {plural(len(held) - len(stays), 'object')} of it went along"
        return f"{told}, and {len(stays)} stayed: {', '.join(stays[:5])}" if stays else told

    def _begin(self, applier: Applier, built: Built) -> None:
        """Bring the twin to where Argo CD takes over, and apply root's project and root."""
        install(self.twin.plane, applier, built)
        self.twin.also(argo_cd(self.twin.plane, RESYNC))
        project = [one.manifest for one in built.of("AppProject") if (one.component, one.name) == (ROOT, ROOT)]
        for place, manifest in (*((PROJECTS, one) for one in project), (APPLICATIONS, self.root)):
            here = pointed(manifest, self.cluster, self.published.url)
            self.twin.cluster.apply(f"{place}/{ROOT}", here)

    def _follow(self, applier: Applier, built: Built, revision: str) -> Course:
        """Let Argo CD know of a commit, as a webhook would, and play all others until it is through."""
        acting = Acting(applier, built)
        course = Course(revision, {ROOT, *(one.name for one in applications(built, self.cluster))})
        refreshing = Refreshing(self.argo.annotate, root_changes=any(self._differs(built, ROOT)))
        begun = monotonic()
        refreshing.begin(self.argo.look())
        while not course.over(monotonic() - begun, PATIENCE, MOST):
            course.see(self.argo.look(), monotonic() - begun)
            refreshing.round(course, monotonic() - begun)
            self.argo.standin.played.update(acting.round(course.found.values()))
            self.twin.start_all()
            self.argo.sync_by_hand(course)
            self.argo.settle(0.3)
        return course

    def _judged(self, applier: Applier, built: Built, judge: Judge) -> Synced:
        """Return what became of all that is new, changed or gone."""
        todo = [one for one in in_order(built) if not stands(self.stored, one)]
        left = {id(one): why for one in todo if (why := why_left_out(one, applier.kinds, self.cluster))}
        applied = [*judge.applied(one for one in todo if id(one) not in left)]
        gone = leaving(self.stored, {one.identity for one in built.objects if one.identity})
        removed = [*judge.removed((one, self._absent(applier, one)) for one in gone)]
        waits = [one for one, outcome in zip(gone, removed, strict=True) if outcome.fate == Fate.WAITS]
        self._waiting = [(one, self._held(one)) for one in waits]
        not_played = [judge.outcome(Fate.NOT_PLAYED, one, left[id(one)]) for one in todo if id(one) in left]
        return Synced((*applied, *removed, *not_played), judge.synced(applied))

    def _refusals(self, applier: Applier, built: Built, course: Course) -> dict[int, str]:
        """Return what is refused of Applications that Argo CD cannot compare, of all that stands and changes."""
        stuck = {*course.stuck}
        some = [one for one in built.objects if one.component in stuck and one.identity in self.stored]
        return {id(one): said for one, said in refusals(applier, (one for one in some if not stands(self.stored, one)))}

    def _held(self, one: Object) -> list[Object]:
        """Return what an Application that leaves has held."""
        whole = one.component == ROOT and one.kind == "Application"
        return [each for each in self.stored.values() if whole and each.component == one.name]

    def _differs(self, built: Built, component: str) -> Iterator[Object]:
        """Yield what is new, changed or gone of an Application."""
        wanted = {one.identity for one in built.objects}
        yield from (one for one in built.objects if one.component == component and not stands(self.stored, one))
        yield from (one for key, one in self.stored.items() if one.component == component and key not in wanted)

    def _absent(self, applier: Applier, one: Object) -> bool:
        path = applier.path(one)
        return path is None or self.twin.cluster.get(path) is None
