"""Which kinds there are: those that Kubernetes serves, and those of the CRDs at hand."""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from msgspec import Struct, structs

from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.model.fields import dig, sequence
from generator.model.served import LAST, kinds, minor_of

CRD = "CustomResourceDefinition"


class Kinds(Struct, frozen=True):
    """`served` are the kinds of Kubernetes by version, and whether they are namespaced; `custom` are CRDs by group and
    kind. `apis` are versions whose kinds nobody here knows: of aggregated APIs, or as the cluster file states.
    """

    minor: int
    served: Mapping[str, Mapping[str, bool]]
    custom: Mapping[tuple[str, str], Manifest] = {}
    apis: frozenset[str] = frozenset()

    @classmethod
    def at(cls, minor: int, apis: Iterable[str] = ()) -> "Kinds":
        """Return what Kubernetes serves at a minor without any CRD, and `apis` beyond it."""
        return cls(minor, kinds(minor), apis=frozenset(apis))

    @classmethod
    @lru_cache(maxsize=4)
    def of(cls, built: Built) -> "Kinds":
        """Return the kinds that the objects of `built` may be of, in a folder of no cluster at the last minor that is
        known. A CRD that is applied wins over one at hand, and one that is whole over one that may still be patched.
        """
        minor = minor_of(built.cluster.kubernetes.version) if built.cluster else LAST
        applied = sorted(built.of(CRD), key=lambda one: not one.unfinished)
        return cls.at(minor).joined((*built.definitions, *(one.manifest for one in applied)))

    def joined(self, manifests: Iterable[Manifest]) -> "Kinds":
        """Return what is served once these objects are there: CRDs and APIServices bring more."""
        custom, apis = dict(self.custom), set(self.apis)
        for one in manifests:
            if one["kind"] == CRD:
                custom[defined_kind(one)] = one
            elif one["kind"] == "APIService":
                apis.add(f"{dig(one, 'spec', 'group') or ''}/{dig(one, 'spec', 'version') or ''}")
        return structs.replace(self, custom=custom, apis=frozenset(apis))

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
        return [*own, *(f"{group}/{name}" for name in served_by(self.custom.get((group, kind))))]

    def elsewhere(self, kind: str) -> list[str]:
        """Return the apiVersions of other groups that serve a kind of this name."""
        return [version for version, found in self.served.items() if kind in found]

    def ours(self, group: str) -> bool:
        """Tell whether Kubernetes itself has or had a group; any other is somebody's CRD or API service."""
        return group == "extensions" or group in _groups(self.minor)

    def foreign(self, one: Object) -> bool:
        """Tell whether an object is of somebody's kind whose CRD is not here."""
        return not self.ours(one.group) and (one.group, one.kind) not in self.custom

    def takes(self, manifest: Manifest) -> bool:
        """Tell whether the kind of an object is served, in its version."""
        version = manifest["apiVersion"]
        return version in self.apis or version in self.versions(group_of(version), manifest["kind"])


@cache
def _groups(minor: int) -> frozenset[str]:
    """Return the groups of which Kubernetes serves anything at a minor."""
    return frozenset(map(group_of, kinds(minor)))


def group_of(version: str) -> str:
    """Return the group of an apiVersion, empty for the core."""
    return version.rpartition("/")[0]


def defined_kind(crd: object) -> tuple[str, str]:
    """Return group and kind that a definition brings."""
    return str(dig(crd, "spec", "group")), str(dig(crd, "spec", "names", "kind"))


def served_by(crd: object) -> dict[str, Manifest]:
    """Return the versions of a definition that are served, by name."""
    versions = sequence(dig(crd, "spec", "versions"))
    return {str(dig(one, "name")): one for one in versions if dig(one, "served") is True}
