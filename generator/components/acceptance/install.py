"""Acceptance: pools tried as a whole, by jobs that wait in the queue, against what their hardware should reach."""

from generator.components.acceptance import DEFINITION
from generator.components.acceptance.facts import config_maps
from generator.components.acceptance.names import NAMESPACE
from generator.components.acceptance.queue import namespace, queue
from generator.components.acceptance.rights import rights
from generator.components.acceptance.stores import belongings, secrets, stores
from generator.components.acceptance.templates import acceptance as template
from generator.components.acceptance.templates import programs, scripts
from generator.components.ceph_cluster.buckets import BOUND
from generator.components.component import Component, Namespace, Operation
from generator.components.static import read_objects
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
    """Return what tries pools. Who may begin a workflow in this namespace has all idle GPUs for an hour: nobody but
    administrators.
    """
    found = stores(cluster)
    return Component(
        name=DEFINITION.name,
        tier=DEFINITION.tier,
        summary="Operations: pools tried as a whole, links, disks, shared storage and object stores",
        version="v1",
        namespaces=(Namespace(NAMESPACE), namespace(cluster)),
        base=read_objects("acceptance/base.yaml"),
        objects=(*queue(cluster), *config_maps(cluster), *rights(cluster), *belongings(cluster)),
        operations=(Operation(name=NAMESPACE, templates=(template(), scripts(), programs())),),
        needs=(
            "argo-workflows",
            "queues",
            *dict.fromkeys(one.maker for one in found),
            *(("issuers",) if found else ()),
        ),
        secrets=tuple(secrets(cluster)),
        ignore=(BOUND,) if any(one.maker == "ceph-cluster" for one in found) else (),
    )
