"""Backups to a service elsewhere, also without MinIO: what pods are told, whose keys they have, whom they trust."""

from typing import Any

import pytest
from msgspec import structs

from generator.components import compose
from generator.components.component import Component, Manifest
from generator.components.etcd_backup import etcd_backup
from generator.components.kubeadm.etcd_snapshots import restore_files
from generator.components.workflows import workflows
from generator.components.workflows.targets import AUTHORITIES
from generator.components.zabbix_backup import zabbix_backup
from generator.model.backup import AnyBackup, CopyTarget
from generator.model.cluster import Cluster
from generator.model.site import Proxy
from generator.model.storage import Elsewhere

URL = "https://s3.other.example.org:9000"
CA = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


def moved(cluster: Cluster, **place: Any) -> Cluster:
    """Return the cluster with all its backups elsewhere, and without MinIO."""
    offsite = Elsewhere(name="offsite", url=URL, **place)
    storage = structs.replace(cluster.storage, objects=None, elsewhere=(offsite,))
    etcd, zabbix = cluster.kubernetes.etcd, cluster.monitoring.zabbix
    assert etcd.backup
    assert zabbix
    assert zabbix.backup
    return structs.replace(
        cluster,
        storage=storage,
        backups=tuple(map(away, cluster.backups)),
        kubernetes=structs.replace(cluster.kubernetes, etcd=structs.replace(etcd, backup=away(etcd.backup))),
        monitoring=structs.replace(cluster.monitoring, zabbix=structs.replace(zabbix, backup=away(zabbix.backup))),
        volume_backups=(),
    )


def away(item: AnyBackup) -> Any:
    return structs.replace(item, target=CopyTarget(bucket=item.target.bucket, at="offsite"))


def named(component: Component, name: str) -> Manifest:
    (found,) = [one for one in component.objects if one["metadata"]["name"] == name]
    return found


def told(manifest: Manifest) -> dict[str, str]:
    spec = manifest["spec"].get("workflowSpec", manifest["spec"])
    return {one["name"]: one.get("value", "") for one in spec["arguments"]["parameters"]}


def test_a_cluster_without_minio_has_all_its_backups(ml50: Cluster) -> None:
    made = {one.name: one for one in compose(moved(ml50))}
    assert made.keys() >= {"workflows", "etcd-backup", "zabbix-backup", "argo-workflows"}
    assert "minio" not in made
    assert not any("minio" in one.needs for one in made.values())


def test_the_address_is_told_to_backup_drill_and_restore(ml50: Cluster) -> None:
    made = workflows(moved(ml50, region="eu-1"))
    for name, at in (("backup-datasets", "target"), ("drill-datasets", "backup"), ("restore-datasets", "backup")):
        given = told(named(made, name))
        assert (given[f"{at}-url"], given[f"{at}-bucket"], given["region"]) == (URL, "datasets-backup", "eu-1")
        assert given[f"{at}-secret"] == "backup-target-datasets"
    assert told(named(made, "backup-datasets"))["place"] == "offsite"
    assert told(named(made, "drill-datasets"))["record-secret"] == "backup-target-datasets"


def test_snapshots_and_dumps_go_there_as_well(ml50: Cluster) -> None:
    cluster = moved(ml50)
    for made, name in ((etcd_backup(cluster), "backup-etcd"), (zabbix_backup(cluster), "zabbix-backup")):
        given = told(named(made, name))
        assert (given["target-url"], given["place"]) == (URL, "offsite")
        assert given["target-secret"] == f"backup-target-{given['name']}"


def test_each_backup_has_keys_of_its_own_that_the_service_gives(ml50: Cluster) -> None:
    cluster = moved(ml50)
    for component in (workflows(cluster), etcd_backup(cluster), zabbix_backup(cluster)):
        given = {one.name: one for one in component.secrets if one.source == "given"}
        names = {told(one).get("target-secret") for one in component.objects if "arguments" in str(one)} - {None}
        assert given.keys() == names
        assert {one.keys for one in given.values()} == {("accessKey", "secretKey")}


@pytest.mark.parametrize("own", [None, CA])
def test_who_signed_is_trusted_the_services_own_first(ml50: Cluster, own: str | None) -> None:
    site = "the site's"
    cluster = moved(structs.replace(ml50, site=structs.replace(ml50.site, ca=site)), ca=own)
    for component in (workflows(cluster), etcd_backup(cluster), zabbix_backup(cluster)):
        assert named(component, AUTHORITIES)["data"] == {"offsite.crt": own or site}


def test_a_service_that_any_system_trusts_needs_no_certificate(ml50: Cluster) -> None:
    assert ml50.site.ca is None
    assert AUTHORITIES not in {one["metadata"]["name"] for one in workflows(moved(ml50)).objects}


def test_the_way_outside_leads_through_the_sites_proxy(ml50: Cluster) -> None:
    proxy = Proxy(http="http://proxy.example.org:3128", no_proxy=("s3.example.org",))
    cluster = moved(structs.replace(ml50, site=structs.replace(ml50.site, proxy=proxy)))
    given = told(named(workflows(cluster), "backup-datasets"))
    assert given["https-proxy"] == "http://proxy.example.org:3128"
    assert {".svc", "s3.example.org"} <= {*given["no-proxy"].split(",")}


def test_the_way_back_of_etcd_names_the_service(ml50: Cluster) -> None:
    (page,) = [str(text) for place, text in restore_files(moved(ml50)).items() if str(place).endswith("README.md")]
    assert f"Or from {URL}" in page
    assert "mc cp offsite/etcd-backup/etcd/snapshot.db.age" in page
    assert "MinIO" not in page
