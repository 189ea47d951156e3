"""Zabbix: objects that fit each other and the cluster."""

import json
from typing import Any

import pytest
import yaml
from msgspec import structs

from generator.components.component import Component, Manifest
from generator.components.gpu_operator import NAMESPACE as GPU_NAMESPACE
from generator.components.parts import TO_API_SERVER
from generator.components.rook_ceph import METRICS_PORT
from generator.components.zabbix import DEFINITION as ZABBIX
from generator.components.zabbix import zabbix
from generator.components.zabbix.hosts import services
from generator.components.zabbix.names import AGENTS, NAMESPACE
from generator.components.zabbix.templates.kubernetes import LEFT_OUT, LONGEST_MACRO, without
from generator.model.cluster import Cluster
from generator.model.monitoring import Zabbix

LIMIT = 1024 * 1024


def made(cluster: Cluster) -> Component:
    return zabbix(cluster)


def everything(cluster: Cluster) -> list[Manifest]:
    component = made(cluster)
    return [*component.base, *component.objects]


def with_zabbix(cluster: Cluster, **changes: Any) -> Cluster:
    settings = structs.replace(cluster.monitoring.zabbix or Zabbix(), **changes)
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, zabbix=settings))


def of_kind(cluster: Cluster, kind: str, name: str | None = None) -> list[Manifest]:
    return [one for one in everything(cluster) if one["kind"] == kind and name in {None, one["metadata"]["name"]}]


def pods(cluster: Cluster) -> dict[str, Manifest]:
    return {name: template["spec"] for name, template in pod_templates(cluster).items()}


def pod_templates(cluster: Cluster) -> dict[str, Manifest]:
    specs = [(one["metadata"]["name"], one.get("spec", {})) for one in everything(cluster)]
    found = [(name, spec.get("jobTemplate", {}).get("spec", spec).get("template")) for name, spec in specs]
    return {name: template for name, template in found if template}


def test_only_where_it_is_asked_for(a30: Cluster) -> None:
    assert not ZABBIX.wanted(a30)


def test_base_is_the_same_on_every_cluster(ml50: Cluster, a30: Cluster) -> None:
    assert made(ml50).base == made(with_zabbix(a30)).base


def test_no_secret_holds_anything(ml50: Cluster) -> None:
    (token,) = of_kind(ml50, "Secret")
    assert not token.keys() & {"data", "stringData"}


def test_every_secret_that_is_read_is_declared(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, with_zabbix(a30), with_zabbix(ml50, alerts=())):
        secrets = made(cluster).secrets
        declared = {(one.name, key) for one in secrets for key in one.keys}
        declared |= {(one.name, key) for one in secrets if one.turn for key in one.turn.former.values()}
        read = set(secrets_in(list(pods(cluster).values())))
        assert read <= declared
        assert {name for name, _ in declared} - {name for name, _ in read} <= {"zabbix-tls"}


def secrets_in(part: Any) -> list[tuple[str, str]]:
    if isinstance(part, list):
        return [found for one in part for found in secrets_in(one)]
    if not isinstance(part, dict):
        return []
    found = [found for one in part.values() for found in secrets_in(one)]
    if "secretKeyRef" in part:
        found.append((part["secretKeyRef"]["name"], part["secretKeyRef"]["key"]))
    if "secret" in part:
        found += [(part["secret"]["name"], item["key"]) for item in part["secret"]["items"]]
    return found


def test_tokens_are_asked_for_only_where_something_is_sent(ml50: Cluster) -> None:
    settings = ml50.monitoring.zabbix
    assert settings
    quiet = with_zabbix(ml50, alerts=tuple(one for one in settings.alerts if one.via == "slack"))
    names = {one.name for one in made(quiet).secrets}
    assert "zabbix-slack" in names
    assert "zabbix-mattermost" not in names


def test_every_config_map_that_is_mounted_exists_and_fits(ml50: Cluster) -> None:
    known = {one["metadata"]["name"] for one in of_kind(ml50, "ConfigMap")} | {"kube-root-ca.crt"}
    for spec in pods(ml50).values():
        for volume in spec.get("volumes", ()):
            for source in volume.get("projected", {}).get("sources", [volume]):
                assert source.get("configMap", {"name": "kube-root-ca.crt"})["name"] in known
    assert max(len(json.dumps(one)) for one in of_kind(ml50, "ConfigMap")) < LIMIT


