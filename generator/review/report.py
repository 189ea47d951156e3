"""Everything that is said of a change: by cluster, the loudest first."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from msgspec import Struct, structs

from generator.build.objects import ROOT
from generator.build.offline import CUSTOM
from generator.components import CATALOGUE, secret_store
from generator.components.kubeadm import changes, node_changes, openings, secret_changes, version_changes
from generator.kinds import RULES
from generator.layout.files import KUSTOMIZATION_NAMES
from generator.model.change import ABSENT, ChangeRule, FieldChange, ObjectChange
from generator.model.cluster import Cluster, cluster_file
from generator.model.compared import asks_first
from generator.model.finding import dotted, full_name
from generator.repository.reach import Reach
from generator.repository.sides import Side
from generator.review.approvals import Approval, given
from generator.review.capacity import CapacityRow, capacity
from generator.review.compare import ClusterChanges, compare
from generator.review.definitions import definitions
from generator.review.general import RULES as GENERAL
from generator.review.judging import JudgedChange, Opening, judge
from generator.review.sides import Sides
from generator.review.standing import BOOTSTRAP as BOOTSTRAP_FILES
from generator.review.transitions import transition_rules
from generator.review.values import masked
from generator.spec.decode import decode
from generator.spec.reader import read

STORE = secret_store.CHANGES
BOOTSTRAP = (*changes.RULES, *openings.RULES, *node_changes.RULES, *secret_changes.RULES, *version_changes.RULES)


class ClusterReport(Struct, frozen=True):
    """One cluster: what differs, what each change means, and what there is room for on both sides."""

    found: ClusterChanges
    judged: tuple[JudgedChange, ...]
    capacity: tuple[CapacityRow, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """A change of the repository. `unapproved` is what needs an approval and has none, `approved` are the approvals
    that count, `outdated` those after which the object changed again, `unused` those that match nothing.
    `unconfirmed` is what Argo CD deletes only after a person's word and nobody approved yet: `gen sync` gives that word
    for what is approved.
    """

    old: str
    new: str
    clusters: tuple[ClusterReport, ...]
    unapproved: tuple[str, ...] = ()
    approved: tuple[Approval, ...] = ()
    outdated: tuple[Approval, ...] = ()
    unused: tuple[Approval, ...] = ()
    unconfirmed: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "base": self.old,
            "head": self.new,
            "clusters": [_cluster_data(one) for one in self.clusters],
            "unapproved": list(self.unapproved),
            "approved": [_approval_data(one) for one in self.approved],
            "outdatedApprovals": [one.text for one in self.outdated],
            "unusedApprovals": [one.text for one in self.unused],
            "unconfirmed": list(self.unconfirmed),
        }


@cache
def rules() -> tuple[ChangeRule, ...]:
    """Return every rule there is: of Kubernetes' kinds, of bootstrap, and of components."""
    own = ((one.name, rule) for one in CATALOGUE.values() for rule in (*one.changes(), *one.jumps()))
    return (*RULES, *GENERAL, *BOOTSTRAP, *STORE, *(structs.replace(rule, by=name) for name, rule in own))


def report(sides: Sides, allowed: Iterable[str]) -> Report:
    """Compare both sides and say what the change means. Raises UsageError."""
    compared = compare(sides.old, sides.new, _really_differing(sides), sides.clusters)
    changes = [change for one in compared for change in one.changes]
    every = (*rules(), *transition_rules(definitions(sides.old, sides.new, changes)))
    clusters = tuple(
        ClusterReport(one, tuple(judge(one.changes, every, one.beside, one.cluster)), room_on(sides, one.cluster))
        for one in compared
    )
    reach = Reach(sides.new)
    needed = _gathered(each for one in clusters for each in _needed(one, reach))
    asked = _gathered(each for one in clusters for each in _asked(one, reach))
    files = {**asked, **needed}
    approvals = (*given(allowed), *sides.approved)
    counting = [one for one in approvals if one.text in files and not one.outdated(files[one.text])]
    granted = {one.text for one in counting}
    return Report(
        old=sides.old.label,
        new=sides.new.label,
        clusters=clusters,
        unapproved=tuple(text for text in needed if text not in granted),
        approved=tuple(counting),
        outdated=tuple(one for one in approvals if one.text in files and one not in counting),
        unused=tuple(one for one in approvals if one.text not in files),
        unconfirmed=tuple(text for text in asked if text not in granted and text not in needed),
    )


def _gathered(found: Iterable[tuple[str, set[str]]]) -> dict[str, set[str]]:
    gathered: dict[str, set[str]] = {}
    for text, files in found:
        gathered.setdefault(text, set()).update(files)
    return gathered


def room_on(sides: Sides, name: str) -> tuple[CapacityRow, ...]:
    """Return what a cluster has room for; nothing where its file is the same, or cannot be read on both sides."""
    path = cluster_file(name)
    if sides.old.identity(path) == sides.new.identity(path):
        return ()
    old, new = _decoded(sides.old, path), _decoded(sides.new, path)
    return tuple(capacity(old, new)) if old and new else ()


def _decoded(side: Side, path: str) -> Cluster | None:
    document = read(side.read(path), path)
    found = decode(document) if document.value else None
    return found if isinstance(found, Cluster) else None


