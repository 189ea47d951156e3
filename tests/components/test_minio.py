import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from reference import with_hardware
from validation.schemas import problems

from generator.components.component import Component
from generator.components.minio import DEFINITION as MINIO
from generator.components.minio import backed_up, minio
from generator.components.minio.metrics import USER as METRICS
from generator.components.minio.metrics import token
from generator.components.minio.user_keys import FORMER
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus
from generator.model.nodes import Disk
from generator.model.quantity import Quantity
from generator.model.text import Taint


def made(cluster: Cluster) -> Component:
    return minio(cluster)


def with_objects(cluster: Cluster, **changes: Any) -> Cluster:
    objects = cluster.storage.objects
    assert objects
    changed = structs.replace(objects, **changes)
    return structs.replace(cluster, storage=structs.replace(cluster.storage, objects=changed))


def with_drives(cluster: Cluster, *counts: int) -> Cluster:
    """Give the NAS nodes this many drives each; nodes without a count lose their pool."""
    left = list(counts)
    machines = []
    for machine in cluster.machines:
        if machine.pool == "nas":
            if not left:
                continue
            disk = structs.replace(machine.hardware.disks[0], count=left.pop(0))
            machine = with_hardware(machine, disks=(disk,))  # noqa: PLW2901
        machines.append(machine)
    return structs.replace(cluster, machines=tuple(machines))


def monitored(cluster: Cluster) -> Cluster:
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, prometheus=Prometheus()))


def of_kind(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    component = made(cluster)
    return [manifest for manifest in (*component.base, *component.objects) if manifest["kind"] == kind]


def server(cluster: Cluster) -> dict[str, Any]:
    (found,) = of_kind(cluster, "StatefulSet")
    return dict(found["spec"])


def container(cluster: Cluster) -> dict[str, Any]:
    (found,) = server(cluster)["template"]["spec"]["containers"]
    return dict(found)


def environment(cluster: Cluster) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in container(cluster)["env"]}


@pytest.mark.parametrize(
    "change",
    [
        lambda cluster: cluster,
        monitored,
        lambda cluster: with_objects(cluster, encryption=True, users=(), buckets=(), host=None),
        lambda cluster: with_drives(cluster, 1, 1, 1, 1),
    ],
)
def test_objects_are_accepted(ml50: Cluster, change: Callable[[Cluster], Cluster]) -> None:
    component = made(change(ml50))
    found = {
        (manifest["kind"], manifest["metadata"]["name"]): problems(manifest)
        for manifest in (*component.base, *component.objects)
    }
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_only_where_a_layout_fits(a30: Cluster, ml50: Cluster) -> None:
    assert not MINIO.wanted(a30)
    assert not MINIO.wanted(with_objects(ml50, pool="system"))
    assert not MINIO.wanted(with_drives(ml50, 0, 0, 0, 0))
    # One drive is no set.
    assert not MINIO.wanted(with_drives(ml50, 1))


def test_base_is_the_same_on_every_cluster(ml50: Cluster) -> None:
    other = with_objects(monitored(with_drives(ml50, 2, 2, 2, 2)), encryption=True, users=(), buckets=())
    assert made(ml50).base == made(other).base


@pytest.mark.parametrize(
    ("drives", "set_size"),
    [(1, 4), (2, 8), (3, 12), (4, 16), (5, 4), (6, 12), (7, 4), (8, 16), (10, 8), (12, 16), (16, 16)],
)
def test_half_of_every_set_is_parity(ml50: Cluster, drives: int, set_size: int) -> None:
    cluster = with_drives(ml50, drives, drives, drives, drives)
    settings = environment(cluster)
    assert settings["MINIO_STORAGE_CLASS_STANDARD"] == settings["MINIO_STORAGE_CLASS_RRS"] == f"EC:{set_size // 2}"


@pytest.mark.parametrize(("drives", "pattern"), [(1, "/export-0"), (2, "/export-{0...1}"), (16, "/export-{0...15}")])
def test_endpoints_mounts_claims_and_volumes_agree(ml50: Cluster, drives: int, pattern: str) -> None:
    cluster = with_drives(ml50, drives, drives, drives, drives)
    spec = server(cluster)
    assert spec["replicas"] == 4
    assert container(cluster)["args"][1].endswith(f"//minio-{{0...3}}.minio-hl.minio.svc.cluster.local:9000{pattern}")
    claims = [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]]
    mounts = [one["name"] for one in container(cluster)["volumeMounts"] if one["name"].startswith("export")]
    assert claims == mounts == [f"export-{number}" for number in range(drives)]
    assert len(of_kind(cluster, "PersistentVolume")) == 4 * drives


