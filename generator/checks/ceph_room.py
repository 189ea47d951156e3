"""Rules about how much Ceph's pools can hold."""

from collections.abc import Iterator

from generator.checks.rule import rule
from generator.checks.tiers import ceph_pools
from generator.model.capacity import ceph_usable
from generator.model.cluster import Cluster
from generator.model.finding import Finding, Severity

__all__: list[str] = []


@rule(
    "GEN-CEPH-029",
    "quotas that the disks can hold",
    wrong="- {name: rbd, deviceClass: nvme, quota: 500T}\n# and 100T of nvme in all\n",
    right="- {name: rbd, deviceClass: nvme, quota: 20T}\n",
)
def quota_fits(cluster: Cluster) -> Iterator[Finding]:
    """What a pool can hold is what stays when its largest host is lost and made good on the others, below the 85 % at
    which Ceph warns. Beyond, the disks are full before the quota is, and then all writes stop.
    """
    for name, at, pool, _ in ceph_pools(cluster):
        usable = ceph_usable(cluster, pool)
        if pool.quota and usable.value and pool.quota > usable:
            message = f"{name} may grow to {pool.quota.human()}, and its disks hold {usable.human()}"
            yield Finding(at=(*at, "quota"), message=message, fix=f"quota: {usable.value // 2**30}Gi at most")


@rule(
    "GEN-CEPH-034",
    "quotas that the disks can hold together",
    wrong="- {name: a, deviceClass: nvme, quota: 60T}\n- {name: b, deviceClass: nvme, quota: 60T}\n"
    "# and room for 100T\n",
    right="- {name: a, deviceClass: nvme, quota: 60T}\n- {name: b, deviceClass: nvme, quota: 40T}\n",
    severity=Severity.WARNING,
)
def quotas_fit_together(cluster: Cluster) -> Iterator[Finding]:
    """Pools of one class share its disks: when those are full, writes stop in all of them, whatever their quotas."""
    taken: dict[str, int] = {}
    for name, at, pool, _ in ceph_pools(cluster):
        usable = ceph_usable(cluster, pool)
        if pool.quota and 0 < pool.quota.value <= usable.value:
            before = taken.get(pool.device_class, 0)
            # In millionths of the class.
            after = taken[pool.device_class] = before + pool.quota.value * 10**6 // usable.value
            if before <= 10**6 < after:
                message = f"with {name}, quotas promise {after // 10**4} % of what {pool.device_class} can hold"
                yield Finding(at=(*at, "quota"), message=message, fix="lower quotas of pools on it")
