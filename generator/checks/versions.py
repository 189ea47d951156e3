"""Rules about components: names, versions, and what goes together."""

from collections.abc import Iterator

from generator.checks.places import unknown
from generator.components import CATALOGUE, absent
from generator.components.component import NAMESPACES, OF_DEFINITIONS
from generator.components.definition import Version
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.finding import Finding, put, remove
from generator.model.rule import rule, warning
from generator.model.served import minor_of
from generator.spec.near import misnamed

MOST_OF_A_RELEASE = 53
"""Characters in the name of a Helm release: Helm refuses more."""

COMPONENTS = frozenset(CATALOGUE) | {NAMESPACES}
"""Every name that `components` may have."""


@rule("GEN-K8S-020", "a Kubernetes version that every component supports")
def supported_version(cluster: Cluster) -> Iterator[Finding]:
    """Each component's maintainers test it on some minors of Kubernetes and support no others.

    Wrong:
        version: "1.37.0"
    Right:
        version: "1.35.3"
    """
    minor = minor_of(cluster.kubernetes.version)
    without = absent(cluster)
    used = [one for one in CATALOGUE.values() if one.name not in without and cluster.settings(one.name).managed]
    versions = {one.name: one.versions.of(cluster) for one in sorted(used, key=lambda one: one.name) if one.versions}
    ranges = [(f"{name} {version.version}", *version.kubernetes) for name, version in versions.items()]
    wrong = [f"{name} (1.{low} to 1.{high})" for name, low, high in ranges if not low <= minor <= high]
    if wrong:
        lowest, highest = max(low for _, low, _ in ranges), min(high for _, _, high in ranges)
        suits = f"1.{lowest} to 1.{highest} suits all"
        fix = suits if lowest <= highest else "take other versions in `components`"
        message = f"Kubernetes 1.{minor} is not supported by {', '.join(wrong)}"
        yield Finding(at=("kubernetes", "version"), message=message, fix=fix)


@rule("GEN-K8S-021", "components that exist")
def known_component(cluster: Cluster) -> Iterator[Finding]:
    """Settings for a name that no component has would change nothing.

    Wrong:
        components: {rook: {sync: manual}}
    Right:
        components: {rook-ceph: {sync: manual}}
    """
    for name, free in misnamed(cluster.components, COMPONENTS):
        message, otherwise = f"there is no component {name}", f"one of {', '.join(sorted(COMPONENTS))}"
        yield unknown(("components", name), name, free, message, otherwise, key=True)


def known_versions(name: str) -> tuple[Version, ...]:
    """Return the versions of a component, none where there is no such component or it comes with gen."""
    return CATALOGUE[name].known if name in CATALOGUE else ()


@rule("GEN-K8S-022", "versions that the catalogue knows")
def known_version(cluster: Cluster) -> Iterator[Finding]:
    """Another version of the same major one is taken as well, with a warning, where all that comes of it is judged once
    it is vendored. What gen writes itself, and images that it names by digest, were checked for the versions of the
    catalogue and fit no others.

    Wrong:
        components: {cilium: {version: 0.9.0}}
    Right:
        components: {cilium: {version: 1.20.0}}
    """
    for name, settings in cluster.components.items():
        known = [each.version for each in known_versions(name)]
        if settings.version is not None and name in COMPONENTS and not _taken(name, settings.version):
            has = f"known are {', '.join(known)}" if known else "it comes with gen"
            message = f"{name} has no version {settings.version}: {has}"
            at = ("components", name, "version")
            yield Finding(at=at, message=message, edits=put(at, known[0]) if known else remove(at))


def _taken(name: str, version: str) -> bool:
    versions = CATALOGUE[name].versions if name in CATALOGUE else None
    return versions is not None and versions.named(version) is not None


@warning("GEN-K8S-025", "versions that gen was checked against")
def checked_version(cluster: Cluster) -> Iterator[Finding]:
    """What gen writes for a component was held against the custom resources and chart values of the versions in its
    catalogue. Another one is fetched in the same way as the nearest of these, and `gen vendor` and `gen check
    --rendered` judge what it became; what its programs do with it nobody has tried.

    Wrong:
        components: {kueue: {version: v0.18.6}}
    Right:
        components: {kueue: {version: v0.18.3}}
    """
    wrong = _unpaired(cluster)
    for name, settings in cluster.components.items():
        known = [each.version for each in known_versions(name)]
        new = settings.version and settings.version not in known and name not in wrong
        if settings.version and new and _taken(name, settings.version):
            message = f"{name} {settings.version} is not one that gen was checked against: {', '.join(known)}"
            fix = f"gen vendor {name}, then gen check --rendered; accept this with a waiver once both are content"
            yield Finding(at=("components", name, "version"), message=message, fix=fix)


