"""Datasets: who gets a volume of one, for what, and what it leads to."""

from typing import Any

from msgspec import structs

from generator.components import JOBS, compose
from generator.components.ceph_cluster import ceph_cluster
from generator.components.component import Manifest
from generator.components.tenants import tenants
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Dataset, Nfs

SCANS = Dataset(
    name="scans", filesystem="shared", size=Quantity.parse("2Ti"), owner="vision", readers=("language", "serving")
)


def with_dataset(cluster: Cluster, dataset: Dataset = SCANS, **storage: Any) -> Cluster:
    return structs.replace(cluster, storage=structs.replace(cluster.storage, datasets=(dataset,), **storage))


def of_kind(cluster: Cluster, kind: str) -> dict[str, Manifest]:
    """What there is of a kind, by team."""
    found = {}
    for item in (each for one in compose(cluster) for each in one.objects if each["kind"] == kind):
        name = item["metadata"]["name"].partition(".")[0]
        if name.startswith("dataset-"):
            found[item["metadata"].get("namespace") or item["spec"]["claimRef"]["namespace"]] = item
    return found


def test_only_the_owner_s_volume_is_mounted_for_writing(ml50: Cluster) -> None:
    volumes = of_kind(with_dataset(ml50), "PersistentVolume")
    assert {team: one["spec"]["accessModes"] for team, one in volumes.items()} == {
        "vision": ["ReadWriteMany"],
        "language": ["ReadOnlyMany"],
        "serving": ["ReadOnlyMany"],
    }
    assert {team: one["spec"].get("mountOptions", []) for team, one in volumes.items()} == {
        "vision": [],
        "language": ["ro"],
        "serving": ["ro"],
    }


def test_a_volume_is_for_the_claim_of_its_team_alone(ml50: Cluster) -> None:
    cluster = with_dataset(ml50)
    volumes, claims = of_kind(cluster, "PersistentVolume"), of_kind(cluster, "PersistentVolumeClaim")
    assert set(volumes) == set(claims) == {"vision", "language", "serving"}
    for team, claim in claims.items():
        volume = volumes[team]
        ref = volume["spec"]["claimRef"]
        assert (ref["namespace"], ref["name"]) == (team, claim["metadata"]["name"]) == (team, "dataset-scans")
        assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
        assert claim["spec"]["accessModes"] == volume["spec"]["accessModes"]
        # Otherwise a class would make another volume for it.
        assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""
        assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    # One handle for several would be mounted once on a node, for writing too.
    assert len({one["spec"]["csi"]["volumeHandle"] for one in volumes.values()}) == 3


def test_all_of_them_lead_to_the_folder_that_ceph_makes_and_bounds(ml50: Cluster) -> None:
    cluster = with_dataset(ml50)
    (group,) = (one for one in ceph_cluster(cluster).objects if one["metadata"]["name"] == "dataset-scans")
    assert group["kind"] == "CephFilesystemSubVolumeGroup"
    assert group["spec"]["quota"] == "2Ti"
    assert group["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
    paths = {
        one["spec"]["csi"]["volumeAttributes"]["rootPath"] for one in of_kind(cluster, "PersistentVolume").values()
    }
    assert paths == {f"/volumes/{group['spec']['name']}"}
    assert "ceph-cluster" in tenants(cluster, JOBS).needs


def test_a_dataset_is_no_room_of_its_readers(ml50: Cluster) -> None:
    """The quota of a team counts what claims ask for."""
    for claim in of_kind(with_dataset(ml50), "PersistentVolumeClaim").values():
        assert Quantity.parse(claim["spec"]["resources"]["requests"]["storage"]).value <= 2**20


def test_a_folder_of_the_nfs_server_is_read_where_it_is(ml50: Cluster) -> None:
    old = Dataset(name="old", share="/exports/old", size=Quantity.parse("9Ti"), readers=("vision",))
    cluster = with_dataset(ml50, old, nfs=Nfs(server="nfs.example.org", share="/exports/volumes"))
    (volume,) = of_kind(cluster, "PersistentVolume").values()
    assert volume["spec"]["csi"]["volumeAttributes"] == {"server": "nfs.example.org", "share": "/exports/old"}
    assert "ro" in volume["spec"]["mountOptions"]
    assert "csi-nfs" in tenants(cluster, JOBS).needs
    assert not of_kind(with_dataset(ml50, old), "PersistentVolume"), "there is no server"


def test_who_owns_a_dataset_and_is_named_a_reader_writes(ml50: Cluster) -> None:
    both = structs.replace(SCANS, readers=("vision",))
    (volume,) = of_kind(with_dataset(ml50, both), "PersistentVolume").values()
    assert volume["spec"]["accessModes"] == ["ReadWriteMany"]
