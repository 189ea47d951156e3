"""Argo CD, from upstream's manifest: it applies everything else, and itself once it runs."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Version, Versions
from generator.components.operated import OWN, Api, OperatedKind
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.finding import Path

VERSIONS = Versions(
    "argo-cd",
    (
        Version(
            version="v3.5.8",
            manifests=(
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/install.yaml",
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/ha/install.yaml",
            ),
            schemas=("argo-cd/v3.5.3",),
            proven="v3.5.3",
            kubernetes=(33, 36),
        ),
    ),
)
NAMESPACE = "argocd"
PART = {"app.kubernetes.io/part-of": "argocd"}
"""On all objects of Argo CD's own, and on Secrets that it reads. Its Services have a port named metrics, which its
NetworkPolicies let everybody scrape.
"""


def argo_cd(cluster: Cluster, others: tuple[Component, ...], *, enable_helm: bool = True) -> Component:
    """Argo CD with what the other components need of it: their health checks. `enable_helm` lets it inflate charts."""
    from generator.components.argo_cd.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster, others, enable_helm=enable_helm)


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the name of its pages."""
    if cluster.gitops.host:
        yield ("gitops", "host"), cluster.gitops.host


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.argo_cd.access_openings import OPENINGS as ACCESS_OPENINGS  # noqa: PLC0415 - for those who compare
    from generator.components.argo_cd.application_changes import APPLICATION_CHANGES  # noqa: PLC0415 - as above
    from generator.components.argo_cd.changes import CHANGES  # noqa: PLC0415 - as above
    from generator.components.argo_cd.deletion_changes import DELETION_CHANGES  # noqa: PLC0415 - as above
    from generator.components.argo_cd.project_changes import PROJECT_CHANGES  # noqa: PLC0415 - as above
    from generator.components.argo_cd.source_openings import OPENINGS as SOURCE_OPENINGS  # noqa: PLC0415 - as above
    from generator.components.argo_cd.sync_changes import SYNC_CHANGES  # noqa: PLC0415 - as above

    return (
        *CHANGES,
        *APPLICATION_CHANGES,
        *DELETION_CHANGES,
        *SYNC_CHANGES,
        *PROJECT_CHANGES,
        *ACCESS_OPENINGS,
        *SOURCE_OPENINGS,
    )


def jump_rules() -> tuple[ChangeRule, ...]:
    """Return what it means when its version moves."""
    from generator.components.argo_cd.changes import JUMPS  # noqa: PLC0415 - for those who compare

    return JUMPS


DEFINITION = Definition(
    name="argo-cd",
    tier=Tier.GITOPS,
    versions=VERSIONS,
    jumps=jump_rules,
    changes=change_rules,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, *CLUSTER_ROLES),
    hosts=hosts,
    apis=(Api(group="argoproj.io"),),
    kinds=(OperatedKind(kind="Application", names=(("AppProject", "spec.project", OWN),)),),
    shown_by=Evidence(images=("argoproj/argocd",)),
    notes="From upstream's manifest at a tag. Needs no other component, so that its own settings and the health "
    "checks of the others arrive first. The project `default` is closed. The account `admin` is off where "
    "single sign-on and `gitops.admins` are set.",
)
