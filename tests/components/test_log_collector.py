"""The collectors: on every node, reading and no more, and sure whose each line is."""

import re
from typing import Any

import pytest
from msgspec import structs
from reference import load
from validation.schemas import problems

from generator.components.component import Component
from generator.components.log_collector import log_collector
from generator.components.log_collector.install import tenants
from generator.model.cluster import Cluster
from generator.model.monitoring import Logs, LogServer


@pytest.fixture(scope="session")
def serving() -> Cluster:
    return load("gpu-serving")


def sent(cluster: Cluster, **server: Any) -> Cluster:
    to = LogServer(url="https://logs.example.org:3443/loki/api/v1/push", **server)
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, logs=Logs(to=to)))


def one(component: Component, kind: str) -> Any:
    (found,) = [each for each in component.objects if each["kind"] == kind]
    return found


def config(cluster: Cluster) -> str:
    return str(one(log_collector(cluster), "ConfigMap")["data"]["config.alloy"])


def pod(cluster: Cluster) -> Any:
    return one(log_collector(cluster), "DaemonSet")["spec"]["template"]["spec"]


def test_the_api_server_takes_every_object(ml50: Cluster, serving: Cluster) -> None:
    for cluster in (ml50, serving, sent(serving, login=True)):
        for manifest in log_collector(cluster).objects:
            assert problems(manifest) == [], manifest["kind"]


def test_they_are_on_every_node_and_write_to_none_but_their_own_folder(serving: Cluster) -> None:
    spec = pod(serving)
    assert spec["tolerations"] == [{"operator": "Exists"}]
    mounts = {each["name"]: each for each in spec["containers"][0]["volumeMounts"]}
    written = {name for name, mount in mounts.items() if not mount.get("readOnly")}
    paths = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"] if "hostPath" in each}
    assert written & paths.keys() == {"positions"}
    assert paths == {
        "pods": "/var/log/pods",
        "journal": "/var/log/journal",
        "positions": "/var/lib/gen-log-collector",
    }


def test_they_are_root_without_anything_that_root_may(serving: Cluster) -> None:
    spec = pod(serving)
    security = spec["containers"][0]["securityContext"]
    assert spec["securityContext"]["runAsUser"] == 0
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert spec["automountServiceAccountToken"] is False
    assert "hostNetwork" not in spec


def labels(text: str, path: str) -> dict[str, str]:
    """Return the labels that rules over a file's path give, which must match all of it, as Prometheus' do."""
    found = {}
    for rule in re.findall(r'rule \{\s+source_labels = \["__path__"\](.+?)\n  \}', text, re.DOTALL):
        value = dict(re.findall(r'(\w+)\s+= "(.+)"', rule))
        if match := re.fullmatch(value["regex"], path):
            found[value["target_label"]] = match[int(value["replacement"].removeprefix("$"))]
    return found


@pytest.mark.parametrize(
    ("folder", "whose"),
    [
        ("search_asr-7d9f-x2_0f3e7a36-4b1c-4a6e-9a57-2f4b9e1f6c11/triton", ("search", "asr-7d9f-x2", "triton")),
        ("kube-system_etcd-ctl-1_8c1d09ab3b4f5d6e7f8091a2b3c4d5e6/etcd", ("kube-system", "etcd-ctl-1", "etcd")),
        ("search_a.b.c_0f3e7a36-4b1c-4a6e-9a57-2f4b9e1f6c11/x", ("search", "a.b.c", "x")),
    ],
)
def test_whose_a_line_is_stands_in_the_folder_of_the_kubelet(
    serving: Cluster, folder: str, whose: tuple[str, str, str]
) -> None:
    found = labels(config(serving), f"/var/log/pods/{folder}/12.log")
    assert (found["namespace"], found["pod"], found["container"]) == whose


@pytest.mark.parametrize(
    ("namespace", "tenant"),
    [("search", "search"), ("search-2", None), ("research", None), ("kube-system", None), ("-", None)],
)
def test_a_team_is_a_tenant_and_nobody_else_is_that_one(serving: Cluster, namespace: str, tenant: str | None) -> None:
    assert serving.monitoring.logs
    match = re.fullmatch(tenants(serving, serving.monitoring.logs), namespace)
    assert (match[1] if match else None) == tenant


def test_without_teams_no_namespace_is_a_tenant(serving: Cluster) -> None:
    assert serving.monitoring.logs
    expression = tenants(structs.replace(serving, teams=()), serving.monitoring.logs)
    assert not re.fullmatch(expression, "")
    assert not re.fullmatch(expression, "default")


def test_what_a_tenant_has_too_much_of_does_not_hold_up_the_others(serving: Cluster) -> None:
    assert "retry_on_http_429 = false" in config(serving)
    assert "retry_on_http_429 = true" in config(sent(serving))
    assert "max_backoff_retries = 0\n" in config(serving)


def test_the_login_of_the_sites_server_is_in_no_file(serving: Cluster) -> None:
    cluster = sent(serving, login=True, tenant='a "quoted" name')
    assert 'password_file = "/etc/log-server/password"' in config(cluster)
    assert r'tenant_id = "a \"quoted\" name"' in config(cluster)
    (secret,) = log_collector(cluster).secrets
    assert (secret.namespace, secret.name, secret.source) == ("log-collector", "log-server", "given")
    assert log_collector(sent(serving)).secrets == ()
    assert "basic_auth" not in config(sent(serving))


def test_they_reach_where_logs_go_and_nothing_else(serving: Cluster) -> None:
    rules = one(log_collector(serving), "NetworkPolicy")["spec"]
    _, store = rules["egress"]
    assert store["to"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "log-store"}}}]
    (outside,) = one(log_collector(sent(serving)), "NetworkPolicy")["spec"]["egress"][1:]
    assert outside["ports"] == [{"protocol": "TCP", "port": 3443}]
    assert "10.128.0.0/16" in outside["to"][0]["ipBlock"]["except"]


def test_the_sites_own_ca_is_trusted_for_its_server(serving: Cluster) -> None:
    ca = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
    site = structs.replace(serving.site, ca=ca)
    assert r'ca_pem = "-----BEGIN CERTIFICATE-----\nMII\n' in config(sent(structs.replace(serving, site=site)))
    assert "ca_pem" not in config(sent(serving))


def test_other_settings_start_them_anew(serving: Cluster) -> None:
    def mark(cluster: Cluster) -> Any:
        return one(log_collector(cluster), "DaemonSet")["spec"]["template"]["metadata"]["annotations"]

    assert mark(serving) != mark(sent(serving))
    assert mark(serving) == mark(structs.replace(serving, teams=()))
