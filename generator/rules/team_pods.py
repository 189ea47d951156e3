"""Rules about pods of teams: what the admission rules of their namespaces refuse, told before it is applied."""

import re
from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built
from generator.build.pods import GROUPS, Pod, called, containers, pods
from generator.build.workflow_pods import AT_SUBMISSION
from generator.components.jobs import together
from generator.components.volcano import GANG, SCHEDULER
from generator.model.fields import amount, dig, existing, mapping
from generator.model.finding import Finding, Path
from generator.model.rule import rule, warning
from generator.rules.queues import asks_for_gpus, held, teams

KUBERNETES = "default-scheduler"
JOBS: dict[str, Path] = {"Job": (), "CronJob": ("spec", "jobTemplate")}
"""Where jobs are."""


@rule("GEN-QUEUE-005", "the cluster runs the scheduler")
def run_here(built: Built) -> Iterator[Finding]:
    """A pod waits for the scheduler that it names, for ever where nobody runs one of that name; in namespaces of teams
    the API server refuses all but Kubernetes' own and Volcano. A scheduler that an object names in its arguments or
    its configuration is taken as there.

    Wrong:
        schedulerName: kube-batch
    Right:
        schedulerName: volcano
    """
    if not built.cluster:
        return
    spaces, here = teams(built), {KUBERNETES, *([SCHEDULER] if built.cluster.teams else [])}
    for pod in pods(built):
        name = str(pod.spec.get("schedulerName") or "")
        # Of pods with GPUs GEN-QUEUE-001 says it.
        told = AT_SUBMISSION in name or (built.cluster.teams and asks_for_gpus(pod))
        if name and name not in here and not told and (pod.namespace in spaces or not brought(name, built)):
            message = f"no scheduler {name} runs in this cluster: its pods wait for ever"
            fix = f"schedulerName: {SCHEDULER}, or none" if SCHEDULER in here else "leave schedulerName out"
            yield pod.finding(message, "spec", "schedulerName", fix=fix)


def brought(name: str, built: Built) -> bool:
    """Tell whether some object runs a scheduler of this name: its arguments or a ConfigMap say so."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    settings = [str(text) for one in built.of("ConfigMap") for text in mapping(one.manifest.get("data")).values()]
    started = [str(each.get(key)) for pod in pods(built) for _, each in containers(pod) for key in ("command", "args")]
    return any(word.search(text) for text in (*settings, *started))


@warning("GEN-QUEUE-006", "a team's pod with GPUs is made by a job or a service")
def not_bare(built: Built) -> Iterator[Finding]:
    """Kueue holds a pod by itself back and counts it, as it does with jobs. But nobody makes it again when it is
    stopped: for another job that is more urgent, for a drain, with its node.

    Wrong:
        kind: Pod
        metadata: {name: debug, namespace: vision}
    Right:
        kind: Job
        metadata: {name: debug, namespace: vision, labels: {kueue.x-k8s.io/queue-name: default}}
    """
    for pod in of_teams(built):
        if pod.maker.kind == "Pod" and asks_for_gpus(pod):
            message = f"a pod by itself asks for GPUs in the namespace of team {pod.namespace}: once it is stopped "
            message += "nobody makes it again"
            yield pod.maker.finding(message, "kind", fix="make a Job of it: its pod template is this `spec`")


@rule("GEN-QUEUE-007", "a team's containers say what they use")
def counted(built: Built) -> Iterator[Finding]:
    """Quotas count requests, of CPU and memory as well as of GPUs: a container without them would be counted as
    nothing, and one that may use more memory than it requests takes it from other teams. The API server refuses both in
    namespaces of teams: in Jobs, Deployments and StatefulSets at once, in jobs of operators when Kueue has let them in
    and their operator makes the pods, so that they hold their quota with fewer pods than they want, or none.

    Wrong:
        resources: {limits: {nvidia.com/gpu: 8}}
    Right:
        resources: {limits: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 8}}
    """
    for pod in of_teams(built):
        for at, container in containers(pod):
            message, fix = lacking(mapping(container.get("resources")))
            if message:
                yield pod.finding(f"{called(container)}: {message}", *at, "resources", fix=fix)


def lacking(resources: dict[str, Any]) -> tuple[str, str]:
    """Return what a container does not say of CPU and memory, and what to write; two empty texts where all is well. A
    limit alone is a request, too.
    """
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    absent = [name for name in ("cpu", "memory") if requests.get(name, limits.get(name)) in (None, 0, "0")]
    if absent:
        words = ", ".join(f"{name}: {'8' if name == 'cpu' else '32Gi'}" for name in absent)
        return f"says no request for {' and '.join(absent)}", f"for instance limits: {{{words}}}"
    if "memory" not in limits:
        return "has no limit for memory", f"limits: {{memory: {requests['memory']}}}"
    request, limit = amount(requests.get("memory")), amount(limits["memory"])
    if request is not None and limit is not None and request < limit:
        return "may use more memory than it requests", f"leave the request out, or memory: {limits['memory']} in both"
    return "", ""


@rule("GEN-QUEUE-008", "a job with GPUs says its gang")
def in_gangs(built: Built) -> Iterator[Finding]:
    """Without the number of its gang a part of a Job's pods starts, and holds its GPUs while it waits for the others.
    The API server refuses such a Job in namespaces of teams.

    Wrong:
        kind: Job
        spec: {parallelism: 2}
    Right:
        kind: Job
        metadata: {annotations: {scheduling.volcano.sh/group-min-member: "2"}}
        spec: {parallelism: 2}
    """
    for pod in of_teams(built):
        at = JOBS.get(pod.maker.kind)
        if at is None or not asks_for_gpus(pod):
            continue
        job = mapping(dig(pod.maker.manifest, *at))
        count, said = together(mapping(job.get("spec"))), dig(job, "metadata", "annotations", GANG)
        if count > 1 and said != str(count):
            there = existing(pod.maker.manifest, (*at, "metadata", "annotations", GANG))
            message = f"{count} pods with GPUs run at once, and the gang is {said or 'not said'}"
            yield pod.maker.finding(message, *there, fix=f'annotations: {{{GANG}: "{count}"}}')


def of_teams(built: Built) -> Iterator[Pod]:
    """Yield the pods of Kubernetes' own kinds and of jobs of operators in namespaces of a cluster's teams."""
    spaces = teams(built) if built.cluster else set()
    return (pod for pod in pods(built) if pod.namespace in spaces and (pod.maker.version in GROUPS or held(pod.maker)))