def test_the_pattern_uses_the_clusters_domain_and_scheme(ml50: Cluster) -> None:
    cluster = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, dns_domain="corp.local"))
    endpoint = container(cluster)["args"][1]
    assert endpoint.startswith("https://")
    (certificate,) = of_kind(cluster, "Certificate")
    # What the servers call each other is in the certificate they show each other.
    assert "*.minio-hl.minio.svc.corp.local" in certificate["spec"]["dnsNames"]
    assert ".minio-hl.minio.svc.corp.local:9000/" in endpoint


def test_every_node_gives_as_many_drives_as_the_one_with_the_fewest(ml50: Cluster) -> None:
    cluster = with_drives(ml50, 4, 4, 3, 4)
    assert len(server(cluster)["volumeClaimTemplates"]) == 3
    assert len(of_kind(cluster, "PersistentVolume")) == 12


def test_volumes_stay_on_their_node_and_are_kept(ml50: Cluster) -> None:
    volumes = of_kind(ml50, "PersistentVolume")
    assert len(volumes) == 64
    places = set()
    for volume in volumes:
        spec = volume["spec"]
        assert spec["persistentVolumeReclaimPolicy"] == "Retain"
        (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
        places.add((term["matchExpressions"][0]["values"][0], spec["local"]["path"]))
    assert places == {(f"nas-{node}", f"/mnt/minio/drive-{drive}") for node in range(1, 5) for drive in range(16)}


def test_each_volume_is_kept_for_one_drive_of_one_server(ml50: Cluster) -> None:
    kept = {
        one["metadata"]["name"]: one["spec"]["claimRef"]
        for one in of_kind(with_drives(ml50, 2, 2, 2, 2), "PersistentVolume")
    }
    assert {(claim["apiVersion"], claim["kind"], claim["namespace"]) for claim in kept.values()} == {
        ("v1", "PersistentVolumeClaim", "minio")
    }
    assert {name: claim["name"] for name, claim in kept.items()} == {
        f"minio-nas-{node}-{drive}": f"export-{drive}-minio-{node - 1}" for node in range(1, 5) for drive in range(2)
    }
    # A volume that is bound is not changed from Git: a list in another order would tear claims from their drives.
    (ignored,) = made(ml50).ignore
    assert (ignored.kind, ignored.pointers) == ("PersistentVolume", ("/spec/claimRef",))


def grown(cluster: Cluster, drives: int = 16) -> Cluster:
    """Return the cluster with a second pool of four NAS nodes."""
    nas = cluster.in_pools("nas")
    disks = (structs.replace(nas[0].hardware.disks[0], count=drives, size=Quantity.parse("20T")),)
    more = tuple(
        structs.replace(with_hardware(machine, disks=disks), name=machine.name.replace("nas", "nas2"), pool="nas-2")
        for machine in nas
    )
    return with_objects(structs.replace(cluster, machines=(*cluster.machines, *more)), expansions=("nas-2",))


def test_a_second_pool_of_nodes_is_a_second_server_pool_of_the_same_minio(ml50: Cluster) -> None:
    cluster = grown(ml50)
    first, second = of_kind(cluster, "StatefulSet")
    assert [one["metadata"]["name"] for one in (first, second)] == ["minio", "minio-nas-2"]
    servers = [one["spec"]["template"]["spec"]["containers"][0]["args"][1:3] for one in (first, second)]
    domain = "minio-hl.minio.svc.cluster.local:9000"
    endpoints = [f"https://{name}-{{0...3}}.{domain}/export-{{0...15}}" for name in ("minio", "minio-nas-2")]
    assert servers == [endpoints, endpoints]
    # What is there already stays as it is, but for the list of servers.
    (alone,) = of_kind(ml50, "StatefulSet")
    args = first["spec"]["template"]["spec"]["containers"][0]["args"]
    args.remove(endpoints[1])
    assert first == alone
    sizes = [
        one["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] for one in (first, second)
    ]
    assert sizes == ["24T", "20T"]
    claims = [one["spec"]["claimRef"]["name"] for one in of_kind(cluster, "PersistentVolume")]
    assert len(set(claims)) == 128
    assert "export-15-minio-nas-2-3" in claims


def test_services_and_budget_select_all_server_pools_and_each_set_its_own(ml50: Cluster) -> None:
    cluster = grown(ml50)
    first, second = of_kind(cluster, "StatefulSet")
    own, others = (one["spec"]["template"]["metadata"]["labels"] for one in (second, first))
    assert second["spec"]["selector"]["matchLabels"] == own
    assert not own.items() <= others.items()
    for selected in (*of_kind(cluster, "Service"), *of_kind(cluster, "PodDisruptionBudget")):
        selector = selected["spec"]["selector"]
        assert selector.get("matchLabels", selector).items() <= own.items()


def test_pools_with_sets_of_two_sizes_are_no_layout(ml50: Cluster) -> None:
    # Parity is one number for all, and MinIO refuses more than half of a set.
    assert not MINIO.wanted(grown(ml50, drives=3))


def test_claims_fit_the_smallest_drive(ml50: Cluster) -> None:
    small = Disk(use="objects", size=Quantity.parse("20T"), path="x")
    machines = tuple(
        with_hardware(machine, disks=(*machine.hardware.disks, small)) if machine.name == "nas-2" else machine
        for machine in ml50.machines
    )
    cluster = structs.replace(ml50, machines=machines)
    (size,) = {claim["spec"]["resources"]["requests"]["storage"] for claim in server(cluster)["volumeClaimTemplates"]}
    assert size == "20T"


def test_drives_data_and_claims_are_protected(ml50: Cluster) -> None:
    for kind in ("PersistentVolume", "StatefulSet", "StorageClass"):
        for manifest in of_kind(ml50, kind):
            assert manifest["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
    assert set(server(ml50)["persistentVolumeClaimRetentionPolicy"].values()) == {"Retain"}
    (class_,) = of_kind(ml50, "StorageClass")
    assert class_["reclaimPolicy"] == "Retain"
    assert ml50.storage.scratch
    assert class_["metadata"]["name"] != ml50.storage.scratch.storage_class


def test_servers_start_together_and_find_each_other_before_they_are_ready(ml50: Cluster) -> None:
    spec = server(ml50)
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    (headless,) = (one for one in of_kind(ml50, "Service") if one["spec"].get("clusterIP") == "None")
    assert headless["metadata"]["name"] == spec["serviceName"]
    assert headless["spec"]["publishNotReadyAddresses"] is True


def test_services_and_budget_select_the_servers_and_not_the_setup(ml50: Cluster) -> None:
    (job,) = of_kind(ml50, "Job")
    labels, setup = server(ml50)["template"]["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]
    selectors = [one["spec"]["selector"] for one in of_kind(ml50, "Service")]
    selectors += [one["spec"]["selector"]["matchLabels"] for one in of_kind(ml50, "PodDisruptionBudget")]
    assert len(selectors) == 3
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not selector.items() <= setup.items()


def test_one_server_on_each_nas_node_whatever_its_taints(ml50: Cluster) -> None:
    taint = Taint("maintenance", "", "NoExecute")
    machines = tuple(
        structs.replace(machine, taints=(*machine.taints, taint)) if machine.name == "nas-3" else machine
        for machine in ml50.machines
    )
    pod = server(structs.replace(ml50, machines=machines))["template"]["spec"]
    assert {one["key"] for one in pod["tolerations"]} == {"gen.internal/objects", "maintenance"}
    assert pod["nodeSelector"] == {"gen.internal/objects": "true"}
    (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    bare = tuple(structs.replace(machine, taints=()) for machine in ml50.machines)
    assert "tolerations" not in server(structs.replace(ml50, machines=bare))["template"]["spec"]


def test_probes_never_ask_for_the_quorum(ml50: Cluster) -> None:
    found = container(ml50)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert "cluster" not in found[probe]["httpGet"]["path"]


def test_images_can_be_the_sites_own(ml50: Cluster) -> None:
    cluster = with_objects(ml50, image="r.example/minio@sha256:1", client_image="r.example/mc@sha256:2")
    assert container(cluster)["image"] == "r.example/minio@sha256:1"
    assert setup(cluster)["containers"][0]["image"] == "r.example/mc@sha256:2"
    assert all("@sha256:" in one["image"] for one in (container(ml50), setup(ml50)["containers"][0]))


def test_encryption_needs_its_key_and_its_loss_is_told(ml50: Cluster) -> None:
    cluster = with_objects(ml50, encryption=True)
    assert environment(cluster)["MINIO_KMS_AUTO_ENCRYPTION"] == "on"
    names = list(environment(cluster))
    assert names.index("KMS_KEY") < names.index("MINIO_KMS_SECRET_KEY")
    (key,) = (secret for secret in made(cluster).secrets if secret.loss == "data")
    assert (key.name, key.form) == ("minio-kms", "base64")  # MinIO takes 32 bytes in base64 and nothing else
    assert "MINIO_KMS_SECRET_KEY" not in environment(ml50)


def test_every_secret_that_is_read_is_declared_with_its_keys(ml50: Cluster) -> None:
    cluster = with_objects(ml50, encryption=True)
    # What is computed is there for others, who read the metrics.
    declared = {secret.name: set(secret.keys) - secret.computed.keys() for secret in made(cluster).secrets}
    read: dict[str, set[str]] = {}
    for one in container(cluster)["env"]:
        if reference := one.get("valueFrom", {}).get("secretKeyRef"):
            read.setdefault(reference["name"], set()).add(reference["key"])
    volumes = [*server(cluster)["template"]["spec"]["volumes"], *setup(cluster)["volumes"]]
    for volume in volumes:
        for source in volume.get("projected", {}).get("sources", [volume]):
            if (secret := source.get("secret")) and _keys(secret) != [FORMER]:
                name = secret.get("name") or secret["secretName"]
                read.setdefault(name, set()).update(item["key"] for item in secret["items"])
    assert read == declared


def _keys(secret: dict[str, Any]) -> list[str]:
    return [item["key"] for item in secret["items"]]


def test_the_setup_reads_a_users_former_key_where_there_is_one(ml50: Cluster) -> None:
    (secrets,) = (one["projected"]["sources"] for one in setup(ml50)["volumes"] if "projected" in one)
    read = [one["secret"] for one in secrets if _keys(one["secret"]) == [FORMER]]
    assert ml50.storage.objects
    names = [user.name for user in (*ml50.storage.objects.users, *backed_up.users(ml50))]
    assert [one["name"] for one in read] == [f"minio-user-{name}" for name in names]
    assert [one["items"][0]["path"] for one in read] == [f"{name}/{FORMER}" for name in names]
    assert all(one["optional"] for one in read), "without it the pod would wait for a key that mostly is not there"


def test_nobody_reaches_the_console_and_the_servers_reach_only_each_other(ml50: Cluster) -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(ml50, "NetworkPolicy")}
    assert [port["port"] for rule in policies["minio"]["ingress"] for port in rule["ports"]] == [9000]
    assert "ingress" not in policies["minio-setup"]
    for policy_ in policies.values():
        beyond = [rule for rule in policy_["egress"] if {port["port"] for port in rule["ports"]} != {53}]
        assert [list(rule["to"][0]) for rule in beyond] == [["podSelector"]]


def test_what_a_service_offers_is_open(ml50: Cluster) -> None:
    (policy,) = (one["spec"] for one in of_kind(ml50, "NetworkPolicy") if one["metadata"]["name"] == "minio")
    opened = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert {port["port"] for one in of_kind(ml50, "Service") for port in one["spec"]["ports"]} <= opened


def test_ingress_only_with_a_class_and_a_name(ml50: Cluster) -> None:
    (ingress,) = of_kind(ml50, "Ingress")
    (certificate,) = of_kind(ml50, "Certificate")
    assert ingress["spec"]["rules"][0]["host"] in certificate["spec"]["dnsNames"]
    assert ingress["spec"]["tls"][0]["secretName"] == certificate["spec"]["secretName"]
    assert of_kind(with_objects(ml50, host=None), "Ingress") == []
    no_class = structs.replace(ml50, site=structs.replace(ml50.site, ingress_class=None))
    assert of_kind(no_class, "Ingress") == []


def test_metrics_want_a_token_which_is_there_only_where_something_reads_them(ml50: Cluster) -> None:
    alone = structs.replace(ml50, monitoring=structs.replace(ml50.monitoring, zabbix=None))
    for cluster, users in ((ml50, [METRICS]), (monitored(alone), [METRICS]), (alone, [])):
        assert environment(cluster)["MINIO_PROMETHEUS_AUTH_TYPE"] == "jwt"
        (settings,) = (one["data"] for one in of_kind(cluster, "ConfigMap") if "users" in one["data"])
        assert [name for name in settings["users"].split() if name == METRICS] == users
        assert [one.name for one in made(cluster).secrets if one.computed] == ["minio-metrics"][: len(users)]


def test_both_scrapes_of_prometheus_bring_the_token(ml50: Cluster) -> None:
    (monitor,) = of_kind(monitored(ml50), "ServiceMonitor")
    (secret,) = (one for one in made(monitored(ml50)).secrets if one.computed)
    assert secret.namespace == monitor["metadata"]["namespace"]
    assert "prometheus" in secret.readers
    for endpoint in monitor["spec"]["endpoints"]:
        credentials = endpoint["authorization"]["credentials"]
        assert (credentials["name"], credentials["key"]) == (secret.name, "token")
        assert credentials["key"] in secret.computed


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("key", [b"fedcba9876543210" * 3, b"k" * 128, b"k" * 129, b"short"])
def test_the_shell_makes_the_token_that_the_program_makes(tmp_path: Path, shell: str, key: bytes) -> None:
    """And gives no program the key as an argument, which every process may read."""
    access = b"0123456789abcdef" * 3
    (tmp_path / "access").write_bytes(access)
    (tmp_path / "key").write_bytes(key)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("openssl", "cat", "od", "tr", "sed", "wc", "head", "yes", "printf"):
        real = shutil.which(name)
        (programs / name).write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/arguments"\nexec {real} "$@"\n')
        (programs / name).chmod(0o755)
    script = f"{read_text('minio/token.sh.txt')}minio_token access key"
    env = {"PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run([shell, "-c", script], cwd=tmp_path, env=env, capture_output=True, check=True)
    assert done.stdout == token(access, key)
    given = (tmp_path / "arguments").read_bytes()
    assert b"dgst" in given
    assert key not in given


def test_metrics_are_scraped_from_the_servers(ml50: Cluster) -> None:
    assert of_kind(ml50, "ServiceMonitor") == []
    assert made(ml50).needs == ("issuers",)
    scraped = monitored(ml50)
    assert made(scraped).needs == ("issuers", "prometheus-crds")
    (monitor,) = of_kind(scraped, "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = [one for one in of_kind(scraped, "Service") if wanted <= one["metadata"]["labels"].items()]
    assert [one["metadata"]["name"] for one in services] == ["minio"]


def setup(cluster: Cluster) -> dict[str, Any]:
    (job,) = of_kind(cluster, "Job")
    return dict(job["spec"]["template"]["spec"])


def test_the_setup_runs_after_a_sync_and_ends(ml50: Cluster) -> None:
    (job,) = of_kind(ml50, "Job")
    annotations = job["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/hook"] == "PostSync"
    assert annotations["argocd.argoproj.io/hook-delete-policy"] == "BeforeHookCreation"
    assert job["spec"]["activeDeadlineSeconds"] > 0
    (pod,) = setup(ml50)["containers"]
    assert pod["command"] == ["sh", "/etc/minio-setup-script/setup.sh"]


def test_the_setup_mounts_what_its_script_reads(ml50: Cluster) -> None:
    mounts = {one["mountPath"] for one in setup(ml50)["containers"][0]["volumeMounts"]}
    for folder in ("SETTINGS:=/etc/minio-setup", "SECRETS:=/run/minio-setup", "MC_CONFIG_DIR:=/tmp/"):
        assert folder in read_text("minio/setup.sh")
    assert {"/etc/minio-setup", "/run/minio-setup", "/tmp"} <= mounts
    (script,) = (one for one in of_kind(ml50, "ConfigMap") if one["metadata"]["name"] == "minio-setup-script")
    assert script["data"]["setup.sh"] == read_text("minio/setup.sh")


def test_the_setup_waits_for_all_secrets_but_those_that_came_later(ml50: Cluster) -> None:
    """A volume that lacks a Secret keeps its pod from starting."""
    (secrets,) = (one["projected"]["sources"] for one in setup(ml50)["volumes"] if "projected" in one)
    whole = [one["secret"] for one in secrets if _keys(one["secret"]) != [FORMER]]
    assert [one["name"] for one in whole if one.get("optional")] == [
        *(f"minio-user-{one.name}" for one in backed_up.users(ml50)),
        "minio-metrics",
        "minio-acceptance",
    ]
