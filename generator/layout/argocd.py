"""What Argo CD syncs: one Application for each component, their projects, and the root of it all."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from generator.components.argo_cd import NAMESPACE
from generator.components.common import OWN_LABELS, SYNC_WAVE
from generator.components.component import NAMESPACES, Component, Ignore, Manifest, Tier, protect
from generator.layout.files import Files, corner, document, kustomization, objects
from generator.layout.projects import ROOT, destination, own_manifests, project_of, projects
from generator.layout.upstream import Upstream, home
from generator.layout.waves import needed, waves
from generator.model.cluster import Cluster

# Deleting one of these Applications by mistake must not take the cluster down: no cascading finalizer.
KEPT_TIERS = {Tier.NETWORK, Tier.STORAGE, Tier.GITOPS, Tier.TENANTS}
BACKOFF = {"duration": "10s", "factor": 2, "maxDuration": "5m"}
OPTIONS = ("ServerSideApply=true", "SkipDryRunOnMissingResource=true", "FailOnSharedResource=true")


def argocd(
    cluster: Cluster, components: Sequence[Component], known: Mapping[str, Upstream] = MappingProxyType({})
) -> Files:
    """Return `clusters/<cluster>/argocd/` less the user's corner. `known` is what is vendored, by component."""
    folder = f"clusters/{cluster.name}/argocd"
    source = f"clusters/{cluster.name}/cluster.yaml"
    found, waited_for = waves(components), needed(components)
    manifests = [
        *projects(cluster, components, known),
        application(cluster, NAMESPACES, NAMESPACES, 0, None, [f"overlays/{cluster.name}/{NAMESPACES}"]),
        *(
            _application(cluster, component, found[component.name], waited_for=component.name in waited_for)
            for component in components
        ),
    ]
    return _folder(folder, manifests, source)


def _folder(folder: str, manifests: Sequence[Manifest], source: str) -> Files:
    names, files = objects(folder, manifests, source)
    return {f"{folder}/kustomization.yaml": document(kustomization(names, ["custom"]), source), **files}


def argocd_custom(cluster: Cluster) -> Files:
    """Return the user's corner beside the Applications: made once."""
    text = "# Yours: Applications and AppProjects of your own. gen made this file once and never writes it again.\n"
    return corner(f"clusters/{cluster.name}/argocd", text)


def namespaces(cluster: Cluster, components: Sequence[Component]) -> Files:
    """Return the overlay with all Namespaces: in one Application, because one that two Applications hold ends up
    pruned with everything in it (facts: layout, Argo CD).
    """
    folder = f"overlays/{cluster.name}/{NAMESPACES}"
    source = f"clusters/{cluster.name}/cluster.yaml, or put patches into {folder}/custom/"
    # What a user's own component says of a namespace counts where no component of gen's has it.
    by_rank = sorted(components, key=lambda one: one.name not in cluster.extras)
    ours = {space.name: space for component in by_rank for space in component.namespaces if space.security}
    manifests = [
        protect(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": space.name,
                    "labels": {"pod-security.kubernetes.io/enforce": str(space.security), **space.labels},
                    "annotations": space.annotations,
                },
            }
        )
        for _, space in sorted(ours.items())
    ]
    return _folder(folder, manifests, source)


def _application(cluster: Cluster, component: Component, wave: int, *, waited_for: bool) -> Manifest:
    """Return a component's Application; only what holds no data takes its objects along when it is deleted. One that no
    other component needs is left out of root's health, and its Lua lets root's sync go on (`application.lua`).
    """
    paths = [
        f"overlays/{cluster.name}/{component.name}",
        f"base/{component.name}/{component.version}",
        *(f"workflows/{operation.name}" for operation in component.operations),
        *([watched(component.folder)] if component.folder else []),
    ]
    made = application(cluster, component.name, project_of(cluster, component), wave, home(component), paths)
    policy = made["spec"]["syncPolicy"]
    if cluster.settings(component.name).sync != "auto" or component.tier.value in cluster.gitops.ordered:
        del policy["automated"]
    if component.tier not in KEPT_TIERS and not any(map(_protected, own_manifests(component))):
        made["metadata"]["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
    if not waited_for:
        made["metadata"]["annotations"]["argocd.argoproj.io/ignore-healthcheck"] = "true"
    if component.ignore:
        policy["syncOptions"].append("RespectIgnoreDifferences=true")
        made["spec"]["ignoreDifferences"] = [_ignore(entry) for entry in component.ignore]
    return made


def watched(folder: str) -> str:
    """Return where Argo CD looks for changes of what a user's own folder is built of: below its first step, since
    kustomizations take from folders beside them.
    """
    return folder.partition("/")[0]


def application(  # noqa: PLR0913, PLR0917 - the fields of one object
    cluster: Cluster, name: str, project: str, wave: int, namespace: str | None, paths: Sequence[str]
) -> Manifest:
    """Return an Application that syncs the first of these paths, made anew when something below any of them changes.
    Removing it from Git needs a person's word (`Prune=confirm`).
    """
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {**cluster.labels, f"{OWN_LABELS}/cluster": cluster.name},
            "annotations": {
                SYNC_WAVE: str(wave),
                "argocd.argoproj.io/sync-options": "Prune=confirm",
                "argocd.argoproj.io/manifest-generate-paths": ";".join(f"/{path}" for path in paths),
            },
        },
        "spec": {
            "project": project,
            "source": {
                "repoURL": cluster.repository.url,
                "targetRevision": f"refs/heads/{cluster.repository.branch}",
                "path": paths[0],
            },
            "destination": destination(namespace),
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                # Auto-sync tries a commit once; a webhook or a CRD that is not there yet must not end the installation.
                "retry": {"limit": -1, "refresh": True, "backoff": BACKOFF},
                "syncOptions": [*OPTIONS],
            },
        },
    }


def _ignore(entry: Ignore) -> Manifest:
    found = {
        "group": entry.group,
        "kind": entry.kind,
        "name": entry.name,
        "jsonPointers": list(entry.pointers),
        "jqPathExpressions": list(entry.expressions),
    }
    # An empty group is left out: Argo CD writes its Applications without it, and root would differ for ever.
    return {key: value for key, value in found.items() if value}


def root(cluster: Cluster) -> Manifest:
    """Return the Application that holds all others. Bootstrap applies it by hand, after its project; it is not among
    what it syncs: Argo CD would wait in its wave for its own sync to end.

    Only what changed is applied: otherwise one child that is not healthy, a node being down, would hold all others.
    """
    made = application(cluster, ROOT, ROOT, 0, NAMESPACE, [f"clusters/{cluster.name}/argocd"])
    made["spec"]["syncPolicy"]["syncOptions"].append("ApplyOutOfSyncOnly=true")
    return made


def _protected(manifest: Manifest) -> bool:
    options = manifest["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-options", "")
    return "Delete=false" in options
