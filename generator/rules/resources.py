"""Rules about what pods request: CPU, memory and devices against the nodes they may be on."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.build.objects import Built
from generator.build.pods import Pod, called, containers, pods
from generator.build.workflow_pods import AT_SUBMISSION
from generator.model.fields import amount, dig, mapping
from generator.model.finding import Finding, Path, Severity
from generator.model.gpus import GPU
from generator.model.quantity import Quantity
from generator.model.rule import rule
from generator.rules.nodes import COMPONENT_RESOURCES, Worker, nodes_of
from generator.rules.placement import obstacles, tolerate, unselected, untolerated

OWN = ("cpu", "memory", "ephemeral-storage")
"""Kubernetes' own resources of containers; huge pages have their size in their name."""


class ResourceRequest(NamedTuple):
    """What one container says of one resource: path of its `resources`, request and limit in thousandths."""

    at: Path
    container: str
    resource: str
    request: int | None
    limit: int | None


@rule("GEN-POD-020", "requests fit a node")
def fitting(built: Built) -> Iterator[Finding]:
    """A pod is on one node: what no single node can give, no number of nodes can. Counted is what a node has less what
    is reserved for its system, the daemon sets of the components and Ceph's OSDs; looked at are only nodes whose labels
    and taints let the pod in.

    Wrong:
        resources: {requests: {cpu: 200, memory: 2Ti}}
    Right:
        resources: {requests: {cpu: 100, memory: 512Gi}}
    """
    nodes = nodes_of(built)
    for pod in pods(built):
        wanted = {name: much for name, much in total(pod).items() if any(name in node.room for node in nodes)}
        if any(not obstacles(pod, node) and not missing(pod, wanted, node) for node in nodes):
            continue
        allowed = [node for node in nodes if not obstacles(pod, node)]
        lacking = [missing(pod, wanted, node) for node in allowed]
        if not allowed:
            continue
        able = [node for node in nodes if not unselected(pod, node) and not missing(pod, wanted, node)]
        if able and not all(map(plain, wanted)):
            yield kept_off(pod, able, built)
        else:
            best = min(range(len(allowed)), key=lambda index: len(lacking[index]))
            yield unfitting(pod, wanted, allowed, lacking[best][0], built)


def kept_off(pod: Pod, able: list[Worker], built: Built) -> Finding:
    """Tell which taints keep a pod off the nodes that have what it asks for, first those of its team's pools."""
    teams = built.cluster.teams if built.cluster else ()
    pools = {pool for team in teams if team.name == pod.namespace for pool in team.quotas}
    node = min(able, key=lambda one: (one.pool not in pools, len(untolerated(pod, one))))
    devices = ", ".join(name for name in total(pod) if not plain(name))
    taints = [taint for _, taint in untolerated(pod, node)]
    told = " and ".join(map(str, taints))
    message = f"{devices} is on nodes that it does not tolerate: {told} in pool {node.pool} ({node.name})"
    return pod.finding(message, "spec", "tolerations", fix=tolerate(*taints))


def unfitting(pod: Pod, wanted: dict[str, int], allowed: list[Worker], resource: str, built: Built) -> Finding:
    """Tell that no node has enough of a resource."""
    daemon = pod.maker.kind == "DaemonSet"
    most = max(allowed, key=lambda node: node.has(resource, daemon=daemon) or 0)
    has = max(0, most.has(resource, daemon=daemon) or 0)
    largest = max(
        (one for one in resource_requests(pod) if one.resource == resource),
        key=lambda one: one.request or one.limit or 0,
    )
    there = "requests" if largest.request is not None else "limits"
    if any((node.has(resource, daemon=daemon) or 0) >= wanted[resource] for node in allowed):
        message = f"no node that it may be on has all it asks for at once, {shown(resource, wanted[resource])} for one"
    else:
        most_told = f"no node that it may be on has more than {shown(resource, has)} ({most.name})"
        message = f"it asks for {shown(resource, wanted[resource])}, and {most_told}"
    elsewhere = sorted({node.pool for node in nodes_of(built) if node.has(resource)})
    fix = f"ask for {shown(resource, has)} or less"
    if not has and elsewhere:
        fix = f"select nodes that have it: those of pool {' or '.join(elsewhere)}"
    return pod.finding(message, *largest.at, there, resource, fix=fix)


