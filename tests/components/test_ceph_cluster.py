import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from validation.schemas import problems

from generator.components.ceph_cluster import DEFINITION as CEPH_CLUSTER
from generator.components.ceph_cluster import ceph_cluster
from generator.components.component import Component
from generator.components.kubeadm.steps import steps
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus
from generator.model.quantity import Quantity
from generator.model.storage import CephKeys, CephPool, Encryption, Erasure
from generator.model.text import Taint

PROTECTED = {
    "CephCluster",
    "CephBlockPool",
    "CephFilesystem",
    "CephFilesystemSubVolumeGroup",
    "CephObjectStore",
    "CephObjectStoreUser",
    "ObjectBucketClaim",
}


def made(cluster: Cluster) -> Component:
    return ceph_cluster(cluster)


def with_ceph(cluster: Cluster, **changes: Any) -> Cluster:
    ceph = cluster.storage.ceph
    assert ceph
    return structs.replace(cluster, storage=structs.replace(cluster.storage, ceph=structs.replace(ceph, **changes)))


def of_kind(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in made(cluster).objects if manifest["kind"] == kind]


def spec(cluster: Cluster) -> dict[str, Any]:
    (found,) = of_kind(cluster, "CephCluster")
    return dict(found["spec"])


def full(cluster: Cluster) -> Cluster:
    """Everything that can be switched on."""
    erasure = CephPool(
        name="archive", device_class="hdd", erasure=Erasure(data=4, coding=2), quota=Quantity.parse("9T")
    )
    single = CephPool(name="tmp", device_class="nvme", replicas=1, reclaim="Retain")
    ceph = cluster.storage.ceph
    assert ceph
    more = with_ceph(cluster, toolbox=True, block_pools=(*ceph.block_pools, erasure, single))
    return structs.replace(more, monitoring=structs.replace(more.monitoring, prometheus=Prometheus()))


def plain(cluster: Cluster) -> Cluster:
    """Everything off, on the pod network."""
    less = with_ceph(cluster, encryption=Encryption(), network="pod", dashboard=False, filesystems=(), block_pools=())
    return structs.replace(less, backups=())


@pytest.mark.parametrize("change", [lambda cluster: cluster, full, plain])
def test_objects_are_accepted(ml50: Cluster, change: Callable[[Cluster], Cluster]) -> None:
    found = {manifest["metadata"]["name"]: problems(manifest) for manifest in made(change(ml50)).objects}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_the_check_itself_refuses(ml50: Cluster) -> None:
    (found,) = of_kind(ml50, "CephCluster")
    assert problems({**found, "spec": {**found["spec"], "storge": {}}})
    assert problems({**found, "spec": {**found["spec"], "dataDirHostPath": 1}})


def test_only_with_ceph_and_disks(a30: Cluster, ml50: Cluster) -> None:
    assert not CEPH_CLUSTER.wanted(a30)
    assert not CEPH_CLUSTER.wanted(with_ceph(ml50, pools=("system",)))


def test_what_holds_data_or_identity_is_protected(ml50: Cluster) -> None:
    held = [manifest for manifest in made(full(ml50)).objects if manifest["kind"] in PROTECTED]
    assert {manifest["kind"] for manifest in held} == PROTECTED
    for manifest in held:
        annotations = manifest["metadata"]["annotations"]
        assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
        assert annotations["argocd.argoproj.io/compare-options"] == "IgnoreExtraneous"


def test_nothing_ever_destroys_data(ml50: Cluster) -> None:
    text = json.dumps(made(full(ml50)).objects)
    assert "cleanupPolicy" not in text
    assert "yes-really" not in text
    assert all(one["spec"]["preserveFilesystemOnDelete"] for one in of_kind(ml50, "CephFilesystem"))
    assert all(one["spec"]["preservePoolsOnDelete"] for one in of_kind(ml50, "CephObjectStore"))
    for claim in of_kind(ml50, "ObjectBucketClaim"):
        (class_,) = (
            one for one in of_kind(ml50, "StorageClass") if one["metadata"]["name"] == claim["spec"]["storageClassName"]
        )
        assert class_["reclaimPolicy"] == "Retain"


