import kubernetes_validate
from msgspec import structs

from generator.components.component import Component
from generator.components.csi_nfs import DEFINITION as CSI_NFS
from generator.components.csi_nfs import REQUIRED, csi_nfs
from generator.model.cluster import Cluster
from generator.model.storage import Nfs


def build(cluster: Cluster) -> Component:
    nfs = Nfs(server="nas.example.org", share="/export/ml", storage_class="shared-nfs")
    component = csi_nfs(structs.replace(cluster, storage=structs.replace(cluster.storage, nfs=nfs, datasets=())))
    assert component is not None
    return component


def test_only_with_a_server(ml50: Cluster) -> None:
    assert not CSI_NFS.wanted(ml50)


def test_the_storage_class_is_valid_and_names_the_server(a30: Cluster) -> None:
    (storage_class,) = build(a30).objects
    kubernetes_validate.validate(storage_class, "1.35", strict=True)
    assert storage_class["metadata"]["name"] == "shared-nfs"
    assert storage_class["parameters"]["server"] == "nas.example.org"
    assert storage_class["parameters"]["share"] == "/export/ml"


def test_a_deleted_volume_is_kept_and_overwrites_none(a30: Cluster) -> None:
    (storage_class,) = build(a30).objects
    assert storage_class["parameters"]["onDelete"] == "archive"
    assert "${pv.metadata.name}" in storage_class["parameters"]["subDir"]
    assert "/" not in storage_class["parameters"]["subDir"]


def test_there_is_one_snapshot_controller(ml50: Cluster) -> None:
    values = build(ml50).releases[0].values
    assert values["externalSnapshotter"] == {"enabled": False}
    assert values["controller"]["enableSnapshotter"] is False


def test_two_controllers_are_never_on_one_node(ml50: Cluster) -> None:
    """The chart of 4.13.4: `hostNetwork`, a probe on localhost:29652, pods with the label `app`, no port declared, and
    an affinity that is left out unless it has `nodeSelectorTerms`.
    """
    rules = build(ml50).releases[0].values["controller"]["affinity"]
    assert rules["podAntiAffinity"][REQUIRED] == [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "csi-nfs-controller"}}}
    ]
    assert rules["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


def test_controllers_follow_the_control_plane(ml50: Cluster, a30: Cluster) -> None:
    assert build(ml50).releases[0].values["controller"]["replicas"] == 2
    assert build(a30).releases[0].values["controller"]["replicas"] == 1
