from ipaddress import IPv6Network

import pytest
from msgspec import structs
from validation.schemas import shared
from validation.values import schema_errors, unknown_values

from generator.components.cilium import DEFINITION as CILIUM
from generator.components.cilium import cilium
from generator.components.component import Component, Manifest
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus
from generator.model.nodes import LoadBalancer
from generator.model.text import AddressRange

CHART = "cilium/1.20.0/values.yaml"


def build(cluster: Cluster) -> Component:
    component = cilium(cluster)
    assert component is not None
    return component


def values(cluster: Cluster) -> Manifest:
    return build(cluster).releases[0].values


def variations(cluster: Cluster) -> list[Cluster]:
    """What no reference cluster has: dual stack, Prometheus, no load balancer, encryption, another Ingress class."""
    kubernetes = structs.replace(cluster.kubernetes, pod_cidr6=IPv6Network("fd00:10:244::/56"))
    return [
        structs.replace(
            cluster,
            kubernetes=kubernetes,
            monitoring=structs.replace(cluster.monitoring, prometheus=Prometheus()),
            networks=structs.replace(cluster.networks, load_balancer=None, encryption="wireguard"),
        ),
        structs.replace(cluster, site=structs.replace(cluster.site, ingress_class="nginx")),
    ]


def test_only_where_the_file_asks_for_it(a30: Cluster) -> None:
    assert not CILIUM.wanted(a30)


def test_every_value_is_one_of_the_chart_s(ml50: Cluster) -> None:
    for cluster in variations(ml50):
        assert unknown_values(values(cluster), CHART) == []
        assert schema_errors(values(cluster), shared(CHART).with_name("values.schema.json")) == []


def test_programs_start_anew_with_their_settings(ml50: Cluster) -> None:
    """Else a change is Synced and Healthy, and the agents keep what they read when they began."""
    made = values(ml50)
    assert made["rollOutCiliumPods"] is True
    for part in (made["operator"], made["envoy"], made["hubble"]["relay"]):
        assert part["rollOutPods"] is True


def test_agents_reach_the_api_server_without_kube_proxy(ml50: Cluster) -> None:
    made = values(ml50)
    assert made["kubeProxyReplacement"] is True
    assert f"{made['k8sServiceHost']}:{made['k8sServicePort']}" == ml50.kubernetes.endpoint.address


def test_the_pod_network_is_encrypted_where_the_file_asks_for_it(ml50: Cluster) -> None:
    assert "encryption" not in values(ml50)
    made = values(structs.replace(ml50, networks=structs.replace(ml50.networks, encryption="wireguard")))
    assert made["encryption"] == {"enabled": True, "type": "wireguard"}


def test_nodes_get_slices_of_the_pod_network(ml50: Cluster) -> None:
    kubernetes = structs.replace(ml50.kubernetes, node_mask=25)
    operator = values(structs.replace(ml50, kubernetes=kubernetes))["ipam"]["operator"]
    assert operator == {
        "clusterPoolIPv4PodCIDRList": [str(ml50.kubernetes.pod_cidr)],
        "clusterPoolIPv4MaskSize": 25,
    }


@pytest.mark.parametrize("prefix", [40, 48, 56, 64, 104, 112])
def test_ipv6_slices_are_no_more_than_the_allocator_holds(ml50: Cluster, prefix: int) -> None:
    kubernetes = structs.replace(ml50.kubernetes, pod_cidr6=IPv6Network(f"fd00::/{prefix}"))
    made = values(structs.replace(ml50, kubernetes=kubernetes))
    mask = made["ipam"]["operator"]["clusterPoolIPv6MaskSize"]
    assert made["ipv6"] == {"enabled": True}
    assert prefix < mask <= 120
    assert mask - prefix <= 16


def test_no_device_is_infiniband(ml50: Cluster) -> None:
    assert values(ml50)["devices"] == ["eno1", "eno2"]
    assert ml50.networks.ipoib is not None
    assert ml50.networks.ipoib.interface not in values(ml50)["devices"]


def test_a_node_s_own_interface_and_mtu_count(ml50: Cluster) -> None:
    first, *others = ml50.machines
    network = structs.replace(first.networks["node"], interface="bond0", mtu=1500)
    machines = (structs.replace(first, networks={"node": network}), *others)
    made = values(structs.replace(ml50, machines=machines))
    assert made["devices"] == ["bond0", "eno1", "eno2"]
    assert made["MTU"] == 1500


def test_mtu_is_left_to_the_nodes_unless_known_for_all(ml50: Cluster) -> None:
    first, *others = ml50.machines
    network = structs.replace(first.networks["node"], mtu=None)
    machines = (structs.replace(first, networks={**first.networks, "node": network}), *others)
    assert values(ml50)["MTU"] == 9000
    assert values(structs.replace(ml50, machines=machines))["MTU"] == 0


def test_announcing_raises_the_rate_limit_with_the_range(ml50: Cluster) -> None:
    assert ml50.networks.load_balancer is not None
    made = values(ml50)
    assert made["l2announcements"] == {"enabled": True}
    assert made["k8sClientRateLimit"]["qps"] > ml50.networks.load_balancer.range.size
    silent = LoadBalancer(range=AddressRange.parse("10.0.0.0/28"), announce="none")
    networks = structs.replace(ml50.networks, load_balancer=silent)
    assert "l2announcements" not in values(structs.replace(ml50, networks=networks))


def test_hubble_certificates_are_made_in_the_cluster(ml50: Cluster) -> None:
    assert values(ml50)["hubble"]["tls"]["auto"]["method"] == "cronJob"
    assert {secret.source for secret in build(ml50).secrets} == {"in-cluster"}


def test_operators_fit_on_the_control_plane(ml50: Cluster) -> None:
    single = structs.replace(ml50, machines=tuple(m for m in ml50.machines if m.name in {"cp-1", "cpu-01"}))
    assert values(ml50)["operator"]["replicas"] == 2
    assert values(single)["operator"]["replicas"] == 1
    assert values(single)["operator"]["podDisruptionBudget"] == {"enabled": False}


def test_own_ingress_does_not_wait_for_its_address(ml50: Cluster) -> None:
    service = values(ml50)["ingressController"]["service"]
    assert service["type"] == "LoadBalancer"
    assert service["annotations"] == {"argocd.argoproj.io/ignore-healthcheck": "true"}
    without = structs.replace(ml50, networks=structs.replace(ml50.networks, load_balancer=None))
    assert values(without)["ingressController"]["service"]["type"] == "NodePort"


def test_another_ingress_class_is_not_served(ml50: Cluster) -> None:
    other = structs.replace(ml50, site=structs.replace(ml50.site, ingress_class="nginx"))
    assert "ingressController" not in values(other)
    assert not [kind for kind in build(other).kinds if "Ingress" in kind]


def test_all_namespaces_are_declared_not_made_by_the_chart(ml50: Cluster) -> None:
    made = values(ml50)
    for part in ("tls", "ingressController", "envoyConfig", "gatewayAPI"):
        assert made[part]["secretsNamespace"]["create"] is False
        assert made[part]["secretsNamespace"]["name"] in {namespace.name for namespace in build(ml50).namespaces}


def test_nothing_of_prometheus_is_needed_before_it_exists(ml50: Cluster) -> None:
    for cluster in variations(ml50):
        assert "serviceMonitor" not in values(cluster)["prometheus"]
        assert build(cluster).needs == ()
