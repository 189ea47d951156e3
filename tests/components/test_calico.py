from ipaddress import IPv6Network
from typing import Any, Literal

import pytest
from msgspec import structs
from validation.schemas import refused, schema
from validation.values import unknown_values

from generator.components.calico import DEFINITION as CALICO
from generator.components.calico import calico
from generator.components.component import Component, Manifest
from generator.components.kubeadm.bootstrap_images import bootstrap_images
from generator.components.kubeadm.init import init_documents
from generator.model.cluster import Cluster
from generator.model.nodes import Calico

UPSTREAM = "calico/v3.32.1"


def build(cluster: Cluster) -> Component:
    component = calico(cluster)
    assert component is not None
    return component


def network(cluster: Cluster) -> Manifest:
    (installation,) = build(cluster).objects
    settings: Manifest = installation["spec"]["calicoNetwork"]
    return settings


def dual_stack(cluster: Cluster) -> Cluster:
    kubernetes = structs.replace(cluster.kubernetes, pod_cidr6=IPv6Network("fd00:10:244::/56"))
    return structs.replace(cluster, kubernetes=kubernetes)


def with_mtu(cluster: Cluster, *sizes: int | None) -> Cluster:
    machines = tuple(
        structs.replace(machine, networks={"node": structs.replace(machine.networks["node"], mtu=size)})
        for machine, size in zip(cluster.machines, sizes, strict=True)
    )
    return structs.replace(cluster, machines=machines)


def test_only_where_the_file_asks_for_it(ml50: Cluster) -> None:
    assert not CALICO.wanted(ml50)


def test_objects_are_valid(a30: Cluster) -> None:
    made = build(dual_stack(with_mtu(a30, 9000, 9000, 9000)))
    for manifest in (*made.base, *made.objects):
        assert refused(manifest, [UPSTREAM]) == []


def test_the_chart_makes_no_object_that_is_ours(a30: Cluster) -> None:
    values = build(a30).releases[0].values
    for name in ("installation", "apiServer", "goldmane", "whisker", "defaultFelixConfiguration"):
        assert values[name] == {"enabled": False}, name
    assert values["manageCRDs"] is False


def test_pools_are_the_pod_networks_and_complete(a30: Cluster) -> None:
    cluster = dual_stack(a30)
    pools = network(cluster)["ipPools"]
    assert [pool["cidr"] for pool in pools] == [str(cluster.kubernetes.pod_cidr), str(cluster.kubernetes.pod_cidr6)]
    spec = schema(UPSTREAM, "operator.tigera.io", "Installation")["properties"]["spec"]["properties"]
    fields = spec["calicoNetwork"]["properties"]["ipPools"]["items"]["properties"]
    for pool in pools:
        assert set(pool) == set(fields)


def with_data_plane(cluster: Cluster, name: Literal["iptables", "nftables", "ebpf"]) -> Cluster:
    return structs.replace(cluster, networks=structs.replace(cluster.networks, calico=Calico(dataplane=name)))


@pytest.mark.parametrize(("name", "told"), [("iptables", "Iptables"), ("nftables", "Nftables"), ("ebpf", "BPF")])
def test_the_data_plane_is_the_one_chosen(a30: Cluster, name: Any, told: str) -> None:
    cluster = with_data_plane(a30, name)
    assert network(cluster)["linuxDataplane"] == told
    assert refused(build(cluster).objects[0], [UPSTREAM]) == []
    assert unknown_values(build(cluster).releases[0].values, f"{UPSTREAM}/values.yaml") == []


def test_kube_proxy_writes_what_the_data_plane_reads(a30: Cluster) -> None:
    for name in ("iptables", "nftables"):
        *_, proxy = init_documents(with_data_plane(a30, name))
        assert (proxy["kind"], proxy["mode"]) == ("KubeProxyConfiguration", name)
        assert "kubernetesServiceEndpoint" not in build(with_data_plane(a30, name)).releases[0].values


def test_ebpf_replaces_kube_proxy_and_reaches_the_api_server_without_it(a30: Cluster) -> None:
    cluster = with_data_plane(a30, "ebpf")
    init, settings, *rest = init_documents(cluster)
    assert init["skipPhases"] == ["addon/kube-proxy"]
    assert settings["proxy"] == {"disabled": True}
    assert "KubeProxyConfiguration" not in {document["kind"] for document in rest}
    assert not any("kube-proxy" in image.image for image in bootstrap_images(cluster))
    endpoint = build(cluster).releases[0].values["kubernetesServiceEndpoint"]
    assert endpoint == {"host": "129.254.202.251", "port": "6443"}


def test_node_addresses_are_the_kubelet_s(a30: Cluster) -> None:
    assert network(a30)["nodeAddressAutodetectionV4"] == {"kubernetes": "NodeInternalIP"}
    assert "nodeAddressAutodetectionV6" not in network(a30)
    assert network(dual_stack(a30))["nodeAddressAutodetectionV6"] == {"kubernetes": "NodeInternalIP"}


def test_pods_leave_room_for_the_tunnel(a30: Cluster) -> None:
    assert "mtu" not in network(a30)
    assert "mtu" not in network(with_mtu(a30, 9000, None, 9000))
    assert network(with_mtu(a30, 9000, 1500, 9000))["mtu"] == 1450
    assert network(dual_stack(with_mtu(a30, 9000, 1500, 9000)))["mtu"] == 1430


def test_removing_the_application_leaves_the_network(a30: Cluster) -> None:
    component = build(a30)
    assert component.releases[0].hooks == {"tigera-operator-uninstall": "drop"}
    for manifest in (*component.base, *component.objects):
        assert manifest["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"


def test_health_is_known_for_what_the_wave_waits_for(a30: Cluster) -> None:
    component = build(a30)
    kinds = {manifest["kind"] for manifest in (*component.base, *component.objects)}
    assert {health.kind for health in component.health} == kinds
