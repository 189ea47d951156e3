"""The backups of Ceph's buckets: their schedules, their drills, their ways back, and what their pods may do."""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.rook_ceph import NAMESPACE
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster


def workflows(cluster: Cluster) -> Component:
    """Return the schedules of the backups of Ceph's buckets and of their drills, and their ways back."""
    from generator.components.workflows.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.workflows.changes import CHANGES  # noqa: PLC0415 - for those who compare
    from generator.components.workflows.drill_changes import DRILLS  # noqa: PLC0415 - as above
    from generator.components.workflows.retention_changes import KEPT  # noqa: PLC0415 - as above
    from generator.components.workflows.stopping import STOPPING  # noqa: PLC0415 - as above

    return (*CHANGES, *DRILLS, *KEPT, *STOPPING)


DEFINITION = Definition(
    name="workflows",
    tier=Tier.STORAGE,
    make=workflows,
    wanted=lambda cluster: cluster.ceph_backups,
    absence="there are no backups of buckets of Ceph",
    reach=(NAMESPACE,),
    own_kinds=("/PersistentVolume",),
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("argoproj.io", "workflowtemplates", "app.kubernetes.io/part-of=workflows"),)),
    notes="Backups run in namespace `rook-ceph`, because a pod reads Secrets of its own namespace only and Rook "
    "makes the readers' there. How they work: [operations.md](operations.md).",
)
