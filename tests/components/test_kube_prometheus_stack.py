"""Prometheus and its neighbours: kept, found, and with no password in Git."""

import json
import re
from typing import Any

import pytest
from machineplayed import by_timer
from msgspec import structs
from reference import without_backups, without_operations
from validation.schemas import problems

from generator.components.component import Component
from generator.components.kube_prometheus_stack import DEFINITION as KUBE_PROMETHEUS_STACK
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.prometheus_crds import DEFINITION as PROMETHEUS_CRDS
from generator.components.prometheus_crds import prometheus_crds
from generator.model.cluster import Cluster
from generator.model.monitoring import IdleGpus, Prometheus, Zabbix
from generator.model.quantity import Quantity


def with_prometheus(cluster: Cluster, zabbix: Zabbix | None = None, **changes: Any) -> Cluster:
    monitoring = structs.replace(cluster.monitoring, prometheus=Prometheus(**changes), zabbix=zabbix)
    return structs.replace(cluster, monitoring=monitoring)


def installed(cluster: Cluster) -> Component:
    return kube_prometheus_stack(cluster)


def values(cluster: Cluster) -> dict[str, Any]:
    (release,) = installed(cluster).releases
    return release.values


def test_it_is_there_only_where_it_is_asked_for(ml50: Cluster, a30: Cluster) -> None:
    assert not KUBE_PROMETHEUS_STACK.wanted(ml50)
    assert not PROMETHEUS_CRDS.wanted(ml50)
    assert installed(a30).needs[0] == "prometheus-crds"
    kinds = prometheus_crds(a30)
    assert kinds.needs == ()
    assert values(a30)["crds"]["enabled"] is False


def test_no_hook_is_left(a30: Cluster) -> None:
    webhooks = values(a30)["prometheusOperator"]["admissionWebhooks"]
    assert webhooks["patch"]["enabled"] is False
    assert webhooks["certManager"]["enabled"] is True
    assert values(a30)["grafana"]["testFramework"]["enabled"] is False


def test_no_secret_stands_in_the_values(ml50: Cluster) -> None:
    component = installed(with_prometheus(ml50, host="grafana.example.org"))
    (release,) = component.releases
    assert "adminPassword" not in json.dumps(release.values)
    declared = {secret.name: secret for secret in component.secrets}
    admin = release.values["grafana"]["admin"]
    assert {admin["userKey"], admin["passwordKey"]} == set(declared[admin["existingSecret"]].keys)
    spec = release.values["alertmanager"]["alertmanagerSpec"]
    assert spec["useExistingSecret"] is True
    assert declared[spec["configSecret"]].keys == ("alertmanager.yaml",)
    assert release.values["grafana"]["ingress"]["tls"][0]["secretName"] in declared
    assert f"{release.name}-admission" in declared


def test_grafana_reads_no_secret_but_its_own(a30: Cluster) -> None:
    component = installed(a30)
    (role,) = [manifest for manifest in component.base if manifest["kind"] == "ClusterRole"]
    assert [rule["resources"] for rule in role["rules"]] == [["configmaps"]]
    grafana = values(a30)["grafana"]
    assert grafana["rbac"] == {"useExistingClusterRole": role["metadata"]["name"]}
    sidecars = [grafana["sidecar"][kind] for kind in ("dashboards", "datasources")]
    assert {one["resource"] for one in sidecars} == {"configmap"}
    assert {one["searchNamespace"] for one in sidecars} == {"monitoring"}, "the chart's own is ALL: teams' as well"


def test_a_cluster_that_its_jobs_fill_is_no_alert(a30: Cluster) -> None:
    left_out = {"KubeCPUOvercommit": True, "KubeMemoryOvercommit": True}
    assert a30.teams
    assert values(a30)["defaultRules"] == {"disabled": left_out}
    assert "defaultRules" not in values(structs.replace(a30, teams=()))


def test_it_takes_the_monitors_of_every_component(a30: Cluster) -> None:
    spec = values(a30)["prometheus"]["prometheusSpec"]
    selectors = {key for key, value in spec.items() if key.endswith("NilUsesHelmValues") and value is False}
    assert {"serviceMonitorSelectorNilUsesHelmValues", "podMonitorSelectorNilUsesHelmValues"} <= selectors
    assert "ruleSelectorNilUsesHelmValues" in selectors


