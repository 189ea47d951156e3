"""Who signs the cluster's certificates: the site's own CA, or one made here."""

from typing import Literal

from msgspec import structs

from generator.components.cert_manager import NAMESPACE
from generator.components.cert_manager import VERSIONS as CERT_MANAGER_VERSIONS
from generator.components.component import Component, Manifest, Namespace, Secret, Tier, Turn, protect
from generator.components.definition import Definition, Evidence, Shown
from generator.model.cluster import Cluster

ISSUER = "site-ca"
"""The ClusterIssuer that everything else asks for certificates."""

OWN_CA = "site-ca"
SELF_SIGNED = "self-signed"
NEW_KEY = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}
DECADE = {"duration": "87600h0m0s", "renewBefore": "8760h0m0s"}
"""Ten years, renewed a year early."""


def signed(
    name: str,
    namespace: str,
    *readers: str,
    loss: Literal["harmless", "outage", "data"] = "harmless",
    rotate: str = "cert-manager renews it; delete it to have it made again",
    by: str = "cert-manager",
) -> Secret:
    """Declare a certificate with its key that cert-manager makes, or has an issuer make."""
    return Secret(
        name=name,
        namespace=namespace,
        keys=("ca.crt", "tls.crt", "tls.key"),
        source="in-cluster",
        by=by,
        loss=loss,
        rotate=rotate,
        readers=readers,
        turn=Turn(way="delete") if loss != "data" else None,
    )


def authority(
    name: str,
    namespace: str,
    *readers: str,
    signs: tuple[str, ...],
    loss: Literal["harmless", "outage"] = "outage",
    turn: Turn | None = None,
) -> Secret:
    """Declare the CA of a few programs, with the Secrets of its namespace that it signs. With another key they are made
    anew by a person, or by `turn`: cert-manager does not do so by itself (cert-manager #2478), and until then they
    count.
    """
    words = f"delete it; once it is there again, delete {' and '.join(signs)} as well, which it signed"
    return structs.replace(signed(name, namespace, *readers, loss=loss, rotate=words), turn=turn)


def issuers(cluster: Cluster) -> Component:
    """Set up the ClusterIssuer that `site.issuer` describes. Its name is the same in both cases."""
    issuer = cluster.site.issuer
    given = issuer.kind == "ca"
    secret = (issuer.secret or OWN_CA) if given else OWN_CA
    # The issuer that signs nothing but the CA itself.
    self_signed = cluster_issuer(SELF_SIGNED, {"selfSigned": {}})
    chain = () if given else (self_signed, certificate(cluster.name))
    return Component(
        name="issuers",
        tier=DEFINITION.tier,
        summary="The CA that signs certificates",
        version=CERT_MANAGER_VERSIONS.of(cluster).version,
        namespaces=(Namespace(NAMESPACE),),
        objects=(*chain, cluster_issuer(ISSUER, {"ca": {"secretName": secret}})),
        needs=("cert-manager",),
        secrets=(given_ca(secret) if given else own_ca(),),
    )


def issued(metadata: Manifest, secret: str, **spec: object) -> Manifest:
    """Return a certificate that the site's issuer signs, with its key in a Secret."""
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": metadata,
        "spec": {
            "secretName": secret,
            **spec,
            "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": ISSUER},
        },
    }


def for_server(metadata: Manifest, secret: str, names: list[str], *usages: str, **lasts: str) -> Manifest:
    """Return the certificate of what serves by these names, with a new key each time."""
    used = ["digital signature", "key encipherment", "server auth", *usages]
    return issued(metadata, secret, **lasts, dnsNames=names, privateKey=NEW_KEY, usages=used)


def trusting(name: str, namespace: str, labels: dict[str, str]) -> Manifest:
    """Return the certificate whose Secret brings the CA into a namespace: it opens nothing."""
    metadata, names = {"name": name, "namespace": namespace, "labels": labels}, [f"{name}.{namespace}.svc"]
    return issued(metadata, name, commonName=name, dnsNames=names, usages=["client auth"], privateKey=NEW_KEY)


def cluster_issuer(name: str, spec: Manifest) -> Manifest:
    """Return a ClusterIssuer."""
    return {"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": name}, "spec": spec}


def certificate(cluster: str) -> Manifest:
    """Return the CA's certificate: ten years, renewed a year early with the same key, so that what it signed and
    those who trust it stay valid. Its Secret outlives it.
    """
    return protect(
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": OWN_CA, "namespace": NAMESPACE},
            "spec": {
                "isCA": True,
                "commonName": f"{cluster} site CA",
                "secretName": OWN_CA,
                **DECADE,
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Never"},
                "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": SELF_SIGNED},
            },
        }
    )


def given_ca(secret: str) -> Secret:
    """Declare the site's own CA."""
    return Secret(
        name=secret,
        namespace=NAMESPACE,
        keys=("tls.crt", "tls.key"),
        source="given",
        loss="data",
        rotate='give the new CA and its key, have both trusted until every certificate is renewed: "The site\'s CA" in '
        "docs/operations.md",
        readers=("cert-manager",),
    )


def own_ca() -> Secret:
    """Declare the CA that is made here. Lost, all that trust it must be told of a new one."""
    rotate = (
        "delete it: a new CA is made, and every certificate must be renewed and the new CA trusted: "
        '"The site\'s CA" in docs/operations.md'
    )
    return signed(OWN_CA, NAMESPACE, "cert-manager", loss="data", rotate=rotate, by="issuers")


DEFINITION = Definition(
    name="issuers",
    tier=Tier.PLATFORM,
    make=issuers,
    namespaces=(NAMESPACE,),
    own_kinds=("cert-manager.io/ClusterIssuer",),
    shown_by=Evidence(objects=(Shown("cert-manager.io", "clusterissuers"),)),
    notes="With `site.issuer.kind: ca` the Secret is given by you, before anything asks for a certificate. Its loss "
    "counts as loss of data: every certificate in the cluster hangs on it.",
)
