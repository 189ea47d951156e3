"""All that stands in a running cluster, by kind."""

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.discovery import Served, discover, path_of_version
from generator.live.lists import lists
from generator.live.running import RunningCluster
from generator.model.fields import dig, sequence

Identity: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace, name."""
NOT_HELD = {
    "Binding", "CertificateRequest", "CertificateSigningRequest", "CiliumEndpoint", "CiliumEndpointSlice",
    "CiliumIdentity", "ComponentStatus", "ControllerRevision", "CSINode", "CSIStorageCapacity", "Endpoints",
    "EndpointSlice", "Event", "IPAddress", "Lease", "Node", "Pod", "ReplicaSet", "VolumeAttachment", "Workload",
}  # fmt: skip
"""Kinds that controllers write by the thousand, or that Git never holds."""
ASKED_ONLY = ("authentication.k8s.io/", "authorization.k8s.io/", "metrics.k8s.io/", "visibility.kueue.x-k8s.io/")
"""Groups of what is asked and not stored."""
AWAY = "{}: the server behind this API does not answer; `kubectl get apiservices` tells which it is"


class Standing(Struct, frozen=True, kw_only=True):
    """What was read: objects by identity, the kinds that are served, and what nobody let us read, in words; `hidden`
    are the kinds (group and kind) of which that is so.
    """

    objects: dict[Identity, Manifest]
    served: Served
    unread: tuple[str, ...]
    hidden: frozenset[tuple[str, str]] = frozenset()


def standing(running: RunningCluster, wanted: Iterable[tuple[str, str]]) -> Standing:
    """Return all objects of the kinds that are `wanted` (version and kind), and of all others that Git might hold in
    the version that the server prefers. Raises UsageError.
    """
    asked = set(wanted)
    away: list[str] = []
    served = discover(running.api, {*_preferred(running), *(version for version, _ in asked)}, away)
    had = {(version.rpartition("/")[0], kind) for version, kind in asked}
    others = {key for key in served if _group(key) not in had and _may_be_held(*key)}
    kinds = sorted({key for key in asked if key in served} | others)
    listed = lists(running, [f"{path_of_version(version)}/{served[version, kind][0]}" for version, kind in kinds])
    found = {}
    for (version, kind), each in zip(kinds, listed, strict=True):
        for one in each.items:
            found[identity({"apiVersion": version, "kind": kind, "metadata": one["metadata"]})] = one
    refused = {_group(key): one.refused for key, one in zip(kinds, listed, strict=True) if one.refused}
    refused |= {_group(key): AWAY.format(key[0]) for key in asked if key[0] in away}
    unread = dict.fromkeys([*refused.values(), *map(AWAY.format, away)])
    return Standing(objects=found, served=served, unread=tuple(unread), hidden=frozenset(refused))


def identity(one: Manifest) -> Identity:
    """Return what makes two of them the same object."""
    metadata = one["metadata"]
    group = str(one["apiVersion"]).rpartition("/")[0]
    return group, str(one["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"])


def _preferred(running: RunningCluster) -> list[str]:
    groups = sequence((running.get("/apis") or {}).get("groups"))
    return ["v1", *(str(dig(one, "preferredVersion", "groupVersion")) for one in groups)]


def _group(key: tuple[str, str]) -> tuple[str, str]:
    return key[0].rpartition("/")[0], key[1]


def _may_be_held(version: str, kind: str) -> bool:
    return kind not in NOT_HELD and not version.startswith(ASKED_ONLY)
