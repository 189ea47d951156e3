"""Rules about storage classes, over all tiers."""

from collections.abc import Iterator

from generator.checks.places import repeats
from generator.checks.rule import rule
from generator.checks.tiers import default_classes, storage_classes
from generator.model.cluster import Cluster
from generator.model.finding import Finding

__all__: list[str] = []


@rule(
    "GEN-CEPH-040",
    "one default storage class",
    wrong="- {name: a, deviceClass: nvme, default: true}\n- {name: b, deviceClass: hdd, default: true}\n",
    right="- {name: a, deviceClass: nvme, default: true}\n- {name: b, deviceClass: hdd}\n",
)
def one_default(cluster: Cluster) -> Iterator[Finding]:
    """Of several defaults Kubernetes takes the one that was made last, which after a restore is another one."""
    found = default_classes(cluster)
    for placed in found[1:]:
        message = f"{placed.name} and {found[0].name} both have the default storage class"
        also = (*found[0].at, "default")
        yield Finding(at=(*placed.at, "default"), also=also, message=message, fix="remove `default` from one")


@rule(
    "GEN-CEPH-041",
    "storage classes are named once",
    wrong="scratch: {storageClass: fast}\n# and\nblockPools: [{name: fast, deviceClass: nvme}]\n",
    right="scratch: {storageClass: scratch-nvme}\n",
)
def classes_unique(cluster: Cluster) -> Iterator[Finding]:
    """All tiers' classes are in one list: of two with one name, the one that is applied last wins, and volumes land
    where nobody expects them.
    """
    for name, at, first in repeats(storage_classes(cluster)):
        yield Finding(
            at=at, also=first, message=f"two storage classes are named {name}", fix="set storageClass to another"
        )
