from typing import Any

import pytest
from firewalled import behind
from manifests import container, found, ml50, reached, workload

from generator.model.firewall import OpenPort
from generator.rules.node_ports import let_in, taken_once

EVERYWHERE = [{"operator": "Exists"}]


def daemon(name: str = "x", *, on_host: bool = True, tolerations: Any = EVERYWHERE, **port: Any) -> Any:
    ports = [container(ports=[port])]
    made = workload("DaemonSet", hostNetwork=on_host, tolerations=tolerations, containers=ports)
    made["metadata"]["name"] = name
    return made


def test_a_port_that_nobody_declares_is_shut() -> None:
    (finding,) = found(let_in, daemon(containerPort=9256), cluster=behind(ml50()))
    assert finding.message == "the firewall of cp-1 and 49 other nodes lets nobody in to port 9256 (tcp)"
    assert reached(finding) == 9256


@pytest.mark.parametrize("port", [{"containerPort": 10250}, {"containerPort": 8472, "protocol": "UDP"}])
def test_a_port_that_is_let_in_on_every_node_is_fine(port: dict[str, Any]) -> None:
    assert found(let_in, daemon(**port), cluster=behind(ml50())) == []


def test_it_counts_by_protocol_and_by_node() -> None:
    cluster = behind(ml50())
    assert len(found(let_in, daemon(containerPort=10250, protocol="UDP"), cluster=cluster)) == 1
    # The API server's, which workers have none of.
    (finding,) = found(let_in, daemon(containerPort=6443), cluster=cluster)
    assert finding.message.startswith("the firewall of gpu-01 and 46 other nodes")
    opened = OpenPort(name="mine", port=9256, from_=("pods",), pools=("system",))
    (finding,) = found(let_in, daemon(containerPort=9256), cluster=behind(ml50(), open=(opened,)))
    assert finding.message.startswith("the firewall of gpu-01 and 46 other nodes")


def test_pods_of_the_pod_network_and_clusters_without_a_firewall_are_left_alone() -> None:
    assert found(let_in, daemon(on_host=False, containerPort=9256), cluster=behind(ml50())) == []
    assert found(let_in, daemon(containerPort=9256), cluster=ml50()) == []
    assert found(let_in, daemon(containerPort=9256)) == []


def test_two_daemon_sets_on_one_port_of_a_node() -> None:
    first, second = daemon("first", containerPort=9100), daemon("second", on_host=False, hostPort=9100)
    (finding,) = found(taken_once, first, second, cluster=ml50())
    assert finding.message == "port 9100 of cp-1 is DaemonSet tools/first's"
    assert reached(finding) == 9100


def test_ports_apart_in_number_protocol_or_node_are_fine() -> None:
    first = daemon("first", containerPort=9100)
    for other in (
        daemon("second", containerPort=9101),
        daemon("second", containerPort=9100, protocol="UDP"),
        daemon("second", on_host=False, containerPort=9100),
    ):
        assert found(taken_once, first, other, cluster=ml50()) == []
    mine, yours = daemon("first", containerPort=9100), daemon("second", containerPort=9100)
    mine["spec"]["template"]["spec"]["nodeSelector"] = {"gen.internal/pool": "cpu"}
    yours["spec"]["template"]["spec"]["nodeSelector"] = {"gen.internal/pool": "nas"}
    assert found(taken_once, mine, yours, cluster=ml50()) == []
