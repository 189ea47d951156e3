"""Rules about what the admission policies of teams' namespaces refuse beside requests and gangs, told before it is
applied. What a policy says to somebody is what is told here as a fix.
"""

import re
from collections.abc import Callable, Iterator

from generator.build.objects import Built, Object
from generator.build.pods import Pod
from generator.components.component import Manifest
from generator.components.jobs import GROUP_NAMES, PODSET, WORKLOAD, Broken
from generator.components.kueue import PRIORITY
from generator.components.queues import BATCH
from generator.components.tenants import beside
from generator.components.tenants import pods as policy
from generator.model.cluster import Cluster
from generator.model.fields import dig, existing, mapping, sequence
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.rules.queues import HELD, held, teams
from generator.rules.team_pods import of_teams


@rule("GEN-QUEUE-014", "a team's pods name only what is a team's")
def modest(built: Built) -> Iterator[Finding]:
    """In namespaces of teams the API server refuses what reaches past the team: classes of priority that stop others,
    runtimes and devices that nobody counted, servers that a node would mount, nodes by name, hours to end in, and what
    is Kueue's to write. Templates of operators' jobs are refused only when pods are made of them, when the job has its
    quota.

    Wrong:
        priorityClassName: system-cluster-critical
        runtimeClassName: nvidia
    Right:
        priorityClassName: batch-normal
    """
    for pod in of_teams(built):
        for at, told in past_the_team(pod, classes_of(pod.namespace, built.cluster)):
            yield pod.finding(refused(at, pod.namespace), *at, fix=told)


def past_the_team(pod: Pod, classes: set[str] | None) -> Broken:
    """Yield where a pod names what is not its team's to name, each with what its policy says."""
    named = str(pod.spec.get("priorityClassName") or "")
    if named and not named.startswith(BATCH):
        yield ("spec", "priorityClassName"), policy.OWN_CLASSES
    elif named and classes is not None and named.removeprefix(BATCH) not in classes:
        yield ("spec", "priorityClassName"), policy.OPEN_CLASSES
    for key, told in (("runtimeClassName", policy.NO_RUNTIME), ("nodeName", policy.NO_NODE)):
        if pod.spec.get(key):
            yield ("spec", key), told
    grace = pod.spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace > policy.GRACE:
        yield ("spec", "terminationGracePeriodSeconds"), policy.NO_GRACE
    for index, volume in enumerate(sequence(pod.spec.get("volumes"))):
        kinds = mapping(volume).keys() - {"name"}
        if kinds and not kinds & {*policy.MOUNTED}:
            yield ("spec", "volumes", index, min(kinds)), policy.NO_SERVERS
    yield from marks(pod)


def marks(pod: Pod) -> Broken:
    """Yield the labels and annotations of a pod by which it would have devices, a gang or a quota of others."""
    told_of = {**dict.fromkeys(GROUP_NAMES, policy.NO_GROUPS), WORKLOAD: policy.NO_WORKLOAD}
    for key in mapping(pod.metadata.get("annotations")):
        if policy.CDI in str(key):
            yield ("metadata", "annotations", key), policy.NO_DEVICES
        elif key in told_of:
            yield ("metadata", "annotations", key), told_of[key]
    if PODSET in pod.labels:
        yield ("metadata", "labels", PODSET), policy.NO_PODSET


@rule("GEN-QUEUE-015", "a job is as its kind demands")
def as_demanded(built: Built) -> Iterator[Finding]:
    """What would start a part of a gang, run on when its quota is given out again, or grow beyond what was counted is
    refused in namespaces of teams when the job is made.

    Wrong:
        kind: MPIJob
        spec: {mpiReplicaSpecs: {...}}
    Right:
        kind: MPIJob
        spec: {runPolicy: {cleanPodPolicy: Running}, mpiReplicaSpecs: {...}}
    """
    for one in of_team_spaces(built):
        if held(one):
            for at, told in HELD[one.group, one.kind.lower()].broken(one.manifest):
                yield one.finding(refused(at, one.namespace), *existing(one.manifest, at), fix=told)


