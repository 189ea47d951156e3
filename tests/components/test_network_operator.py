from msgspec import structs
from reference import with_hardware

from generator.components.component import Component
from generator.components.network_operator import DEFINITION as NETWORK_OPERATOR
from generator.components.network_operator import network_operator
from generator.model.cluster import Adopt, Cluster, ComponentSettings


def build(cluster: Cluster) -> Component:
    component = network_operator(cluster)
    assert component is not None
    return component


def test_only_with_a_fabric_that_gpu_nodes_are_on(ml50: Cluster, a30: Cluster) -> None:
    assert not NETWORK_OPERATOR.wanted(a30)
    assert not NETWORK_OPERATOR.wanted(structs.replace(ml50, fabric=None))
    unplugged = tuple(with_hardware(machine, hcas=()) for machine in ml50.machines)
    assert not NETWORK_OPERATOR.wanted(structs.replace(ml50, machines=unplugged))


def test_there_is_one_nfd_and_no_hook(ml50: Cluster) -> None:
    (release,) = build(ml50).releases
    assert release.values["nfd"]["enabled"] is False
    assert release.values["upgradeCRDs"] is False
    assert set(release.hooks.values()) == {"drop"}
    assert "network-operator-keep-ncp" in release.hooks
    assert "network-operator-hooks-keep-ncp-sa" in release.hooks


def test_hooks_are_known_by_the_name_of_an_adopted_release(ml50: Cluster) -> None:
    settings = ComponentSettings(adopt=Adopt(release="old", namespace="gpu"))
    (release,) = build(structs.replace(ml50, components={"network-operator": settings})).releases
    # The Job's name is fixed in the chart, the others follow the release.
    assert {"network-operator-keep-ncp", "old-network-operator-hooks-scale-binding"} <= set(release.hooks)


def test_the_webhook_s_certificate_comes_from_cert_manager(ml50: Cluster) -> None:
    component = build(ml50)
    (secret,) = component.secrets
    assert component.releases[0].values["operator"]["admissionController"] == {"enabled": True, "useCertManager": True}
    assert secret.by in component.needs
    assert secret.namespace == component.releases[0].namespace


def test_what_the_injector_writes_is_ignored(ml50: Cluster) -> None:
    component = build(ml50)
    (ignore,) = component.ignore
    assert ignore.kind == "ValidatingWebhookConfiguration"
