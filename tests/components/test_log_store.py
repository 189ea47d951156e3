"""Loki: in a bucket of its own, reached by those it is for alone, and as many as the logs need."""

import json
import re
from typing import Any

import pytest
import yaml
from msgspec import structs
from reference import load, without_backups
from validation.schemas import problems

from generator.components import compose
from generator.components.ceph_cluster import ceph_cluster
from generator.components.ceph_cluster.log_bucket import log_bucket
from generator.components.component import Component
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.log_store import DEFINITION, log_store
from generator.components.rook_ceph import claim_fields
from generator.model.cluster import Cluster
from generator.model.log_room import kept, lokis
from generator.model.monitoring import Logs
from generator.model.quantity import Quantity
from generator.model.storage import Bucket, ObjectUser


@pytest.fixture(scope="session")
def serving() -> Cluster:
    return load("gpu-serving")


def with_logs(cluster: Cluster, **settings: Any) -> Cluster:
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, logs=Logs(**settings)))


def in_minio(cluster: Cluster, **settings: Any) -> Cluster:
    """Return the cluster with a bucket for logs in MinIO, and who may write there."""
    objects = cluster.storage.objects
    assert objects
    bucket = Bucket(name="logs", versioning=False, quota=Quantity.parse("2T"))
    user = ObjectUser(name="loki", buckets=("logs",), access="write")
    reader = ObjectUser(name="auditor", buckets=("logs",))
    objects = structs.replace(objects, buckets=(*objects.buckets, bucket), users=(reader, user, *objects.users))
    return with_logs(structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects)), **settings)


def objects(component: Component) -> list[dict[str, Any]]:
    return [*component.base, *component.objects]


def one(component: Component, kind: str, name: str) -> Any:
    (found,) = [each for each in objects(component) if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def environment(component: Component) -> dict[str, Any]:
    (container,) = one(component, "StatefulSet", "loki")["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_it_is_there_only_where_logs_are_kept_in_the_cluster(ml50: Cluster, a30: Cluster, serving: Cluster) -> None:
    assert DEFINITION.wanted(serving)
    assert ml50.monitoring.logs
    assert not DEFINITION.wanted(ml50)
    assert not DEFINITION.wanted(a30)


def test_the_api_server_takes_every_object(ml50: Cluster, serving: Cluster) -> None:
    for cluster in (serving, in_minio(ml50)):
        for manifest in (*objects(log_store(cluster)), *log_bucket(cluster)):
            assert problems(manifest) == [], manifest["metadata"]["name"]


def test_the_bucket_in_ceph_is_owned_by_the_user_whose_keys_loki_has(serving: Cluster) -> None:
    component, ceph = log_store(serving), ceph_cluster(serving)
    user = one(ceph, "CephObjectStoreUser", "log-store-keys")
    claim = one(ceph, "ObjectBucketClaim", "log-store-logs")
    assert claim["spec"]["additionalConfig"]["bucketOwner"] == user["metadata"]["name"]
    assert "bucketOwner" in claim_fields(serving)
    (key,) = user["spec"]["keys"]
    declared = {(each.namespace, each.name): each for each in (*component.secrets, *ceph.secrets)}
    for reference in key.values():
        assert reference["key"] in declared["rook-ceph", reference["name"]].keys
        assert reference["key"] in declared["log-store", reference["name"]].keys
    assert declared["rook-ceph", "log-store-keys"].copy_of == "log-store/log-store-keys"
    assert user["spec"]["quotas"] == {"maxBuckets": 1, "maxSize": "1Ti"}
    assert environment(component)["AWS_ACCESS_KEY_ID"]["secretKeyRef"] == {"name": "log-store-keys", "key": "accessKey"}
    assert environment(component)["STORE"] == "https://rook-ceph-rgw-store.rook-ceph.svc:8443"


def test_claims_may_name_an_owner_only_where_logs_need_it(ml50: Cluster, serving: Cluster) -> None:
    assert "bucketOwner" not in claim_fields(ml50)
    without = structs.replace(without_backups(serving), monitoring=structs.replace(serving.monitoring, logs=None))
    assert list(claim_fields(without)) == ["maxObjects", "maxSize"]


def test_in_minio_it_has_the_keys_of_who_may_write_and_delete(ml50: Cluster) -> None:
    component = log_store(in_minio(ml50))
    assert "minio" in component.needs
    (keys,) = [each for each in component.secrets if each.name.startswith("minio-user")]
    assert (keys.name, keys.namespace, keys.copy_of) == ("minio-user-loki", "log-store", "minio/minio-user-loki")
    assert environment(component)["AWS_SECRET_ACCESS_KEY"]["secretKeyRef"]["name"] == "minio-user-loki"
    assert "log-store" not in json.dumps(ceph_cluster(in_minio(ml50)).objects)


def test_nobody_reaches_it_but_collectors_grafana_and_prometheus(serving: Cluster) -> None:
    rules = one(log_store(serving), "NetworkPolicy", "loki")["spec"]
    assert rules["podSelector"] == {}
    assert rules["policyTypes"] == ["Ingress", "Egress"]
    pushed, members = rules["ingress"]
    assert [port["port"] for port in pushed["ports"]] == [3100]
    who = [
        (
            each["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"],
            each["podSelector"]["matchLabels"]["app.kubernetes.io/name"],
        )
        for each in pushed["from"]
    ]
    assert who == [("log-collector", "alloy"), ("monitoring", "grafana"), ("monitoring", "prometheus")]
    assert members["from"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "loki"}}}]


