from typing import Any

import pytest
from msgspec import structs
from validation.schemas import problems

from generator.checks.tiers import volume_classes
from generator.components.ceph_cluster import ceph_cluster
from generator.components.ceph_csi_drivers import NFS_DRIVER, ceph_csi_drivers
from generator.components.csi_nfs import DEFINITION as CSI_NFS
from generator.components.datasets import on_nfs
from generator.components.node_operations.facts import drivers
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Dataset, Nfs


@pytest.fixture
def served(ml50: Cluster) -> Cluster:
    return with_nfs(ml50, Nfs(filesystem=filesystem(ml50), storage_class="legacy"))


def with_nfs(cluster: Cluster, nfs: Nfs) -> Cluster:
    return structs.replace(cluster, storage=structs.replace(cluster.storage, nfs=nfs))


def filesystem(cluster: Cluster) -> str:
    assert cluster.storage.ceph
    return cluster.storage.ceph.filesystems[0].name


def one(cluster: Cluster, kind: str, name: str | None = None) -> dict[str, Any]:
    (found,) = (
        each
        for each in ceph_cluster(cluster).objects
        if each["kind"] == kind and name in {None, each["metadata"]["name"]}
    )
    return found


def test_rook_and_kubernetes_accept_it(served: Cluster) -> None:
    for found in (one(served, "CephNFS"), one(served, "StorageClass", "legacy"), one(served, "CephCluster")):
        assert problems(found) == []
    server = one(served, "CephNFS")
    assert problems({**server, "spec": {"server": {**server["spec"]["server"], "actve": 1}}})


def test_its_server_keeps_its_address_and_is_one_on_ceph_s_nodes(served: Cluster) -> None:
    """Rook gives the Service of a server on the host's network no address (v1.20.6: `ClusterIPNone`)."""
    assert served.storage.ceph
    assert served.storage.ceph.network == "host"
    found = one(served, "CephNFS")["spec"]["server"]
    assert (found["active"], found["hostNetwork"]) == (1, False)
    assert found["placement"]["nodeAffinity"] == one(served, "CephCluster")["spec"]["placement"]["all"]["nodeAffinity"]


def test_the_class_names_what_rook_makes(served: Cluster) -> None:
    name = filesystem(served)
    found = one(served, "StorageClass", "legacy")
    parameters, spec = found["parameters"], one(served, "CephFilesystem", name)["spec"]
    assert found["provisioner"] == NFS_DRIVER
    assert parameters["nfsCluster"] == one(served, "CephNFS")["metadata"]["name"]
    assert parameters["server"] == f"rook-ceph-nfs-{parameters['nfsCluster']}-a"
    assert (parameters["fsName"], parameters["pool"]) == (name, f"{name}-{spec['dataPools'][0]['name']}")
    assert parameters["csi.storage.k8s.io/node-stage-secret-name"] == "rook-csi-cephfs-node"


def test_the_manager_makes_exports(served: Cluster, ml50: Cluster) -> None:
    assert one(served, "CephCluster")["spec"]["mgr"]["modules"] == [{"name": "nfs", "enabled": True}]
    assert "modules" not in one(ml50, "CephCluster")["spec"]["mgr"]


def test_its_driver_is_installed_in_place_of_the_other(served: Cluster, ml50: Cluster) -> None:
    installed = ceph_csi_drivers(served).releases[0].values["drivers"]["nfs"]
    assert (installed["enabled"], installed["name"]) == (True, NFS_DRIVER)
    assert installed["nodePlugin"]["tolerations"]
    assert ceph_csi_drivers(ml50).releases[0].values["drivers"]["nfs"] == {"enabled": False}
    assert not CSI_NFS.wanted(served)
    assert drivers(served)[-1] == NFS_DRIVER


def test_only_nodes_reach_the_server(served: Cluster) -> None:
    assert served.networks.cni == "cilium"
    found = one(served, "CiliumNetworkPolicy")["spec"]
    assert found["endpointSelector"] == {"matchLabels": {"app": "rook-ceph-nfs"}}
    (rule,) = found["ingress"]
    assert rule["fromEntities"] == ["host", "remote-node"]
    assert rule["toPorts"] == [{"ports": [{"port": "2049", "protocol": "TCP"}]}]


def test_calico_s_tunnels_are_not_shut_out(served: Cluster) -> None:
    calico = structs.replace(served, networks=structs.replace(served.networks, cni="calico"))
    assert not [each for each in ceph_cluster(calico).objects if each["kind"].endswith("NetworkPolicy")]


def test_a_folder_of_a_server_outside_is_not_looked_for_there(served: Cluster) -> None:
    dataset = Dataset(name="scans", size=Quantity.parse("1Ti"), share="/scans")
    storage = structs.replace(served.storage, datasets=(dataset,))
    assert not list(on_nfs(structs.replace(served, storage=storage)))


def test_claims_count_against_the_pool(served: Cluster) -> None:
    assert served.storage.ceph
    assert dict(volume_classes(served))["legacy"] == served.storage.ceph.filesystems[0].data[0]


def test_a_server_outside_leaves_ceph_as_it_is(ml50: Cluster) -> None:
    outside = with_nfs(ml50, Nfs(server="nas.example.org", share="/export"))
    assert ceph_cluster(outside).objects == ceph_cluster(ml50).objects
    assert ceph_csi_drivers(outside).releases[0].values == ceph_csi_drivers(ml50).releases[0].values