def _really_differing(sides: Sides) -> set[str]:
    """Return the files that differ: one that was touched may be as it was, after all."""
    places = {path.rpartition("/")[0] or path for path in sides.differing}
    sides.old.gather(*places)
    sides.new.gather(*places)
    return {path for path in sides.differing if sides.old.identity(path) != sides.new.identity(path)}


def _needed(one: ClusterReport, reach: Reach) -> Iterator[tuple[str, set[str]]]:
    """Yield what needs an approval, with the files and folders that make it what it is: those too from which its
    Application takes what it is built of.
    """
    for judged in one.judged:
        refused = [each.rule for each in judged.meanings if each.rule and each.effect.needs_approval]
        stopped = (*refused, *(each.rule for each in judged.opens if each.rule.stops))
        files = _made_of(one, judged, reach) if stopped else set()
        for rule in stopped:
            yield f"{rule.code}:{one.found.cluster}/{about(judged)}", files


def _asked(one: ClusterReport, reach: Reach) -> Iterator[tuple[str, set[str]]]:
    """Yield what Argo CD asks a person about before it deletes it, as an approval names it, with its files."""
    for judged in one.judged:
        rule = next((each.rule for each in judged.meanings if each.rule), None)
        if rule and asks_first(judged.change):
            yield f"{rule.code}:{one.found.cluster}/{about(judged)}", _made_of(one, judged, reach)


def _made_of(one: ClusterReport, judged: JudgedChange, reach: Reach) -> set[str]:
    cluster, change = one.found.cluster, judged.change
    files = {change.file or cluster_file(cluster), _own_folder(cluster, change.application)}
    return files if change.application == BOOTSTRAP_FILES else files | _built_from(cluster, change, reach)


def _built_from(cluster: str, change: ObjectChange, reach: Reach) -> set[str]:
    """Return the files that change what an Application is built of: its kustomization, and what that names elsewhere.
    All of a folder that is not gen's is the user's own.
    """
    folder = f"overlays/{cluster}/{change.application}"
    if change.application == ROOT:
        folder = f"clusters/{cluster}/argocd"
    elif change.file.startswith(f"overlays/{cluster}/"):
        folder = "/".join(change.file.split("/")[:3])
    gens = change.application == ROOT or folder.rpartition("/")[2] in {*CATALOGUE, "namespaces"}
    own = {f"{folder}/{name}" for name in KUSTOMIZATION_NAMES} if gens else {folder}
    return own | (reach.of(folder) - {folder})


def _own_folder(cluster: str, application: str) -> str:
    """Return where people write what changes the objects of an Application, or files for nodes."""
    if application == BOOTSTRAP_FILES:
        return f"clusters/{cluster}/{BOOTSTRAP_FILES}"
    return (
        f"clusters/{cluster}/argocd/{CUSTOM}" if application == ROOT else f"overlays/{cluster}/{application}/{CUSTOM}"
    )


def about(judged: JudgedChange) -> str:
    """Return how an approval names an object: `Kind/namespace/name`."""
    change = judged.change
    return "/".join(filter(None, (change.kind.rpartition("/")[2], change.namespace, change.name)))


def shown(judged: JudgedChange) -> str:
    """Return how people name the object."""
    change = judged.change
    return full_name(change.kind.rpartition("/")[2], change.namespace, change.name)


def _approval_data(one: Approval) -> dict[str, str | None]:
    return {
        "approval": one.text,
        "commit": one.commit or None,
        "author": one.author or None,
        "reason": one.reason or None,
    }


def _cluster_data(one: ClusterReport) -> dict[str, Any]:
    return {
        "cluster": one.found.cluster,
        "capacity": [{"name": row.name, "unit": row.unit, "old": row.old, "new": row.new} for row in one.capacity],
        "changes": [_change_data(one, each) for each in one.judged],
        "unseen": list(one.found.unseen),
        "notes": list(one.found.notes),
        "findings": [finding.message for finding in one.found.findings],
    }


def _change_data(one: ClusterReport, judged: JudgedChange) -> dict[str, Any]:
    change = judged.change
    return {
        "effect": judged.effect,
        "on": change.happened,
        "kind": change.kind,
        "namespace": change.namespace,
        "name": change.name,
        "application": change.application,
        "wave": one.found.waves.get(change.application),
        "file": change.file,
        **({"to": change.to} if change.to else {}),
        "meanings": [
            {
                "code": meaning.rule.code if meaning.rule else None,
                "effect": meaning.effect,
                "armed": bool(meaning.rule and meaning.rule.armed),
                "reason": meaning.rule.reason if meaning.rule else None,
                "instead": meaning.rule.instead if meaning.rule else None,
                "link": meaning.rule.link if meaning.rule else None,
                "fields": [_field_data(masked(change, field)) for field in meaning.fields if field.path],
            }
            for meaning in judged.meanings
        ],
        "opens": [_opening_data(opening) for opening in judged.opens],
    }


def _opening_data(opening: Opening) -> dict[str, Any]:
    rule = opening.rule
    return {
        "code": rule.code,
        "opens": rule.opens,
        "approval": rule.stops,
        "gains": list(opening.gains),
        "reason": rule.reason,
        "instead": rule.instead,
        "link": rule.link,
    }


def _field_data(field: FieldChange) -> dict[str, Any]:
    values = {"old": field.old, "new": field.new}
    return {"path": dotted(field.path), **{key: value for key, value in values.items() if value is not ABSENT}}
