"""What Argo CD syncs: one Application for each component, projects for their tiers, and the root of it all."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from generator.components.argo_cd.access import NAMESPACE
from generator.components.common import OWN_LABELS, SYNC_WAVE
from generator.components.component import NAMESPACES, Component, Ignore, Manifest, Tier, protect
from generator.layout.files import Files, corner, document, kustomization, objects
from generator.layout.upstream import Upstream, home
from generator.layout.waves import waves
from generator.model.cluster import Cluster

SERVER = "https://kubernetes.default.svc"
# Deleting one of these Applications by mistake must not take the cluster down: no cascading finalizer.
KEPT_TIERS = {Tier.NETWORK, Tier.STORAGE, Tier.GITOPS, Tier.TENANTS}
ROOT = "root"
ROOT_KINDS = [{"group": "argoproj.io", "kind": "Application"}, {"group": "argoproj.io", "kind": "AppProject"}]
FIRST = {SYNC_WAVE: "-1"}
BACKOFF = {"duration": "10s", "factor": 2, "maxDuration": "5m"}
OPTIONS = ("ServerSideApply=true", "SkipDryRunOnMissingResource=true", "FailOnSharedResource=true")


def argocd(
    cluster: Cluster, components: Sequence[Component], known: Mapping[str, Upstream] = MappingProxyType({})
) -> Files:
    """Return `clusters/<cluster>/argocd/` less the user's corner. `known` is what is vendored, by component."""
    folder = f"clusters/{cluster.name}/argocd"
    source = f"clusters/{cluster.name}/cluster.yaml"
    found = waves(components)
    manifests = [
        *projects(cluster, components, known),
        application(cluster, NAMESPACES, NAMESPACES, 0, "default", [f"overlays/{cluster.name}/{NAMESPACES}"]),
        *(_application(cluster, component, found[component.name]) for component in components),
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
    ours = {space.name: space for component in components for space in component.namespaces if space.security}
    manifests = [
        protect(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": space.name,
                    "labels": {"pod-security.kubernetes.io/enforce": str(space.security), **space.labels},
                },
            }
        )
        for _, space in sorted(ours.items())
    ]
    return _folder(folder, manifests, source)


def _application(cluster: Cluster, component: Component, wave: int) -> Manifest:
    """Return a component's Application; only what holds no data takes its objects along when it is deleted."""
    paths = [
        f"overlays/{cluster.name}/{component.name}",
        f"base/{component.name}/{component.version}",
        *(f"workflows/{operation.name}" for operation in component.operations),
    ]
    made = application(cluster, component.name, component.tier.value, wave, home(component), paths)
    policy = made["spec"]["syncPolicy"]
    if cluster.settings(component.name).sync != "auto" or component.tier.value in cluster.gitops.ordered:
        del policy["automated"]
    if component.tier not in KEPT_TIERS and not any(map(_protected, _manifests(component))):
        made["metadata"]["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
    if component.ignore:
        policy["syncOptions"].append("RespectIgnoreDifferences=true")
        made["spec"]["ignoreDifferences"] = [_ignore(entry) for entry in component.ignore]
    return made


def application(  # noqa: PLR0913, PLR0917 - the fields of one object
    cluster: Cluster, name: str, project: str, wave: int, namespace: str, paths: Sequence[str]
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
            "destination": {"server": SERVER, "namespace": namespace},
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
    return {key: value for key, value in found.items() if value or key == "group"}


def root(cluster: Cluster) -> Manifest:
    """Return the Application that holds all others. Bootstrap applies it by hand, after its project; it is not among
    what it syncs: Argo CD would wait in its wave for its own sync to end.

    Only what changed is applied: otherwise one child that is not healthy, a node being down, would hold all others.
    """
    made = application(cluster, ROOT, ROOT, 0, NAMESPACE, [f"clusters/{cluster.name}/argocd"])
    made["spec"]["syncPolicy"]["syncOptions"].append("ApplyOutOfSyncOnly=true")
    return made


def projects(cluster: Cluster, components: Sequence[Component], known: Mapping[str, Upstream]) -> list[Manifest]:
    """Return a project for each tier in use, one for the namespaces, one for the root, and the closed default."""
    tiers = [tier for tier in Tier if any(component.tier == tier for component in components)]
    return [
        _project(cluster, ROOT, "Applications and projects, nothing else", {NAMESPACE}, set(), ROOT_KINDS),
        _project(cluster, NAMESPACES, "all Namespaces", {"default"}, {"/Namespace"}),
        *(_tier(cluster, tier, [c for c in components if c.tier == tier], known) for tier in tiers),
        _app_project(
            "default",
            {
                "description": "closed",
                "sourceRepos": [],
                "destinations": [],
                "namespaceResourceBlacklist": [{"group": "*", "kind": "*"}],
            },
        ),
    ]


def _app_project(name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": FIRST}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": metadata, "spec": spec}


def _tier(cluster: Cluster, tier: Tier, components: Sequence[Component], known: Mapping[str, Upstream]) -> Manifest:
    namespaces = {home(component) for component in components}
    kinds: set[str] = set()
    for component in components:
        manifests = _manifests(component)
        spaces, cluster_wide = _brought(component, known)
        namespaces |= {*spaces, *(space.name for space in component.namespaces)}
        namespaces |= {space for one in manifests if (space := one["metadata"].get("namespace"))}
        kinds |= {*cluster_wide, *(_kind(one) for one in manifests if "namespace" not in one["metadata"])}
    return _project(cluster, tier.value, ", ".join(sorted(c.name for c in components)), namespaces, kinds)


def _brought(component: Component, known: Mapping[str, Upstream]) -> tuple[set[str], set[str]]:
    """Return the namespaces and cluster-scoped kinds that charts and manifests write to: as found, or, before they
    are vendored, as the component states.
    """
    if component.name in known:
        found = known[component.name].found
        return set(found.namespaces), set(found.kinds)
    return {*component.reach, *(release.namespace for release in component.releases)}, set(component.kinds)


def _project(  # noqa: PLR0913, PLR0917 - the fields of one object
    cluster: Cluster,
    name: str,
    description: str,
    namespaces: set[str],
    kinds: set[str],
    only: Sequence[Manifest] = (),
) -> Manifest:
    cluster_kinds = [dict(zip(("group", "kind"), kind.rsplit("/", 1), strict=True)) for kind in sorted(kinds)]
    spec = {
        "description": description,
        "sourceRepos": [cluster.repository.url],
        "destinations": [{"server": SERVER, "namespace": space} for space in sorted(namespaces)],
        "clusterResourceWhitelist": cluster_kinds,
        **({"namespaceResourceWhitelist": list(only)} if only else {}),
    }
    return _app_project(name, spec)


def _kind(manifest: Manifest) -> str:
    return f"{manifest['apiVersion'].rpartition('/')[0]}/{manifest['kind']}"


def _manifests(component: Component) -> list[Manifest]:
    templates = [template for operation in component.operations for template in operation.templates]
    return [*component.base, *component.objects, *templates]


def _protected(manifest: Manifest) -> bool:
    options = manifest["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-options", "")
    return "Delete=false" in options
