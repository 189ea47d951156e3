"""Backups of volumes to a service elsewhere, also without MinIO: keys, whom is trusted, the way there."""

from typing import Any

import pytest
from msgspec import structs
from reference import load
from test_elsewhere import CA, URL
from test_volsync import of_kind
from validation.schemas import refused
from volumebackups import HOME as BACKUP

from generator.components import compose
from generator.components.component import Component, Manifest
from generator.components.kubeadm.recovery_data import first_backups, lines
from generator.components.volsync.names import AUTHORITIES
from generator.components.volsync.restoring import comparison, destination
from generator.model.backup import CopyTarget
from generator.model.cluster import Cluster
from generator.model.site import Proxy
from generator.model.storage import Elsewhere

AWAY = structs.replace(BACKUP, target=CopyTarget(bucket="volumes", at="offsite"))
NAME = "volume-backup-vision-home.offsite"
AT = "2026-11-20T00:00:00Z"
PROXY = Proxy(http="http://proxy.example.org:3128", no_proxy=("s3.example.org",))


def away(*, site: Any = None, **place: Any) -> Cluster:
    """Return a cluster without MinIO whose volume is backed up elsewhere."""
    ml50 = load("ml50")
    offsite = Elsewhere(name="offsite", url=URL, **place)
    storage = structs.replace(ml50.storage, objects=None, elsewhere=(offsite,))
    return structs.replace(
        ml50, storage=storage, backups=(), volume_backups=(AWAY,), site=structs.replace(ml50.site, **(site or {}))
    )


def made(cluster: Cluster) -> dict[str, Component]:
    return {one.name: one for one in compose(cluster)}


def source_of(found: dict[str, Component]) -> Manifest:
    (source,) = of_kind(found["tenants"], "ReplicationSource")
    return source


def named(component: Component, name: str) -> list[Manifest]:
    return [one for one in component.objects if one["metadata"]["name"] == name]


def told(component: Component) -> dict[str, str]:
    (drill,) = of_kind(component, "CronWorkflow")
    return {one["name"]: one["value"] for one in drill["spec"]["workflowSpec"]["arguments"]["parameters"]}


def test_a_cluster_without_minio_backs_its_volumes_up() -> None:
    found = made(away())
    assert "minio" not in found
    assert {"volsync", "argo-workflows"} <= found.keys()
    assert "minio" not in found["volsync"].needs
    source = source_of(found)
    assert source["spec"]["restic"]["repository"] == NAME
    assert not refused(source, ("volsync/v0.16.0",))


def test_a_bucket_elsewhere_makes_no_user_of_minio() -> None:
    minio = structs.replace(load("ml50"), volume_backups=(AWAY,))
    storage = structs.replace(minio.storage, elsewhere=away().storage.elsewhere)
    found = made(structs.replace(minio, storage=storage))
    (settings,) = [one for one in of_kind(found["minio"], "ConfigMap") if one["metadata"]["name"] == "minio-setup"]
    assert "volume." not in settings["data"]["users"]
    assert not [one for one in found["minio"].secrets if one.name.startswith("minio-volume")]


def test_a_person_gives_the_keys_and_chance_the_password() -> None:
    found = made(away(region="eu-1"))
    declared = {one.full_name: one for each in found.values() for one in each.secrets}
    origin = declared["volsync-system/backup-target-vision-home"]
    assert (origin.loss, origin.copy_of) == ("data", None)
    assert [key for key in origin.keys if origin.by_person(key)] == ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
    for namespace in ("vision", "volsync-system"):
        copy = declared[f"{namespace}/{NAME}"]
        assert copy.copy_of == origin.full_name
        assert {*origin.keys} < {*copy.keys}
        assert copy.known == {
            "RESTIC_REPOSITORY": f"s3:{URL}/volumes/vision/vision-home",
            "AWS_DEFAULT_REGION": "eu-1",
        }


@pytest.mark.parametrize("own", [None, CA])
def test_who_signed_is_trusted_the_services_own_first(own: str | None) -> None:
    cluster = away(ca=own, site={"ca": "the site's"})
    found = made(cluster)
    restic = source_of(found)["spec"]["restic"]
    assert restic["customCA"] == {"configMapName": AUTHORITIES, "key": "offsite.crt"}
    assert not refused(source_of(found), ("volsync/v0.16.0",))
    for component, name in (("tenants", AUTHORITIES), ("volsync", "elsewhere-ca")):
        (known,) = named(found[component], name)
        assert known["data"] == {"offsite.crt": own or "the site's"}
    assert told(found["volsync"])["ca"] == "/elsewhere/offsite.crt"
    (volume,) = [one for one in compared(cluster)["volumes"] if one["name"] == "ca"]
    assert volume["configMap"]["name"] == AUTHORITIES


def test_a_service_that_any_system_trusts_needs_no_certificate() -> None:
    cluster = away()
    found = made(cluster)
    assert "customCA" not in source_of(found)["spec"]["restic"]
    assert not named(found["tenants"], AUTHORITIES)
    assert not of_kind(found["tenants"], "Certificate")
    assert told(found["volsync"])["ca"] == ""
    assert "ca" not in {one["name"] for one in compared(cluster)["volumes"]}


def compared(cluster: Cluster) -> Manifest:
    """Return the pod that compares a claim with its backup."""
    held = {"metadata": {"name": "home-restored", "uid": "u"}}
    pod: Manifest = comparison(cluster, AWAY, held, AT)["spec"]["template"]["spec"]
    return pod


def test_the_way_outside_leads_through_the_sites_proxy() -> None:
    cluster = away(site={"proxy": PROXY}, region="eu-1")
    found = made(cluster)
    (patch,) = [one for one in found["volsync"].patches if one.target["kind"] == "Deployment"]
    assert "namespace" not in patch.target, "the chart's Deployment says none"
    said = {one["value"]["name"]: one["value"]["value"] for one in patch.operations}
    assert said["HTTPS_PROXY"] == "http://proxy.example.org:3128"
    assert {".svc", "s3.example.org"} <= {*said["NO_PROXY"].split(",")}
    given = told(found["volsync"])
    assert (given["https-proxy"], given["no-proxy"]) == (said["HTTPS_PROXY"], said["NO_PROXY"])
    env = {one["name"]: one.get("value") for one in compared(cluster)["containers"][0]["env"]}
    assert env["HTTPS_PROXY"] == said["HTTPS_PROXY"]
    assert "AWS_DEFAULT_REGION" in env


def test_volsync_is_told_of_no_proxy_where_all_stays_inside() -> None:
    ml50 = load("ml50")
    inside = structs.replace(ml50, volume_backups=(BACKUP,), site=structs.replace(ml50.site, proxy=PROXY))
    assert not [one for one in made(inside)["volsync"].patches if one.target["kind"] == "Deployment"]


def test_the_way_back_reads_the_same_repository() -> None:
    asked = destination(away(ca=CA), AWAY, "home-restored", AT)
    assert asked["spec"]["restic"]["repository"] == NAME
    assert asked["spec"]["restic"]["customCA"]["configMapName"] == AUTHORITIES


def test_a_lost_site_finds_its_volumes_elsewhere() -> None:
    inside = structs.replace(load("ml50"), volume_backups=(BACKUP,))
    (line,) = [one for one in str(lines(inside)).splitlines() if "vision-home" in one]
    assert "not in case D" in line
    assert "the drill of a claim finds nothing" in str(first_backups(inside))
    (line,) = [one for one in str(lines(away())).splitlines() if "vision-home" in one]
    assert "not in case D" not in line
    assert "the drill of a claim" not in str(first_backups(away()))
