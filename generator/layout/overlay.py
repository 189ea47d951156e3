"""One component of one cluster: its base, its overlay and the user's corner in it."""

from generator.components.component import Component, Manifest, Patch, Release
from generator.layout.emit import emit
from generator.layout.files import Files, component_file, corner, document, kustomization, objects
from generator.layout.upstream import brings
from generator.model.cluster import Cluster

__all__ = ["base", "custom", "overlay"]

# What a Kubernetes 1.33 to 1.36 serves in stable versions (its own OpenAPI document, less alpha and beta). Helm knows
# only an old list of its own.
SERVED = (
    "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "apps/v1",
    "authentication.k8s.io/v1", "authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1",
    "certificates.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1", "networking.k8s.io/v1", "node.k8s.io/v1", "policy/v1",
    "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1", "v1",
)  # fmt: skip


def base(component: Component) -> Files:
    """Return `base/<component>/<version>/` and the workflows the component shares with other clusters."""
    source = f"overlays/<cluster>/{component.name}/custom/"
    found = _folder(f"base/{component.name}/{component.version}", component.base, source)
    for operation in component.operations:
        found |= _folder(f"workflows/{operation.name}", operation.templates, source)
    return found


def _folder(folder: str, manifests: tuple[Manifest, ...], source: str) -> Files:
    names, files = objects(folder, manifests, source)
    return {f"{folder}/kustomization.yaml": document(kustomization(names), source), **files}


def overlay(cluster: Cluster, component: Component, *, vendored: bool = False) -> Files:
    """Return `overlays/<cluster>/<component>/` less the user's corner. Its kustomization holds only resources and
    components; `custom` comes last, so that the user's patches win. What is `vendored` stands in `upstream/`, which
    `gen vendor` writes.
    """
    folder = f"overlays/{cluster.name}/{component.name}"
    source = f"clusters/{cluster.name}/cluster.yaml, or put patches into {folder}/custom/"
    names, files = objects(folder, component.objects, source)
    shared = [f"../../../workflows/{operation.name}" for operation in component.operations]
    upstream = ["upstream" if vendored else "releases"] if brings(component) else []
    patches = ["generated"] if component.patches else []
    top = kustomization(
        [f"../../../base/{component.name}/{component.version}", *shared, *upstream, *names], [*patches, "custom"]
    )
    files[f"{folder}/kustomization.yaml"] = document(top, source)
    if brings(component) and not vendored:
        files |= releases(f"{folder}/releases", cluster, component, source)
    if patches:
        files[f"{folder}/generated/kustomization.yaml"] = document(
            component_file(patches=[_patch(patch) for patch in component.patches]), source
        )
    return files


def releases(folder: str, cluster: Cluster, component: Component, source: str) -> Files:
    """Return what stands for charts and upstream manifests until they are vendored: Kustomize inflates them, which
    needs the network and `--enable-helm`.
    """
    charts = [_chart(release, cluster) for release in component.releases]
    files = {f"{folder}/{release.name}.yaml": document(release.values, source) for release in component.releases}
    content = kustomization(component.manifests, charts=charts)
    return {f"{folder}/kustomization.yaml": document(content, source), **files}


def _chart(release: Release, cluster: Cluster) -> Manifest:
    # An OCI reference is split by Kustomize itself: repository and name, as with HTTP.
    return {
        "name": release.chart.name,
        "repo": cluster.site.charts or release.chart.repository,
        "version": release.chart.version,
        "releaseName": release.name,
        "namespace": release.namespace,
        "includeCRDs": True,
        "kubeVersion": cluster.kubernetes.version,
        "apiVersions": [*SERVED, *(["monitoring.coreos.com/v1"] if cluster.monitoring.prometheus else [])],
        "valuesFile": f"{release.name}.yaml",
        "skipTests": True,
        # Argo CD would run a chart's hooks at every sync: only `keep` and `plain` are wanted.
        "skipHooks": all(decision == "drop" for decision in release.hooks.values()),
    }


def _patch(patch: Patch) -> Manifest:
    return {"target": patch.target, "patch": emit(list(patch.operations))}


def custom(cluster: str, component: Component) -> Files:
    """Return the user's corner of an overlay: made once, never written again."""
    text = (
        f"# Yours: patches, images and objects of your own for {component.name} on {cluster}. gen made this file once\n"
        "# and never writes it again. Patches here win over everything that gen writes.\n"
    )
    return corner(f"overlays/{cluster}/{component.name}", text)
