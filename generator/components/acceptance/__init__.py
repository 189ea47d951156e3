"""Acceptance: pools tried as a whole, by jobs that wait in the queue, against what their hardware should reach."""

from generator.components.acceptance.facts import config_maps
from generator.components.acceptance.names import JOBS, NAMESPACE
from generator.components.acceptance.queue import namespace, queue
from generator.components.acceptance.rights import rights
from generator.components.acceptance.stores import OBJECTS, TEST, belongings, secrets, stores
from generator.components.acceptance.templates import acceptance as template
from generator.components.acceptance.templates import programs, scripts
from generator.components.ceph_cluster.buckets import BOUND
from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Namespace, Operation, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.operated import MadePods
from generator.components.rule_files import read_rules
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.compared import labelled


def acceptance(cluster: Cluster) -> Component:
    """Return what tries pools. Who may begin a workflow in this namespace has all idle GPUs for an hour: nobody but
    administrators.
    """
    found = list(stores(cluster))
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


DEFINITION = Definition(
    name="acceptance",
    tier=Tier.SCHEDULING,
    make=acceptance,
    wanted=lambda cluster: cluster.acceptance and cluster.teams,
    absence="`acceptance` names no image, or there are no teams, and so no queue",
    namespaces=(NAMESPACE, JOBS),
    own_kinds=("kueue.x-k8s.io/ClusterQueue", *CLUSTER_ROLES),
    pods=(MadePods({TEST: OBJECTS}, JOBS),),
    changes=lambda: read_rules(
        "acceptance/changes.yaml", of_the_tests=labelled("app.kubernetes.io/part-of", NAMESPACE)
    ),
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", f"app.kubernetes.io/part-of={NAMESPACE}"),)),
    notes="Tries the nodes of a pool together by the operation `acceptance`: "
    "[operations.md](operations.md#accepting-a-pool).",
)