def test_without_prometheus_nothing_of_its_namespace_comes_in(ml50: Cluster) -> None:
    component = log_store(in_minio(ml50))
    assert "monitoring" not in json.dumps(one(component, "NetworkPolicy", "loki"))
    assert not [each for each in objects(component) if each["apiVersion"].startswith("monitoring.coreos.com")]


def test_each_team_is_a_tenant_that_grafana_asks_for(serving: Cluster) -> None:
    source = one(log_store(serving), "ConfigMap", "loki-data-source")["data"]["loki.yaml"]
    (found,) = yaml.load(source, yaml.CSafeLoader)["datasources"]
    assert found["secureJsonData"]["httpHeaderValue1"] == "platform|speech|robotics|assistant|search"


def test_the_dashboard_on_use_leads_to_the_logs(serving: Cluster) -> None:
    logs = json.loads(one(log_store(serving), "ConfigMap", "logs")["data"]["logs.json"])
    stack = kube_prometheus_stack(serving)
    use = json.loads(one(stack, "ConfigMap", "use-by-team")["data"]["use-by-team.json"])
    (link,) = use["links"]
    assert set(link["tags"]) <= set(logs["tags"])
    source = yaml.load(one(log_store(serving), "ConfigMap", "loki-data-source")["data"]["loki.yaml"], yaml.CSafeLoader)
    assert {panel["datasource"]["uid"] for panel in logs["panels"]} == {source["datasources"][0]["uid"]}


@pytest.mark.parametrize(("daily", "expected"), [("1Mi", 3), ("952M", 3), ("953M", 4), ("1Gi", 4), ("5Gi", 17)])
def test_there_are_as_many_as_take_three_copies_of_all(serving: Cluster, daily: str, expected: int) -> None:
    """21 nodes; each of them takes 20 GB a day: three take all three copies of 20 GB, 952 MB a node."""
    logs = Logs(store="store", daily_per_node=Quantity.parse(daily))
    assert lokis(serving, logs) == expected


def test_one_is_enough_where_one_node_is_all_the_control_plane(a30: Cluster) -> None:
    logs = Logs(daily_per_node=Quantity.parse("1Gi"), keep_days=10)
    assert lokis(a30, logs) == 1
    assert kept(a30, logs) == len(a30.machines) * 2**30 * 10 // 5


def test_what_is_not_in_the_bucket_yet_outlives_pods_and_argo_cd(serving: Cluster) -> None:
    servers = one(log_store(serving), "StatefulSet", "loki")
    assert servers["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert "Delete=false" in servers["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    (claim,) = servers["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "rbd-nvme"


def test_every_variable_of_its_settings_is_given(serving: Cluster) -> None:
    component = log_store(serving)
    text = one(component, "ConfigMap", "loki")["data"]["config.yaml"]
    assert set(re.findall(r"\$\{(\w+)\}", text)) <= environment(component).keys()
    assert environment(component)["KEPT_HOURS"] == "720"


def test_with_zabbix_it_alerts_nobody(ml50: Cluster, serving: Cluster) -> None:
    zabbix = structs.replace(serving.monitoring, zabbix=ml50.monitoring.zabbix)
    kinds = {each["kind"] for each in objects(log_store(structs.replace(serving, monitoring=zabbix)))}
    assert "PrometheusRule" not in kinds
    assert "PrometheusRule" in {each["kind"] for each in objects(log_store(serving))}


def test_it_comes_after_what_makes_its_bucket_and_before_who_fills_it(serving: Cluster) -> None:
    made = {each.name: each for each in compose(serving)}
    assert {"issuers", "ceph-cluster", "prometheus-crds"} <= set(made["log-store"].needs)
    assert "log-store" in made["log-collector"].needs
