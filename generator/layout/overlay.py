"""One component of one cluster: its base, its overlay and the user's corner in it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.msgpack import encode

from generator.components import offered
from generator.components.common import CRD
from generator.components.component import Component, Manifest, Release, protect
from generator.layout.emit import emit
from generator.layout.files import Files, component_file, corner, document, joined, kustomization, objects
from generator.layout.mirror import (
    ImageRewriting,
    SharedImage,
    pins,
    renames,
    rewritten,
    rewritten_patch,
    shared_images,
    text_patches,
)
from generator.layout.upstream import Upstream, brings
from generator.model.cluster import Cluster
from generator.model.served import minor_of, versions

UPSTREAM, RELEASES = "upstream", "releases"
"""The folders of an overlay with what charts became, once vendored, and before that with the charts."""

_LAST: dict[str, tuple[tuple[tuple[Manifest, ...], str], Files]] = {}
"""What a folder that clusters share was last made of, and what became of it, by its path."""


def base(component: Component) -> Files:
    """Return `base/<component>/<version>/` and the workflows the component shares with other clusters."""
    source = f"overlays/<cluster>/{component.name}/custom/"
    found = _folder(f"base/{component.name}/{component.version}", component.base, source)
    for operation in component.operations:
        found = joined(found, _folder(f"workflows/{operation.name}", operation.templates, source))
    return found


def _folder(folder: str, manifests: tuple[Manifest, ...], source: str) -> Files:
    """Return a folder that clusters share. Nearly always it is what it was for the cluster before: writing it out again
    would take a fifth of the time of a cluster, and sending it to another process a third.
    """
    made_of, files = _LAST.get(folder, (None, {}))
    # Objects may be equal and be written otherwise, by the order of their keys.
    if made_of is None or encode(made_of) != encode((manifests, source)):
        names, made = objects(folder, manifests, source)
        files = joined({f"{folder}/kustomization.yaml": document(kustomization(names), source)}, made)
        _LAST[folder] = (manifests, source), files
    return files


def overlay(
    cluster: Cluster,
    component: Component,
    upstream: Upstream | None = None,
    digests: Mapping[str, str] = MappingProxyType({}),
) -> Files:
    """Return `overlays/<cluster>/<component>/` less the user's corner. Its kustomization holds only resources,
    components and images; `custom` comes last, so that the user's patches win. What `upstream` tells of is vendored and
    stands in `upstream/`, which `gen vendor` writes. Images come from the cluster's mirror, and pinned where `digests`
    has them.
    """
    folder = f"overlays/{cluster.name}/{component.name}"
    source = f"clusters/{cluster.name}/cluster.yaml, or put patches into {folder}/custom/"
    rewriting = ImageRewriting(cluster.site.images, digests)
    shared = _shared_images(component, upstream) if rewriting else ()
    teams = {team.name for team in cluster.teams}
    names, files = objects(folder, [rewritten(one, rewriting) for one in component.objects], source, teams)
    generated = _generated(component, shared, rewriting)
    top = kustomization(
        [*_resources(component, vendored=upstream is not None), *names],
        ["generated", "custom"] if generated else ["custom"],
    )
    if images := renames(shared, rewriting):
        top["images"] = images
    parts = [files, {f"{folder}/kustomization.yaml": document(top, source)}]
    if brings(component) and not upstream:
        parts.append(releases(f"{folder}/releases", cluster, component, source))
    if generated:
        parts.append({f"{folder}/generated/kustomization.yaml": document(component_file(**generated), source)})
    return joined(*parts)


def _resources(component: Component, *, vendored: bool) -> list[str]:
    shared = [f"../../../workflows/{operation.name}" for operation in component.operations]
    upstream = [UPSTREAM if vendored else RELEASES] if brings(component) else []
    own = [f"../../../{component.folder}"] if component.folder else []
    return [f"../../../base/{component.name}/{component.version}", *shared, *upstream, *own]


def _shared_images(component: Component, upstream: Upstream | None) -> tuple[SharedImage, ...]:
    """Return the images in what this overlay does not write itself."""
    templates = [template for operation in component.operations for template in operation.templates]
    return shared_images([*component.base, *templates]) + (upstream.found.images if upstream else ())


def _generated(component: Component, shared: Sequence[SharedImage], rewriting: ImageRewriting) -> Manifest:
    """Return what gen's own Kustomize Component does. Images come first: the component's patches may replace them."""
    patches = [*text_patches(shared, rewriting), *(rewritten_patch(patch, rewriting) for patch in component.patches)]
    written = [{"target": patch.target, "patch": emit(list(patch.operations))} for patch in patches]
    found = {"patches": written, "images": pins(shared, rewriting)}
    return {key: value for key, value in found.items() if value}


def releases(folder: str, cluster: Cluster, component: Component, source: str) -> Files:
    """Return what stands for charts and upstream manifests until they are vendored: Kustomize inflates them, which
    needs the network and `--enable-helm`.
    """
    charts = [_chart(release, cluster) for release in component.releases]
    files = [{f"{folder}/{release.name}.yaml": document(release.values, source)} for release in component.releases]
    content = kustomization(component.manifests, charts=charts)
    if CRD in component.kinds:
        content["patches"] = [_protecting(CRD)]
    return joined({f"{folder}/kustomization.yaml": document(content, source)}, *files)


def _protecting(kind: str) -> Manifest:
    """Return a patch that protects all objects of a kind ("group/Kind"), as vendoring does with CRDs."""
    group, name = kind.rsplit("/", 1)
    any_one = protect({"apiVersion": f"{group}/v1", "kind": name, "metadata": {"name": "any"}})
    return {"target": {"group": group, "kind": name}, "patch": emit(any_one)}


def _chart(release: Release, cluster: Cluster) -> Manifest:
    # Helm knows only an old list of its own.
    served = versions(minor_of(cluster.kubernetes.version))
    # An OCI reference is split by Kustomize itself: repository and name, as with HTTP.
    return {
        "name": release.chart.name,
        "repo": cluster.site.charts or release.chart.repository,
        "version": release.chart.version,
        "releaseName": release.name,
        "namespace": release.namespace,
        "includeCRDs": True,
        "kubeVersion": cluster.kubernetes.version,
        "apiVersions": [*served, *offered(cluster)],
        "valuesFile": f"{release.name}.yaml",
        "skipTests": True,
        # Argo CD would run a chart's hooks at every sync: only `keep` and `plain` are wanted.
        "skipHooks": all(decision == "drop" for decision in release.hooks.values()),
    }


def custom(cluster: str, component: Component) -> Files:
    """Return the user's corner of an overlay: made once, never written again."""
    text = (
        f"# Yours: patches, images and objects of your own for {component.name} on {cluster}. gen made this file once\n"
        "# and never writes it again. Patches here win over everything that gen writes.\n"
    )
    return corner(f"overlays/{cluster}/{component.name}", text)
