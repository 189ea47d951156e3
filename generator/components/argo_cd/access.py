"""Who reaches Argo CD, and with which Secrets."""

from generator.components.argo_cd.settings import has_admin
from generator.components.component import Manifest, Secret
from generator.components.issuers import ISSUER
from generator.model.cluster import Cluster

__all__ = ["NAMESPACE", "ingress", "secrets", "syncer"]

NAMESPACE = "argocd"


def exposed(cluster: Cluster) -> bool:
    """Return whether people reach Argo CD by a name."""
    return bool(cluster.gitops.host and cluster.site.ingress_class)


def ingress(cluster: Cluster) -> tuple[Manifest, ...]:
    """Return the Ingress. Argo CD keeps TLS to itself: Cilium passes it through, others speak TLS to it.

    cert-manager reads the annotation and makes the certificate, so that nothing here is of a kind that
    does not exist at bootstrap. Argo CD takes it up by the Secret's name.
    """
    if not exposed(cluster):
        return ()
    host = cluster.gitops.host
    backend = {"service": {"name": "argocd-server", "port": {"name": "https"}}}
    made = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "argocd-server",
            "namespace": NAMESPACE,
            "annotations": {
                "cert-manager.io/cluster-issuer": ISSUER,
                "ingress.cilium.io/tls-passthrough": "enabled",
                "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
            },
        },
        "spec": {
            "ingressClassName": cluster.site.ingress_class,
            "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
            "tls": [{"hosts": [host], "secretName": "argocd-server-tls"}],
        },
    }
    return (made,)


def syncer() -> tuple[Manifest, ...]:
    """Return the identity of `gen sync`. To patch an Application is to deploy whatever its project allows: nothing else
    is to use it (facts: Argo CD, driven through the Kubernetes API).
    """
    metadata = {"name": "gen-sync", "namespace": NAMESPACE}
    verbs = ["get", "list", "watch", "patch"]
    return (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata,
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": ["argoproj.io"], "resources": ["applications"], "verbs": verbs}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gen-sync"},
            "subjects": [{"kind": "ServiceAccount", "name": "gen-sync", "namespace": NAMESPACE}],
        },
    )


def secrets(cluster: Cluster) -> tuple[Secret, ...]:
    """Return the Secrets that Argo CD reads."""
    ssh = cluster.repository.url.startswith("ssh://") or "://" not in cluster.repository.url
    made = [
        own_secret(
            "argocd-secret", ("server.secretkey",), "delete the key: it is made again and everybody logs in again"
        ),
        own_secret("argocd-redis", ("auth",), "delete it and restart Redis, the controller, the servers"),
        Secret(
            name="repository",
            namespace=NAMESPACE,
            keys=("type", "url", "sshPrivateKey") if ssh else ("type", "url", "username", "password"),
            source="given",
            loss="outage",
            rotate="replace the value; it counts at once. The label argocd.argoproj.io/secret-type: repository must be "
            "on it, `type` is git",
            readers=("argo-cd",),
        ),
    ]
    if has_admin(cluster):
        rotate = "log in, change the password with `argocd account update-password`, delete this Secret"
        made.append(own_secret("argocd-initial-admin-secret", ("password",), rotate))
    if cluster.site.oidc:
        made.append(
            Secret(
                name="argocd-oidc",
                namespace=NAMESPACE,
                keys=("clientSecret",),
                source="given",
                loss="outage",
                rotate="make a new one at the identity provider, replace the value. The label "
                "app.kubernetes.io/part-of: argocd must be on it",
                readers=("argo-cd",),
            ),
        )
    if exposed(cluster):
        made.append(
            Secret(
                name="argocd-server-tls",
                namespace=NAMESPACE,
                keys=("tls.crt", "tls.key", "ca.crt"),
                source="in-cluster",
                by="cert-manager",
                loss="harmless",
                rotate="cert-manager renews it; delete it to have it made again",
                readers=("argo-cd",),
            ),
        )
    return tuple(made)


def own_secret(name: str, keys: tuple[str, ...], rotate: str) -> Secret:
    """Return a Secret that Argo CD makes for itself."""
    return Secret(
        name=name,
        namespace=NAMESPACE,
        keys=keys,
        source="in-cluster",
        by="argo-cd",
        loss="harmless",
        rotate=rotate,
        readers=("argo-cd",),
    )
