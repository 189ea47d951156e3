"""What an API server would take: Kubernetes' own kinds and those of the CRDs that a cluster gets."""

from collections.abc import Iterable

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.served import kinds, minor_of

__all__ = ["Served", "own_groups", "served", "with_manifests"]


class Served(Struct, frozen=True):
    """`scopes`: apiVersion and kind -> namespaced. `versions` are served by somebody whose kinds are not known: an
    aggregated API, or what the cluster file states. `own` are Kubernetes' own groups, of which nothing else can come.
    """

    scopes: dict[tuple[str, str], bool]
    versions: frozenset[str]
    own: frozenset[str]

    def namespaced(self, manifest: Manifest) -> bool | None:
        """Tell whether the object's kind is namespaced, None where that is not known."""
        return self.scopes.get((manifest["apiVersion"], manifest["kind"]))

    def takes(self, manifest: Manifest) -> bool:
        """Tell whether the kind is served."""
        return (manifest["apiVersion"], manifest["kind"]) in self.scopes or manifest["apiVersion"] in self.versions

    def never(self, manifest: Manifest) -> bool:
        """Tell whether no CRD could ever make it served: it is of a group of Kubernetes' own."""
        return not self.takes(manifest) and manifest["apiVersion"].rpartition("/")[0] in self.own


def own_groups(versions: Iterable[str]) -> frozenset[str]:
    """Return the groups of these versions, and those that Kubernetes once had."""
    return frozenset({version.rpartition("/")[0] for version in versions} | {"extensions"})


def served(kubernetes: str, apis: Iterable[str] = ()) -> Served:
    """Return what this Kubernetes serves without any CRD, and `apis` beyond it."""
    own = kinds(minor_of(kubernetes))
    scopes = {(version, kind): inside for version, found in own.items() for kind, inside in found.items()}
    return Served(scopes, frozenset(apis), own_groups(own))


def with_manifests(known: Served, manifests: Iterable[Manifest]) -> Served:
    """Return what is served once these objects are there: CRDs and APIServices bring more."""
    scopes, versions = dict(known.scopes), set(known.versions)
    for manifest in manifests:
        if manifest["kind"] == "CustomResourceDefinition":
            scopes |= _defined(manifest)
        elif manifest["kind"] == "APIService":
            spec = manifest.get("spec", {})
            versions.add(f"{spec.get('group', '')}/{spec.get('version', '')}")
    return Served(scopes, frozenset(versions), known.own)


def _defined(manifest: Manifest) -> dict[tuple[str, str], bool]:
    """Return the kinds of a CRD; one that no API server would take brings none."""
    try:
        spec = manifest["spec"]
        kind, namespaced = spec["names"]["kind"], spec["scope"] == "Namespaced"
        return {(f"{spec['group']}/{one['name']}", kind): namespaced for one in spec["versions"] if one["served"]}
    except (KeyError, TypeError):
        return {}
