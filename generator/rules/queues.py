"""Rules about jobs of teams: nothing with GPUs starts past the queue, and Volcano places it."""

from collections.abc import Iterator

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods
from generator.build.workflow_pods import AT_SUBMISSION
from generator.components import JOBS
from generator.components.kueue import LEVELS, QUEUE, TEAM
from generator.components.tenants.admission import BUILT_IN
from generator.components.volcano import JOB_GROUPS, SCHEDULER
from generator.model.fields import dig, existing, mapping, spots
from generator.model.finding import Finding, Path, Severity
from generator.model.gpus import VENDOR
from generator.model.rule import rule

HELD = {(one.group, one.kind.lower()): one for kinds in (*BUILT_IN, *JOBS) for one in kinds}
"""What Kueue holds back as a whole, by group and name in small letters."""

BY_OPERATOR = {one.kind for one in HELD.values() if one.places_itself}
"""Kinds whose operator names the scheduler itself where the pods name none."""


@rule("GEN-QUEUE-001", "Volcano places pods with GPUs")
def gang_scheduled(built: Built) -> Iterator[Finding]:
    """Two schedulers that do not know of each other give out the last GPU twice, and a job whose pods come one by one
    holds GPUs while it waits for others. Where teams share the cluster, whatever asks for GPUs is placed by Volcano.

    Wrong:
        containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]
    Right:
        schedulerName: volcano
        containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]
    """
    for pod in gpu_pods(built):
        name = scheduler(pod)
        if name != SCHEDULER and AT_SUBMISSION not in name and pod.maker.kind != "DaemonSet":
            told = f"is placed by {name}" if name else "names no scheduler"
            message = f"asks for GPUs and {told}"
            yield pod.finding(message, "spec", "schedulerName", fix=f"schedulerName: {SCHEDULER}")


@rule("GEN-QUEUE-002", "what runs in a team's namespace names its queue", severity=Severity.WARNING)
def queued(built: Built) -> Iterator[Finding]:
    """In namespaces of teams jobs and services start through the team's queue. Kueue puts what names none into the one
    called `default`, and writes its name into the object: Git and the cluster then differ.

    Wrong:
        kind: Job
        metadata: {name: train, namespace: vision}
    Right:
        kind: Job
        metadata: {name: train, namespace: vision, labels: {kueue.x-k8s.io/queue-name: default}}
    """
    spaces = teams(built)
    for one in built.objects:
        at: Path = ("spec", "jobTemplate", "metadata") if one.kind == "CronJob" else ("metadata",)
        wanted = one.namespace in spaces and (held(one) or one.kind == "CronJob")
        if wanted and not dig(one.manifest, *at, "labels", QUEUE):
            annotated = dig(one.manifest, *at, "annotations", QUEUE)
            told = "names its queue in an annotation, which nobody reads" if annotated else "names no queue"
            message = f"{told}, and runs in the namespace of team {one.namespace}"
            there = existing(one.manifest, (*at, "annotations", QUEUE) if annotated else (*at, "labels"))
            yield one.finding(message, *there, fix=f"labels: {{{QUEUE}: default}}")


@rule("GEN-QUEUE-003", "pods with GPUs are in a team's namespace", severity=Severity.WARNING)
def counted(built: Built) -> Iterator[Finding]:
    """Kueue counts only what runs in namespaces of teams. GPUs that are taken elsewhere are still in the quotas, and
    jobs are let in that then find none.

    Wrong:
        kind: Deployment
        metadata: {name: triton, namespace: tools}
    Right:
        kind: Deployment
        metadata: {name: triton, namespace: vision}
    """
    spaces = teams(built)
    for pod in gpu_pods(built):
        if pod.namespace not in spaces:
            message = f"asks for GPUs in {pod.namespace}, which is no team's namespace: no quota counts them"
            yield pod.finding(message, fix=f"let it run in a team's: {', '.join(sorted(spaces))}")


@rule("GEN-QUEUE-004", "no Volcano jobs in a team's namespace")
def no_volcano_jobs(built: Built) -> Iterator[Finding]:
    """Volcano's own jobs cannot be suspended, so that Kueue can neither hold nor count them; the API server refuses
    them in namespaces of teams.

    Wrong:
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: train, namespace: vision}
    Right:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train, namespace: vision}
    """
    spaces = teams(built)
    for one in built.objects:
        if one.group in JOB_GROUPS and one.namespace in spaces:
            message = "Kueue cannot hold Volcano's own jobs back"
            yield one.finding(message, "kind", fix="make a batch/v1 Job, a JobSet or a TrainJob")


@rule("GEN-QUEUE-019", "a job stays within a level of a topology that there is")
def within_a_level(built: Built) -> Iterator[Finding]:
    """Kueue keeps the pods of a job together by the levels of its Topologies: the labels of nodes that these name. A
    job that asks for another level waits for ever in its queue, whether it demands or only prefers it.

    Wrong:
        annotations: {kueue.x-k8s.io/podset-required-topology: cloud.google.com/gce-topology-block}
    Right:
        annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}
    """
    spaces = teams(built) if built.cluster else set()
    levels = {str(level) for one in built.of("Topology") for _, level in spots(one.manifest, "spec.levels.*.nodeLabel")}
    fix = f"{' or '.join(sorted(levels))}, or leave it out" if levels else "leave it out: the cluster has no Topology"
    for pod in pods(built):
        for key in LEVELS if pod.namespace in spaces else ():
            wanted = mapping(pod.metadata.get("annotations")).get(key)
            if isinstance(wanted, str) and AT_SUBMISSION not in wanted and wanted not in levels:
                message = f"no Topology has a level {wanted}: Kueue never lets it in"
                yield pod.finding(message, "metadata", "annotations", key, fix=fix)


def teams(built: Built) -> set[str]:
    """Return the names of the teams' namespaces: those of the cluster file, and others that carry a team's label."""
    named = {team.name for team in built.cluster.teams} if built.cluster else set()
    labelled = {one.name for one in built.of("Namespace") if TEAM in one.labels}
    return named | labelled


def gpu_pods(built: Built) -> Iterator[Pod]:
    """Yield the pods that ask for GPUs or parts of them, where teams share a cluster."""
    return (pod for pod in pods(built) if built.cluster and built.cluster.teams and asks_for_gpus(pod))


def asks_for_gpus(pod: Pod) -> bool:
    """Tell whether a pod asks for GPUs or parts of them: the API server demands limits for these."""
    limits = (mapping(dig(one, "resources", "limits")) for _, one in containers(pod))
    return any(str(name).startswith(VENDOR) for each in limits for name in each)


def scheduler(pod: Pod) -> str:
    """Return who places a pod, empty where nobody is named. Volcano's jobs name it once, operators by themselves."""
    name = pod.spec.get("schedulerName")
    if name is None and pod.maker.group in JOB_GROUPS:
        name = dig(pod.maker.manifest, "spec", "schedulerName") or SCHEDULER
    if name is None and pod.maker.kind in BY_OPERATOR:
        name = SCHEDULER
    return str(name or "")


def held(one: Object) -> bool:
    """Tell whether Kueue holds objects of this kind back."""
    return (one.group, one.kind.lower()) in HELD
