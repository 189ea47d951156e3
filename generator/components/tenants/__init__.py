"""Tenants: what each team's namespace holds, and the rules that keep its jobs in the queue."""

from generator.components.common import CLUSTER_ROLES
from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.exposure.layout import NAMESPACE as EXPOSED
from generator.components.jobs import Jobs
from generator.components.kueue import TEAM
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

OF_CLASS = "storageclass.storage.k8s.io/requests.storage"
"""How the bound on one storage class ends."""


def tenants(cluster: Cluster, jobs: Jobs) -> Component:
    """Give each team a namespace with its queue, rights, limits and network."""
    from generator.components.tenants.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster, jobs)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.tenants.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.tenants.openings import OPENINGS  # noqa: PLC0415 - as above

    return (*CHANGES, *OPENINGS)


DEFINITION = Definition(
    name="tenants",
    tier=Tier.TENANTS,
    make_with_jobs=tenants,
    wanted=lambda cluster: cluster.teams,
    absence="there are no teams",
    # Who serves the Gateway may read its namespace once it may read those of teams.
    reach=(EXPOSED,),
    own_kinds=(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        *CLUSTER_ROLES,
    ),
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("", "namespaces", TEAM),)),
    notes="A namespace for each team with a queue called `default`, network policies that refuse what is not named, "
    "and admission policies that keep pods out that would pass the queue. The quota there bounds volumes and "
    "counts of objects only: bounding what pods request twice would refuse parts of a gang that Kueue has let "
    "in.",
)
