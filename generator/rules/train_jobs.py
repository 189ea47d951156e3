"""Rules about TrainJobs: what a job says in the place of its runtime."""

from collections.abc import Iterator

from generator.build.objects import Built
from generator.build.train_pods import train_pods
from generator.model.fields import dig, mapping
from generator.model.finding import Finding
from generator.model.rule import warning


@warning("GEN-JOB-005", "a TrainJob asks for all that its runtime does")
def whole(built: Built) -> Iterator[Finding]:
    """`resourcesPerNode` takes the place of all that the runtime asks for. What it leaves out is not asked for: without
    `rdma/...` the nodes talk over the pod network, in place of InfiniBand. That CPU or memory are missing GEN-QUEUE-007
    tells.

    Wrong:
        resourcesPerNode: {limits: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 8}}
    Right:
        resourcesPerNode: {limits: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}}
    """
    for job in built.of("TrainJob"):
        given = dig(job.spec, "trainer", "resourcesPerNode")
        for pod in train_pods(job, built) if given is not None else ():
            wanted, said = mapping(pod.asked.get("limits")), mapping(dig(given, "limits"))
            left = [f"{name}: {much}" for name, much in wanted.items() if name not in {*said, "cpu", "memory"}]
            if left:
                message = "it takes the place of all that the runtime asks for, and leaves out "
                message += ", ".join(one.partition(":")[0] for one in left)
                fix = f"add limits: {{{', '.join(left)}}}, or leave resourcesPerNode out"
                yield job.finding(message, "spec", "trainer", "resourcesPerNode", fix=fix)
