"""What components say of ports on nodes, against what they make, and the rules of the firewall that follow."""

import re
from itertools import combinations

import pytest
from firewalled import ADMINS, behind, files, rules_of
from msgspec import structs
from reference import load

from generator.components import CATALOGUE, compose, listening
from generator.components.cilium import DEFINITION as CILIUM
from generator.components.kubeadm.endpoint import kube_vip
from generator.components.kubeadm.init import init_documents
from generator.components.listening import Listener, Passed
from generator.model.cluster import Cluster, ComponentSettings, Endpoint
from generator.model.fields import dig, mapping, sequence
from generator.model.firewall import OpenPort

CLUSTERS = [load(name) for name in ("ml50", "a30-bench", "gpu-serving")]
each = pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)


def ports(cluster: Cluster) -> list[Listener]:
    return [one for one in listening(cluster) if isinstance(one, Listener)]


def known(cluster: Cluster, port: int, protocol: str = "tcp") -> bool:
    return any(one.covers(port, protocol) for one in ports(cluster))


def opened(rules: str, name: str) -> set[str]:
    """Return who is let in to what, as `nodes4 tcp 22`."""
    return {
        " ".join(found)
        for found in re.findall(
            rf'^ +(?:ip6? saddr @(\w+) )?(tcp|udp) dport (\S+) accept comment "{name}"$', rules, re.MULTILINE
        )
    }


@each
def test_every_port_is_let_in_or_closed_for_a_reason(cluster: Cluster) -> None:
    for one in ports(cluster):
        assert bool(one.peers) != bool(one.closed), one.name
        assert one.last is None or one.last > one.port


@each
def test_no_two_listen_on_one_port_of_a_node(cluster: Cluster) -> None:
    for one, other in combinations(ports(cluster), 2):
        if (
            one.protocol == other.protocol
            and one.port <= (other.last or other.port)
            and other.port <= (one.last or one.port)
        ):
            assert not [machine for machine in cluster.machines if one.on(machine) and other.on(machine)], (one, other)


@each
def test_what_gens_own_pods_take_of_nodes_is_known(cluster: Cluster) -> None:
    seen = 0
    for component in compose(cluster):
        for manifest in (*component.base, *component.objects):
            pod = mapping(dig(manifest, "spec", "template", "spec"))
            for container in sequence(pod.get("containers")) if pod.get("hostNetwork") else ():
                seen += 1
                for port in sequence(mapping(container).get("ports")):
                    assert known(cluster, port["containerPort"], str(port.get("protocol", "TCP")).lower()), (
                        component.name
                    )
    assert seen or not cluster.monitoring.zabbix


@each
def test_what_kubeadm_starts_is_known(cluster: Cluster) -> None:
    """Ports in arguments of the control plane, and those that it opens by itself."""
    (configuration,) = [one for one in init_documents(cluster) if one["kind"] == "ClusterConfiguration"]
    told = re.findall(r"http://\S+?:(\d+)", str(configuration["etcd"]))
    for port in (6443, 2379, 2380, 10250, *map(int, told)):
        assert known(cluster, port), port
    beyond_loopback = "'0.0.0.0'" in str(configuration["scheduler"])
    assert known(cluster, 10259) == known(cluster, 10257) == beyond_loopback


def test_kube_vip_listens_where_nobody_asks(ml50: Cluster) -> None:
    assert "prometheus_server" not in str(kube_vip(ml50))
    assert [one.closed for one in ports(ml50) if one.port == 2112] == ["nobody reads its metrics"]


def test_without_the_key_there_is_nothing(ml50: Cluster) -> None:
    assert files(ml50) == {}


def test_rules_are_those_of_the_pool(ml50: Cluster) -> None:
    rules = {pool: rules_of(behind(ml50), pool) for pool in ml50.pools}
    assert [pool for pool, text in rules.items() if '"etcd"' in text] == ["system"]
    assert [pool for pool, text in rules.items() if '"ceph-daemons"' in text] == ["cpu"]
    assert all('"kubelet"' in text for text in rules.values())
    assert opened(rules["system"], "ssh") == {"control_plane4 tcp 22", "admins4 tcp 22"}
    assert opened(rules["system"], "etcd") == {"control_plane4 tcp 2379-2380"}
    assert opened(rules["system"], "cilium-vxlan") == {"nodes4 udp 8472"}


@each
def test_nothing_is_open_to_anybody_unless_the_file_says_so(cluster: Cluster) -> None:
    for path, text in files(behind(cluster)).items():
        if path.endswith(".nft"):
            assert not re.findall(r"^ +(?:tcp|udp) dport", text, re.MULTILINE), path
            assert "flush" not in text
            assert text.count("policy drop") == text.count("type filter hook") == 1
    own = OpenPort(name="mine", port=9256, from_=("anybody",))
    assert opened(rules_of(behind(cluster, open=(own,)), cluster.machines[0].pool), "mine") == {" tcp 9256"}


def test_ssh_and_the_api_server_stay_open_to_administrators(ml50: Cluster) -> None:
    for pool in ml50.pools:
        assert "admins4 tcp 2222" in opened(rules_of(behind(ml50, ssh=2222), pool), "ssh")
    rules = rules_of(behind(ml50, clients=(ADMINS,)), "system")
    assert {"admins4 tcp 6443", "clients4 tcp 6443"} <= opened(rules, "api-server")


def test_keepalived_hears_its_peers(ml50: Cluster) -> None:
    endpoint = Endpoint(address="10.10.0.10:6443", by="keepalived")
    cluster = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, endpoint=endpoint))
    line = 'ip saddr @control_plane4 meta l4proto 112 accept comment "keepalived"'
    assert line in rules_of(behind(cluster), "system")
    assert line not in rules_of(behind(cluster), "cpu")
    assert line not in rules_of(behind(ml50), "system")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"enabled": True, "type": "wireguard"}, 'udp dport 51871 accept comment "cilium-wireguard"'),
        ({"enabled": True, "type": "ipsec"}, 'meta l4proto 50 accept comment "cilium-ipsec"'),
    ],
)
def test_encryption_of_the_pod_network_gets_through(ml50: Cluster, values: dict[str, object], line: str) -> None:
    settings = ComponentSettings(values={"encryption": values})
    cluster = structs.replace(ml50, components={**ml50.components, "cilium": settings})
    assert line in rules_of(behind(cluster), "cpu")
    assert line not in rules_of(behind(ml50), "cpu")


def test_the_key_of_the_pod_network_s_encryption_opens_its_port(ml50: Cluster) -> None:
    cluster = structs.replace(ml50, networks=structs.replace(ml50.networks, encryption="wireguard"))
    line = 'udp dport 51871 accept comment "cilium-wireguard"'
    assert line in rules_of(behind(cluster), "cpu")
    off = ComponentSettings(values={"encryption": {"enabled": False}})
    cluster = structs.replace(cluster, components={**cluster.components, "cilium": off})
    assert line not in rules_of(behind(cluster), "cpu")


def test_marks_of_the_proxy_are_cilium_s_alone(ml50: Cluster) -> None:
    assert [one for one in CILIUM.listens(ml50) if isinstance(one, Passed)]
    calico = CATALOGUE["calico"]
    assert not [one for one in calico.listens(ml50) if isinstance(one, Passed)]