def test_samples_go_before_the_volume_is_full(ml50: Cluster) -> None:
    cluster = with_prometheus(ml50, storage=Quantity.parse("200Gi"), storage_class="rbd-nvme", retention="30d")
    spec = values(cluster)["prometheus"]["prometheusSpec"]
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("rbd-nvme", "200Gi")
    assert spec["retention"] == "30d"
    assert 0.8 * 200 * 1024 < int(spec["retentionSize"].removesuffix("MiB")) < 0.9 * 200 * 1024


def test_the_default_class_is_taken_where_ceph_has_one_and_waited_for(ml50: Cluster, a30: Cluster) -> None:
    cluster = with_prometheus(ml50)
    spec = values(cluster)["prometheus"]["prometheusSpec"]
    assert "storageClassName" not in spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    assert "storage" in values(cluster)["alertmanager"]["alertmanagerSpec"]
    assert installed(cluster).storage_classes == (None,)
    # No class at all: a claim would wait for ever.
    assert a30.monitoring.prometheus
    bare = structs.replace(a30.monitoring.prometheus, storage_class=None)
    without = structs.replace(a30, monitoring=structs.replace(a30.monitoring, prometheus=bare))
    assert "storageSpec" not in values(without)["prometheus"]["prometheusSpec"]
    assert installed(without).storage_classes == ()


def test_machines_that_wait_are_told_where_their_timers_tell(a30: Cluster) -> None:
    def alerts(cluster: Cluster) -> set[str]:
        made = [one for one in installed(cluster).objects if one["metadata"]["name"] == "machines"]
        return {one["alert"] for each in made for one in each["spec"]["groups"][0]["rules"]}

    assert alerts(a30) == set()
    assert alerts(by_timer(a30)) == {"MachineWaitsForReboot", "CertificatesEndSoon"}


def test_alerts_belong_to_one_side(ml50: Cluster) -> None:
    both = with_prometheus(ml50, zabbix=ml50.monitoring.zabbix)
    assert values(both)["alertmanager"] == {"enabled": False}
    assert "alertmanager-config" not in {secret.name for secret in installed(both).secrets}
    assert values(with_prometheus(ml50))["alertmanager"]["enabled"] is True


def test_the_control_plane_is_found_without_endpoints_which_argo_cd_leaves_out(a30: Cluster) -> None:
    for part in ("kubeControllerManager", "kubeScheduler", "kubeEtcd"):
        assert values(a30)[part] == {"enabled": True, "endpoints": []}


def test_only_the_node_exporter_is_privileged_and_runs_on_every_node(a30: Cluster) -> None:
    levels = {namespace.name: namespace.security for namespace in installed(a30).namespaces}
    exporter = values(a30)["prometheus-node-exporter"]
    assert levels == {"monitoring": "baseline", exporter["namespaceOverride"]: "privileged"}
    assert exporter["tolerations"] == [{"operator": "Exists"}]


def test_grafana_is_reached_by_its_name(ml50: Cluster) -> None:
    grafana = values(with_prometheus(ml50, host="grafana.example.org"))["grafana"]
    assert grafana["ingress"]["hosts"] == ["grafana.example.org"]
    assert grafana["grafana.ini"]["server"]["root_url"] == "https://grafana.example.org"
    assert "ingress" not in values(with_prometheus(ml50))["grafana"]


def test_more_nodes_get_more_memory(ml50: Cluster, a30: Cluster) -> None:
    def memory(cluster: Cluster) -> int:
        requests = values(cluster)["prometheus"]["prometheusSpec"]["resources"]["requests"]
        return Quantity.parse(requests["memory"]).value

    assert memory(with_prometheus(ml50)) > memory(a30)


def test_workflows_are_watched_where_there_are_any(ml50: Cluster, a30: Cluster) -> None:
    without = installed(without_operations(a30)).objects
    assert [item["metadata"]["name"] for item in without if item["kind"] == "ServiceMonitor"] == [
        "argo-cd",
        "cert-manager",
    ]
    assert [item["metadata"]["name"] for item in installed(a30).objects if item["kind"] == "PodMonitor"] == [
        "team-services",
    ]  # fmt: skip
    objects = installed(with_prometheus(ml50)).objects
    assert [item["metadata"]["name"] for item in objects if item["kind"] == "ServiceMonitor"] == [
        "argo-cd", "cert-manager", "argo-workflows",
    ]  # fmt: skip
    judged = [item for item in objects if item["kind"] != "CiliumNetworkPolicy"]
    assert [problems(item) for item in judged if problems(item)] == []


