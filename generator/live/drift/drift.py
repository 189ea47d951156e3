"""What of a running cluster differs from what Argo CD deployed, and who changed it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from generator.build.difference import field_changes
from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import Answer, Request
from generator.live.applications import Application, applications, syncs_by_itself
from generator.live.discovery import TRY, place
from generator.live.drift.ignored import compared, ignored, unread
from generator.live.drift.leftovers import Leftover, leftovers, strangers
from generator.live.drift.managers import Added, added, value_of, writer_of
from generator.live.drift.opening import opens
from generator.live.drift.report import HOW, Drift, DriftReport, FieldDrift
from generator.live.drift.standing import Identity, Standing, standing
from generator.live.identity import confirm
from generator.live.messages import shortened
from generator.live.running import RunningCluster
from generator.live.tracking import tracked
from generator.model.change import ABSENT, FieldChange, ObjectChange
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.finding import full_name
from generator.review.values import both, way

ARGO_CDS = {"argocd-application-controller", "argocd-applicationset-controller"}
"""How Argo CD's programs sign what they write of their own: states of Applications."""
HOOKS = ("argocd.argoproj.io/hook", "helm.sh/hook")


def drift(running: RunningCluster, cluster: Cluster, build: Callable[[str], Built]) -> DriftReport:
    """Return what differs from the commits that Argo CD last compared with; `build` returns what a commit holds, of
    HEAD for an empty name. Nothing is stored. Raises UsageError.
    """
    confirm(running, cluster)
    every = applications(running)
    found = {one.name: one for one in every if _of_repository(one, cluster)}
    if not found:
        raise UsageError(
            f"{running.host} has no Application of the folders of {cluster.name}, so that there is nothing to compare "
            f"with; `gen status --cluster {cluster.name}` tells more"
        )
    foreign = dict.fromkeys(one.name for one in every if one.name not in found)
    built = {revision: build(revision) for revision in sorted({one.revision for one in found.values()})}
    held = [one for name in found for one in built[found[name].revision].objects if one.component == name]
    wanted = [one for one in held if one.identity and not any(map(one.annotations.get, HOOKS))]
    there = standing(running, {(one.version, one.kind) for one in wanted})
    drifts = _Comparison(running, cluster.name, found, there)
    drifts.compare(wanted)
    ours = {one.identity for one in held if one.identity}
    unseen = {name: None for one in built.values() for name in (*one.unseen, *one.broken)}
    left = leftovers(there.objects, ours, {**unseen, **foreign})
    return DriftReport(
        cluster=cluster.name,
        host=running.host,
        revisions=tuple(built),
        objects=len(wanted),
        drifts=(*drifts.found, *(_left(one, cluster.name) for one in left)),
        programs=drifts.programs,
        namespaces=tuple(strangers(there.objects, ours, cluster)),
        unread=tuple(_unread(there, drifts)),
        notes=tuple(_notes(found.values(), unseen, foreign)),
    )


def _of_repository(one: Application, cluster: Cluster) -> bool:
    """Tell whether what an Application holds is in the folders of this cluster, here."""
    source = mapping(dig(one.manifest, "spec", "source"))
    folders = (f"overlays/{cluster.name}/", f"clusters/{cluster.name}/argocd")
    return source.get("repoURL") == cluster.repository.url and str(source.get("path")).startswith(folders)