@rule("GEN-QUEUE-016", "a team's job has a class that the team may use")
def of_an_open_class(built: Built) -> Iterator[Finding]:
    """Jobs of operators name their class (Kueue would else take that of the first of their pods), and no job one that
    its team was not given: the API server refuses both in namespaces of teams. `priorities` of the team, or of the
    cluster file's `scheduling`, say which there are.

    Wrong:
        labels: {kueue.x-k8s.io/queue-name: default, kueue.x-k8s.io/priority-class: serving}
    Right:
        labels: {kueue.x-k8s.io/queue-name: default, kueue.x-k8s.io/priority-class: normal}
    """
    for one in of_team_spaces(built):
        classes = classes_of(one.namespace, built.cluster)
        ways: tuple[Path, ...] = ((), ("spec", "jobTemplate")) if one.kind == "CronJob" else ((),)
        for way in ways if classes is not None and (held(one) or one.kind == "CronJob") else ():
            at: Path = (*way, "metadata", "labels", PRIORITY)
            named = dig(one.manifest, *at)
            fix = f"labels: {{{PRIORITY}: {' or '.join(sorted(classes or ())) or 'a class that the team is given'}}}"
            if named and named not in (classes or ()):
                message = f"team {one.namespace} may not use the class {named}: the API server refuses it"
                yield one.finding(message, *at, fix=fix)
            elif not named and by_operator(one):
                message = "names no class of priority, and without one the API server refuses it"
                yield one.finding(message, *existing(one.manifest, at), fix=fix)


@rule("GEN-QUEUE-017", "what stands beside a team's jobs is a team's to make")
def beside_jobs(built: Built) -> Iterator[Finding]:
    """Addresses outside the cluster, tokens that outlive their pods, and budgets that could stop the drain of a node
    are refused in namespaces of teams.

    Wrong:
        kind: Service
        spec: {type: LoadBalancer}
    Right:
        kind: Service
        spec: {type: ClusterIP}
    """
    for one in of_team_spaces(built):
        for at, told in BESIDE.get(one.kind, nothing)(one.manifest):
            yield one.finding(refused(at, one.namespace), *existing(one.manifest, at), fix=told)


def service(manifest: Manifest) -> Broken:
    """Yield what of a Service the quota or a policy of a team's namespace refuses."""
    if dig(manifest, "spec", "type") in ("LoadBalancer", "NodePort"):
        yield ("spec", "type"), beside.NO_PORTS
    if dig(manifest, "spec", "externalIPs"):
        yield ("spec", "externalIPs"), beside.NO_ADDRESSES


def secret(manifest: Manifest) -> Broken:
    """Yield what of a Secret is refused."""
    if manifest.get("type") == beside.TOKEN:
        yield ("type",), beside.NO_TOKENS


def budget(manifest: Manifest) -> Broken:
    """Yield what of a disruption budget is refused."""
    if not re.fullmatch(beside.SOME, str(dig(manifest, "spec", "maxUnavailable"))):
        there = "minAvailable" if dig(manifest, "spec", "minAvailable") is not None else "maxUnavailable"
        yield ("spec", there), beside.LETS_SOME_GO
    if dig(manifest, "spec", "unhealthyPodEvictionPolicy") != "AlwaysAllow":
        yield ("spec", "unhealthyPodEvictionPolicy"), beside.LETS_BROKEN_GO


def nothing(_: Manifest) -> Broken:
    """Yield nothing: no policy looks at the kind."""
    return iter(())


BESIDE: dict[str, Callable[[Manifest], Broken]] = {
    "Service": service,
    "Secret": secret,
    "PodDisruptionBudget": budget,
}


def refused(at: Path, namespace: str) -> str:
    """Say that the API server refuses what is at a path, or that it is missing there."""
    name = next(str(step) for step in reversed(at) if isinstance(step, str))
    return f"the API server refuses it for its {name} in the namespace of team {namespace}"


def classes_of(namespace: str, cluster: Cluster | None) -> set[str] | None:
    """Return the classes of jobs that the team of a namespace may use; None where the cluster file has no such team."""
    team = next((one for one in cluster.teams if one.name == namespace), None) if cluster else None
    return {*cluster.scheduling.open_to(team)} if cluster and team else None


def by_operator(one: Object) -> bool:
    """Tell whether an operator runs objects of this kind."""
    return held(one) and one.group not in {"batch", "apps"}


def of_team_spaces(built: Built) -> Iterator[Object]:
    """Yield what people bring into namespaces of a cluster's teams: what components have there is not a team's."""
    spaces = teams(built) if built.cluster else set()
    return (one for one in built.objects if one.namespace in spaces and not one.component)
