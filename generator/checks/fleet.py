"""Rules across the clusters of one repository."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from generator.checks.exposure import team_hosts
from generator.checks.places import ENDPOINT
from generator.checks.site import hosts
from generator.model.cluster import Cluster, cluster_file
from generator.model.finding import Finding, Path, Severity, put
from generator.model.rule import rule

Clusters: TypeAlias = Mapping[str, Cluster]


@rule("GEN-FLEET-001", "a node belongs to one cluster")
def nodes_apart(clusters: Clusters) -> Iterator[Finding]:
    """A machine cannot join two clusters; when it moves, it is removed from the first one's file.

    Wrong:
        # clusters/a/cluster.yaml
        - {name: gpu-01, pool: gpu, address: 10.10.0.101}
        # clusters/b/cluster.yaml
        - {name: gpu-77, pool: gpu, address: 10.10.0.101}
    Right:
        # clusters/b/cluster.yaml
        - {name: gpu-77, pool: gpu, address: 10.10.0.177}
    """
    owners: dict[str, tuple[str, str]] = {}
    for name, cluster in clusters.items():
        for index, node in enumerate(cluster.nodes):
            for field, value in (("address", str(node.address)), ("mac", node.mac)):
                other, owner = owners.setdefault(value, (name, node.name)) if value else (name, "")
                if other != name:
                    message = f"{node.name} has the {field} {value} of {owner} in cluster {other}"
                    at: Path = ("nodes", index, field)
                    yield Finding(
                        file=cluster_file(name),
                        at=at,
                        message=message,
                        fix=f"change it, or remove {owner} from {other}",
                    )


@rule("GEN-FLEET-002", "an endpoint leads to one cluster")
def endpoints_apart(clusters: Clusters) -> Iterator[Finding]:
    """Both clusters would announce the address, and clients reach one or the other. A load balancer outside may
    serve several clusters at different ports.

    Wrong:
        # in two cluster files
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    Right:
        # in the second one
        endpoint: {address: "10.10.0.20:6443", by: kube-vip}
    """
    owners: dict[str, str] = {}
    for name, cluster in clusters.items():
        endpoint = cluster.kubernetes.endpoint
        address = endpoint.address if endpoint.by == "external" else endpoint.host
        other = owners.setdefault(address, name)
        if other != name:
            message = f"the endpoint {address} is that of cluster {other} as well"
            yield Finding(file=cluster_file(name), at=ENDPOINT, message=message, fix="give each cluster its own")


@rule("GEN-FLEET-003", "an endpoint is no node of another cluster")
def endpoint_no_node(clusters: Clusters) -> Iterator[Finding]:
    """The cluster would announce the address of a machine that belongs to another one.

    Wrong:
        # clusters/a/cluster.yaml
        endpoint: {address: "10.10.0.101:6443", by: kube-vip}
        # clusters/b/cluster.yaml
        - {name: gpu-77, pool: gpu, address: 10.10.0.101}
    Right:
        # clusters/a/cluster.yaml
        endpoint: {address: "10.10.0.10:6443", by: kube-vip}
    """
    owners = {
        str(node.address): (name, index)
        for name, cluster in clusters.items()
        for index, node in enumerate(cluster.nodes)
    }
    order = {name: number for number, name in enumerate(clusters)}
    for name, cluster in clusters.items():
        host = cluster.kubernetes.endpoint.host
        other, index = owners.get(host, (name, 0))
        if other == name:
            continue
        node = clusters[other].nodes[index].name
        if order[name] > order[other]:
            message, fix = f"the endpoint {host} is {node} in cluster {other}", "give the cluster an address of its own"
            yield Finding(file=cluster_file(name), at=ENDPOINT, message=message, fix=fix)
        else:
            message, fix = f"{node} has the address {host}, the endpoint of cluster {name}", "give the node another"
            yield Finding(file=cluster_file(other), at=("nodes", index, "address"), message=message, fix=fix)


@rule("GEN-FLEET-004", "a host name leads to one cluster")
def hosts_apart(clusters: Clusters) -> Iterator[Finding]:
    """A name in DNS leads to one place; users of the other cluster would land in the wrong one.

    Wrong:
        # in two cluster files
        gitops: {host: argocd.example.org}
    Right:
        # in the second one
        gitops: {host: argocd.b.example.org}
    """
    owners: dict[str, str] = {}
    for name, cluster in clusters.items():
        for at, host, domain in _named(cluster):
            other = owners.setdefault(host, name)
            if other != name:
                message = f"the host {host} is used in cluster {other} as well"
                first = host.partition(".")[0]
                own = f"{first}.{domain}" if f"{first}.{domain}" not in owners else f"{first}-{name}.{domain}"
                yield Finding(file=cluster_file(name), at=at, message=message, edits=put(at, own))


def _named(cluster: Cluster) -> Iterator[tuple[Path, str, str]]:
    """Yield the hosts of a cluster's services and of its teams, each with its place and the domain that it is below."""
    yield from ((at, host, cluster.site.domain) for at, host in hosts(cluster))
    exposure = cluster.networks.exposure
    yield from ((at, host, exposure.domain) for host, at in team_hosts(cluster)) if exposure else ()


@rule("GEN-FLEET-005", "load balancers share no addresses")
def ranges_apart(clusters: Clusters) -> Iterator[Finding]:
    """Each cluster gives out the addresses of its range without asking the other, and both announce them.

    Wrong:
        # in two cluster files
        loadBalancer: {range: 10.10.3.224/27}
    Right:
        # in the second one
        loadBalancer: {range: 10.10.3.192/27}
    """
    balancers = [(name, it.range) for name, each in clusters.items() if (it := each.networks.load_balancer)]
    for index, (name, own) in enumerate(balancers):
        for other, taken in balancers[:index]:
            if own.meets(taken):
                message = f"the range {own} overlaps {taken} of cluster {other}"
                at: Path = ("networks", "loadBalancer", "range")
                yield Finding(file=cluster_file(name), at=at, message=message, fix="take a range of its own")


@rule("GEN-FLEET-007", "one repository has one address", severity=Severity.WARNING)
def one_repository(clusters: Clusters) -> Iterator[Finding]:
    """All cluster files of this repository are rendered into it, so Argo CD of each cluster reads the same one.

    Wrong:
        # clusters/a/cluster.yaml
        repository: {url: https://git.example.org/clusters.git}
        # clusters/b/cluster.yaml
        repository: {url: https://git.example.org/cluster.git}
    Right:
        # clusters/b/cluster.yaml
        repository: {url: https://git.example.org/clusters.git}
    """
    first = next(iter(clusters.items()), None)
    for name, cluster in clusters.items():
        if first and cluster.repository.url != first[1].repository.url:
            message = f"{cluster.repository.url} is not the repository of cluster {first[0]}"
            yield Finding(
                file=cluster_file(name),
                at=("repository", "url"),
                message=message,
                edits=put(("repository", "url"), first[1].repository.url),
            )
