"""Kinds of jobs: what runs pods in a team's namespace, and how Kueue and the operators of jobs know it.

A component whose operator runs jobs declares them in its `DEFINITION`. Kueue and the tenants' rules name all of them
and are in the catalogue themselves: so `compose` hands them those of the whole catalogue (`make_with_jobs`), and no
module in the catalogue imports it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.change import CHART, ChangeRule, Effect
from generator.model.fields import dig
from generator.model.finding import Path

PODSET = "kueue.x-k8s.io/podset"
"""A label that Kueue writes on the pods of what it has let in."""
WORKLOAD = "kueue.x-k8s.io/workload"
"""An annotation that Kueue writes beside it: the name of what it has let in."""
GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations of pods: those with one are in the PodGroup that it names, and Volcano makes none for them."""
WHOLE = "leave runPolicy.schedulingPolicy out: all pods of a job start together, with the priority of its queue"
CLEANED = (
    "say runPolicy.cleanPodPolicy: Running, or All: Kueue gives the quota out again when the job ends, and its other "
    "pods would run on"
)
RUN_POLICY = {
    "!object.spec.?runPolicy.?schedulingPolicy.hasValue()": WHOLE,
    "object.spec.?runPolicy.?cleanPodPolicy.orValue('None') in ['Running', 'All']": CLEANED,
}
"""What must hold of a job of Kubeflow's operators (MPI operator v0.8.2 and training operator v1.9: `default.go`)."""
Broken: TypeAlias = Iterator[tuple[Path, str]]
"""Where a manifest breaks what its kind demands, each with what to do."""


def run_policy(job: Manifest) -> Broken:
    """Yield where a job breaks `RUN_POLICY`."""
    at = ("spec", "runPolicy")
    if dig(job, *at, "schedulingPolicy") is not None:
        yield (*at, "schedulingPolicy"), WHOLE
    if str(dig(job, *at, "cleanPodPolicy")) not in {"Running", "All"}:
        yield (*at, "cleanPodPolicy"), CLEANED


OPERATORS_OWN = (
    f"leave the label {PODSET} and annotations that name a PodGroup or a Workload out of templates: Kueue and Volcano "
    "write them, and by them pods count as let in and as a gang"
)


def plain(template: str) -> str:
    """Return the CEL expression that a template of pods, or of Jobs, says nothing that is Kueue's or Volcano's."""
    keys = f"({template}.?metadata.?annotations.orValue({{}}).exists(key, key in {[*GROUP_NAMES, WORKLOAD]})"
    return f"!{keys} || {template}.?metadata.?labels[?'{PODSET}'].hasValue())"


def operator_leaves(code: str, component: str, kinds: str) -> ChangeRule:
    """Return the rule of what an operator's leaving means for jobs of these kinds, as `kubectl get` knows them. Who
    tells Kueue that such a job ended is its operator, by the job's status.
    """
    return ChangeRule(
        code=code,
        kinds=(CHART, "apps/Deployment"),
        on="removed",
        effect=Effect.OUTAGE,
        reason="nobody looks after the teams' jobs of these kinds any more: pods that run go on, none is started or "
        "cleaned up, and no job is told to have ended, so that each keeps its quota",
        instead=f"let the jobs end, or be deleted, before: `kubectl get {kinds} -A`",
        when=lambda change, _field: change.application == component,
    )


class JobKind(Struct, frozen=True, kw_only=True):
    """A kind whose objects Kueue holds back as a whole. `framework` is its name in Kueue's configuration.

    `places_itself`: its operator names Volcano as the scheduler where the pods name none (facts: scheduling 1.8).
    `templates` and `cluster_templates` are resources of its group that a job may be made from, in its namespace or for
    all: people who run jobs may see them. `demands` are CEL expressions that must hold of those that people make, each
    with what to do where one does not; `broken` says the same without a server, of all but what templates say, which
    rules on pods tell. `counted` is what Kueue counted when it let one in: people may change it only while Kueue holds
    the job back.
    """

    group: str
    kind: str
    framework: str
    places_itself: bool = False
    templates: tuple[str, ...] = ()
    cluster_templates: tuple[str, ...] = ()
    demands: Mapping[str, str] = {}
    broken: Callable[[Manifest], Broken] = lambda _: iter(())
    counted: str = "spec"

    @property
    def plural(self) -> str:
        """Its name in URLs and roles."""
        return f"{self.kind.lower()}s"


def together(spec: Manifest) -> int:
    """Return how many pods of a Job run at once."""
    parallel = spec.get("parallelism", 1)
    found = (parallel, spec.get("completions", parallel))
    return min(each if isinstance(each, int) else 1 for each in found)


Jobs: TypeAlias = tuple[tuple[JobKind, ...], ...]
"""The kinds of jobs of each operator."""

JOB = JobKind(group="batch", kind="Job", framework="batch/job")
SERVICES = (
    JobKind(group="apps", kind="Deployment", framework="deployment"),
    JobKind(group="apps", kind="StatefulSet", framework="statefulset"),
)
"""Kubernetes' own that run until somebody stops them."""

# Of the training operator, of which gen installs TFJobs alone: what installs a kind declares it in its `DEFINITION`.
ELASTIC = "leave elasticPolicy out: quotas count a gang once, and it keeps its number of pods"


def pytorch_broken(job: Manifest) -> Broken:
    """Yield where a PyTorchJob breaks what its kind demands."""
    if dig(job, "spec", "elasticPolicy") is not None:
        yield ("spec", "elasticPolicy"), ELASTIC
    yield from run_policy(job)


PYTORCH = (
    JobKind(
        group="kubeflow.org",
        kind="PyTorchJob",
        framework="kubeflow.org/pytorchjob",
        places_itself=True,
        demands={"!object.spec.?elasticPolicy.hasValue()": ELASTIC, **RUN_POLICY},
        broken=pytorch_broken,
    ),
)

MPI_OPERATORS = {"kubeflow.org/v1": "training-operator", "kubeflow.org/v2beta1": "mpi-operator"}
"""Which operator brings which version of MPIJob, the newest last: in CRDs of one name (facts: scheduling 7)."""


def sorted_kinds(jobs: Jobs) -> Iterator[JobKind]:
    """Yield the kinds of each operator, those of one by group and name, as policies and roles list them."""
    for kinds in jobs:
        yield from sorted(kinds, key=lambda one: (one.group, one.kind))


def by_group(jobs: Jobs) -> tuple[tuple[str, list[str]], ...]:
    """Return the plurals of kinds by their group."""
    found: dict[str, list[str]] = {}
    for one in sorted_kinds(jobs):
        found.setdefault(one.group, []).append(one.plural)
    return tuple(found.items())
