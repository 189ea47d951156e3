"""Rules about the way from outside to services of teams: its address, and the names that teams have."""

from collections.abc import Iterator

from generator.checks.places import entries, repeats
from generator.checks.site import hosts as platform_hosts
from generator.components.exposure.layout import MOST_HOSTS
from generator.model.base import LONGEST_HOST
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put, remove
from generator.model.rule import rule

EXPOSURE: Path = ("networks", "exposure")
BALANCER: Path = ("networks", "loadBalancer")


def team_hosts(cluster: Cluster) -> Iterator[tuple[str, Path]]:
    """Yield the hosts of all teams in the order of the file, each with its place."""
    for at, team in entries(cluster.teams, "teams"):
        yield from ((host, place) for place, host in entries(team.hosts, *at, "hosts"))


@rule("GEN-NET-051", "the Gateway of teams has an address")
def address_given_out(cluster: Cluster) -> Iterator[Finding]:
    """The address of the Gateway is that of a Service of type LoadBalancer: Cilium and Calico give out those of
    `loadBalancer` alone, and announce no other.

    Wrong:
        loadBalancer: {range: 10.10.3.224-10.10.3.253}
        exposure: {domain: apps.ml.example.org, address: 10.10.3.254}
    Right:
        loadBalancer: {range: 10.10.3.224-10.10.3.254}
        exposure: {domain: apps.ml.example.org, address: 10.10.3.254}
    """
    declared, balancer = cluster.networks.exposure, cluster.networks.load_balancer
    at: Path = (*EXPOSURE, "address")
    if declared and not balancer:
        fix = "add networks.loadBalancer with a range that holds it"
        yield Finding(at=at, message=f"nobody gives out {declared.address}: there is no loadBalancer", fix=fix)
    elif declared and balancer and declared.address not in balancer.range:
        message, also = f"{declared.address} is not one of {balancer.range}", (*BALANCER, "range")
        yield Finding(at=at, also=also, message=message, edits=put(at, str(balancer.range.last)))


@rule("GEN-TEAM-040", "hosts of teams lead somewhere")
def hosts_exposed(cluster: Cluster) -> Iterator[Finding]:
    """Without `networks.exposure` nothing answers by the hosts of a team.

    Wrong:
        - {name: vision, hosts: [vision.apps.ml.example.org]}
        # and no networks.exposure
    Right:
        - {name: vision, hosts: [vision.apps.ml.example.org]}
        # and
        exposure: {domain: apps.ml.example.org, address: 10.10.3.254}
    """
    for at, team in entries(cluster.teams, "teams"):
        if team.hosts and not cluster.networks.exposure:
            message = f"the hosts of team {team.name} have no effect without networks.exposure"
            fix = "add networks.exposure, or remove the hosts"
            yield Finding(at=(*at, "hosts"), also=("networks",), message=message, fix=fix)


@rule("GEN-TEAM-041", "hosts of teams are below the domain of the exposure")
def hosts_below_domain(cluster: Cluster) -> Iterator[Finding]:
    """The site's DNS leads the names below that domain to the Gateway, and no others: a name elsewhere is never reached
    here, or is somebody else's.

    Wrong:
        exposure: {domain: apps.ml.example.org, address: 10.10.3.254}
        # and
        - {name: vision, hosts: [vision.ml.example.org]}
    Right:
        exposure: {domain: apps.ml.example.org, address: 10.10.3.254}
        # and
        - {name: vision, hosts: [vision.apps.ml.example.org]}
    """
    declared = cluster.networks.exposure
    taken = {host for host, _ in team_hosts(cluster)} | {host for _, host in platform_hosts(cluster)}
    taken.add(cluster.kubernetes.endpoint.host)
    for host, at in team_hosts(cluster) if declared else ():
        if declared and not host.endswith(f".{declared.domain}"):
            message = f"the host {host} is not below {declared.domain}"
            fix, edits = _below(host.partition(".")[0], declared.domain, at, taken)
            yield Finding(at=at, also=(*EXPOSURE, "domain"), message=message, fix=fix, edits=edits)


def _below(name: str, domain: str, at: Path, taken: set[str]) -> tuple[str, tuple[Edit, ...]]:
    """Return the change to a name below the domain, unless somebody has it or is offered it."""
    host = f"{name}.{domain}"
    if host in taken or len(host) > LONGEST_HOST:
        return f"another name below {domain}", ()
    taken.add(host)
    return "", put(at, host)


@rule("GEN-TEAM-042", "a host is one team's")
def hosts_unique(cluster: Cluster) -> Iterator[Finding]:
    """A host leads to one team. Where two have it, the one that comes first in the file would get all requests.

    Wrong:
        - {name: vision, hosts: [models.apps.ml.example.org]}
        - {name: language, hosts: [models.apps.ml.example.org]}
    Right:
        - {name: vision, hosts: [vision.apps.ml.example.org]}
        - {name: language, hosts: [language.apps.ml.example.org]}
    """
    for host, at, first in repeats(team_hosts(cluster)):
        if at[:2] == first[:2]:
            yield Finding(at=at, also=first, message=f"the host {host} is given twice", edits=remove(at))
        else:
            message = f"two teams have the host {host}"
            yield Finding(at=at, also=first, message=message, fix="give each a name of its own, or make them one")


@rule("GEN-TEAM-043", "hosts of teams are not the platform's")
def hosts_not_the_platforms(cluster: Cluster) -> Iterator[Finding]:
    """Who logs in to Argo CD or Grafana by that name would give the password to the team.

    Wrong:
        gitops: {host: argocd.apps.ml.example.org}
        # and
        - {name: vision, hosts: [argocd.apps.ml.example.org]}
    Right:
        gitops: {host: argocd.ml.example.org}
        # and
        - {name: vision, hosts: [vision.apps.ml.example.org]}
    """
    ours = {host: at for at, host in platform_hosts(cluster)}
    ours.setdefault(cluster.kubernetes.endpoint.host, ("kubernetes", "endpoint", "address"))
    for host, at in team_hosts(cluster):
        if host in ours:
            message = f"the host {host} is the platform's, and cannot be a team's"
            yield Finding(at=at, also=ours[host], message=message, fix="give the team another name")


@rule("GEN-TEAM-044", "a Gateway has room for all hosts")
def hosts_fit(cluster: Cluster) -> Iterator[Finding]:
    """Each host is a listener of one Gateway, which has 64 at most (Gateway API v1.6), and one is for those who come
    without TLS.

    Wrong:
        (64 hosts of teams)
    Right:
        (one host for each team, and its services by paths)
    """
    found = [at for _, at in team_hosts(cluster)]
    if len(found) > MOST_HOSTS:
        message = f"teams have {len(found)} hosts, and a Gateway has room for {MOST_HOSTS}"
        yield Finding(at=found[MOST_HOSTS], message=message, fix="let services share a host, by paths")