def test_ceph_itself_warns_before_a_pool_s_quota_is_reached(ml50: Cluster) -> None:
    # Rook takes text only. For all daemons: the manager looks, though the name of the option is that of monitors.
    assert spec(ml50)["cephConfig"] == {"global": {"mon_pool_quota_warn_threshold": "85"}}


def test_every_pool_names_a_device_class_that_some_disk_has(ml50: Cluster) -> None:
    pools = [one["spec"] for one in of_kind(full(ml50), "CephBlockPool")]
    for filesystem in of_kind(ml50, "CephFilesystem"):
        pools += [filesystem["spec"]["metadataPool"], *filesystem["spec"]["dataPools"]]
    for store in of_kind(ml50, "CephObjectStore"):
        pools += [store["spec"]["metadataPool"], store["spec"]["dataPool"]]
    assert {pool["deviceClass"] for pool in pools} == {"nvme", "hdd"}
    assert ".mgr" in {pool.get("name") for pool in pools}


def test_only_disks_that_are_named_are_taken(ml50: Cluster) -> None:
    storage = spec(ml50)["storage"]
    assert storage["useAllNodes"] is storage["useAllDevices"] is False
    assert [node["name"] for node in storage["nodes"]] == [one.name for one in ml50.machines if one.pool == "cpu"]
    assert all(isinstance(value, str) for value in storage["config"].values())


def test_old_kernels_get_keys_they_can_read_and_no_lasting_warning(ml50: Cluster) -> None:
    assert spec(ml50)["security"]["cephx"]["csi"]["keyType"] == "aes"
    muted = spec(ml50)["healthCheck"]["muteHealthWarning"]
    assert len(muted) == 4
    assert all(warning.startswith("AUTH_INSECURE_") for warning in muted)


def test_a_higher_generation_has_rook_give_other_keys_while_the_former_ones_count(ml50: Cluster) -> None:
    assert spec(ml50)["security"]["cephx"].keys() == {"csi"}
    turned = spec(with_ceph(ml50, keys=CephKeys(csi=2, daemons=3)))["security"]["cephx"]
    assert turned["csi"] == {
        "keyType": "aes", "keyRotationPolicy": "KeyGeneration", "keyGeneration": 2, "keepPriorKeyCountMax": 1,
    }  # fmt: skip
    assert turned["daemon"] == {"keyRotationPolicy": "KeyGeneration", "keyGeneration": 3}
    ended = spec(with_ceph(ml50, keys=CephKeys(csi=2, former=0)))["security"]["cephx"]
    assert (ended["csi"]["keepPriorKeyCountMax"], "daemon" in ended) == (0, False)


def test_who_rotates_a_key_of_ceph_by_hand_is_told_the_line(ml50: Cluster) -> None:
    declared = {one.name: one for one in ceph_cluster(with_ceph(ml50, keys=CephKeys(csi=2))).secrets}
    said = (
        "by a commit: `keys: {csi: 3}` below `storage.ceph` of clusters/ml50/cluster.yaml; then as docs/operations.md"
    )
    assert declared["rook-csi-rbd-node"].rotate.startswith(said)
    assert "`keys: {daemons: 2}`" in declared["rook-ceph-mon"].rotate


@pytest.mark.parametrize(("kernel", "old"), [("7.0", False), ("10.1", False), ("6.19", True), (None, True)])
def test_one_old_or_unknown_kernel_is_enough(ml50: Cluster, kernel: str | None, old: bool) -> None:  # noqa: FBT001
    first, *rest = (structs.replace(one, kernel="7.1") for one in ml50.machines)
    cluster = structs.replace(ml50, machines=(structs.replace(first, kernel=kernel), *rest))
    assert ("security" in spec(cluster)) is old


