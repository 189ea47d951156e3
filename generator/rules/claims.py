"""Rules about claims for volumes: the class that they get, and what it can do."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.build.objects import Built, Object
from generator.build.pods import Pod, pods, pods_of
from generator.components import CATALOGUE
from generator.components.common import DEFAULT_CLASS
from generator.components.component import Manifest
from generator.components.queues.volumes import claimable
from generator.model.fields import amount, dig, existing, mapping, sequence, spots
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning
from generator.rules.mentions import Reference
from generator.rules.providers import UnseenObjects

MANY = "ReadWriteMany"
"""The mode in which several nodes mount one volume and write to it."""

TTL = "ttlSecondsAfterFinished"
ENDING: dict[tuple[str, str], Path] = {
    ("batch", "Job"): ("spec",),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec"),
    ("jobset.x-k8s.io", "JobSet"): ("spec",),
    ("kubeflow.org", "TFJob"): ("spec", "runPolicy"),
    ("kubeflow.org", "PyTorchJob"): ("spec", "runPolicy"),
}
"""Where jobs say how long they are kept that have ended, with their pods: by group and kind. An MPIJob's workers and a
RayJob's cluster go with its end, and a TrainJob says nothing of it.
"""
SHORT = 600
"""Seconds within which whoever waits for a disk gets it before Kueue takes its place back."""


class Claim(NamedTuple):
    """What is claimed: the object that claims it, where, and in what words."""

    object: Object
    at: Path
    spec: Manifest

    def finding(self, message: str, key: str, fix: str) -> Finding:
        """Make a finding of one of its fields, or of where that would be."""
        return self.object.finding(message, *existing(self.object.manifest, (*self.at, key)), fix=fix)


@rule("GEN-VOL-001", "a claim has a class")
def classed(built: Built) -> Iterator[Finding]:
    """A claim without a class gets the cluster's default. Where there is none it waits for ever, and every pod with it,
    unless somebody makes a volume by hand.

    Wrong:
        kind: PersistentVolumeClaim
        spec: {resources: {requests: {storage: 10Gi}}}
    Right:
        kind: PersistentVolumeClaim
        spec: {storageClassName: rbd-nvme, resources: {requests: {storage: 10Gi}}}
    """
    classes = classes_of(built)
    fitting = [name for name, one in classes.items() if is_driver(one)]
    for one in claims(built) if fitting and not default(classes) else ():
        if not any(one.spec.get(key) is not None for key in ("storageClassName", "volumeName", "selector")):
            message = "names no class, and the cluster has no default: the claim waits for ever"
            yield one.finding(message, "storageClassName", fix=f"storageClassName: {' or '.join(sorted(fitting))}")


@rule("GEN-VOL-002", "a class can be mounted as its claims ask")
def mountable(built: Built) -> Iterator[Finding]:
    """A volume of Ceph's block pools or of a node's own disk has a file system that one node mounts at a time. A claim
    that asks for more is never bound; so is one without a class, where such a class is the default. Several nodes
    mount CephFS and NFS; of a block pool only raw blocks (`volumeMode: Block`).

    Wrong:
        spec: {accessModes: [ReadWriteMany], storageClassName: rbd-nvme}
    Right:
        spec: {accessModes: [ReadWriteMany], storageClassName: shared-fast}
    """
    classes = classes_of(built)
    fitting = [name for name, one in classes.items() if is_driver(one) and not for_one_node(one)]
    for one in claims(built):
        named = one.spec.get("storageClassName")
        name = default(classes) if named is None else str(named)
        shared = MANY in sequence(one.spec.get("accessModes"))
        if shared and name in classes and for_one_node(classes[name]) and one.spec.get("volumeMode") != "Block":
            told = f"class {name}" if named else f"the default class {name}"
            message = f"asks for {MANY}, and only one node at a time mounts a volume of {told}"
            fix = f"storageClassName: {' or '.join(sorted(fitting))}" if fitting else "accessModes: [ReadWriteOnce]"
            yield one.finding(message, "storageClassName" if named else "accessModes", fix=fix)


@rule("GEN-VOL-003", "a team's claim is within its quota")
def within_quota(built: Built) -> Iterator[Finding]:
    """The cluster file bounds what a team may claim, in all (`storage`) and of a class (`storageClasses`); scratch has
    the disks of the team's nodes beside that. A claim that is larger by itself is refused, whatever else there is.

    Wrong:
        # storage: 2Ti
        spec: {resources: {requests: {storage: 5Ti}}}
    Right:
        # storage: 2Ti
        spec: {resources: {requests: {storage: 500Gi}}}
    """
    bounds = {team.name: claimable(built.cluster, team) for team in built.cluster.teams} if built.cluster else {}
    for one in claims(built):
        team, name = one.object.namespace, str(one.spec.get("storageClassName") or default(classes_of(built)))
        most = bounds[team].of(name) if team in bounds else None
        size = dig(one.spec, "resources", "requests", "storage")
        if most and (amount(size) or 0) > most.milli:
            message = f"claims {size}, and the quota of team {team} is {most}"
            at = (*one.at, "resources", "requests", "storage")
            yield one.object.finding(message, *at, fix=f"storage: {most} or less, or ask for more quota")


@warning("GEN-VOL-004", "a job that has ended gives its pods' claims back")
def given_back(built: Built) -> Iterator[Finding]:
    """A pod keeps the claim that is its own (`ephemeral`) until it is deleted, also when it has ended: until somebody
    deletes the job, it keeps a disk of the node and a part of the quota. The next one gets GPUs, and waits for a disk.

    Wrong:
        kind: Job
        spec: {template: {spec: {volumes: [{name: scratch, ephemeral: {...}}]}}}
    Right:
        kind: Job
        spec: {ttlSecondsAfterFinished: 600, template: {spec: {volumes: [{name: scratch, ephemeral: {...}}]}}}
    """
    for one in built.objects:
        at = ENDING.get((one.group, one.kind))
        if at and not _ends(one, at) and any(_claims_its_own(pod) for pod in pods_of(one, built)):
            message = "its pods keep claims of their own after they have ended, until somebody deletes it"
            yield one.finding(message, *existing(one.manifest, (*at, TTL)), fix=f"{TTL}: {SHORT}")


def _claims_its_own(pod: Pod) -> bool:
    return any(dig(each, "ephemeral") is not None for each in sequence(pod.spec.get("volumes")))


def _ends(one: Object, at: Path) -> bool:
    """Tell whether pods of a job that has ended are deleted, if only because its CronJob keeps none."""
    kept = [one.spec.get(f"{which}JobsHistoryLimit") for which in ("successful", "failed")]
    limited = dig(one.manifest, *at, TTL) is not None or dig(one.manifest, *at, "cleanPodPolicy") == "All"
    return limited or kept == [0, 0]


def classes_of(built: Built) -> dict[str, Object]:
    """Return the classes of a cluster by name; none where others may be there that nobody sees."""
    if not built.cluster or UnseenObjects.of(built).may_hold(Reference("StorageClass", "", "")):
        return {}
    return {one.name: one for one in built.of("StorageClass")}


def default(classes: dict[str, Object]) -> str:
    """Return the class that claims without one get, empty where there is none."""
    return next((name for name, one in classes.items() if one.annotations.get(DEFAULT_CLASS) == "true"), "")


def for_one_node(one: Object) -> bool:
    """Tell whether only one node at a time mounts what a component's class gives."""
    maker = CATALOGUE.get(one.component)
    return maker is not None and one.manifest.get("provisioner") in maker.one_node_volumes


def is_driver(one: Object) -> bool:
    """Tell whether a driver makes volumes of a class, and not a bucket, or nobody: these have a path in their name."""
    return "/" not in str(one.manifest.get("provisioner"))


def claims(built: Built) -> Iterator[Claim]:
    """Yield what is claimed: by claims, by StatefulSets for their pods, and by pods for as long as they are there."""
    for one in built.of("PersistentVolumeClaim"):
        yield Claim(one, ("spec",), one.spec)
    for one in built.of("StatefulSet"):
        for at, spec in spots(one.manifest, "spec.volumeClaimTemplates.*.spec"):
            yield Claim(one, at, mapping(spec))
    for pod in pods(built):
        for at, spec in spots({"spec": pod.spec}, "spec.volumes.*.ephemeral.volumeClaimTemplate.spec"):
            if isinstance(spec, dict):
                yield Claim(*pod.written(at), spec)
