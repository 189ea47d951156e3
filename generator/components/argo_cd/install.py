"""Argo CD, from upstream's manifest: it applies everything else, and itself once it runs."""

from collections.abc import Mapping

from generator.components.argo_cd import DEFINITION, NAMESPACE, VERSIONS
from generator.components.argo_cd.access import ingress, secrets
from generator.components.argo_cd.settings import application_health, health_checks, parameters, rights, settings
from generator.components.argo_cd.workloads import workloads
from generator.components.component import Component, Health, Ignore, Namespace, Patch, protect
from generator.components.static import read_objects
from generator.model.cluster import Cluster

PROTECTED = protect({"metadata": {}})["metadata"]["annotations"]


def install(cluster: Cluster, others: tuple[Component, ...], *, enable_helm: bool) -> Component:
    """Argo CD with what the other components need of it: their health checks.

    It needs no other component, so that its own settings are the first to arrive. `enable_helm` lets it inflate charts,
    which is needed only while some are not vendored.
    """
    version = VERSIONS.of(cluster)
    budgets = read_objects("argo_cd/disruption-budgets.yaml") if cluster.gitops.high_availability else ()
    single, available = version.manifests
    return Component(
        name="argo-cd",
        tier=DEFINITION.tier,
        summary="Argo CD: applies this repository",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="restricted"),),
        objects=(*ingress(cluster), *budgets),
        manifests=(available if cluster.gitops.high_availability else single,),
        patches=patches(cluster, others, enable_helm=enable_helm),
        secrets=secrets(cluster),
        health=(Health("argoproj.io", "Application", application_health()),),
        # Upstream ships both without data; Argo CD and people fill them.
        ignore=tuple(
            Ignore(group="", kind="Secret", name=name, pointers=("/data",))
            for name in ("argocd-secret", "argocd-notifications-secret")
        ),
        kinds=DEFINITION.chart_kinds,
    )


def patches(cluster: Cluster, others: tuple[Component, ...], *, enable_helm: bool) -> tuple[Patch, ...]:
    """Return the patches on upstream's objects. No target names a namespace: upstream's objects have none."""
    # Upstream's argocd-cm has `data` that must stay, so one operation for each key ...
    data = settings(cluster) | health_checks(others)
    data |= {"kustomize.buildOptions": "--enable-helm"} if enable_helm else {}
    git = cluster.site.git
    known = {"ssh_known_hosts": "".join(f"{line}\n" for line in git.known_hosts)}
    made = [
        adding("ConfigMap", "argocd-cm", {f"/data/{escape(key)}": value for key, value in data.items()}),
        # ... and the others have none, or one that we repeat.
        adding("ConfigMap", "argocd-cmd-params-cm", {"/data": parameters(cluster)}),
        adding("ConfigMap", "argocd-rbac-cm", {"/data": rights(cluster)}),
        adding("Secret", "argocd-secret", {"/metadata/annotations": PROTECTED}),
    ]
    if git.known_hosts:
        made.append(adding("ConfigMap", "argocd-ssh-known-hosts-cm", {"/data": known}))
    if trusted := git.ca or cluster.site.ca:
        made.append(adding("ConfigMap", "argocd-tls-certs-cm", {"/data": {git_host(cluster.repository.url): trusted}}))
    return (*made, *workloads(cluster))


def adding(kind: str, name: str, values: Mapping[str, object]) -> Patch:
    """Add values, by path, to an object of upstream's."""
    operations = ({"op": "add", "path": path, "value": value} for path, value in values.items())
    return Patch(target={"version": "v1", "kind": kind, "name": name}, operations=tuple(operations))


def escape(key: str) -> str:
    """Return a key as JSON Pointer (RFC 6901) writes it."""
    return key.replace("~", "~0").replace("/", "~1")


def git_host(url: str) -> str:
    """Return the host that Argo CD looks certificates up by: without user and port."""
    rest = url.split("://", 1)[-1].split("/", 1)[0]
    return rest.rsplit("@", 1)[-1].split(":", 1)[0]
