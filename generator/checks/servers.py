"""Rules about servers of the site: Git, identity, proxy, registries."""

import re
from collections.abc import Iterator

from generator.checks.places import entries, repeats
from generator.checks.tiers import ELSEWHERE
from generator.components.pem import is_pem
from generator.model.cluster import Cluster
from generator.model.finding import Edit, Finding, Path, dotted, put, remove
from generator.model.rule import rule, warning
from generator.model.secret_texts import in_address

# Servers whose SSH keys Argo CD comes with.
KNOWN_SERVERS = frozenset(
    {"bitbucket.org", "github.com", "gitlab.com", "ssh.dev.azure.com", "ssh.github.com", "vs-ssh.visualstudio.com"}
)
REPOSITORY: Path = ("repository", "url")
HOST, EXAMPLE = r"[\w.-]+(:\d+)?", "registry.example.org:5000"
# `/v2` is where a registry's API begins, and no part of an image's name.
SERVED = rf"{HOST}(/(?!v2(/|$))[\w./-]+)?"


def urls(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    """Yield all addresses of servers that the file has."""
    site, zabbix, prometheus = cluster.site, cluster.monitoring.zabbix, cluster.monitoring.prometheus
    given = {
        REPOSITORY: cluster.repository.url,
        ("site", "proxy", "http"): site.proxy.http if site.proxy else None,
        ("site", "proxy", "https"): site.proxy.https if site.proxy else None,
        ("site", "charts"): site.charts,
        ("site", "manifests"): site.manifests,
        ("site", "oidc", "issuer"): site.oidc.issuer if site.oidc else None,
        ("monitoring", "zabbix", "mattermost"): zabbix.mattermost if zabbix else None,
        ("monitoring", "zabbix", "heartbeat"): zabbix.heartbeat if zabbix else None,
        ("monitoring", "prometheus", "mattermost"): prometheus.mattermost if prometheus else None,
        ("monitoring", "prometheus", "heartbeat"): prometheus.heartbeat if prometheus else None,
    }
    yield from ((at, url) for at, url in given.items() if url)
    for at, mirror in entries(site.mirrors, "site", "mirrors"):
        yield (*at, "mirror"), mirror.mirror
    for name, extra in cluster.extras.items():
        if extra.chart:
            yield ("extras", name, "chart", "repository"), extra.chart.repository
        yield from entries(extra.manifests, "extras", name, "manifests")


@rule("GEN-SITE-003", "a repository that Argo CD can read")
def repository_is_git(cluster: Cluster) -> Iterator[Finding]:
    """Argo CD takes what is rendered from Git, from inside the cluster: a folder of some machine is not there.

    Wrong:
        repository: {url: oci://registry.example.org/clusters}
    Right:
        repository: {url: https://git.example.org/platform/clusters.git}
    """
    scheme = cluster.repository.url.partition("://")[0]
    if scheme in {"oci", "file"}:
        why = "a registry, and not Git" if scheme == "oci" else "a folder, which Argo CD cannot see"
        fix = "an https:// or ssh:// address of a Git server"
        yield Finding(at=REPOSITORY, message=f"{cluster.repository.url} is {why}", fix=fix)


@warning("GEN-SITE-004", "servers are reached over TLS")
def urls_encrypted(cluster: Cluster) -> Iterator[Finding]:
    """Whoever is on the way can change what is installed, or read the password that goes with the request.

    Wrong:
        repository: {url: http://git.example.org/clusters.git}
    Right:
        repository: {url: https://git.example.org/clusters.git}
    """
    for at, url in urls(cluster):
        if url.startswith("http://") and "proxy" not in at and "oidc" not in at:
            edits = put(at, _without_credentials(f"https://{url.removeprefix('http://')}"))
            yield Finding(at=at, message=f"{'.'.join(map(str, at))} is not encrypted", edits=edits)


@rule("GEN-SITE-005", "no credentials in addresses")
def no_credentials(cluster: Cluster) -> Iterator[Finding]:
    """The cluster file is in Git, and what is in Git is not secret any more. Credentials go into Secrets, which
    the steps of `clusters/<cluster>/bootstrap/README.md` make.

    Wrong:
        repository: {url: https://<user>:<password>@git.example.org/clusters.git}
    Right:
        repository: {url: https://git.example.org/clusters.git}
    """
    for at, url in urls(cluster):
        if ("@" in url and _is_for_somebody(url)) or in_address(url):
            message = f"{dotted(at)} holds credentials"
            edits = put(at, _without_credentials(url))
            fix = f"{edits[0].value}, and change the password"
            yield Finding(at=at, message=message, fix=fix, edits=edits, secret=True)


def _is_for_somebody(url: str) -> bool:
    """Tell whether an address says who asks, other than the account that SSH needs."""
    named = re.match(r"(https?://)?[^/@]*@|ssh://[^/@:]*:[^/@]*@", url)
    return named is not None and not re.match(r"[\w.-]+@[^@]*:", url)


def _without_credentials(url: str) -> str:
    scheme, sign, rest = url.rpartition("://")
    place, _, asked = rest.partition("?")
    place = "/".join((place.partition("/")[0].rpartition("@")[2], *place.split("/")[1:]))
    kept = [each for each in asked.split("&") if each and not in_address(f"{scheme}://x?{each}")]
    return f"{scheme}{sign}{place}{'?' * bool(kept)}{'&'.join(kept)}"


@rule("GEN-SITE-021", "charts and manifests come from servers")
def mirrors_are_servers(cluster: Cluster) -> Iterator[Finding]:
    """`gen vendor` asks for charts over HTTP or OCI and for manifests over HTTP, and so does Argo CD before they are
    vendored: a folder of some machine is not there.

    Wrong:
        site: {charts: 'file:///srv/charts'}
    Right:
        site: {charts: https://charts.example.org, manifests: https://files.example.org}
    """
    site = cluster.site
    given = (("charts", site.charts, ("https://", "oci://")), ("manifests", site.manifests, ("https://",)))
    for key, url, schemes in given:
        if url and not url.startswith(("http://", *schemes)):
            fix = f"an address with {' or '.join(schemes)}"
            yield Finding(at=("site", key), message=f"{url} is no address that {key} can be asked of", fix=fix)


@rule("GEN-SITE-006", "the SSH keys of the Git server are known")
def git_host_known(cluster: Cluster) -> Iterator[Finding]:
    """Argo CD connects to no server whose key it does not know, so that nobody can pose as it.

    Wrong:
        repository: {url: git@git.example.org:platform/clusters.git}
    Right:
        repository: {url: git@git.example.org:platform/clusters.git}
        site: {git: {knownHosts: ['git.example.org ssh-ed25519 <key>']}}
    """
    match = re.match(r"ssh://(?:[^/@]*@)?([^/:]+)|[\w.-]+@([\w.-]+):", cluster.repository.url)
    server = (match[1] or match[2]) if match else ""
    known = cluster.site.git.known_hosts
    if server and server not in KNOWN_SERVERS and not any(_names(line, server) for line in known):
        also = ("site", "git", "knownHosts") if known else None
        message = f"the SSH key of {server} is not in site.git.knownHosts"
        fix = f"add what `ssh-keyscan {server}` prints, after comparing it with the server's"
        yield Finding(at=REPOSITORY, also=also, message=message, fix=fix)


def _names(line: str, server: str) -> bool:
    # A hashed entry (|1|...) may be any server's.
    names = line.split(" ", maxsplit=1)[0]
    return names.startswith("|") or server in re.split(r"[,\[\]]", names)


@rule("GEN-SITE-009", "an identity provider over TLS")
def oidc_over_tls(cluster: Cluster) -> Iterator[Finding]:
    """The API server does not start with an issuer that is not https.

    Wrong:
        oidc: {issuer: http://id.example.org, client: ml}
    Right:
        oidc: {issuer: https://id.example.org, client: ml}
    """
    oidc = cluster.site.oidc
    if oidc and not oidc.issuer.startswith("https://"):
        at: Path = ("site", "oidc", "issuer")
        edits = put(at, f"https://{oidc.issuer.partition('://')[2] or oidc.issuer}")
        yield Finding(at=at, message=f"the issuer {oidc.issuer} is not https", edits=edits)


@rule("GEN-SITE-015", "a registry has one mirror")
def mirrors_unique(cluster: Cluster) -> Iterator[Finding]:
    """An image is rewritten to one place; a registry is a host, and its mirror another, alone or with a path
    that images have there. `/v2`, where its API begins, is not of that: nodes' files add it behind the host.

    Wrong:
        - {registry: docker.io, mirror: a.example.org}
        - {registry: docker.io, mirror: b.example.org}
    Right:
        - {registry: docker.io, mirror: a.example.org}
    """
    mirrors = entries(cluster.site.mirrors, "site", "mirrors")
    items = ((each.registry, (*at, "registry")) for at, each in mirrors)
    given = dict(mirrors)
    for registry, at, first in repeats(items):
        same = given[at[:-1]] == given[first[:-1]]
        fix, edits = ("remove one", remove(at[:-1])) if same else ("keep the one that is meant", ())
        yield Finding(at=at, also=first, message=f"two mirrors for {registry}", fix=fix, edits=edits)
    for at, each in mirrors:
        if not re.fullmatch(HOST, each.registry):
            message = f"`{each.registry}` is not a registry's host"
            yield Finding(at=(*at, "registry"), message=message, fix=f"as in docker.io or {EXAMPLE}")
        if not re.fullmatch(SERVED, each.mirror):
            yield _not_served((*at, "mirror"), each.mirror)
        if each.registry == each.mirror:
            message = f"{each.registry} would be its own mirror"
            yield Finding(at=(*at, "mirror"), message=message, edits=remove(at))


def _not_served(at: Path, mirror: str) -> Finding:
    """Tell that a mirror is more than a host and a path, and offer what is left without scheme, user and `v2`."""
    plain = re.sub(r"^https?://(?:[^/@]*@)?|/+$", "", mirror)
    plain = re.sub(rf"^({HOST})/v2(?=/|$)", r"\1", plain)
    edits = put(at, plain) if re.fullmatch(SERVED, plain) else ()
    message = f"`{mirror}` is not a registry's host, alone or with a path that images have there"
    return Finding(at=at, message=message, fix="" if edits else f"as in {EXAMPLE}/docker", edits=edits)


@rule("GEN-SITE-016", "one name or network in an entry of noProxy")
def no_proxy_entries(cluster: Cluster) -> Iterator[Finding]:
    """Programs take each entry as a host, a domain or a network; others match nothing.

    Wrong:
        noProxy: ['10.0.0.0/8,example.org']
    Right:
        noProxy: [10.0.0.0/8, example.org]
    """
    given = cluster.site.proxy.no_proxy if cluster.site.proxy else ()
    for at, entry in entries(given, "site", "proxy", "noProxy"):
        if not re.fullmatch(r"[.*]{0,2}[\w.:-]+(/\d+)?|\*", entry):
            parts = [part for part in re.split(r"[,\s]+", re.sub(r"\w+://", "", entry)) if part]
            edits = _instead(at, len(given), parts)
            fix = ", ".join(parts) or "remove it"
            yield Finding(at=at, message=f"`{entry}` is not one name or network", fix=fix, edits=edits)


def _instead(at: Path, length: int, parts: list[str]) -> tuple[Edit, ...]:
    """Return the change of one item of a list into several: the first in its place, the others behind the last."""
    if not parts:
        return remove(at)
    others = (put((*at[:-1], length + index), part) for index, part in enumerate(parts[1:]))
    return tuple(edit for edits in (put(at, parts[0]), *others) for edit in edits)


@rule("GEN-SITE-018", "a CA is a certificate")
def ca_is_pem(cluster: Cluster) -> Iterator[Finding]:
    """Argo CD and the nodes take the certificate's text (PEM), and no name of a file. Nothing else stands beside it: a
    key would be in Git for ever.

    Wrong:
        git: {ca: /etc/ssl/site-ca.pem}
    Right:
        git:
          ca: |
            -----BEGIN CERTIFICATE-----
            ...
            -----END CERTIFICATE-----
    """
    marks = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    given: list[tuple[Path, str | None]] = [
        (("site", "ca"), cluster.site.ca),
        (("site", "git", "ca"), cluster.site.git.ca),
        *(((*at, "ca"), one.ca) for at, one in entries(cluster.storage.elsewhere, *ELSEWHERE)),
    ]
    for at, ca in given:
        if ca is not None and not is_pem(ca):
            message = f"{dotted(at)} is not a PEM certificate"
            yield Finding(at=at, message=message, fix=f"only the text from {marks[0]} to {marks[1]}")
