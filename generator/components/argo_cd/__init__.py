"""Argo CD, from upstream's manifest: it applies everything else, and itself once it runs."""

from generator.components.argo_cd.access import NAMESPACE, ingress, secrets, syncer
from generator.components.argo_cd.settings import APPLICATION_LUA, health_checks, parameters, rights, settings
from generator.components.argo_cd.workloads import budgets, workloads
from generator.components.component import Component, Health, Ignore, Namespace, Patch, Tier, protect
from generator.model.cluster import Cluster
from generator.model.versions import version_of

__all__ = ["argo_cd"]

PROTECTED = protect({"metadata": {}})["metadata"]["annotations"]


def argo_cd(cluster: Cluster, others: tuple[Component, ...], *, enable_helm: bool = True) -> Component:
    """Argo CD with what the other components need of it: their health checks.

    It needs no other component, so that its own settings are the first to arrive. `enable_helm` lets it inflate charts,
    which is needed only while some are not vendored.
    """
    version = version_of("argo-cd", cluster)
    single, available = version.manifests
    return Component(
        name="argo-cd",
        tier=Tier.GITOPS,
        summary="Argo CD: applies this repository",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="restricted"),),
        base=syncer(),
        objects=(*ingress(cluster), *budgets(cluster)),
        manifests=(available if cluster.gitops.high_availability else single,),
        patches=patches(cluster, others, enable_helm=enable_helm),
        secrets=secrets(cluster),
        health=(Health("argoproj.io", "Application", APPLICATION_LUA),),
        # Upstream ships both without data; Argo CD and people fill them.
        ignore=tuple(
            Ignore(group="", kind="Secret", name=name, pointers=("/data",))
            for name in ("argocd-secret", "argocd-notifications-secret")
        ),
        kinds=(
            "apiextensions.k8s.io/CustomResourceDefinition",
            "rbac.authorization.k8s.io/ClusterRole",
            "rbac.authorization.k8s.io/ClusterRoleBinding",
        ),
    )


def patches(cluster: Cluster, others: tuple[Component, ...], *, enable_helm: bool) -> tuple[Patch, ...]:
    """Return the patches on upstream's objects. No target names a namespace: upstream's objects have none."""
    # Upstream's argocd-cm has `data` that must stay, so one operation for each key ...
    data = (
        settings(cluster) | health_checks(others) | ({"kustomize.buildOptions": "--enable-helm"} if enable_helm else {})
    )
    operations = ({"op": "add", "path": f"/data/{escape(key)}", "value": value} for key, value in data.items())
    made = [
        Patch(target=config_map("argocd-cm"), operations=tuple(operations)),
        # ... and the others have none, or one that we repeat.
        data_patch("argocd-cmd-params-cm", parameters(cluster)),
        data_patch("argocd-rbac-cm", rights(cluster)),
        Patch(
            target={"version": "v1", "kind": "Secret", "name": "argocd-secret"},
            operations=({"op": "add", "path": "/metadata/annotations", "value": PROTECTED},),
        ),
    ]
    git = cluster.site.git
    if git.known_hosts:
        known = "".join(f"{line}\n" for line in git.known_hosts)
        made.append(data_patch("argocd-ssh-known-hosts-cm", {"ssh_known_hosts": known}))
    if git.ca:
        made.append(data_patch("argocd-tls-certs-cm", {git_host(cluster.repository.url): git.ca}))
    return (*made, *workloads(cluster))


def config_map(name: str) -> dict[str, str]:
    """Return the target of a patch on a ConfigMap."""
    return {"version": "v1", "kind": "ConfigMap", "name": name}


def data_patch(name: str, data: dict[str, str]) -> Patch:
    """Set all of a ConfigMap's data."""
    return Patch(target=config_map(name), operations=({"op": "add", "path": "/data", "value": data},))


def escape(key: str) -> str:
    """Return a key as JSON Pointer (RFC 6901) writes it."""
    return key.replace("~", "~0").replace("/", "~1")


def git_host(url: str) -> str:
    """Return the host that Argo CD looks certificates up by: without user and port."""
    rest = url.split("://", 1)[-1].split("/", 1)[0]
    return rest.rsplit("@", 1)[-1].split(":", 1)[0]
