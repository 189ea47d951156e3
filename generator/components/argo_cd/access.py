"""Who reaches Argo CD, and with which Secrets."""

from msgspec import structs

from generator.components.argo_cd import NAMESPACE, PART
from generator.components.argo_cd.settings import has_admin, login
from generator.components.common import UNWATCHED, exposed
from generator.components.component import Manifest, Secret, Turn
from generator.components.issuers import ISSUER, signed
from generator.model.cluster import Cluster


def ingress(cluster: Cluster) -> tuple[Manifest, ...]:
    """Return the Ingress. Argo CD keeps TLS to itself: Cilium passes it through, others speak TLS to it.

    cert-manager reads the annotation and makes the certificate, so that nothing here is of a kind that
    does not exist at bootstrap. Argo CD takes it up by the Secret's name.
    """
    host = cluster.gitops.host
    if not exposed(cluster, host):
        return ()
    backend = {"service": {"name": "argocd-server", "port": {"name": "https"}}}
    annotations = {
        **UNWATCHED,
        "cert-manager.io/cluster-issuer": ISSUER,
        "ingress.cilium.io/tls-passthrough": "enabled",
        "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
    }
    made = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "argocd-server", "namespace": NAMESPACE, "annotations": annotations},
        "spec": {
            "ingressClassName": cluster.site.ingress_class,
            "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
            "tls": [{"hosts": [host], "secretName": "argocd-server-tls"}],
        },
    }
    return (made,)


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return the Secrets that Argo CD reads."""
    key = "delete the key: it is made again and everybody logs in again"
    change = "log in, change the password with `argocd account update-password`, delete this Secret"
    made = [
        own_secret("argocd-secret", "server.secretkey", key, SIGNS_ANEW),
        own_secret("argocd-redis", "auth", "replace it and restart Redis and what reads it", cache(cluster)),
        repository(cluster),
    ]
    if has_admin(cluster):
        made.append(own_secret("argocd-initial-admin-secret", "password", change, None))
    if login(cluster):
        rotate = "make a new one at the identity provider, replace the value"
        made.append(given("argocd-oidc", ("clientSecret",), rotate, PART))
    if exposed(cluster, cluster.gitops.host):
        made.append(signed("argocd-server-tls", NAMESPACE, "argo-cd"))
    return tuple(made)


def repository(cluster: Cluster) -> Secret:
    """Return the key to the Git repository, of the kind that its URL asks for."""
    login = ("sshPrivateKey",) if cluster.repository.by_ssh else ("username", "password")
    return structs.replace(
        given(
            "repository",
            ("type", "url", *login),
            "replace the value; it counts at once. `type` is git",
            {"argocd.argoproj.io/secret-type": "repository"},
        ),
        known={"type": "git", "url": cluster.repository.url},
    )


def given(name: str, keys: tuple[str, ...], rotate: str, labels: dict[str, str]) -> Secret:
    """Return a Secret that a person gives."""
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=keys,
        source="given",
        loss="outage",
        rotate=rotate,
        readers=("argo-cd",),
        labels=labels,
        turn=Turn(),
    )


def cache(cluster: Cluster) -> Turn:
    """Return how the password of Redis is replaced. Only environments have it (v3.5.3: manifests), and what is in Redis
    is nothing but a cache. Three servers of Redis begin together: one with another password than its master's follows
    nobody.
    """
    several = cluster.gitops.high_availability
    redis = ("Deployment/argocd-redis-ha-haproxy",) if several else ("Deployment/argocd-redis",)
    return Turn(
        together=("StatefulSet/argocd-redis-ha-server",) if several else (),
        restarts=(
            *redis,
            "StatefulSet/argocd-application-controller",
            "Deployment/argocd-repo-server",
            "Deployment/argocd-server",
        ),
        still="what Argo CD compares and syncs, until its new pods are ready,",
    )


SIGNS_ANEW = Turn(
    restarts=("Deployment/argocd-server",),
    still="every session, and every token of an account or a project, that was made before",
)
"""The settings are read again with the Secret (v3.5.3: util/session, KeyFunc), what encrypts cookies at the start."""


def own_secret(name: str, key: str, rotate: str, turn: Turn | None) -> Secret:
    """Return a Secret that Argo CD makes, and makes again when it is lost."""
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=(key,),
        source="in-cluster",
        by="argo-cd",
        loss="harmless",
        rotate=rotate,
        readers=("argo-cd",),
        turn=turn,
    )
