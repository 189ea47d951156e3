"""Rules about what surrounds the cluster: names, name servers, clocks, issuer."""

import pathlib
import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from generator.checks.places import entries, listed_twice, repeats, unknown
from generator.components import CATALOGUE
from generator.components.cilium import INGRESS_CLASS
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, put, remove
from generator.model.rule import rule, warning

_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}")


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield the names that users reach services by, in the order of the cluster file's sections."""
    found = [host for one in CATALOGUE.values() for host in one.hosts(cluster)]
    yield from sorted(found, key=lambda host: section(cluster, host[0]))


def section(cluster: Cluster, at: Path) -> list[int]:
    """Return where the keys of a path come among those that there may be, as far as they lead through sections."""
    found: list[int] = []
    part: object = cluster
    for key in at:
        if not isinstance(part, Struct) or key not in part.__struct_encode_fields__:
            break
        found.append(part.__struct_encode_fields__.index(str(key)))
        part = getattr(part, part.__struct_fields__[found[-1]])
    return found


@warning("GEN-SITE-001", "clocks are set")
def clocks_set(cluster: Cluster) -> Iterator[Finding]:
    """Ceph's monitors complain from 50 ms of difference, and S3 refuses requests with a clock 15 minutes off.

    Wrong:
        site: {domain: ml.example.org}
        # and storage with ceph or objects
    Right:
        site: {domain: ml.example.org, ntp: [ntp.example.org]}
    """
    storage = cluster.storage
    who = [name for name, tier in (("Ceph", storage.ceph), ("MinIO", storage.objects)) if tier]
    if who and not cluster.site.ntp:
        message = f"no NTP servers, and {' and '.join(who)} need{'' if who[1:] else 's'} clocks that agree"
        yield Finding(at=("site",), key=True, message=message, fix="add site.ntp")


@warning("GEN-SITE-002", "at most three name servers, each once")
def name_servers(cluster: Cluster) -> Iterator[Finding]:
    """The resolver asks the first three only, and the kubelet drops the others with a warning in each pod.

    Wrong:
        dns: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4]
    Right:
        dns: [10.0.0.1, 10.0.0.2, 10.0.0.3]
    """
    servers = cluster.site.dns
    if len(servers) > 3:
        message = f"the name server {servers[3]} is the fourth, and three are asked"
        edits = tuple(edit for index in range(len(servers) - 1, 2, -1) for edit in remove(("site", "dns", index)))
        yield Finding(at=("site", "dns", 3), message=message, fix="keep three", edits=edits)
    items = ((server, at) for at, server in entries(servers, "site", "dns"))
    yield from listed_twice(items, "the name server {} is given twice")


@rule("GEN-SITE-007", "a CA that signs")
def issuer_complete(cluster: Cluster) -> Iterator[Finding]:
    """The site's CA is a Secret that you give; a self-signed one is made in the cluster and takes none.

    Wrong:
        issuer: {kind: ca}
    Right:
        issuer: {kind: ca, secret: site-ca}
    """
    issuer = cluster.site.issuer
    if issuer.kind == "ca" and not issuer.secret:
        edits = put(("site", "issuer", "secret"), "site-ca")
        yield Finding(at=("site", "issuer"), message="an issuer of kind ca needs its secret", edits=edits)
    if issuer.kind == "self-signed" and issuer.secret:
        message = f"a self-signed issuer takes no secret, and {issuer.secret} is given"
        fix, edits = "kind: ca, or remove `secret`", put(("site", "issuer", "kind"), "ca")
        yield Finding(at=("site", "issuer", "secret"), message=message, fix=fix, edits=edits)


@rule("GEN-SITE-008", "administrators that somebody knows")
def admins_known(cluster: Cluster) -> Iterator[Finding]:
    """Groups come from the site's identity provider; without one nobody is in them, and nobody is administrator.

    Wrong:
        gitops: {admins: [platform]}
        # and no site.oidc
    Right:
        site:
          oidc: {issuer: https://id.example.org, client: ml}
    """
    if cluster.gitops.admins and not cluster.site.oidc:
        message = f"gitops.admins has {', '.join(cluster.gitops.admins)}, and there is no site.oidc"
        yield Finding(at=("gitops", "admins"), also=("site",), message=message, fix="add site.oidc")


@rule("GEN-SITE-010", "host names are given once")
def hosts_unique(cluster: Cluster) -> Iterator[Finding]:
    """Two services behind one name: the ingress controller takes one of them, and not always the same.

    Wrong:
        zabbix: {host: web.ml.example.org}
        prometheus: {host: web.ml.example.org}
    Right:
        zabbix: {host: zabbix.ml.example.org}
        prometheus: {host: grafana.ml.example.org}
    """
    taken = {host for _, host in hosts(cluster)}
    for host, at, first in repeats((host, at) for at, host in hosts(cluster)):
        message = f"two services have the host {host}"
        fix, edits = _other_host(cluster, at, f"{at[-2]}.{cluster.site.domain}", taken)
        yield Finding(at=at, also=first, message=message, fix=fix, edits=edits)


def _other_host(cluster: Cluster, at: Path, host: str, taken: set[str]) -> tuple[str, tuple[Edit, ...]]:
    """Return the change to this host, unless another service has it or is offered it: it is taken from now on."""
    if host in taken:
        return f"a name of its own below {cluster.site.domain}; {host} is given", ()
    taken.add(host)
    return "", put(at, host)