class _Comparison:
    """Objects of Git beside those of the cluster: `found` is what differs, `unjudged` why others were not compared."""

    def __init__(
        self, running: RunningCluster, cluster: str, found: Mapping[str, Application], there: Standing
    ) -> None:
        self.running, self.cluster, self.applications, self.there = running, cluster, found, there
        self.found: list[Drift] = []
        self.programs: Counter[tuple[str, str]] = Counter()
        self.unjudged: Counter[str] = Counter()

    def compare(self, wanted: Sequence[Object]) -> None:
        """Compare each object with what applying it once more would make of it, as Argo CD does."""
        present = [(one, live) for one in wanted if (live := self.there.objects.get(_identity(one)))]
        answers = self.running.api.ask_all([self._tried(one, live) for one, live in present])
        answered = {id(one): (live, answer) for (one, live), answer in zip(present, answers, strict=True)}
        for one in wanted:
            if id(one) in answered:
                self._judge(one, *answered[id(one)])
            elif _identity(one)[:2] not in self.there.hidden:
                self._missing(one)

    def _tried(self, one: Object, live: Manifest) -> Request:
        path = f"{place(self.there.served, one)}/{quote(one.name, safe='')}?{TRY}&force=true"
        return Request(path=path, method="PATCH", body=tracked(one.manifest, live))

    def _missing(self, one: Object) -> None:
        served = (one.version, one.kind) in self.there.served
        why = "is missing" if served else f"is missing: nothing in the cluster defines {one.version}"
        self._add("missing", one, why, f"gen sync {one.component} --cluster {self.cluster}")

    def _judge(self, one: Object, live: Manifest, answer: Answer) -> None:
        if answer.status == 403:
            self.unjudged[f"you may not try to change {one.kind}: {answer.message}"] += 1
            return
        if not answer.good:
            self._add("refused", one, f"cannot be as in Git: {shortened(answer.message)}", "gen check --server")
            return
        ignores = ignored(self.applications[one.component].manifest)
        would, has = compared(answer.body, ignores), compared(live, ignores)
        self._differs(one, live, field_changes(would, has))
        self._added(one, live, answer.body, ignores)

    def _differs(self, one: Object, live: Manifest, changes: Iterator[FieldChange]) -> None:
        change = _change(one, live)
        fields = tuple(
            FieldDrift(field=way(each.path), git=shown[0], cluster=shown[1], by=writer.words if writer else "")
            for each in changes
            for shown, writer in ((both(change, each), writer_of(live, each.path)),)
        )
        if fields:
            automated = syncs_by_itself(self.applications[one.component].manifest)
            heals = "differs from Git" + ("; Argo CD puts it back by itself" if automated else "")
            self._add("differs", one, heals, f"gen sync {one.component} --cluster {self.cluster}", fields)

    def _added(self, one: Object, live: Manifest, applied: Manifest, ignores: Sequence[Mapping[str, Any]]) -> None:
        """Tell what people added, and what opens something; what else programs added is counted."""
        kept, change = compared(live, ignores), _change(one, live)
        every = [each for each in added(live, applied) if _stands(kept, each)]
        told = [each for each in every if each.writer.hand or (_by_program(each) and opens(change, each))]
        for each in every:
            if _by_program(each) and each not in told:
                self.programs[one.component, each.writer.manager] += 1
        fields = tuple(
            FieldDrift(field=way(each.steps), git="nothing", cluster=shown, by=each.writer.words)
            for each in self._meant(one, told)
            for shown in (both(change, FieldChange(each.steps, ABSENT, each.value))[1],)
        )
        if fields:
            why = "holds what Git does not name, so that Argo CD leaves it as it is"
            custom = f"write it into overlays/{self.cluster}/{one.component}/custom/, or take it out: "
            self._add("added", one, why, f"{custom}{_edit(one)}", fields)

    def _meant(self, one: Object, found: Sequence[Added]) -> list[Added]:
        """Return what is not the default: a person may have put it back, and still counts as its writer."""
        if not found:
            return []
        body = {**one.manifest, "metadata": {**one.manifest["metadata"], "name": "gen-asks-for-defaults"}}
        fresh = self.running.api.ask(Request(path=f"{place(self.there.served, one)}?{TRY}", method="POST", body=body))
        return [each for each in found if not fresh.good or value_of(fresh.body, each.leaf) != each.value]

    def _add(self, how: HOW, one: Object, why: str, command: str, fields: tuple[FieldDrift, ...] = ()) -> None:
        self.found.append(
            Drift(how=how, component=one.component, name=one.full_name, why=why, command=command, fields=fields)
        )


def _by_program(one: Added) -> bool:
    return not one.writer.hand and one.writer.manager not in ARGO_CDS


def _identity(one: Object) -> Identity:
    return one.group, one.kind, one.namespace, one.name


def _change(one: Object, live: Manifest) -> ObjectChange:
    return ObjectChange(
        on="changed",
        kind=f"{one.group}/{one.kind}",
        namespace=one.namespace,
        name=one.name,
        application=one.component,
        old=one.manifest,
        new=live,
    )


def _stands(kept: Manifest, one: Added) -> bool:
    """Tell whether a field is among those that are compared."""
    part: Any = kept
    for step in one.steps:
        if not isinstance(part, dict) or str(step).startswith("["):
            break
        if step not in part:
            return False
        part = part[step]
    return True


def _edit(one: Object) -> str:
    space = f"--namespace {one.namespace} " if one.namespace else ""
    return f"kubectl {space}edit {_resource(one.group, one.kind)} {one.name}"


def _resource(group: str, kind: str) -> str:
    return f"{kind}.{group}".lower() if group else kind.lower()


def _left(one: Leftover, cluster: str) -> Drift:
    group, kind, space, name = one.identity
    delete = f"kubectl {f'--namespace {space} ' if space else ''}delete {_resource(group, kind)} {name}"
    if one.leaving:
        why, command = "is no longer in Git, and is being deleted", delete.replace(" delete ", " describe ")
    elif one.kept:
        why = "is no longer in Git; Argo CD keeps it because it holds data or identity"
        command = f"{delete}, once nobody needs it"
    else:
        why, command = "is no longer in Git", f"gen sync {one.component} --cluster {cluster}, or {delete}"
    return Drift(how="leftover", component=one.component, name=full_name(kind, space, name), why=why, command=command)


def _unread(there: Standing, comparison: _Comparison) -> Iterator[str]:
    for why in there.unread:
        yield f"not seen: {why}"
    for why, number in comparison.unjudged.items():
        yield f"not compared, {number} times: {why}"


def _notes(found: Iterable[Application], unseen: Mapping[str, None], foreign: Mapping[str, None]) -> Iterator[str]:
    if unseen:
        yield f"not compared, because it is not vendored (gen vendor): what charts bring of {', '.join(unseen)}"
    if foreign:
        yield f"not compared, because it is not in the folders of this cluster: what {', '.join(foreign)} holds"
    for one in found:
        for expression in unread(one.manifest):
            yield f"{one.name}: what Argo CD ignores by `{expression}` is told all the same"
