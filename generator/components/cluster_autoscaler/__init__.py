"""The Cluster Autoscaler with Cluster API: machines of some pools are made while jobs ask for them."""

from generator.components.cluster_autoscaler.names import GROUP, NAME, NAMESPACE
from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import Api
from generator.components.rule_files import read_rules
from generator.model.cluster import Cluster
from generator.model.compared import named

_TAG = "https://raw.githubusercontent.com/kubernetes/autoscaler/cluster-autoscaler-"
_DEFINITION = "cluster-autoscaler/apis/config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"


def _release(version: str, minor: int) -> Version:
    """Return a release, for the minor of Kubernetes whose scheduler it contains: upstream tries no other."""
    return Version(
        version=version,
        manifests=(f"{_TAG}{version}/{_DEFINITION}",),
        images={"autoscaler": f"registry.k8s.io/autoscaling/cluster-autoscaler:v{version}"},
        kubernetes=(minor, minor),
    )


VERSIONS = Versions(
    NAME,
    (_release("1.35.2", 35), _release("1.34.5", 34), _release("1.33.6", 33), _release("1.36.1", 36)),
    by_minor=True,
)


def cluster_autoscaler(cluster: Cluster) -> Component:
    """Install the autoscaler where the file says who makes machines."""
    from generator.components.cluster_autoscaler.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


DEFINITION = Definition(
    name=NAME,
    tier=Tier.SCHEDULING,
    make=cluster_autoscaler,
    wanted=lambda cluster: cluster.autoscaler,
    absence="there is no autoscaler",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD,),
    own_kinds=(
        *CLUSTER_ROLES,
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    ),
    apis=(Api(group=GROUP),),
    changes=lambda: read_rules("cluster_autoscaler/changes.yaml", own=named(NAMESPACE, NAME)),
    shown_by=Evidence(images=("autoscaling/cluster-autoscaler",)),
    notes="For sites where Cluster API makes machines. It makes them for whole jobs: Kueue asks for all machines of a "
    "job at once and lets it in when they are there. It takes away only machines on which nothing runs, never one of "
    "`nodes`. What people do at Cluster API's side: [operations.md](operations.md#machines-by-cluster-api).",
)
