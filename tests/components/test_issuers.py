from msgspec import structs

from generator.components.component import Component, Manifest
from generator.components.issuers import ISSUER, issuers
from generator.model.cluster import Cluster
from generator.model.site import Issuer


def by_name(component: Component, kind: str) -> dict[str, Manifest]:
    return {manifest["metadata"]["name"]: manifest for manifest in component.objects if manifest["kind"] == kind}


def test_a_given_ca_is_only_named(ml50: Cluster) -> None:
    component = issuers(ml50)
    (secret,) = component.secrets
    (issuer,) = component.objects
    assert issuer["metadata"]["name"] == ISSUER
    assert issuer["spec"] == {"ca": {"secretName": ml50.site.issuer.secret}}
    assert (secret.name, secret.source, secret.loss) == (ml50.site.issuer.secret, "given", "data")


def test_a_given_ca_has_the_issuer_s_name_unless_told_otherwise(ml50: Cluster) -> None:
    for issuer in (Issuer(kind="ca"), Issuer(kind="ca", secret="corporate-ca")):  # the Secret's name, not a secret
        component = issuers(structs.replace(ml50, site=structs.replace(ml50.site, issuer=issuer)))
        assert by_name(component, "ClusterIssuer").keys() == {ISSUER}
        assert component.secrets[0].name == (issuer.secret or "site-ca")


def test_the_self_signed_chain_holds_together(a30: Cluster) -> None:
    component = issuers(a30)
    certificate = by_name(component, "Certificate")["site-ca"]
    cluster_issuers = by_name(component, "ClusterIssuer")
    (secret,) = component.secrets
    signer = cluster_issuers[certificate["spec"]["issuerRef"]["name"]]
    assert signer["spec"] == {"selfSigned": {}}
    assert certificate["spec"]["isCA"] is True
    assert cluster_issuers[ISSUER]["spec"]["ca"]["secretName"] == certificate["spec"]["secretName"] == secret.name
    assert certificate["metadata"]["namespace"] == secret.namespace


def test_the_ca_s_key_is_kept(a30: Cluster) -> None:
    certificate = by_name(issuers(a30), "Certificate")["site-ca"]
    assert certificate["spec"]["privateKey"]["rotationPolicy"] == "Never"
    assert certificate["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