@warning("GEN-K8S-023", "no settings for what somebody else installs")
def unmanaged_settings(cluster: Cluster) -> Iterator[Finding]:
    """With `managed: false` nothing is written for a component, so its other settings have no effect.

    Wrong:
        components: {cilium: {managed: false, values: {debug: {enabled: true}}}}
    Right:
        components: {cilium: {managed: false}}
    """
    default = ComponentSettings()
    for name, settings in cluster.components.items():
        idle = [key for key in ("values", "hooks", "adopt", "sync") if getattr(settings, key) != getattr(default, key)]
        if not settings.managed and idle:
            message = f"{name} is not managed here, so {' and '.join(idle)} have no effect"
            at, also = ("components", name, idle[0]), ("components", name, "managed")
            edits = tuple(edit for key in idle for edit in remove(("components", name, key)))
            yield Finding(at=at, key=True, also=also, message=message, edits=edits)


@warning("GEN-K8S-024", "no settings for components that the cluster does not have")
def settings_in_use(cluster: Cluster) -> Iterator[Finding]:
    """The settings have no effect; mostly the part of the file that asks for the component is missing.

    Wrong:
        cni: cilium
        # and
        components: {calico: {sync: manual}}
    Right:
        cni: cilium
        # and
        components: {cilium: {sync: manual}}
    """
    reasons = absent(cluster)
    for name in cluster.components:
        if name in reasons and name in CATALOGUE:
            message = f"the cluster has no {name}: {reasons[name]}"
            yield Finding(at=("components", name), key=True, message=message, fix="ask for it, or remove the settings")


@rule("GEN-COMP-002", "an adopted release has a name of its own")
def adopted_name(cluster: Cluster) -> Iterator[Finding]:
    """Helm takes 53 characters. The values of each release are in a file that is named after it: beside that are the
    kustomization and, for a component with more charts than one, the release of its definitions.

    Wrong:
        components: {cilium: {adopt: {release: kustomization, namespace: kube-system}}}
    Right:
        components: {cilium: {adopt: {release: cilium, namespace: kube-system}}}
    """
    for name, settings in cluster.components.items():
        release = settings.adopt.release if settings.adopt else ""
        if release in {"kustomization", f"{name}{OF_DEFINITIONS}"} or len(release) > MOST_OF_A_RELEASE:
            message = f"a Helm release that is installed with {name} cannot be called {release}"
            fix = "the name that `helm list` has for it"
            yield Finding(at=("components", name, "adopt", "release"), message=message, fix=fix)


@rule("GEN-COMP-003", "versions that go together")
def versions_together(cluster: Cluster) -> Iterator[Finding]:
    """Some programs speak to each other in an API that later versions of them changed.

    Wrong:
        components: {trainer: {version: v2.3.0}, kueue: {version: v0.18.3}}
    Right:
        components: {trainer: {version: v2.2.1}, kueue: {version: v0.18.3}}
    """
    for name, message in _unpaired(cluster).items():
        at, fix = ("components", name, "version"), "leave `version` out: those of the catalogue go together"
        yield Finding(at=at, message=message, fix=fix)


def _unpaired(cluster: Cluster) -> dict[str, str]:
    """Return what is wrong with versions that do not go with others, by the component whose version the file says."""
    without, found = absent(cluster), {}
    used = {one.name: one.versions.of(cluster).version for one in CATALOGUE.values() if one.versions}
    for one in CATALOGUE.values():
        for other in sorted({pair.other for pair in one.pairs if {one.name, pair.other}.isdisjoint(without)}):
            mine, theirs = used[one.name], used[other]
            if not any(pair.other == other and pair.says(mine, theirs) for pair in one.pairs):
                named = next((name for name in (one.name, other) if cluster.settings(name).version), one.name)
                found[named] = f"{one.name} {mine} does not go with {other} {theirs}: {one.unpaired}"
    return found


@warning("GEN-COMP-001", "chart values for components with a chart")
def values_taken(cluster: Cluster) -> Iterator[Finding]:
    """Some components are plain objects without a chart: values change nothing there, and there is no Helm release to
    adopt.

    Wrong:
        components: {minio: {values: {replicas: 8}}}
    Right:
        components: {cilium: {values: {debug: {enabled: true}}}}
    """
    for name, settings in cluster.components.items():
        charts = any(version.charts for version in known_versions(name))
        given = [field for field in ("values", "hooks", "adopt") if getattr(settings, field)]
        if settings.managed and name in COMPONENTS and given and not charts:
            message = f"{name} has no chart, so {' and '.join(given)} {'have' if given[1:] else 'has'} no effect"
            fix = f"patch its objects in overlays/{cluster.name}/{name}/custom"
            yield Finding(at=("components", name, given[0]), key=True, message=message, fix=fix)
