"""What Argo CD's ConfigMaps hold."""

import json

from generator.components.component import Component
from generator.components.node_text import Csv
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.site import Oidc

# What Argo CD does not watch: kinds that controllers write by the thousand. Its own default leaves EndpointSlices out
# as well, and with them the one that Cilium's chart brings for its Ingress.
EXCLUDED = [
    {"apiGroups": [""], "kinds": ["Endpoints"]},
    {"apiGroups": ["coordination.k8s.io"], "kinds": ["Lease"]},
    {"apiGroups": ["authentication.k8s.io", "authorization.k8s.io"], "kinds": ["*"]},
    {"apiGroups": ["cert-manager.io"], "kinds": ["CertificateRequest"]},
    {"apiGroups": ["cilium.io"], "kinds": ["CiliumEndpoint", "CiliumEndpointSlice", "CiliumIdentity"]},
]


def settings(cluster: Cluster) -> dict[str, str]:
    """Return what argocd-cm gets beside upstream's own entries."""
    data = {
        "application.resourceTrackingMethod": "annotation",
        "timeout.reconciliation": "120s",
        "timeout.reconciliation.jitter": "60s",
        "resource.exclusions": json.dumps(EXCLUDED),
        # Fields below `status`, and rules that controllers gather into aggregated ClusterRoles, are not ours.
        "resource.compareoptions": json.dumps({"ignoreAggregatedRoles": True, "ignoreResourceStatusField": "all"}),
        "admin.enabled": "true" if has_admin(cluster) else "false",
        "users.anonymous.enabled": "false",
        "exec.enabled": "false",
        "statusbadge.enabled": "false",
    }
    if cluster.gitops.host:
        data["url"] = f"https://{cluster.gitops.host}"
    if provider := login(cluster):
        data["oidc.config"] = oidc(provider, cluster.site.oidc_ca)
    return data


def login(cluster: Cluster) -> Oidc | None:
    """Return the site's provider where people can log in by it: it sends them back to Argo CD's own address."""
    return cluster.site.oidc if cluster.gitops.host else None


def has_admin(cluster: Cluster) -> bool:
    """Return whether the built-in account `admin` is needed: nobody could come in by the site's provider."""
    return not (login(cluster) and cluster.gitops.admins)


def health_checks(others: tuple[Component, ...]) -> dict[str, str]:
    """Return the Lua that tells whether a wave may go on, by kind."""
    checks = {f"{check.group}_{check.kind}": check.lua for component in others for check in component.health}
    checks["argoproj.io_Application"] = application_health()
    return {f"resource.customizations.health.{kind}": lua for kind, lua in sorted(checks.items())}


def application_health() -> str:
    """Return the Lua by which a wave of Applications waits for the one before."""
    return read_text("argo_cd/application.lua")


def oidc(provider: Oidc, authority: str | None) -> str:
    """Return how people log in; the client's secret stays in argocd-oidc. `authority` is the CA that signed the
    provider's certificate, where the site has one of its own.
    """
    return json.dumps(
        {
            "name": "site",
            "issuer": provider.issuer,
            "clientID": provider.client,
            "clientSecret": "$argocd-oidc:clientSecret",
            "requestedScopes": ["openid", "profile", "email", provider.groups_claim],
            "requestedIDTokenClaims": {provider.groups_claim: {"essential": True}},
            **({"rootCA": authority} if authority else {}),
        },
    )


def rights(cluster: Cluster) -> dict[str, str]:
    """Return who may what: the file's admins everything, others nothing."""
    lines = [f"g, {Csv(group)}, role:admin" for group in cluster.gitops.admins]
    data = {"policy.default": "", "policy.csv": "".join(f"{line}\n" for line in lines)}
    if provider := login(cluster):
        data["scopes"] = json.dumps([provider.groups_claim])
    return data


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the programs' settings. The health of each resource goes back into the Application: whoever syncs
    in order reads it there (facts: Argo CD 3.0).
    """
    data = {
        "controller.resource.health.persist": "true",
        "controller.diff.server.side": "true",
        "server.insecure": "false",
    }
    # Upstream's own entry in the manifest for high availability, which a patch of all data would lose.
    return data | ({"redis.server": "argocd-redis-ha-haproxy:6379"} if cluster.gitops.high_availability else {})
