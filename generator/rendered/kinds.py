"""Which kinds there are: those that Kubernetes serves, and those of the CRDs at hand."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from generator.components.component import Manifest
from generator.model.served import kinds, minor_of
from generator.rendered.access import dig, mapping, sequence
from generator.rendered.built import Built

__all__ = ["CRD", "NEWEST", "Kinds", "group_of"]

CRD = "CustomResourceDefinition"
NEWEST = 36
"""The minor that a folder is judged for when no cluster says another."""

# Groups that Kubernetes itself had or has; any other group is somebody's CRD or API service.
_OURS = {"", "apps", "autoscaling", "batch", "extensions", "policy"}


class Kinds(Struct, frozen=True):
    """`served` are the kinds of Kubernetes by version, and whether they are namespaced; `custom` are CRDs by group and
    kind, `given` those of them that are not applied here.
    """

    minor: int
    served: Mapping[str, Mapping[str, bool]]
    custom: Mapping[tuple[str, str], Manifest]

    @classmethod
    def of(cls, built: Built) -> "Kinds":
        """Return the kinds that the objects of `built` may be of. A CRD that is applied wins over one at hand."""
        minor = minor_of(built.cluster.kubernetes.version) if built.cluster else NEWEST
        applied = [one.manifest for one in built.of(CRD)]
        return cls(minor, kinds(minor), {key: crd for crd in (*built.definitions, *applied) for key in _key(crd)})

    def namespaced(self, version: str, kind: str) -> bool | None:
        """Tell whether objects of a kind live in namespaces; None where nothing here says it."""
        own = self.served.get(version, {}).get(kind)
        if own is not None:
            return own
        crd = self.custom.get((group_of(version), kind))
        scope = dig(crd, "spec", "scope")
        return None if scope is None else scope == "Namespaced"

    def versions(self, group: str, kind: str) -> list[str]:
        """Return the apiVersions in which a kind is served, the newest of Kubernetes' own last."""
        own = [version for version, found in self.served.items() if group_of(version) == group and kind in found]
        crd = self.custom.get((group, kind))
        named = [one for one in sequence(dig(crd, "spec", "versions")) if dig(one, "served") is True]
        return [*own, *(f"{group}/{dig(one, 'name')}" for one in named)]

    def elsewhere(self, kind: str) -> list[str]:
        """Return the apiVersions of other groups that serve a kind of this name."""
        return [version for version, found in self.served.items() if kind in found]

    def ours(self, group: str) -> bool:
        """Tell whether Kubernetes itself has or had a group."""
        return group in _OURS or any(group_of(version) == group for version in self.served)


def group_of(version: str) -> str:
    """Return the group of an apiVersion, empty for the core."""
    return version.rpartition("/")[0]


def _key(crd: Manifest) -> Iterator[tuple[str, str]]:
    spec = mapping(crd.get("spec"))
    group, kind = spec.get("group"), dig(spec, "names", "kind")
    if isinstance(group, str) and isinstance(kind, str):
        yield group, kind