@rule("GEN-SITE-019", "services are reached by names")
def names_not_addresses(cluster: Cluster) -> Iterator[Finding]:
    """Certificates, Ingresses and mail need a name: the API server refuses an Ingress whose host is an address.

    Wrong:
        site: {domain: 10.10.0.1}
    Right:
        site: {domain: ml.example.org}
    """
    for at, name in ((("site", "domain"), cluster.site.domain), *hosts(cluster)):
        if _ADDRESS.fullmatch(name):
            yield Finding(at=at, message=f"{name} is an address, and must be a name", fix="as in ml.example.org")


@warning("GEN-SITE-011", "hosts within the site's domain")
def hosts_in_domain(cluster: Cluster) -> Iterator[Finding]:
    """Names elsewhere need a DNS entry of their own, and are mostly typing errors.

    Wrong:
        domain: ml.example.org
        # and
        zabbix: {host: zabbix.ml.example.com}
    Right:
        domain: ml.example.org
        # and
        zabbix: {host: zabbix.ml.example.org}
    """
    domain, taken = cluster.site.domain, {host for _, host in hosts(cluster)}
    for at, host in hosts(cluster):
        if not host.endswith(f".{domain}"):
            message = f"the host {host} is outside the domain {domain}"
            fix, edits = _other_host(cluster, at, f"{host.partition('.')[0]}.{domain}", taken)
            yield Finding(at=at, also=("site", "domain"), message=message, fix=fix, edits=edits)


@warning("GEN-SITE-012", "hosts need an ingress class")
def hosts_served(cluster: Cluster) -> Iterator[Finding]:
    """Without `ingressClass` no Ingress is written, and the service is reached inside the cluster only.

    Wrong:
        zabbix: {host: zabbix.ml.example.org}
        # and no site.ingressClass
    Right:
        site: {ingressClass: cilium}
    """
    for at, host in hosts(cluster) if not cluster.site.ingress_class else ():
        message = f"the host {host} has no effect without site.ingressClass"
        yield Finding(at=at, also=("site",), message=message, fix="add site.ingressClass, or remove the host")


@rule("GEN-SITE-013", "Cilium's ingress class needs Cilium")
def ingress_by_cni(cluster: Cluster) -> Iterator[Finding]:
    """Nothing would serve an Ingress of class cilium.

    Wrong:
        ingressClass: cilium
        # and
        cni: calico
    Right:
        ingressClass: cilium
        # and
        cni: cilium
    """
    if cluster.site.ingress_class == INGRESS_CLASS and cluster.networks.cni != "cilium":
        message = f"ingressClass is cilium, and cni is {cluster.networks.cni}"
        fix = "name the class of the controller that runs here"
        yield Finding(at=("site", "ingressClass"), also=("networks", "cni"), message=message, fix=fix)


@rule("GEN-SITE-014", "the site's domain outside the cluster's")
def domain_outside_cluster(cluster: Cluster) -> Iterator[Finding]:
    """The cluster's DNS answers for `dnsDomain` alone and asks nobody: pods would find no name of the site.

    Wrong:
        domain: ml.example.org
        # and
        dnsDomain: example.org
    Right:
        domain: ml.example.org
        # and
        dnsDomain: cluster.local
    """
    inner, domain = cluster.kubernetes.dns_domain, cluster.site.domain
    if domain == inner or domain.endswith(f".{inner}"):
        message = f"the site's domain {domain} is within the cluster's DNS domain {inner}"
        also: Path = ("kubernetes", "dnsDomain")
        usual = domain.endswith("cluster.local")
        fix, edits = ("choose a domain outside cluster.local", ()) if usual else ("", put(also, "cluster.local"))
        yield Finding(at=("site", "domain"), also=also, message=message, fix=fix, edits=edits)


@cache
def zones() -> frozenset[str]:
    """Return the names of the IANA time zone database, as the package `tzdata` has them."""
    import tzdata  # noqa: PLC0415 - for its folder alone

    return frozenset(pathlib.Path(tzdata.__path__[0], "zones").read_text().split())


@rule("GEN-SITE-017", "a timezone by its IANA name")
def timezone_named(cluster: Cluster) -> Iterator[Finding]:
    """Abbreviations mean several zones, and programs fall back to UTC without a word; some take a name that is none for
    a file to read.

    Wrong:
        timezone: KST
    Right:
        timezone: Asia/Seoul
    """
    yield from wrong_zone(("site", "timezone"), cluster.site.timezone)


def wrong_zone(at: Path, zone: str) -> Iterator[Finding]:
    """Yield what is wrong with a timezone: that there is none of this name."""
    if zone not in zones():
        message = f"`{zone}` is not a timezone's name"
        # Sorted, so that of equally near ones always the same is meant.
        yield unknown(at, zone, sorted(zones()), message, "as in Asia/Seoul or Etc/UTC")


@warning("GEN-SITE-030", "what programs download comes from inside, too")
def downloads_inside(cluster: Cluster) -> Iterator[Finding]:
    """Where images come from a mirror, because nodes do not reach the outside, programs that download at their start do
    not either: the GPU driver's container fetches packages for the kernel, and without them no GPU comes up.
    Precompiled drivers, packages from a server of the site, or drivers of the nodes' own system need nothing of that.

    Wrong:
        site: {images: harbor.example.org/mirror}
        # and pools with `gpu`
    Right:
        components:
          gpu-operator: {values: {driver: {usePrecompiled: true, version: '595'}}}
    """
    if not cluster.site.images or cluster.site.proxy:
        return
    for one in CATALOGUE.values():
        settings = cluster.settings(one.name)
        found = one.downloads(settings.values) if settings.managed and one.wanted(cluster) else None
        if found:
            message = f"images come from {cluster.site.images}, and {one.name} still downloads {found.what}"
            yield Finding(at=("site", "images"), message=message, fix=f"{found.instead} in the values of {one.name}")
