"""Who reaches controllers of the platform, and whom they reach, with each network."""

from typing import Any

from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.closed import Controller, closed
from generator.components.common import SCRAPERS
from generator.components.component import Component
from generator.components.parts import TO_API_SERVER
from generator.model.cluster import Adopt, Cluster
from generator.model.fields import dig

ONE = Controller(name="one", namespace="there", labels={"app": "one"}, called=(9443,), metrics=(8080,))
NODES = ["host", "remote-node", "kube-apiserver"]


def of(cluster: Cluster, one: Controller = ONE) -> dict[str, dict[str, Any]]:
    return {policy["kind"]: policy for policy in closed(cluster, one)}


def made(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    return [one for one in of_name(cluster, name).objects if one["kind"].endswith("NetworkPolicy")]


def of_name(cluster: Cluster, name: str) -> Component:
    return next(one for one in compose(cluster) if one.name == name)


def test_with_cilium_only_nodes_call_and_only_prometheus_reads() -> None:
    serving = load("gpu-serving")
    found = of(serving)
    named, plain = found["CiliumNetworkPolicy"]["spec"], found["NetworkPolicy"]["spec"]
    (call,) = named["ingress"]
    assert (call["fromEntities"], call["toPorts"]) == (NODES, [{"ports": [{"port": "9443", "protocol": "TCP"}]}])
    assert named["egress"] == [TO_API_SERVER]
    (read,) = plain["ingress"]
    assert [dig(one, "podSelector", "matchLabels") for one in read["from"]] == [SCRAPERS]
    assert read["ports"] == [{"protocol": "TCP", "port": 8080}]
    assert plain["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in plain


def test_what_lets_calls_in_comes_before_what_shuts() -> None:
    """A webhook that nobody reaches for a second refuses every pod of a team."""
    annotations = of(load("gpu-serving"))["CiliumNetworkPolicy"]["metadata"]["annotations"]
    assert annotations == {"argocd.argoproj.io/sync-wave": "-1"}


def test_with_calico_nodes_call_from_addresses_of_its_tunnels() -> None:
    a30 = load("a30-bench")
    (policy,) = closed(a30, ONE)
    call, read = policy["spec"]["ingress"]
    assert call == {"ports": [{"protocol": "TCP", "port": 9443}]}
    assert read["ports"] == [{"protocol": "TCP", "port": 8080}]
    (out,) = policy["spec"]["egress"]
    assert out["to"] == [{"ipBlock": {"cidr": f"{machine.address}/32"}} for machine in a30.control_plane]


def test_without_prometheus_nobody_reads_metrics() -> None:
    assert "ingress" not in of(load("ml50"))["NetworkPolicy"]["spec"]


def test_prometheus_is_let_in_from_where_an_adopted_release_has_it() -> None:
    serving = load("gpu-serving")
    settings = structs.replace(serving.settings("kube-prometheus-stack"), adopt=Adopt(release="p", namespace="theirs"))
    moved = structs.replace(serving, components={**serving.components, "kube-prometheus-stack": settings})
    (peer,) = of(moved)["NetworkPolicy"]["spec"]["ingress"][0]["from"]
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "theirs"}}


def test_who_reads_and_asks_is_let_in_from_where_adopted_releases_are() -> None:
    """Prometheus reads metrics of teams and of logs, Grafana asks for logs, and KubeRay asks heads of Ray clusters."""
    for name, there in (("gpu-serving", "kube-prometheus-stack"), ("ml50", "kuberay")):
        cluster = load(name)
        settings = structs.replace(cluster.settings(there), adopt=Adopt(release="old", namespace="theirs"))
        moved = structs.replace(cluster, components={**cluster.components, there: settings})
        former = "monitoring" if there == "kube-prometheus-stack" else "kuberay-system"
        for before, after in zip(let_in(cluster), let_in(moved), strict=True):
            assert [one if one != former else "theirs" for one in before] == after


def let_in(cluster: Cluster) -> list[list[str]]:
    """Return the namespaces that each policy names whose pods come in, but for Argo Workflows': its base lets ours in,
    and what lets others in is one more.
    """
    parts = [part for part in compose(cluster) if part.name != "argo-workflows"]
    found = [one for part in parts for one in part.objects if one["kind"] == "NetworkPolicy"]
    ways = [[peer for rule in one["spec"].get("ingress", ()) for peer in rule.get("from", ())] for one in found]
    name = "kubernetes.io/metadata.name"
    return [[str(dig(peer, "namespaceSelector", "matchLabels", name)) for peer in peers] for peers in ways]


def test_what_leaves_is_open_where_nobody_can_say_whom_it_asks() -> None:
    free = structs.replace(ONE, asks=None)
    for cluster in map(load, ("gpu-serving", "a30-bench")):
        for policy in closed(cluster, free):
            assert "egress" not in policy["spec"]
            assert "Egress" not in policy["spec"].get("policyTypes", ())


def test_the_controller_of_certificates_alone_goes_where_issuers_are() -> None:
    plain = {one["metadata"]["name"]: one for one in made(load("a30-bench"), "cert-manager")}
    ways = {name: one["spec"]["policyTypes"] for name, one in plain.items()}
    both = ["Ingress", "Egress"]
    assert ways == {"cert-manager": ["Ingress"], "cainjector": both, "webhook": both}