def test_a_big_cluster_s_hosts_are_split(ml50: Cluster) -> None:
    machines = tuple(structs.replace(ml50.machines[4], name=f"gpu-node-{number}") for number in range(1500))
    cluster = structs.replace(ml50, machines=machines)
    maps = [one for one in of_kind(cluster, "ConfigMap") if "hosts" in one["metadata"]["name"]]
    assert sum(len(one["data"]) for one in maps) == 1502
    assert max(len(json.dumps(one)) for one in maps) < LIMIT
    sources = pods(cluster)["zabbix-configure"]["volumes"][3]["projected"]["sources"]
    assert [one["configMap"]["name"] for one in sources] == [one["metadata"]["name"] for one in maps]


def test_pods_are_restricted_but_for_the_agents(ml50: Cluster) -> None:
    levels = {one.name: one.security for one in made(ml50).namespaces}
    assert levels == {NAMESPACE: "restricted", AGENTS: "privileged"}
    for name, spec in pods(ml50).items():
        assert (name == "zabbix-agent") == ("hostNetwork" in spec)
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"]
        for container in spec["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert not container["securityContext"]["allowPrivilegeEscalation"]
            assert container["resources"]["requests"]
            assert container["resources"]["limits"]["memory"]


def test_agents_run_on_every_node_and_read_the_host_only(ml50: Cluster) -> None:
    agent = pods(ml50)["zabbix-agent"]
    assert agent["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in agent
    assert agent["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert all(mount["readOnly"] for mount in agent["containers"][0]["volumeMounts"])


def test_an_agent_is_called_as_its_node_and_finds_the_proxy(ml50: Cluster) -> None:
    settings = {one["name"]: one for one in pods(ml50)["zabbix-agent"]["containers"][0]["env"]}
    assert settings["ZBX_HOSTNAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    host = settings["ZBX_SERVER_HOST"]["value"].split(".")
    assert of_kind(ml50, "Service", host[0])[0]["metadata"]["namespace"] == host[1]


def test_what_the_agent_measures_is_what_templates_ask_of_it(ml50: Cluster) -> None:
    (map_,) = of_kind(ml50, "ConfigMap", "zabbix-agent")
    lines = [line.split("=", 1)[1].split(",", 1) for line in map_["data"]["gen.conf"].splitlines()]
    (templates,) = of_kind(ml50, "ConfigMap", "zabbix-templates")
    for key, command in lines:
        assert f'"key":"{key}"' in "".join(templates["data"].values())
        assert command.split()[1].rpartition("/")[2] in map_["data"]
    (service,) = [one for one in of_kind(ml50, "Service") if one["metadata"]["namespace"] == GPU_NAMESPACE]
    assert service["spec"]["internalTrafficPolicy"] == "Local"
    assert f"{service['metadata']['name']}.{GPU_NAMESPACE}.svc {service['spec']['ports'][0]['port']}" in lines[1][1]


def test_no_service_for_gpus_where_there_are_none(ml50: Cluster) -> None:
    cluster = structs.replace(ml50, machines=tuple(one for one in ml50.machines if not one.gpus))
    assert {one["metadata"]["namespace"] for one in of_kind(cluster, "Service")} == {NAMESPACE}


def test_services_and_policies_select_pods_that_exist(ml50: Cluster) -> None:
    labels = [template["metadata"]["labels"] for template in pod_templates(ml50).values()]
    for one in of_kind(ml50, "Service"):
        if one["metadata"]["namespace"] == NAMESPACE:
            assert one["spec"]["selector"] in labels
    for one in of_kind(ml50, "NetworkPolicy"):
        assert one["spec"]["podSelector"].get("matchLabels", labels[0]) in labels


def test_what_a_service_names_is_open_in_its_pod(ml50: Cluster) -> None:
    for service in of_kind(ml50, "Service"):
        part = service["spec"]["selector"].get("app.kubernetes.io/name")
        if part:
            names = {port["name"] for port in pods(ml50)[part]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= names


def test_the_database_is_kept(ml50: Cluster) -> None:
    (database,) = of_kind(ml50, "StatefulSet", "zabbix-database")
    assert "Delete=false" in database["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    (claim,) = database["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "500Gi"
    assert database["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_the_database_takes_the_password_of_the_secret_before_it_begins(ml50: Cluster) -> None:
    spec = pods(ml50)["zabbix-database"]
    (first,), (server,) = spec["initContainers"], spec["containers"]
    assert (first["image"], first["env"], first["resources"]) == (server["image"], server["env"], server["resources"])
    assert [*server["volumeMounts"], first["volumeMounts"][-1]] == first["volumeMounts"]
    (script,) = first["command"][1:]
    folder, _, name = script.rpartition("/")
    assert first["volumeMounts"][-1] == {"name": "script", "mountPath": folder, "readOnly": True}
    (scripts,) = of_kind(ml50, "ConfigMap", "zabbix-configure-script")
    assert name in scripts["data"]


def test_the_database_s_class(ml50: Cluster, a30: Cluster) -> None:
    def class_of(cluster: Cluster) -> object:
        (database,) = of_kind(cluster, "StatefulSet", "zabbix-database")
        return database["spec"]["volumeClaimTemplates"][0]["spec"].get("storageClassName")

    assert class_of(ml50) == "rbd-nvme"
    assert class_of(with_zabbix(ml50, storage_class="other")) == "other"
    assert class_of(with_zabbix(structs.replace(a30, storage=structs.replace(a30.storage, ceph=None)))) is None


def test_needs_are_of_this_cluster(ml50: Cluster) -> None:
    assert set(made(ml50).needs) == {"cilium", "issuers"}
    assert made(ml50).storage_classes == ("rbd-nvme",)
    bare = with_zabbix(structs.replace(ml50, storage=structs.replace(ml50.storage, ceph=None)), host=None)
    assert set(made(bare).needs) == {"cilium"}


def test_an_ingress_only_with_a_name_and_a_class(ml50: Cluster) -> None:
    (ingress,) = of_kind(ml50, "Ingress")
    assert ingress["spec"]["tls"] == [{"hosts": ["zabbix.ml50.example.org"], "secretName": "zabbix-tls"}]
    assert "zabbix-tls" in {one.name for one in made(ml50).secrets}
    for cluster in (
        with_zabbix(ml50, host=None),
        structs.replace(ml50, site=structs.replace(ml50.site, ingress_class=None)),
    ):
        assert of_kind(cluster, "Ingress") == []
        assert "zabbix-tls" not in {one.name for one in made(cluster).secrets}


def test_zabbix_reads_kubernetes_and_no_more(ml50: Cluster) -> None:
    (role,) = of_kind(ml50, "ClusterRole")
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert "secrets" not in [resource for rule in role["rules"] for resource in rule.get("resources", ())]


def test_agents_reach_the_proxy_and_the_proxy_the_api_server(ml50: Cluster, a30: Cluster) -> None:
    (cilium,) = of_kind(ml50, "CiliumNetworkPolicy")
    assert cilium["spec"]["ingress"][0]["fromEntities"] == ["host", "remote-node"]
    assert TO_API_SERVER in cilium["spec"]["egress"]
    ceph = {"ports": [{"port": str(METRICS_PORT), "protocol": "TCP"}]}
    assert {"toEntities": ["host", "remote-node"], "toPorts": [ceph]} in cilium["spec"]["egress"]
    plain = with_zabbix(a30)
    assert of_kind(plain, "CiliumNetworkPolicy") == []
    (policy,) = of_kind(plain, "NetworkPolicy", "zabbix-proxy")
    allowed = {block["ipBlock"]["cidr"] for block in policy["spec"]["ingress"][0]["from"]}
    assert allowed == {f"{machine.address}/32" for machine in plain.machines}
    assert {"protocol": "TCP", "port": 6443} in policy["spec"]["egress"][-1]["ports"]


@pytest.mark.parametrize(
    ("mattermost", "ports"),
    [
        ("https://chat.example.org", [443]),
        ("https://chat.example.org:8065/base", [443, 8065]),
        ("http://chat.example.org", [80, 443]),
    ],
)
def test_alerts_reach_the_port_of_their_address(ml50: Cluster, mattermost: str, ports: list[int]) -> None:
    (policy,) = of_kind(with_zabbix(ml50, mattermost=mattermost), "NetworkPolicy", "zabbix-server")
    (outside,) = (rule for rule in policy["spec"]["egress"] if "ipBlock" in rule["to"][0])
    assert [one["port"] for one in outside["ports"]] == ports


def test_without_alerts_the_server_reaches_nobody_outside(ml50: Cluster) -> None:
    (policy,) = of_kind(with_zabbix(ml50, alerts=()), "NetworkPolicy", "zabbix-server")
    assert not [rule for rule in policy["spec"]["egress"] if "ipBlock" in rule["to"][0]]


def test_the_heartbeat_reaches_the_frontend_and_its_address_only(ml50: Cluster) -> None:
    cluster = with_zabbix(ml50, heartbeat="https://watch.example.org:8443/ping")
    (beat,) = of_kind(cluster, "CronJob")
    spec = beat["spec"]["jobTemplate"]["spec"]["template"]
    (policy,) = of_kind(cluster, "NetworkPolicy", "zabbix-heartbeat")
    assert policy["spec"]["podSelector"]["matchLabels"] == spec["metadata"]["labels"]
    frontend, outside = policy["spec"]["egress"]
    assert frontend["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "zabbix-web"}}}]
    assert [one["port"] for one in outside["ports"]] == [8443]
    # It may speak to the world: it holds a reader's password, not Admin's.
    assert secrets_in(spec["spec"]) == [("zabbix-heartbeat", "password")]
    (container,) = spec["spec"]["containers"]
    assert container["command"][-3:] == ["heartbeat", "ml50-monitoring", "https://watch.example.org:8443/ping"]
    without = with_zabbix(ml50, heartbeat=None)
    assert of_kind(without, "CronJob") == []
    assert "zabbix-heartbeat" not in {one.name for one in made(without).secrets}


def waves(cluster: Cluster) -> dict[tuple[str, str], int]:
    annotations = {(one["kind"], one["metadata"]["name"]): one["metadata"] for one in everything(cluster)}
    wave = "argocd.argoproj.io/sync-wave"
    return {name: int(one.get("annotations", {}).get(wave, "0")) for name, one in annotations.items()}


def test_nobody_comes_in_before_the_default_password_is_replaced(ml50: Cluster) -> None:
    order = waves(ml50)
    password = order["Job", "zabbix-password"]
    assert order["Deployment", "zabbix-web"] < password < order["Ingress", "zabbix-web"]
    specs = {one["metadata"]["name"]: one["spec"] for one in of_kind(ml50, "NetworkPolicy")}
    web = {name: spec for name, spec in specs.items() if spec["podSelector"] == specs["zabbix-web"]["podSelector"]}
    for name, spec in web.items():
        names = [peer["podSelector"]["matchLabels"] for rule in spec["ingress"] for peer in rule.get("from", ())]
        if order["NetworkPolicy", name] <= password:
            assert names == [{"app.kubernetes.io/name": "zabbix-configure"}]
    assert [order["NetworkPolicy", name] > password for name in web] == [False, True]


def test_the_password_waits_for_no_other_secret_and_nothing_for_a_token(ml50: Cluster) -> None:
    own = pods(ml50)["zabbix-password"]
    assert secrets_in(own) == [("zabbix-admin", "password"), ("zabbix-admin", "formerPassword")]
    former = own["volumes"][-1]["projected"]["sources"][-1]["secret"]
    assert former["optional"], "it is there only while the password is replaced"
    sources = pods(ml50)["zabbix-configure"]["volumes"][-1]["projected"]["sources"]
    optional = {one["secret"]["name"]: one["secret"].get("optional", False) for one in sources}
    assert optional == {
        "zabbix-admin": False, "zabbix-reader-token": False, "zabbix-mattermost": True, "zabbix-slack": True,
        "minio-metrics": True, "zabbix-heartbeat": True,
    }  # fmt: skip


def test_a_node_that_is_down_holds_nothing_but_the_agents(ml50: Cluster) -> None:
    order = waves(ml50)
    agents = order.pop(("DaemonSet", "zabbix-agent"))
    assert {name for name, wave in order.items() if wave >= agents} == {("Job", complete_job(ml50)["metadata"]["name"])}
    # With a hook in its last wave a sync waits for all that is in it.
    complete = complete_job(ml50)
    assert "argocd.argoproj.io/hook" not in complete["metadata"]["annotations"]


def test_a_missing_token_fails_a_job_that_no_agent_waits_for(ml50: Cluster) -> None:
    order = waves(ml50)
    complete = complete_job(ml50)
    assert order["Job", complete["metadata"]["name"]] == order["DaemonSet", "zabbix-agent"]
    spec = complete["spec"]["template"]["spec"]
    assert spec["containers"][0]["command"][-1] == "complete"
    sources = {one["secret"]["name"]: one["secret"]["optional"] for one in spec["volumes"][-1]["projected"]["sources"]}
    assert sources == dict.fromkeys(("zabbix-mattermost", "zabbix-slack", "minio-metrics", "zabbix-heartbeat"), True)
    without = structs.replace(ml50, storage=structs.replace(ml50.storage, objects=None))
    silent = with_zabbix(without, alerts=(), heartbeat=None)
    assert {one["metadata"]["name"] for one in of_kind(silent, "Job")} == {"zabbix-password", "zabbix-configure"}


def complete_job(cluster: Cluster) -> Manifest:
    (found,) = [one for one in of_kind(cluster, "Job") if one["metadata"]["name"].startswith("zabbix-complete-")]
    return found


def test_a_job_that_is_compared_has_another_name_with_another_template(ml50: Cluster) -> None:
    """Argo CD could not compare it, and would sync nothing of Zabbix any more."""
    once, other = complete_job(ml50), complete_job(with_zabbix(ml50, heartbeat=None))
    assert once["spec"] != other["spec"]
    assert once["metadata"]["name"] != other["metadata"]["name"]
    assert complete_job(with_zabbix(ml50))["metadata"]["name"] == once["metadata"]["name"]


def test_the_jobs_are_made_again_at_every_sync(ml50: Cluster) -> None:
    again = {name.partition("-")[2]: one for name, one in annotations_of(ml50, "Job").items()}
    for name in ("password", "configure"):
        assert again[name]["argocd.argoproj.io/hook"] == "Sync"
        assert again[name]["argocd.argoproj.io/hook-delete-policy"] == "BeforeHookCreation"
    complete = complete_job(ml50)["metadata"]["name"].partition("-")[2]
    assert again[complete]["argocd.argoproj.io/sync-options"] == "Force=true,Replace=true"
    assert again.keys() == {"password", "configure", complete}


def annotations_of(cluster: Cluster, kind: str) -> dict[str, dict[str, str]]:
    return {one["metadata"]["name"]: one["metadata"]["annotations"] for one in of_kind(cluster, kind)}


def test_the_script_s_folders_are_not_inside_each_other(ml50: Cluster) -> None:
    (container,) = pods(ml50)["zabbix-configure"]["containers"]
    paths = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert not [one for one in paths for other in paths if one.startswith(f"{other}/")]
    assert container["command"][-1] == "/etc/zabbix-configure/script/configure.py"


def test_images_carry_a_version(ml50: Cluster) -> None:
    for spec in pods(ml50).values():
        for container in spec["containers"]:
            tag = container["image"].rpartition(":")[2]
            assert tag[0].isdigit() or tag.startswith("ubuntu-7.0."), container["image"]


def test_objects_survive_yaml(ml50: Cluster) -> None:
    for one in everything(ml50):
        assert yaml.load(yaml.safe_dump(one), yaml.CSafeLoader) == one


def test_restarts_of_teams_pods_are_no_matter_of_the_clusters(ml50: Cluster) -> None:
    macros = {one["macro"]: one["value"] for one in services(ml50)["macros"]}
    assert macros[LEFT_OUT].split(",metadata.namespace!=")[1:] == [team.name for team in ml50.teams]


def test_a_macro_is_never_longer_than_zabbix_takes() -> None:
    value = without(f"a-team-with-a-long-name-{number:03}" for number in range(200))
    assert LONGEST_MACRO - 60 < len(value) <= LONGEST_MACRO
    assert value.endswith(f"!=a-team-with-a-long-name-{value.count('!=') - 1:03}")
