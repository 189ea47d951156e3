"""Rules about teams: names, members, priorities."""

from collections.abc import Iterator

from generator.checks.places import entries, given_twice, listed_twice, meant, repeats
from generator.components import CATALOGUE
from generator.model.cluster import Cluster
from generator.model.finding import Finding, put, remove
from generator.model.rule import rule, warning
from generator.spec.near import suggest

NAMESPACES = {"default"}.union(*(one.namespaces for one in CATALOGUE.values()))
"""Namespaces of what gen installs and of Kubernetes, beside all that begin with `kube-`."""


@rule("GEN-TEAM-020", "team names are unique")
def names_unique(cluster: Cluster) -> Iterator[Finding]:
    """A team has one namespace and one queue of its name.

    Wrong:
        - {name: vision, quotas: {gpu: {gpus: 8}}}
        - {name: vision, quotas: {cpu: {cpus: 64}}}
    Right:
        - {name: vision, quotas: {gpu: {gpus: 8}, cpu: {cpus: 64}}}
    """
    items = ((team.name, (*at, "name")) for at, team in entries(cluster.teams, "teams"))
    return given_twice(items, "two teams are named {}", "rename one, or make them one")


@rule("GEN-TEAM-021", "team names are no namespaces of the system")
def names_free(cluster: Cluster) -> Iterator[Finding]:
    """A team's namespace has its name: its people would get rights on what runs there, and its rules would hold for
    that.

    Wrong:
        - {name: monitoring, ...}
    Right:
        - {name: observability, ...}
    """
    given = {team.name for team in cluster.teams}
    for at, team in entries(cluster.teams, "teams"):
        if team.name in NAMESPACES or team.name.startswith("kube-"):
            message = f"the namespace {team.name} is not a team's: the system uses it"
            where, other = (*at, "name"), f"team-{team.name}"
            fix, edits = (f"another name; {other} is given", ()) if other in given else ("", put(where, other))
            yield Finding(at=where, message=message, fix=fix, edits=edits)


@rule("GEN-TEAM-022", "a member is a group or a user")
def members_one(cluster: Cluster) -> Iterator[Finding]:
    """One entry names one of the two.

    Wrong:
        members: [{group: vision, user: ada@example.org}]
    Right:
        members: [{group: vision}, {user: ada@example.org}]
    """
    for place, team in entries(cluster.teams, "teams"):
        for at, member in entries(team.members, *place, "members"):
            if bool(member.group) == bool(member.user):
                what = "both a group and a user" if member.group else "neither a group nor a user"
                fix = "make two entries" if member.group else "add `group` or `user`"
                yield Finding(at=at, message=f"a member of team {team.name} is {what}", fix=fix)


@warning("GEN-TEAM-023", "members that somebody knows")
def members_known(cluster: Cluster) -> Iterator[Finding]:
    """Groups and users come from the site's identity provider. Without one, only who holds a client certificate with
    such a name is in them.

    Wrong:
        members: [{group: vision}]
        # and no site.oidc
    Right:
        site:
          oidc: {issuer: https://id.example.org, client: ml}
    """
    found = [(*at, "members") for at, team in entries(cluster.teams, "teams") if team.members]
    if found and not cluster.site.oidc:
        have = f"{len(found)} teams have members" if found[1:] else "a team has members"
        message = f"{have}, and there is no site.oidc that knows them"
        yield Finding(at=found[0], also=("site",), message=message, fix="add site.oidc")


@warning("GEN-TEAM-024", "a member is listed once")
def members_unique(cluster: Cluster) -> Iterator[Finding]:
    """Rights add up: who is a member stays one, also as a viewer.

    Wrong:
        members: [{group: vision}, {group: vision, role: viewer}]
    Right:
        members: [{group: vision}]
    """
    for place, team in entries(cluster.teams, "teams"):
        items = (
            (f"{kind} {name}", at)
            for at, member in entries(team.members, *place, "members")
            for kind, name in (("group", member.group), ("user", member.user))
            if name
        )
        yield from listed_twice(items, f"team {team.name} lists the {{}} twice")


@warning("GEN-TEAM-025", "priorities differ")
def priorities_differ(cluster: Cluster) -> Iterator[Finding]:
    """Neither of two equal classes goes before the other, or stops its jobs.

    Wrong:
        priorities: {normal: 1000, high: 1000}
    Right:
        priorities: {normal: 1000, high: 5000}
    """
    priorities = cluster.scheduling.priorities
    items = ((value, ("scheduling", "priorities", name)) for name, value in priorities.items())
    for value, at, first in repeats(items):
        message = f"the priorities {first[-1]} and {at[-1]} are both {value}"
        yield Finding(at=at, also=first, message=message, fix="give another number, or remove one")


@rule("GEN-TEAM-028", "teams use priorities that exist")
def priorities_known(cluster: Cluster) -> Iterator[Finding]:
    """The classes of jobs are the cluster's; a team is given some of them.

    Wrong:
        - {name: vision, priorities: [normal, urgnet], ...}
    Right:
        - {name: vision, priorities: [normal, urgent], ...}
    """
    known = cluster.scheduling.priorities
    for place, team in entries(cluster.teams, "teams"):
        for at, name in entries(team.priorities or (), *place, "priorities"):
            if name not in known:
                message = f"team {team.name} may use the priority {name}, which is not one of the cluster's"
                fix = suggest(name, known, f"one of {', '.join(known)}" if known else "remove it")
                edits = meant(at, name, known) if known else remove(at)
                yield Finding(at=at, also=("scheduling", "priorities"), message=message, fix=fix, edits=edits)


@warning("GEN-TEAM-026", "teams are not privileged")
def not_privileged(cluster: Cluster) -> Iterator[Finding]:
    """A privileged pod is root on its node: it reads all Secrets there and takes GPUs without a quota.

    Wrong:
        - {name: vision, security: privileged, ...}
    Right:
        - {name: vision, security: baseline, ...}
    """
    for at, team in entries(cluster.teams, "teams"):
        if team.security == "privileged":
            message = f"every member of {team.name} can become root on the nodes"
            where = (*at, "security")
            yield Finding(at=where, message=message, edits=put(where, "baseline"))


@warning("GEN-TEAM-027", "storage quotas need storage")
def storage_exists(cluster: Cluster) -> Iterator[Finding]:
    """The quota bounds volumes that last, and without Ceph or NFS there are none: scratch has a bound of its own, by
    the pools of which a team owns a part.

    Wrong:
        - {name: vision, storage: 10Ti}
        # and neither Ceph nor NFS
    Right:
        storage:
          ceph: {pools: [cpu], blockPools: [{name: rbd, deviceClass: nvme, default: true}]}
    """
    storage = cluster.storage
    for at, team in entries(cluster.teams, "teams"):
        if team.storage and not (storage.ceph or storage.nfs):
            message = f"team {team.name} may claim {team.storage}, and no tier gives volumes that last"
            yield Finding(at=(*at, "storage"), message=message, fix="add a storage tier, or remove it")