def missing(pod: Pod, wanted: dict[str, int], node: Worker) -> list[str]:
    """Return the resources of which a node has too little for a pod."""
    there = {name: node.has(name, daemon=pod.maker.kind == "DaemonSet") for name in wanted}
    return [name for name, has in there.items() if has is not None and wanted[name] > has]


@rule("GEN-POD-021", "no limit is below its request")
def limited(built: Built) -> Iterator[Finding]:
    """The API server refuses a pod that may have less than it asks for.

    Wrong:
        resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}
    Right:
        resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}
    """
    for pod in pods(built):
        for one in resource_requests(pod):
            if one.request is not None and one.limit is not None and one.limit < one.request and plain(one.resource):
                limit, request = shown(one.resource, one.limit), shown(one.resource, one.request)
                message = f"{one.container}: limit {limit} is below the request of {request}"
                yield pod.finding(message, *one.at, "limits", one.resource, fix="raise the limit or lower the request")


@rule("GEN-POD-022", "devices are asked for in whole, by limits")
def whole(built: Built) -> Iterator[Finding]:
    """Extended resources and huge pages cannot be overcommitted: the API server demands a limit, a request only if it
    is the same, and whole numbers of devices.

    Wrong:
        resources: {requests: {nvidia.com/gpu: 1}}
    Right:
        resources: {limits: {nvidia.com/gpu: 1}}
    """
    for pod in pods(built):
        for one in resource_requests(pod):
            if plain(one.resource):
                continue
            if one.limit is None:
                message = f"{one.container}: {one.resource} needs a limit that equals its request"
                yield pod.finding(message, *one.at, fix=f"limits: {{{one.resource}: {share(one)}}}")
            elif one.request is not None and one.request != one.limit:
                request, limit = Quantity(one.request), Quantity(one.limit)
                message = (
                    f"{one.container}: requests {request} {one.resource} and has a limit of {limit}: both must be one"
                )
                fix = f"leave the request out; limits: {{{one.resource}: {limit}}} is one, too"
                yield pod.finding(message, *one.at, "requests", one.resource, fix=fix)
            elif one.limit % 1000:
                message = f"{one.container}: {one.resource} comes in whole numbers"
                yield pod.finding(message, *one.at, "limits", one.resource)


@rule("GEN-POD-025", "resources have the names that Kubernetes knows")
def named(built: Built) -> Iterator[Finding]:
    """Kubernetes' own resources of containers are `cpu`, `memory`, `ephemeral-storage` and huge pages; all others have
    a domain before their name. The API server refuses what is neither.

    Wrong:
        limits: {gpu: 1}
    Right:
        limits: {nvidia.com/gpu: 1}
    """
    for pod in pods(built):
        for at, container in containers(pod):
            for part in ("requests", "limits"):
                for name in map(str, mapping(dig(container, "resources", part))):
                    if name not in OWN and plain(name) and AT_SUBMISSION not in name:
                        message = f"{called(container)}: there is no resource {name}"
                        fix = f"write {GPU}" if "gpu" in name.lower() else f"Kubernetes' own are {', '.join(OWN)}"
                        yield pod.finding(message, *at, "resources", part, name, fix=fix)


