"""What there is for references to lead to, and who brings it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, structs

from generator.build.kinds import CRD, defined_kind
from generator.build.objects import ROOT, Built, Object
from generator.components import CATALOGUE, OPERATED, compose
from generator.components.common import SYNC_WAVE
from generator.components.component import Component
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.served import kinds, minor_of
from generator.rules.mentions import Reference, namespace_of
from generator.spec.near import letters_apart, near

API = "API group"
"""Stands for the CRDs of a group."""

_BUILT_IN = {
    "ClusterRole": ("admin", "cluster-admin", "edit", "view"),
    "ConfigMap": ("kube-system/extension-apiserver-authentication", "kube-system/kubeadm-config"),
    "Namespace": ("default", "kube-system", "kube-public", "kube-node-lease"),
    "PriorityClass": ("system-cluster-critical", "system-node-critical"),
    "Role": ("kube-system/extension-apiserver-authentication-reader",),
    "Service": ("default/kubernetes", "kube-system/kube-dns"),
}

_TITLES = {(api.group, kind): api.name for one in CATALOGUE.values() for api in one.apis for kind in api.kinds}
"""API groups that have two makers."""


class Provider(NamedTuple):
    """Who brings something, empty for what stands before Argo CD, and the keys it holds where they are known."""

    component: str
    keys: frozenset[str] | None = None


class UnseenObjects(Struct, frozen=True):
    """What could be brought by what nobody sees: charts that are not vendored, and components that somebody else
    installs. `spaces` are the namespaces they write to, `kinds` the cluster-scoped kinds.
    """

    spaces: frozenset[str]
    kinds: frozenset[str]
    common: frozenset[str]
    everything: bool

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, built: Built) -> "UnseenObjects":
        """Return what is unseen of a cluster; of a folder it is everything else, and of one that is not all here."""
        if built.cluster is None or "" in built.remote:
            return cls(frozenset(), frozenset(), frozenset(), everything=True)
        found = [*(one for one in composed(built) if one.name in built.unseen), *_of_others(built.cluster)]
        served = kinds(minor_of(built.cluster.kubernetes.version)).values()
        return cls(
            frozenset(space for one in found for space in _spaces(one)),
            frozenset(kind.rpartition("/")[2] for one in found for kind in one.kinds),
            frozenset(kind for own in served for kind, namespaced in own.items() if namespaced) - {"Secret"},
            everything=False,
        )

    def may_hold(self, reference: Reference) -> bool:
        """Tell whether what is named may be there after all."""
        if self.everything:
            return True
        if not reference.namespace:
            return reference.kind in self.kinds
        return reference.namespace in self.spaces and reference.kind in self.common


@lru_cache(maxsize=2)
def composed(built: Built) -> tuple[Component, ...]:
    """Return what gen installs on a cluster, nothing on a folder of none."""
    return compose(built.cluster) if built.cluster else ()


@lru_cache(maxsize=2)
def by_application(built: Built) -> dict[str, list[Object]]:
    """Return the objects of each Application."""
    found: dict[str, list[Object]] = defaultdict(list)
    for one in built.objects:
        found[one.component].append(one)
    return found


def _of_others(cluster: Cluster) -> list[Component]:
    """Return the components that somebody else installs."""
    if all(one.managed for one in cluster.components.values()):
        return []
    whole = compose(structs.replace(cluster, components={}))
    return [one for one in whole if not cluster.settings(one.name).managed]


def _spaces(component: Component) -> Iterator[str]:
    yield from (space.name for space in component.namespaces)
    yield from (release.namespace for release in component.releases)
    yield from component.reach


class Providers(Struct, frozen=True):
    """Everything that references may lead to."""

    by_reference: Mapping[Reference, Provider]

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, built: Built) -> "Providers":
        """Return what there is in a cluster or a folder."""
        found = {Reference(kind, *_named(name)): Provider("") for kind, names in _BUILT_IN.items() for name in names}
        if built.cluster:
            found |= _of_cluster(built.cluster, composed(built))
        for one in built.objects:
            for made, keys in _made(one):
                found[made] = _joined(found.get(made), Provider(one.component, keys))
        for one in (each for each in built.of("PersistentVolume") if not each.component):
            # Claims are bound to volumes of their class, be there such a class or not: what people make by hand.
            name = one.spec.get("storageClassName")
            found.setdefault(Reference("StorageClass", "", str(name)), Provider(one.component))
        return cls(found)

    def provider(self, reference: Reference) -> Provider | None:
        """Return who brings what is named, None where nobody does."""
        if reference.kind == "ServiceAccount" and reference.name == "default":
            return Provider("")
        if reference.kind in {"ClusterRole", "Role"} and reference.name.startswith("system:"):
            return Provider("")
        return self.by_reference.get(reference._replace(key=""))

    def closest_name(self, reference: Reference) -> str | None:
        """Return the name that was most likely meant, if one is no more than two letters away."""
        closest = near(reference.name, self.names(reference))
        most = min(2, len(reference.name) // 3)
        return closest if closest and letters_apart(closest, reference.name) <= most else None

    def names(self, reference: Reference) -> list[str]:
        """Return all names that are there of a reference's kind, in its namespace."""
        kind, namespace, _, _ = reference
        return sorted({one.name for one in self.by_reference if (one.kind, one.namespace) == (kind, namespace)})


