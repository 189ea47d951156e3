"""Rules over a decoded cluster, grouped by subject."""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from generator.checks import (
    backups,
    buckets,
    ceph,
    ceph_pools,
    disks,
    fabric,
    fleet,
    kubernetes,
    links,
    monitoring,
    networks,
    nodes,
    objects,
    pools,
    ports,
    quotas,
    schedules,
    scratch,
    secrets,
    servers,
    site,
    teams,
    versions,
    volumes,
)
from generator.checks.rule import FleetRule, Rule
from generator.model.cluster import Cluster
from generator.model.finding import Finding

MODULES: tuple[ModuleType, ...] = (
    backups, buckets, ceph, ceph_pools, disks, fabric, fleet, kubernetes, links, monitoring, networks, nodes,
    objects, pools, ports, quotas, schedules, scratch, secrets, servers, site, teams, versions, volumes,
)  # fmt: skip
"""Every `Rule` and `FleetRule` that these modules hold counts."""


def collect(modules: Iterable[ModuleType]) -> dict[str, Rule | FleetRule]:
    """Return the rules of these modules by code, in the order of the codes; raises ValueError for a code twice."""
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rule | FleetRule)]
    rules = {each.code: each for each in sorted(found, key=lambda each: each.code)}
    if len(rules) < len(found):
        raise ValueError(f"rules with one code: {sorted(e.code for e in found if rules[e.code] is not e)}")
    return rules


_ALL = collect(MODULES)

RULES: dict[str, Rule] = {code: each for code, each in _ALL.items() if isinstance(each, Rule)}
"""Every rule over one cluster, by code."""

FLEET_RULES: dict[str, FleetRule] = {code: each for code, each in _ALL.items() if isinstance(each, FleetRule)}
"""Every rule over all clusters of a repository, by code."""


def check(cluster: Cluster) -> list[Finding]:
    """Return what all rules find, in the order of their codes and then of the file; never raises."""
    return [finding for each in RULES.values() for finding in each.findings(cluster)]


def check_together(clusters: Mapping[str, Cluster]) -> Iterator[tuple[str, Finding]]:
    """Yield what is wrong between clusters, each finding with the name of the cluster it is in."""
    for each in FLEET_RULES.values():
        yield from each.findings(clusters)
