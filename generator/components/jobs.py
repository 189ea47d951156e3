"""Kinds of jobs: what runs pods in a team's namespace, and how Kueue and the operators of jobs know it.

A component whose operator runs jobs declares them in its `DEFINITION`. Kueue and the tenants' rules name all of them
and are in the catalogue themselves: so `compose` hands them those of the whole catalogue (`make_with_jobs`), and no
module in the catalogue imports it.
"""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct


class JobKind(Struct, frozen=True, kw_only=True):
    """A kind whose objects Kueue holds back as a whole. `framework` is its name in Kueue's configuration.

    `places_itself`: its operator names Volcano as the scheduler where the pods name none (facts: scheduling 1.8).
    `templates` and `cluster_templates` are resources of its group that a job may be made from, in its namespace or for
    all: people who run jobs may see them.
    """

    group: str
    kind: str
    framework: str
    places_itself: bool = False
    templates: tuple[str, ...] = ()
    cluster_templates: tuple[str, ...] = ()

    @property
    def plural(self) -> str:
        """Its name in URLs and roles."""
        return f"{self.kind.lower()}s"


Jobs: TypeAlias = tuple[tuple[JobKind, ...], ...]
"""The kinds of jobs of each operator."""

JOB = JobKind(group="batch", kind="Job", framework="batch/job")
SERVICES = (
    JobKind(group="apps", kind="Deployment", framework="deployment"),
    JobKind(group="apps", kind="StatefulSet", framework="statefulset"),
)
"""Kubernetes' own that run until somebody stops them."""

# Of operators that gen does not install: what installs one declares its kinds in its `DEFINITION` instead.
JOBSET = (JobKind(group="jobset.x-k8s.io", kind="JobSet", framework="jobset.x-k8s.io/jobset"),)
KUBEFLOW = (
    JobKind(
        group="trainer.kubeflow.org",
        kind="TrainJob",
        framework="trainer.kubeflow.org/trainjob",
        templates=("trainingruntimes",),
        cluster_templates=("clustertrainingruntimes",),
    ),
    JobKind(group="kubeflow.org", kind="MPIJob", framework="kubeflow.org/mpijob", places_itself=True),
    JobKind(group="kubeflow.org", kind="PyTorchJob", framework="kubeflow.org/pytorchjob", places_itself=True),
    JobKind(group="kubeflow.org", kind="TFJob", framework="kubeflow.org/tfjob", places_itself=True),
)
RAY = (
    JobKind(group="ray.io", kind="RayJob", framework="ray.io/rayjob", places_itself=True),
    JobKind(group="ray.io", kind="RayCluster", framework="ray.io/raycluster", places_itself=True),
    JobKind(group="ray.io", kind="RayService", framework="ray.io/rayservice", places_itself=True),
)


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