def test_daemons_keep_to_cephs_nodes_and_tolerate_them(ml50: Cluster) -> None:
    taint = Taint("gen.internal/ceph", "", "NoSchedule")
    machines = tuple(structs.replace(one, taints=(taint,)) if one.pool == "cpu" else one for one in ml50.machines)
    tainted = full(structs.replace(ml50, machines=machines))
    placements = [
        spec(tainted)["placement"]["all"],
        *(one["spec"]["metadataServer"]["placement"] for one in of_kind(tainted, "CephFilesystem")),
        *(one["spec"]["gateway"]["placement"] for one in of_kind(tainted, "CephObjectStore")),
        *(one["spec"]["template"]["spec"] for one in of_kind(tainted, "Deployment")),
    ]
    assert len(placements) == 4
    for placed in placements:
        assert placed["tolerations"] == [{"key": "gen.internal/ceph", "operator": "Exists", "effect": "NoSchedule"}]
        assert "gen.internal/ceph" in json.dumps(placed.get("nodeAffinity") or placed["affinity"])


def test_monitors_spread_over_racks_where_there_are_racks(ml50: Cluster) -> None:
    assert "topology.rook.io/rack" in json.dumps(spec(ml50)["placement"]["mon"])
    bare = structs.replace(ml50, machines=tuple(structs.replace(one, rack=None) for one in ml50.machines))
    assert "mon" not in spec(bare)["placement"]


def test_monitors_may_have_nodes_of_their_own(ml50: Cluster) -> None:
    apart = with_ceph(ml50, monitor_pools=("system",), monitors=3)
    placed = spec(apart)["placement"]
    (term,) = placed["mon"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "gen.internal/pool", "operator": "In", "values": ["system"]}]
    assert [one["key"] for one in placed["mon"]["tolerations"]] == ["node-role.kubernetes.io/control-plane"]
    assert "topology.rook.io/rack" in json.dumps(placed["mon"])
    assert placed["all"] == spec(ml50)["placement"]["all"]
    assert problems(of_kind(apart, "CephCluster")[0]) == []


def test_the_nodes_of_monitors_get_the_address_they_listen_on(ml50: Cluster) -> None:
    apart = with_ceph(ml50, monitor_pools=("system",), monitors=3)
    written = str(steps(apart))
    assert "annotate node cp-3 network.rook.io/mon-ip=10.20.0.13" in written
    assert "annotate node cpu-01" not in written


def test_network_and_encryption(ml50: Cluster) -> None:
    network = spec(ml50)["network"]
    assert network["provider"] == "host"
    assert network["addressRanges"]["public"] == ["10.20.0.0/22"]
    assert network["connections"] == {"requireMsgr2": True, "encryption": {"enabled": True}}
    assert spec(ml50)["storage"]["config"]["encryptedDevice"] == "true"
    off = spec(plain(ml50))
    assert off["network"] == {"connections": {"requireMsgr2": True}}
    assert "encryptedDevice" not in off["storage"]["config"]
    assert off["csi"]["cephfs"]["kernelMountOptions"] == "ms_mode=prefer-crc"
    no_storage = structs.replace(ml50, networks=structs.replace(ml50.networks, storage=None))
    assert spec(no_storage)["network"]["addressRanges"]["public"] == ["10.10.0.0/22"]


def test_gateways_speak_tls_where_traffic_is_encrypted(ml50: Cluster) -> None:
    (store,) = of_kind(ml50, "CephObjectStore")
    (certificate,) = of_kind(ml50, "Certificate")
    assert store["spec"]["gateway"]["sslCertificateRef"] == certificate["spec"]["secretName"]
    assert "port" not in store["spec"]["gateway"]
    assert "issuers" in made(ml50).needs
    assert "rook-ceph-rgw-datasets.rook-ceph.svc" in certificate["spec"]["dnsNames"]
    off = plain(ml50)
    assert of_kind(off, "Certificate") == []
    assert of_kind(off, "CephObjectStore")[0]["spec"]["gateway"]["port"] == 80
    assert "issuers" not in made(off).needs


def test_of_prometheus_only_the_kinds_are_waited_for(ml50: Cluster) -> None:
    # Its volume may lie on Ceph.
    assert spec(full(ml50))["monitoring"] == {"enabled": True}
    assert set(made(full(ml50)).needs) - set(made(ml50).needs) == {"prometheus-crds"}
    assert "monitoring" not in spec(ml50)


