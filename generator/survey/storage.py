"""The section `storage`, as far as it can be written without the disks, which no API server knows."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from generator.components.common import CEPH, DEFAULT_CLASS, POOL
from generator.components.component import Manifest
from generator.components.minio import BY_OPERATOR
from generator.model.fields import dig, mapping, sequence
from generator.model.node_sets import node_set
from generator.model.storage import Nfs
from generator.survey.notes import Notes
from generator.survey.seen import Seen, fits, named, text

Plain: TypeAlias = dict[str, Any]
AT = "storage"
ROOK = "ceph.rook.io"
NFS, LOCAL = "nfs.csi.k8s.io", "kubernetes.io/no-provisioner"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def storage(seen: Seen, notes: Notes) -> Plain:
    """Return the section. What needs disks is noted as it would be written: without them it would be wrong."""
    for name, provisioner, default in _classes(seen):
        notes.found((AT,), f"storage class {name}{' (the default one)' if default else ''} of {provisioner}")
    for cluster in seen.of_group(ROOK, "cephclusters"):
        notes.drafts[AT] = {"ceph": _ceph(seen, cluster)}
        notes.unknown((AT,), f"the disks of Ceph cluster {named(cluster)} (`use: ceph`); with them this section counts")
        for nodes, disks in _osds(seen):
            notes.found((AT,), f"Ceph has {disks} on {nodes}")
    for tenant in seen.shown(BY_OPERATOR):
        notes.found(
            (AT,), f"MinIO tenant {named(tenant)} of MinIO's operator, which gen does not use: {_tenant(tenant)}"
        )
    for nodes, volumes in _local(seen):
        notes.unknown((AT,), f"the disks behind {volumes} on {nodes} (`use: scratch`)")
    return {"nfs": nfs} if (nfs := _nfs(seen)) else {}


def _classes(seen: Seen) -> Iterator[tuple[str, str, bool]]:
    for one in seen.items(CLASSES):
        default = dig(one, "metadata", "annotations", DEFAULT_CLASS) == "true"
        yield named(one), text(one, "provisioner"), default


def _nfs(seen: Seen) -> Plain:
    for one in seen.items(CLASSES):
        server, share = text(one, "parameters", "server"), text(one, "parameters", "share")
        found = {"server": server, "share": share, "storageClass": named(one)}
        if text(one, "provisioner") == NFS and fits(found, Nfs):
            return found
    return {}


def _ceph(seen: Seen, cluster: Manifest) -> Plain:
    host = text(cluster, "spec", "network", "provider") == "host" or dig(cluster, "spec", "network", "hostNetwork")
    labelled = (mapping(dig(node, "metadata", "labels")) for node in seen.nodes)
    found: Plain = {
        "pools": sorted({text(labels, POOL) for labels in labelled if CEPH in labels}) or ["POOL"],
        "monitors": dig(cluster, "spec", "mon", "count") or 3,
        "network": "host" if host else "pod",
        "blockPools": [
            _pool(one, mapping(one.get("spec")))
            for one in seen.of_group(ROOK, "cephblockpools")
            if not text(one, "spec", "name").startswith(".")  # Ceph's own
        ],
        "filesystems": [_filesystem(one) for one in seen.of_group(ROOK, "cephfilesystems")],
        "objectStores": [_store(one) for one in seen.of_group(ROOK, "cephobjectstores")],
    }
    return {key: value for key, value in (found | {"keys": _keys(cluster)}).items() if value}


def _keys(cluster: Manifest) -> Plain:
    """Return the generations of keys, where they are not the first: a lower one would be refused."""
    cephx = mapping(dig(cluster, "spec", "security", "cephx"))
    found = {ours: dig(cephx, theirs, "keyGeneration") for ours, theirs in (("csi", "csi"), ("daemons", "daemon"))}
    found["former"] = dig(cephx, "csi", "keepPriorKeyCountMax")
    turned = max(found["csi"] or 1, found["daemons"] or 1) > 1
    return {key: value for key, value in found.items() if value is not None} if turned else {}


def _pool(one: Manifest, spec: Plain) -> Plain:
    coded = mapping(spec.get("erasureCoded"))
    found: Plain = {"name": text(spec, "name") or named(one), "deviceClass": text(spec, "deviceClass")}
    if chunks := dig(coded, "dataChunks"):
        found["erasure"] = {"data": chunks, "coding": dig(coded, "codingChunks")}
    elif copies := dig(spec, "replicated", "size"):
        found["replicas"] = copies
    found["failureDomain"] = text(spec, "failureDomain")
    return {key: value for key, value in found.items() if value}


def _filesystem(one: Manifest) -> Plain:
    metadata = {"name": "metadata", **mapping(dig(one, "spec", "metadataPool"))}
    pools = [_pool(one, mapping(pool)) for pool in sequence(dig(one, "spec", "dataPools"))]
    servers = dig(one, "spec", "metadataServer", "activeCount") or 1
    return {"name": named(one), "metadata": _pool(one, metadata), "data": pools, "mds": servers}


def _store(one: Manifest) -> Plain:
    metadata, data = (mapping(dig(one, "spec", key)) for key in ("metadataPool", "dataPool"))
    pools = {"metadata": _pool(one, {"name": "metadata", **metadata}), "data": _pool(one, {"name": "data", **data})}
    return {"name": named(one), **pools, "gateways": dig(one, "spec", "gateway", "instances") or 1}


def _osds(seen: Seen) -> Iterator[tuple[str, str]]:
    """Yield how many disks of which class nodes have, those that are alike together: Rook labels each OSD's Deployment
    with both.
    """
    counted: dict[str, Counter[str]] = {}
    for one in seen.workloads:
        labels = mapping(dig(one, "metadata", "labels"))
        if labels.get("app") == "rook-ceph-osd" and (host := text(labels, "topology-location-host")):
            counted.setdefault(host, Counter())[text(labels, "device-class") or "unknown class"] += 1
    alike: dict[str, list[str]] = {}
    for host, classes in counted.items():
        alike.setdefault(", ".join(f"{count} {name}" for name, count in sorted(classes.items())), []).append(host)
    yield from ((node_set(hosts), disks) for disks, hosts in alike.items())


def _tenant(tenant: Manifest) -> str:
    pools = (mapping(one) for one in sequence(dig(tenant, "spec", "pools")))
    return ", ".join(f"{one.get('servers')} servers with {one.get('volumesPerServer')} volumes" for one in pools)


def _local(seen: Seen) -> Iterator[tuple[str, str]]:
    """Yield local volumes: how many of which size and class nodes have, those that are alike together."""
    counted: dict[str, Counter[str]] = {}
    for one in seen.items("/api/v1/persistentvolumes"):
        if text(one, "spec", "local", "path"):
            kind = f"{text(one, 'spec', 'capacity', 'storage')} of class {text(one, 'spec', 'storageClassName')}"
            counted.setdefault(_bound_to(one), Counter())[kind] += 1
    alike: dict[str, list[str]] = {}
    for node, kinds in counted.items():
        alike.setdefault(", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items())), []).append(node)
    yield from ((node_set(nodes), volumes) for volumes, nodes in alike.items())


def _bound_to(volume: Manifest) -> str:
    terms = sequence(dig(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms"))
    values = dig(terms, 0, "matchExpressions", 0, "values", 0)
    return values if isinstance(values, str) else "some node"