def test_an_adapter_whose_prometheus_the_user_names_goes_there() -> None:
    serving = load("gpu-serving")
    settings = structs.replace(serving.settings("prometheus-adapter"), values={"prometheus": {"url": "http://theirs"}})
    moved = structs.replace(serving, components={**serving.components, "prometheus-adapter": settings})
    assert [one["spec"].get("egress") for one in made(moved, "prometheus-adapter")] == [None, None, None]
    ours = made(serving, "prometheus-adapter")[1]["spec"]["egress"]
    assert ours[-1]["ports"] == [{"protocol": "TCP", "port": 9090}]


def test_a_port_that_values_move_is_the_one_that_is_open() -> None:
    """A webhook that nobody reaches refuses every certificate, and a part of the API that nobody does every deletion of
    a namespace.
    """
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("cert-manager", {"webhook": {"securePort": 10260}}),
        ("cert-manager", {"webhook": {"securePort": 10250, "config": {"securePort": 10260}}}),
        ("prometheus-adapter", {"listenPort": 10260}),
    )
    for cluster in map(load, ("gpu-serving", "a30-bench")):
        for name, values in cases:
            settings = structs.replace(cluster.settings(name), values=values)
            found = made(structs.replace(cluster, components={**cluster.components, name: settings}), name)
            rules = [rule for one in found for rule in one["spec"].get("ingress", ()) if "from" not in rule]
            listed = [port for rule in rules for port in rule.get("ports") or rule["toPorts"][0]["ports"]]
            assert [int(port["port"]) for port in listed] == [10260]


def test_policies_follow_an_adopted_release_and_select_its_pods_alone() -> None:
    """In kube-system a policy for all pods would shut the names of the whole cluster."""
    ml50 = load("ml50")
    for name in ("cert-manager", "jobset", "kueue", "trainer", "volcano", "kuberay"):
        settings = structs.replace(ml50.settings(name), adopt=Adopt(release="old", namespace="kube-system"))
        for one in made(structs.replace(ml50, components={**ml50.components, name: settings}), name):
            chosen = one["spec"].get("podSelector", one["spec"].get("endpointSelector"))
            assert one["metadata"]["namespace"] == "kube-system"
            assert chosen["matchLabels"]


def test_pods_that_hold_images_reach_nobody() -> None:
    (policy,) = made(load("gpu-serving"), "pulled-images")
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def askers(cluster: Cluster, namespace: str, pod: dict[str, str]) -> list[tuple[dict[str, str], list[int]]]:
    """Return whom all policies together let in to a pod, by their labels, with the ports."""
    policies = [one for part in compose(cluster) for one in part.objects if one["kind"] == "NetworkPolicy"]
    chosen = [one["spec"] for one in policies if one["metadata"]["namespace"] == namespace]
    rules = [rule for one in chosen if one["podSelector"] == {"matchLabels": pod} for rule in one.get("ingress", ())]
    return [(dig(peer, "podSelector", "matchLabels"), [port["port"] for port in rule["ports"]])
            for rule in rules for peer in rule["from"]]  # fmt: skip


def test_what_tells_of_gpus_answers_prometheus_and_who_looks_after_them() -> None:
    """Zabbix' agents ask from the node of the pod itself, which no policy shuts out."""
    looking, read = ({"app.kubernetes.io/part-of": "gpu-care"}, [9400]), (SCRAPERS, [9400])
    for name, expected in (("gpu-serving", [read, looking]), ("ml50", [looking])):
        assert askers(load(name), "gpu-operator", {"app": "nvidia-dcgm-exporter"}) == expected
    careless = structs.replace(load("gpu-serving"), gpu_care=None)
    assert askers(careless, "gpu-operator", {"app": "nvidia-dcgm-exporter"}) == [read]


def test_the_webhook_of_the_network_operator_is_called_by_nodes() -> None:
    """It refuses all of its kind that it is not asked about. Its policy chooses what the chart labels its pods with."""
    policies = {one["kind"]: one["spec"] for one in made(load("ml50"), "network-operator")}
    (call,) = policies["CiliumNetworkPolicy"]["ingress"]
    assert (call["fromEntities"], call["toPorts"]) == (NODES, [{"ports": [{"port": "9443", "protocol": "TCP"}]}])
    labels = {"matchLabels": {"app.kubernetes.io/name": "network-operator"}}
    assert policies["NetworkPolicy"]["podSelector"] == policies["CiliumNetworkPolicy"]["endpointSelector"] == labels
    assert not [one for one in policies.values() if "egress" in one or "Egress" in one.get("policyTypes", ())], (
        "where drivers are of a registry, it asks that one for their tags"
    )


def test_provisioners_of_scratch_are_read_by_prometheus_where_there_is_one() -> None:
    pod = {"app.kubernetes.io/name": "local-static-provisioner"}
    assert askers(load("gpu-serving"), "scratch", pod) == [(SCRAPERS, [8080])]
    assert askers(load("ml50"), "scratch", pod) == []
    assert askers(load("gpu-serving"), "scratch", {"app.kubernetes.io/name": "local-volume-node-cleanup"}) == []