def test_storage_classes_name_pools_that_exist(ml50: Cluster) -> None:
    cluster = full(ml50)
    blocks = {one["metadata"]["name"]: one["spec"] for one in of_kind(cluster, "CephBlockPool")}
    files = {
        f"{one['metadata']['name']}-{pool['name']}"
        for one in of_kind(cluster, "CephFilesystem")
        for pool in one["spec"]["dataPools"]
    }
    seen = 0
    for class_ in of_kind(cluster, "StorageClass"):
        parameters = class_["parameters"]
        if ".rbd." in class_["provisioner"]:
            assert "replicated" in blocks[parameters["pool"]]
            assert "dataPool" not in parameters or "erasureCoded" in blocks[parameters["dataPool"]]
            seen += 1
        elif ".cephfs." in class_["provisioner"]:
            assert parameters["pool"] in files
            seen += 1
    assert seen == 5


def test_classes_have_every_secret_and_all_are_declared(ml50: Cluster) -> None:
    declared = {(secret.namespace, secret.name) for secret in made(ml50).secrets}
    roles = ("provisioner", "controller-expand", "controller-publish", "node-stage")
    for class_ in of_kind(ml50, "StorageClass"):
        parameters = class_["parameters"]
        if "objectStoreName" in parameters:
            continue
        for role in roles:
            prefix = f"csi.storage.k8s.io/{role}-secret"
            assert (parameters[f"{prefix}-namespace"], parameters[f"{prefix}-name"]) in declared
    for class_ in of_kind(ml50, "VolumeSnapshotClass"):
        assert ("rook-ceph", class_["parameters"]["csi.storage.k8s.io/snapshotter-secret-name"]) in declared


def test_names_and_policies_of_classes_come_from_the_cluster_file(ml50: Cluster) -> None:
    own = CephPool(name="p", device_class="nvme", storage_class="gold", default=True, reclaim="Retain")
    classes = of_kind(with_ceph(ml50, block_pools=(own,)), "StorageClass")
    (gold,) = (one for one in classes if one["metadata"]["name"] == "gold")
    assert gold["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert gold["reclaimPolicy"] == "Retain"
    assert len([one for one in classes if "annotations" in one["metadata"]]) == 1


def test_backups_can_read_what_they_copy_and_write_nothing(ml50: Cluster) -> None:
    user, restoring = of_kind(ml50, "CephObjectStoreUser")
    assert user["spec"]["opMask"] == ["read"]
    # It writes to buckets alone that it made: no claim's policy names it, and it deletes nothing.
    assert restoring["spec"]["opMask"] == ["read", "write"]
    (keys,) = [one for one in made(ml50).secrets if one.name.endswith(f"-{restoring['metadata']['name']}")]
    assert keys.rotate.startswith("remove the buckets that were restored, then")
    for claim in of_kind(ml50, "ObjectBucketClaim"):
        (statement,) = json.loads(claim["spec"]["additionalConfig"]["bucketPolicy"])["Statement"]
        assert statement["Principal"]["AWS"] == [f"arn:aws:iam:::user/{user['metadata']['name']}"]
        bucket = f"arn:aws:s3:::{claim['spec']['bucketName']}"
        assert set(statement["Resource"]) == {bucket, f"{bucket}/*"}
        assert {action.removeprefix("s3:")[:3] for action in statement["Action"]} == {"Get", "Lis"}


def test_without_backups_buckets_have_no_policy(ml50: Cluster) -> None:
    cluster = structs.replace(ml50, backups=ml50.backups[:1])
    carrying = [
        one["metadata"]["name"] for one in of_kind(cluster, "ObjectBucketClaim") if "additionalConfig" in one["spec"]
    ]
    assert carrying == ["datasets"]
    assert of_kind(plain(ml50), "CephObjectStoreUser") == []


def test_the_toolbox_is_there_only_if_asked_for(ml50: Cluster) -> None:
    assert of_kind(ml50, "Deployment") == []
    (toolbox,) = of_kind(with_ceph(ml50, toolbox=True), "Deployment")
    assert toolbox["metadata"]["name"] == "rook-ceph-tools"


def test_secrets_made_by_rook_depend_on_what_there_is(ml50: Cluster) -> None:
    assert [secret.name for secret in made(plain(ml50)).secrets] == ["rook-ceph-mon"]
    assert {secret.source for secret in made(full(ml50)).secrets} == {"in-cluster"}