def test_every_backup_that_runs_is_missed_where_nobody_else_does(ml50: Cluster) -> None:
    nightly, other = ml50.ceph_backups
    weekly = structs.replace(other, name="weekly", schedule="0 3 * * 0")
    resting = structs.replace(other, name="resting", suspended=True)
    cluster = structs.replace(without_backups(ml50), backups=(nightly, weekly, resting))
    alone = installed(with_prometheus(cluster)).objects
    (rule,) = [one for one in alone if one["metadata"]["name"] == "backups"]
    assert problems(rule) == []
    (group,) = rule["spec"]["groups"]
    waits = {one["expr"]: one["for"] for one in group["rules"] if "for" in one}
    metric = "argo_workflows_backup_last_success_seconds"
    tried = "argo_workflows_drill_last_success_seconds"
    assert waits == {
        f'absent({tried}{{backup="datasets"}})': f"{14 * 86400}s",
        f'absent({tried}{{backup="weekly"}})': f"{14 * 86400}s",
        f'absent({metric}{{backup="datasets"}})': f"{2 * 86400}s",
        f'absent({metric}{{backup="weekly"}})': f"{14 * 86400}s",
    }
    for beside in (
        with_prometheus(cluster, zabbix=ml50.monitoring.zabbix),
        with_prometheus(structs.replace(cluster, backups=(resting,))),
    ):
        assert "backups" not in {one["metadata"]["name"] for one in installed(beside).objects}


def use_rules(cluster: Cluster) -> dict[str, str]:
    """Return the expressions of the rules on the use of GPUs, by what they record or alert of."""
    found = [one for one in installed(cluster).objects if one["metadata"]["name"] == "gpu-use"]
    assert [problems(one) for one in found] == [[]] * len(found)
    every = [rule for one in found for group in one["spec"]["groups"] for rule in group["rules"]]
    return {rule.get("record") or rule["alert"]: rule["expr"] for rule in every}


def test_a_gpu_that_is_held_idle_is_told_by_one_side(ml50: Cluster) -> None:
    idle = IdleGpus(percent=20, after_hours=12)
    alone = use_rules(with_prometheus(ml50, idle_gpus=idle))
    assert "[12h]) <= 0.2)" in alone["GPUsHeldIdle"]
    assert "[1h]) <= 0.2)" in alone["pod:gpus_idle:sum"]
    beside = use_rules(with_prometheus(ml50, zabbix=ml50.monitoring.zabbix, idle_gpus=idle))
    assert alone.keys() - beside.keys() == {"GPUsHeldIdle"}


def test_no_use_is_recorded_where_there_are_no_gpus(ml50: Cluster) -> None:
    bare = structs.replace(ml50, machines=tuple(machine for machine in ml50.machines if not machine.gpus))
    names = {one["metadata"]["name"] for one in installed(with_prometheus(bare)).objects}
    assert not names & {"gpu-use", "use-by-team"}
    assert "namespace:gpus_quota:sum" not in use_rules(structs.replace(with_prometheus(ml50), teams=()))


def test_grafana_finds_the_dashboards(ml50: Cluster) -> None:
    made = [one for one in installed(with_prometheus(ml50)).objects if one["kind"] == "ConfigMap"]
    assert len({file for found in made for file in found["data"]}) == len(made) > 1
    for found in made:
        # The chart's values: grafana.sidecar.dashboards.label and labelValue.
        assert found["metadata"]["labels"] == {"grafana_dashboard": "1"}
        assert found["metadata"]["namespace"] == "monitoring"
        (text,) = found["data"].values()
        model = json.loads(text)
        assert len({panel["id"] for panel in model["panels"]}) == len(model["panels"])
        assert {panel["datasource"]["uid"] for panel in model["panels"]} == {"${datasource}"}


@pytest.mark.parametrize(
    "name", ["DCGM_FI_PROF_GR_ENGINE_ACTIVE", "kueue_cluster_queue_nominal_quota", "pod:gpus_idle:sum"]
)
def test_a_team_s_pod_tells_nothing_by_which_others_are_judged(ml50: Cluster, name: str) -> None:
    objects = installed(with_prometheus(ml50)).objects
    (found,) = [one for one in objects if one["metadata"]["name"] == "team-services"]
    (endpoint,) = found["spec"]["podMetricsEndpoints"]
    drop, labels = endpoint["metricRelabelings"]
    assert re.fullmatch(drop["regex"], name)
    assert not re.fullmatch(drop["regex"], "nv_inference_queue_duration_us")
    assert labels["action"] == "labeldrop"
    assert re.fullmatch(labels["regex"], "exported_namespace")
    assert endpoint["followRedirects"] is False
