"""Rules over a decoded cluster, grouped by subject."""

from collections.abc import Iterator, Mapping
from types import ModuleType

from generator.checks import (
    acceptance,
    backup_room,
    backups,
    buckets,
    ceph,
    ceph_monitors,
    ceph_pools,
    claims,
    copying,
    data_plane,
    datasets,
    disks,
    elsewhere,
    escrow,
    exports,
    exposure,
    extras,
    fabric,
    firewall,
    fleet,
    frameworks,
    gpus,
    kubernetes,
    lending,
    links,
    load_balancer,
    logs,
    minio_backups,
    missing_backups,
    mlperf,
    monitoring,
    networks,
    nfs,
    nodes,
    objects,
    own_backups,
    pools,
    ports,
    quotas,
    retention,
    samples,
    scaling,
    schedules,
    scratch,
    secrets,
    server_pools,
    servers,
    sharing,
    site,
    teams,
    units,
    versions,
    volume_backups,
    volumes,
    windows,
)
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import Rule, rules

MODULES: tuple[ModuleType, ...] = (
    acceptance, backup_room, backups, buckets, ceph, ceph_monitors, ceph_pools, claims, copying, data_plane,
    datasets, disks, elsewhere, escrow, exports, exposure, extras, fabric, firewall, frameworks, gpus, kubernetes,
    lending, links, load_balancer, logs, minio_backups, missing_backups, mlperf, monitoring, networks, nfs, nodes,
    objects, own_backups, pools, ports, quotas, retention, samples, scaling, schedules, scratch, secrets,
    server_pools, servers, sharing, site, teams, units, versions, volume_backups, volumes, windows,
)  # fmt: skip
"""Every rule that these modules hold counts; those `ACROSS` are over all clusters of a repository."""

ACROSS: tuple[ModuleType, ...] = (fleet,)

RULES: dict[str, Rule[Cluster]] = rules(MODULES)
"""Every rule over one cluster, by code."""

FLEET_RULES: dict[str, Rule[Mapping[str, Cluster]]] = rules(ACROSS)
"""Every rule over all clusters of a repository by name, by code."""


def check(cluster: Cluster) -> list[Finding]:
    """Return what all rules find, in the order of their codes and then of the file; never raises."""
    return [finding for each in RULES.values() for finding in each.findings(cluster)]


def check_together(clusters: Mapping[str, Cluster]) -> Iterator[Finding]:
    """Yield what is wrong between clusters, each finding with the file of the cluster it is in."""
    for each in FLEET_RULES.values():
        yield from each.findings(clusters)