@rule("GEN-POD-023", "devices are those that nodes offer")
def offered(built: Built) -> Iterator[Finding]:
    """GPUs, their instances and RDMA tickets are offered by the components of the cluster file and by nobody else: a
    pod that asks for one by another name, or where there are none, waits for ever. Names of GPU instances follow from
    `mig` in the pool and from `gpus.migStrategy`, that of RDMA from `fabric.rdma`.

    Wrong:
        limits: {rdma/hca_devices: 1}
    Right:
        limits: {rdma/hca_shared_devices_a: 1}
    """
    for pod, one, nodes in unoffered(built):
        if one.resource.startswith(COMPONENT_RESOURCES):
            there = {name for node in nodes for name in node.room if name.startswith(COMPONENT_RESOURCES)}
            message = f"{one.container}: no node offers {one.resource}"
            offers = f"ask for one that nodes offer: {', '.join(sorted(there))}"
            fix = offers if there else "leave it out: no node offers GPUs or RDMA"
            yield pod.finding(message, *one.at, "limits", one.resource, fix=fix)


@rule("GEN-POD-024", "somebody offers other devices and huge pages", severity=Severity.WARNING)
def unknown(built: Built) -> Iterator[Finding]:
    """No component offers this resource, and nodes are not prepared with huge pages. It may come from a device plugin
    or a kernel setting of your own; if not, the pod waits for ever.

    Wrong:
        limits: {example.org/fpga: 1}
    Right:
        limits: {nvidia.com/gpu: 1}
    """
    for pod, one, _ in unoffered(built):
        if not one.resource.startswith(COMPONENT_RESOURCES):
            message = f"{one.container}: nothing that is known here offers {one.resource}"
            yield pod.finding(
                message, *one.at, "limits", one.resource, fix="leave it out if nothing of yours offers it"
            )


def unoffered(built: Built) -> Iterator[tuple[Pod, ResourceRequest, tuple[Worker, ...]]]:
    """Yield the extended resources and huge pages that pods ask for and no node has."""
    nodes = nodes_of(built)
    for pod in pods(built) if nodes else ():
        for one in resource_requests(pod):
            wanted = one.limit or one.request
            if wanted and not plain(one.resource) and all(node.has(one.resource) == 0 for node in nodes):
                yield pod, one, nodes


def resource_requests(pod: Pod) -> Iterator[ResourceRequest]:
    """Yield what each container asks for, resource by resource."""
    for at, container in containers(pod):
        found = mapping(container.get("resources"))
        requests, limits = mapping(found.get("requests")), mapping(found.get("limits"))
        for resource in {str(key): None for key in (*requests, *limits)}:
            request, limit = amount(requests.get(resource)), amount(limits.get(resource))
            if request is not None or limit is not None:
                yield ResourceRequest((*at, "resources"), called(container), resource, request, limit)


def total(pod: Pod) -> dict[str, int]:
    """Return what a pod requests in all, in thousandths: that of its containers and of sidecars among the first ones,
    or more where one that runs before them asks for more. A limit without a request is one.
    """
    running: dict[str, int] = {}
    before: dict[str, int] = {}
    for one in resource_requests(pod):
        much = one.request if one.request is not None else one.limit or 0
        index = one.at[2]
        stays = one.at[1] == "containers" or dig(pod.spec, *one.at[1:2], index, "restartPolicy") == "Always"
        if stays:
            running[one.resource] = running.get(one.resource, 0) + much
        else:
            before[one.resource] = max(before.get(one.resource, 0), much + running.get(one.resource, 0))
    return {key: max(running.get(key, 0), before.get(key, 0)) for key in running | before}


def plain(resource: str) -> bool:
    """Tell whether a resource may be overcommitted: Kubernetes' own, less huge pages."""
    return "/" not in resource and not resource.startswith("hugepages-")


def share(one: ResourceRequest) -> Quantity:
    """Return what the scheduler counts: the request, else the limit."""
    return Quantity(one.request if one.request is not None else one.limit or 0)


def shown(resource: str, milli: int) -> str:
    """Write an amount for people."""
    text = Quantity(milli).human() if resource == "memory" else f"{milli / 1000:g}"
    return f"{text} of memory" if resource == "memory" else f"{text} {resource}"
