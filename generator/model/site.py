"""What surrounds a cluster: its Git server, registries, mirrors, identity provider and certificates."""

from ipaddress import IPv4Address
from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.base import Branch, Host, Line, Name, Section, Url
from generator.model.secret_store import Escrow, SecretStore

# Container runtimes take a first part without a dot or a port for a path on Docker Hub.
REGISTRY = r"^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?|[a-z0-9-]+:[0-9]+)(/[a-z0-9._-]+)*$(?!\n)"


class Repository(Section, frozen=True, kw_only=True):
    """Where Argo CD finds what `gen` writes."""

    url: Url
    branch: Branch = "main"

    @property
    def by_ssh(self) -> bool:
        """Whether it is reached with a key of SSH: also as `user@host:path`."""
        return self.url.startswith("ssh://") or "://" not in self.url


class Proxy(Section, frozen=True, kw_only=True):
    """The way to the outside, if any; `no_proxy` is added to the cluster's own networks and domain."""

    http: Url
    https: Url | None = None
    no_proxy: tuple[Line, ...] = ()


class Git(Section, frozen=True, kw_only=True):
    """What Argo CD needs to trust the Git server: `ca` is a PEM certificate (else `site.ca`), `known_hosts` its SSH
    host keys.
    """

    ca: str | None = None
    known_hosts: tuple[Line, ...] = ()


class Mirror(Section, frozen=True, kw_only=True):
    """A registry and what serves its images here; nodes are told (containerd), images can be rewritten."""

    registry: Line
    mirror: Line


class Issuer(Section, frozen=True, kw_only=True):
    """Who signs certificates: a CA of the site's own (`secret` in namespace cert-manager, given), or a new
    self-signed one made in the cluster.
    """

    kind: Literal["self-signed", "ca"] = "self-signed"
    secret: Name | None = None


class Oidc(Section, frozen=True, kw_only=True):
    """The site's identity provider, for Kubernetes and Argo CD. `ca` says who signed its certificate: the `site`, with
    `site.ca` where there is one, which is all that is trusted then; or one that any `system` knows.
    """

    issuer: Url
    client: Line
    groups_claim: Line = "groups"
    ca: Literal["site", "system"] = "site"


class Site(Section, frozen=True, kw_only=True):
    """What surrounds the cluster. `ca` is the certificate of the site's own CA (PEM): nodes, containerd, the API server
    and Argo CD trust what it signed. `charts` is a mirror for Helm charts (HTTP or OCI), `manifests` one for files
    (`https://host/path` becomes `<manifests>/host/path`). `images` is a registry, and a
    path in it, that every image is taken from instead of its own (`docker.io/a/b` becomes `<images>/docker.io/a/b`).
    """

    domain: Host
    timezone: Line = "Etc/UTC"
    dns: tuple[IPv4Address, ...] = ()
    ntp: tuple[Host, ...] = ()
    proxy: Proxy | None = None
    ca: str | None = None
    git: Git = field(default_factory=Git)
    mirrors: tuple[Mirror, ...] = ()
    charts: Url | None = None
    manifests: Url | None = None
    images: Annotated[str, Meta(pattern=REGISTRY)] | None = None
    ingress_class: Name | None = None
    issuer: Issuer = field(default_factory=Issuer)
    oidc: Oidc | None = None
    escrow: Escrow = field(default_factory=Escrow)
    secrets: SecretStore | None = None

    @property
    def oidc_ca(self) -> str | None:
        """The only CA that is trusted of the identity provider, where it is the site's own. Kubernetes' `oidc-ca-file`
        and Argo CD's `rootCA` (v3.5.3, `OIDCTLSConfig`) both replace what the system trusts.
        """
        return self.ca if self.oidc and self.oidc.ca == "site" else None
