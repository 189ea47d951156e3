"""Copies of datasets at nodes: what is read in every epoch comes from the node's own disk."""

from generator.components.common import CACHE
from generator.components.component import Component, Tier
from generator.components.datasets import FILLER, cached
from generator.components.definition import Definition, Evidence, Shown
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster

NAMESPACE = FILLER


def dataset_cache(cluster: Cluster) -> Component:
    """Fill a folder of each such node with each of these datasets, and give it to the dataset's teams to read."""
    from generator.components.dataset_cache.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.dataset_cache.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="dataset-cache",
    tier=Tier.STORAGE,
    make=dataset_cache,
    wanted=cached,
    absence="no dataset of `storage.datasets` is `cached`, or no node has a disk with `use: cache`",
    namespaces=(NAMESPACE,),
    own_kinds=("/PersistentVolume",),
    daemons_on=CACHE,
    changes=change_rules,
    shown_by=Evidence(objects=(Shown("apps", "daemonsets", "app.kubernetes.io/name=dataset-cache"),)),
    notes="A pod on each node with a disk for it copies each cached dataset there, once its owner has named a version, "
    "and again when that changes: [teams.md](teams.md#datasets-that-several-teams-read).",
)