def _joined(known: Provider | None, more: Provider) -> Provider:
    """Return who brings something that others of the same Application bring as well: alternatives, with all keys."""
    if known is None or known.component != more.component or known.keys is None or more.keys is None:
        return more
    return Provider(more.component, known.keys | more.keys)


def _named(name: str) -> tuple[str, str]:
    space, _, own = name.rpartition("/")
    return space, own


def _of_cluster(cluster: Cluster, components: Sequence[Component]) -> dict[Reference, Provider]:
    """Return what is declared: Secrets, what operators make, and what somebody else installs."""
    present = {one.name for one in components}
    found: dict[Reference, Provider] = {}
    for one in CATALOGUE.values():
        if one.name in present or not cluster.settings(one.name).managed:
            brought = [Reference(API, "", api.name) for api in one.apis]
            brought += [Reference(made.kind, made.namespace, made.name) for made in one.brings]
            found |= dict.fromkeys(brought, Provider(one.name if one.name in present else ""))
    if cluster.site.ingress_class:
        found.setdefault(Reference("IngressClass", "", cluster.site.ingress_class), Provider(""))
    for component in components:
        for secret in component.secrets:
            maker = secret.by or (component.name if secret.source == "in-cluster" else "")
            found[Reference("Secret", secret.namespace, secret.name)] = Provider(maker, frozenset(secret.keys))
        for release in component.releases:
            kept = [name for name, decision in release.secrets.items() if decision == "placeholder"]
            found |= {Reference("Secret", release.namespace, name): Provider(component.name) for name in kept}
    return found


def _made(one: Object) -> Iterator[tuple[Reference, frozenset[str] | None]]:
    """Yield an object and what controllers make of it, with the keys they hold where they are known."""
    yield Reference(one.kind, one.namespace, one.name), _keys(one)
    if one.kind == "Namespace":
        yield Reference("ConfigMap", one.name, "kube-root-ca.crt"), None
    elif one.kind == CRD:
        yield api_of(*defined_kind(one.manifest)), None
    for kind in OPERATED.get(one.kind, ()):
        for made in kind.makes(one.manifest):
            yield Reference(made.kind, namespace_of(made.namespace, one.namespace), made.name), made.keys


def api_of(group: str, kind: str) -> Reference:
    """Return what stands for the CRDs of a group, of which Argo's has two makers."""
    return Reference(API, "", _TITLES.get((group, kind), group))


def _keys(one: Object) -> frozenset[str] | None:
    """Return the keys of an object, None where nobody knows them."""
    if one.kind == "ConfigMap":
        return frozenset(map(str, {**mapping(one.manifest.get("data")), **mapping(one.manifest.get("binaryData"))}))
    return None


def waves(built: Built) -> dict[str, int]:
    """Return the waves of the Applications that say theirs."""
    found = {}
    for one in built.of("Application"):
        wave = wave_of(one)
        if one.component == ROOT and wave is not None:
            found[one.name] = wave
    return found


def wave_of(one: Object) -> int | None:
    """Return the wave that an object says; None where it says none, or no number."""
    wave = dig(one.manifest, "metadata", "annotations", SYNC_WAVE)
    return int(wave) if isinstance(wave, str) and re.fullmatch("-?[0-9]{1,9}", wave) else None
