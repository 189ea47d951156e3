"""Pods of TrainJobs: those of the runtime that each names, with what the job says in its place."""

from collections.abc import Iterator

from msgspec import Struct

from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.components.trainer import ANCESTOR, CLUSTER_RUNTIME, NODE
from generator.model.fields import dig, mapping, sequence
from generator.model.finding import Path

SAID = {"image": "image", "command": "command", "args": "args", "resources": "resourcesPerNode"}
"""What a container has from its job, where that says it, by its name there: whole, and not merged (Trainer v2.2.1:
`pkg/runtime/core/trainingruntime.go`)."""


class TrainPod(Struct, frozen=True):
    """The pod of a node of a TrainJob (`Pod` tells what `places` are). `asked` is what the runtime's own container asks
    for.
    """

    metadata: Manifest
    spec: Manifest
    places: tuple[tuple[Path, Object, Path], ...]
    asked: Manifest


def train_pods(job: Object, built: Built) -> Iterator[TrainPod]:
    """Yield the pod of a job's nodes, as far as its runtime is here."""
    trainer = mapping(job.spec.get("trainer"))
    given = {key: trainer[name] for key, name in SAID.items() if trainer.get(name) is not None}
    for runtime, at, template in templates(job, built):
        spec = mapping(template.get("spec"))
        for index, container in enumerate(sequence(spec.get("containers"))):
            if dig(container, "name") == NODE:
                items = [*spec["containers"]]
                items[index] = {**container, **given}
                way: Path = ("spec", "containers", index)
                yield TrainPod(
                    metadata=mapping(template.get("metadata")),
                    spec={**spec, "containers": items},
                    places=(
                        ((), runtime, at),
                        *(((*way, key), job, ("spec", "trainer", SAID[key])) for key in given),
                    ),
                    asked=mapping(container.get("resources")),
                )


def templates(job: Object, built: Built) -> Iterator[tuple[Object, Path, Manifest]]:
    """Yield the templates of the nodes' pods in the runtime that a job names, with the runtime and the way to each."""
    named = mapping(job.spec.get("runtimeRef"))
    for runtime in built.of(str(named.get("kind") or CLUSTER_RUNTIME)):
        if runtime.name != named.get("name") or runtime.namespace not in {"", job.namespace}:
            continue
        way: Path = ("spec", "template", "spec", "replicatedJobs")
        for index, one in enumerate(sequence(dig(runtime.manifest, *way))):
            if dig(one, "template", "metadata", "labels", ANCESTOR) == "trainer":
                at: Path = (*way, index, "template", "spec", "template")
                yield runtime, at, mapping(dig(runtime.manifest, *at))
