"""Pods that objects ask for, and where each part of them is written."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from generator.build.objects import Built, Object
from generator.build.train_pods import train_pods
from generator.build.workflow_pods import workflow_pods
from generator.components import JOBS
from generator.components.argo_workflows import WORKFLOWS
from generator.components.component import Manifest
from generator.model.fields import dig, existing, mapping, sequence, walk
from generator.model.finding import Finding, Path
from generator.model.opening import written

TEMPLATES: dict[str, Path] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
GROUPS = {"v1", "apps/v1", "batch/v1"}
OF_JOBS = {one.group for kinds in JOBS for one in kinds}
"""API groups of jobs of operators: JobSet's ends as those of Kubernetes itself do."""


class Pod(Struct, frozen=True, kw_only=True):
    """One kind of pod that `maker` asks for. `places` tells where each part is written: the longest way into the pod
    that begins a path, with the object and the way that stand for it there.
    """

    maker: Object
    metadata: Manifest
    spec: Manifest
    places: tuple[tuple[Path, Object, Path], ...]

    @property
    def namespace(self) -> str:
        """The namespace it runs in."""
        return self.maker.namespace or "default"

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return mapping(self.metadata.get("labels"))

    def finding(self, message: str, *at: str | int, fix: str = "") -> Finding:
        """Make a finding of what lies at a path into the pod (`spec`, `containers`, 0 ...), or is missing there."""
        one, there = self.written(at)
        return one.finding(message, *there, fix=fix)

    def written(self, at: Path) -> tuple[Object, Path]:
        """Return the object in which a path into the pod is written, and the path there, as far as there is one."""
        fitting = [place for place in self.places if at[: len(place[0])] == place[0]]
        way, written, there = max(fitting, key=lambda place: len(place[0]))
        return written, existing(written.manifest, (*there, *at[len(way) :]))


@lru_cache(maxsize=2)
def pods(built: Built) -> tuple[Pod, ...]:
    """Return every kind of pod that is asked for."""
    return tuple(pod for one in built.objects for pod in pods_of(one, built))


@lru_cache(maxsize=2)
def _by_maker(built: Built) -> dict[int, tuple[Pod, ...]]:
    """Return the pods that each object asks for: by its identity here, as objects have none that could be compared."""
    return {id(one): tuple(_pods_of(one, built)) for one in built.objects}


def pods_of(one: Object, built: Built) -> Iterable[Pod]:
    """Return the pods that an object asks for; one of those of `built` is looked at once."""
    found = _by_maker(built).get(id(one))
    return _pods_of(one, built) if found is None else found


def _pods_of(one: Object, built: Built) -> Iterator[Pod]:
    """Yield the pods that an object asks for: of Kubernetes' own kinds, of Argo's workflows, of TrainJobs, and of every
    custom kind that holds whole pod templates (Volcano, Kubeflow, JobSet, Ray ...). Not seen are pods that a controller
    makes up itself, and manifests in the texts of workflows.
    """
    if one.version in GROUPS:
        if one.kind in TEMPLATES:
            yield from templated(one, TEMPLATES[one.kind])
    elif one.group == "argoproj.io" and one.kind in WORKFLOWS:
        for pod in workflow_pods(one, built):
            yield Pod(maker=one, metadata=pod.metadata, spec=pod.spec, places=pod.places)
    elif one.kind == "TrainJob":
        for node in train_pods(one, built):
            yield Pod(maker=one, metadata=node.metadata, spec=node.spec, places=node.places)
    elif one.group in OF_JOBS or ("." in one.group and not one.group.endswith(".k8s.io")):
        for at in whole_templates(one.manifest):
            yield from templated(one, at)


def templated(one: Object, at: Path) -> Iterator[Pod]:
    """Yield the pod whose template is at a path. A StatefulSet gives its pods claims of its own."""
    template = mapping(dig(one.manifest, *at))
    spec = mapping(template.get("spec"))
    names = [dig(claim, "metadata", "name") for claim in sequence(one.spec.get("volumeClaimTemplates"))]
    if names:
        claims = [{"name": name, "ephemeral": {}} for name in names]
        # A volume of the same name is replaced by the claim.
        volumes = [{} if dig(each, "name") in names else each for each in sequence(spec.get("volumes"))]
        spec = {**spec, "volumes": [*volumes, *claims]}
    yield Pod(maker=one, metadata=mapping(template.get("metadata")), spec=spec, places=(((), one, at),))


def whole_templates(manifest: Manifest) -> Iterator[Path]:
    """Yield where a custom object holds pod templates. Containers without images only change what a controller
    makes: they are no pods of their own.
    """
    for at, part in walk(manifest.get("spec"), ("spec",)):
        found = sequence(dig(part, "spec", "containers"))
        if found and all(dig(each, "name") and dig(each, "image") for each in found):
            yield at


def called(container: Manifest) -> str:
    """Return how messages name a container."""
    name = container.get("name")
    return "a container without a name" if name is None else f"container {written(name)}"


def containers(pod: Pod, *keys: str) -> Iterator[tuple[Path, Manifest]]:
    """Yield the containers of a pod with their paths, those that only start it first; `keys` names the lists."""
    for key in keys or ("initContainers", "containers"):
        for index, each in enumerate(sequence(pod.spec.get(key))):
            yield ("spec", key, index), mapping(each)
