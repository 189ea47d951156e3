"""Rules about pools whose machines are made when jobs ask for them."""

from collections.abc import Iterator

from generator.components.cluster_autoscaler.names import NAME
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Path, put
from generator.model.gpus import devices
from generator.model.resolve import alike
from generator.model.rule import rule
from generator.model.scaling import Scaling


def _scaled(cluster: Cluster) -> Iterator[tuple[Path, str, Scaling]]:
    for name, pool in cluster.pools.items():
        if pool.scaling:
            yield ("pools", name, "scaling"), name, pool.scaling


@rule("GEN-SCALE-001", "somebody makes the machines of a pool that is scaled")
def made_by_somebody(cluster: Cluster) -> Iterator[Finding]:
    """The Cluster Autoscaler makes no machine: it tells Cluster API how many there should be, whose provider makes
    them (Metal3, vSphere, OpenStack). Where people install machines there is nothing that it could tell, and pods for
    machines that nobody makes wait for ever.

    Wrong:
        pools: {gpu: {scaling: {maximum: 8}}}     # and no `autoscaler`
    Right:
        autoscaler: {management: kubeconfig, namespace: sites}
        pools: {gpu: {scaling: {maximum: 8}}}
    """
    managed = cluster.settings(NAME).managed
    why = (
        f"{NAME} is not managed here" if cluster.autoscaler else "it takes a provider of Cluster API (no `autoscaler`)"
    )
    for at, name, _scaling in () if cluster.autoscaler and managed else _scaled(cluster):
        message = f"nobody makes machines for pool {name}: {why}"
        fix = "leave `scaling` out and list the machines as `nodes`; with a provider, add `autoscaler`"
        yield Finding(at=at, key=True, message=message, fix=fix)


@rule("GEN-SCALE-002", "an autoscaler that has something to scale")
def something_to_scale(cluster: Cluster) -> Iterator[Finding]:
    """Without a pool with `scaling` it would run for nothing.

    Wrong:
        autoscaler: {management: here}            # and no pool with `scaling`
    Right:
        autoscaler: {management: here}
        pools: {gpu: {scaling: {maximum: 8}}}
    """
    if cluster.autoscaler and not any(pool.scaling for pool in cluster.pools.values()):
        fix = "add `scaling` to a pool, or leave `autoscaler` out"
        yield Finding(at=("autoscaler",), key=True, message="no pool has `scaling`", fix=fix)


@rule("GEN-SCALE-003", "bounds the right way round")
def bounds_in_order(cluster: Cluster) -> Iterator[Finding]:
    """The autoscaler does not start a group whose maximum is below its minimum.

    Wrong:
        scaling: {minimum: 4, maximum: 2}
    Right:
        scaling: {minimum: 2, maximum: 4}
    """
    for at, _name, scaling in _scaled(cluster):
        if scaling.maximum < scaling.minimum:
            message = f"at most {scaling.maximum} machines, and at least {scaling.minimum}"
            place = (*at, "maximum")
            yield Finding(at=place, also=(*at, "minimum"), message=message, edits=put(place, scaling.minimum))


@rule("GEN-SCALE-004", "one node of its own in a pool that is scaled")
def one_of_its_own(cluster: Cluster) -> Iterator[Finding]:
    """What runs on every node, and the quotas, are made of machines that are there: of a pool without any nobody knows
    that it is right. That node is also where the acceptance of the pool is tried.

    Wrong:
        pools: {gpu: {scaling: {maximum: 8}}}     # and no node in it
    Right:
        nodes: [{name: gpu-1, pool: gpu, address: 10.10.0.31}]
    """
    for at, name, _scaling in _scaled(cluster):
        if not cluster.in_pools(name):
            fix = f"list one machine of it as a node, which stays, beside those that come and go: `pool: {name}`"
            yield Finding(at=at, key=True, also=("nodes",), message=f"pool {name} has no node of its own", fix=fix)


@rule("GEN-SCALE-005", "machines that may go hold nothing")
def nothing_to_lose(cluster: Cluster) -> Iterator[Finding]:
    """A machine that Cluster API makes has no line in the file: no address in the storage network, no port of a leaf
    switch, no disks by name, and it is deleted when it idles. So a pool that is scaled has no disks for storage, no
    HCAs, and no part of the control plane; its GPUs are of one kind of resource, for the autoscaler knows one only.

    Wrong:
        gpu: {hardware: {cpu: 64, memory: 512Gi, hcas: [mlx5_0]}, scaling: {maximum: 8}}
    Right:
        gpu: {hardware: {cpu: 64, memory: 512Gi}, scaling: {maximum: 8}}
    """
    for at, name, _scaling in _scaled(cluster):
        for what, where in _held(cluster, name):
            fix = "leave `scaling` out, or make it a pool of its own"
            yield Finding(at=at, key=True, also=where, message=f"pool {name} is scaled and has {what}", fix=fix)


def _held(cluster: Cluster, name: str) -> Iterator[tuple[str, Path]]:
    pool, at = cluster.pools[name], ("pools", name)
    if pool.role == "control-plane":
        yield "the control plane", (*at, "role")
    if pool.hardware.hcas:
        yield "HCAs, whose cables nobody could say", (*at, "hardware", "hcas")
    if pool.hardware.disks:
        yield "disks that are used by name", (*at, "hardware", "disks")
    if len(devices(cluster.gpus, alike(cluster, name).hardware.gpu)) > 1:
        yield "GPUs of several kinds", (*at, "hardware", "gpu")
