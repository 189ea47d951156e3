"""Copies of datasets at nodes: who fills them, who reads them, and on which nodes."""

from pathlib import Path
from typing import Any

import pytest

from generator.components import CATALOGUE, compose
from generator.components.component import Component, Manifest
from generator.components.kubeadm.disks import disk_scripts
from generator.components.kubeadm.registration import node_labels
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.model.quantity import Quantity
from generator.spec.decode import decode
from generator.spec.reader import read

FILE = Path(__file__).parents[1] / "wrong/valid/datasets-cached.yaml"
MOUNT = "/mnt/gen-cache"


@pytest.fixture(scope="module")
def lab() -> Cluster:
    return changed()


def changed(old: str = "", new: str = "") -> Cluster:
    text = FILE.read_text()
    assert old in text
    found = decode(read(text.replace(old, new).encode(), FILE.name))
    assert isinstance(found, Cluster)
    return found


def component(cluster: Cluster, name: str = "dataset-cache") -> Component:
    (found,) = (one for one in compose(cluster) if one.name == name)
    return found


def of_kind(cluster: Cluster, kind: str, name: str = "dataset-cache") -> dict[str, Manifest]:
    found = component(cluster, name)
    return {one["metadata"]["name"]: one for one in (*found.base, *found.objects) if one["kind"] == kind}


def pod(cluster: Cluster) -> dict[str, Any]:
    spec: dict[str, Any] = of_kind(cluster, "DaemonSet")["scans"]["spec"]["template"]["spec"]
    return spec


def test_the_disk_is_mounted_and_its_node_marked(lab: Cluster) -> None:
    lists: dict[str, str] = dict(disk_scripts(lab).items())
    assert f"xfs {MOUNT} 0 model SAMSUNG_MZQL27T6HBLA-00A08\n" in lists["node/disks/cpu-1.list"]
    assert len(MOUNT.rpartition("/")[2]) <= 12, "XFS takes no longer label"
    marked = {one.name for one in lab.machines if node_labels(lab, one).get("gen.internal/cache") == "true"}
    assert marked == {"cpu-1", "cpu-2", "cpu-3", "cpu-4"}
    assert pod(lab)["nodeSelector"] == {"gen.internal/cache": "true"}


def test_only_what_is_cached_is_copied_and_only_for_its_teams(lab: Cluster) -> None:
    assert set(of_kind(lab, "DaemonSet")) == {"scans"}
    assert set(of_kind(lab, "PersistentVolume")) == {"cache-scans.vision"}
    claims = of_kind(lab, "PersistentVolumeClaim", "tenants")
    assert {name: one["metadata"]["namespace"] for name, one in claims.items() if name.startswith("cache-")} == {
        "cache-scans": "vision"
    }
    readers = changed("owner: vision, cached", "owner: vision, readers: [language], cached")
    assert set(of_kind(readers, "PersistentVolume")) == {"cache-scans.vision", "cache-scans.language"}


def test_one_volume_leads_to_the_own_copy_of_each_node_for_reading_alone(lab: Cluster) -> None:
    (volume,) = of_kind(lab, "PersistentVolume").values()
    spec = volume["spec"]
    (cache,) = (one for one in pod(lab)["volumes"] if one["name"] == "cache")
    assert spec["local"]["path"] == f"{cache['hostPath']['path']}/current" == f"{MOUNT}/scans/current"
    assert (spec["accessModes"], spec["mountOptions"]) == (["ReadOnlyMany"], ["ro"])
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "gen.internal/cache", "operator": "In", "values": ["true"]}]
    claim = of_kind(lab, "PersistentVolumeClaim", "tenants")["cache-scans"]
    assert (spec["claimRef"]["namespace"], spec["claimRef"]["name"]) == ("vision", "cache-scans")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["accessModes"] == spec["accessModes"]
    assert claim["metadata"]["labels"] == {"gen.internal/dataset": "scans"}, "members may not delete it"


def test_what_fills_reads_the_dataset_as_a_team_that_only_reads(lab: Cluster) -> None:
    volumes = of_kind(lab, "PersistentVolume", "ceph-cluster")
    read = volumes["dataset-scans.dataset-cache"]["spec"]
    assert (read["accessModes"], read["mountOptions"]) == (["ReadOnlyMany"], ["ro"])
    claim = of_kind(lab, "PersistentVolumeClaim")["dataset-scans"]
    assert claim["spec"]["volumeName"] == "dataset-scans.dataset-cache"
    assert (read["claimRef"]["namespace"], read["claimRef"]["name"]) == ("dataset-cache", "dataset-scans")
    assert "dataset-voices.dataset-cache" not in volumes
    (mounted,) = (one for one in pod(lab)["volumes"] if one["name"] == "dataset")
    assert mounted["persistentVolumeClaim"] == {"claimName": "dataset-scans", "readOnly": True}


def test_what_fills_may_read_all_files_and_nothing_else_of_the_node(lab: Cluster) -> None:
    (container,) = pod(lab)["containers"]
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["DAC_READ_SEARCH"]}
    assert security["readOnlyRootFilesystem"]
    assert security["allowPrivilegeEscalation"] is False
    assert [one["hostPath"]["path"] for one in pod(lab)["volumes"] if "hostPath" in one] == [f"{MOUNT}/scans"]
    assert pod(lab)["automountServiceAccountToken"] is False
    (policy,) = of_kind(lab, "NetworkPolicy").values()
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_it_knows_how_large_a_dataset_and_the_smallest_disk_are() -> None:
    smaller = changed(
        "addresses: {storage: 10.20.0.24}}",
        "addresses: {storage: 10.20.0.24}, hardware: {disks: [{use: cache, path: a, size: 7000G}]}}",
    )
    (container,) = pod(smaller)["containers"]
    env = {one["name"]: one["value"] for one in container["env"]}
    assert env["SIZE"] == str(Quantity.parse("3Ti").value)
    assert env["DISK"] == str(7000 * 10**9)


def test_it_runs_on_tainted_nodes_that_have_a_disk_too() -> None:
    tainted = changed("    cpu:\n      hardware:", "    cpu:\n      taints: [a/b=c:NoSchedule]\n      hardware:")
    assert pod(tainted)["tolerations"] == [{"key": "a/b", "operator": "Exists", "effect": "NoSchedule"}]


def test_no_wave_waits_for_an_owner_who_names_no_version(lab: Cluster) -> None:
    metadata = of_kind(lab, "DaemonSet")["scans"]["metadata"]
    assert metadata["annotations"] == {"argocd.argoproj.io/ignore-healthcheck": "true"}
    assert dig(pod(lab), "containers", 0, "readinessProbe", "exec", "command") == ["test", "-e", "/state/ready"]


def test_claims_come_after_what_they_need(lab: Cluster) -> None:
    assert "dataset-cache" in component(lab, "tenants").needs
    assert "ceph-cluster" in component(lab).needs


def test_there_is_none_without_a_disk_or_a_dataset() -> None:
    for old in ("          - {use: cache, model: SAMSUNG_MZQL27T6HBLA-00A08, size: 7680G}\n", ", cached: true"):
        cluster = changed(old)
        assert not CATALOGUE["dataset-cache"].wanted(cluster)
        volumes = of_kind(cluster, "PersistentVolume", "ceph-cluster")
        assert "dataset-scans.dataset-cache" not in volumes
        claims = of_kind(cluster, "PersistentVolumeClaim", "tenants")
        assert "cache-scans" not in claims


def test_a_label_of_a_disk_that_went_goes_while_others_are_there(lab: Cluster) -> None:
    from generator.components.kubeadm.labels import marks

    removed = {one.node: one.removed for one in marks(lab)}
    assert "gen.internal/cache" in removed["cp-1"]
    assert "gen.internal/cache" not in removed["cpu-1"]
    none = changed("          - {use: cache, model: SAMSUNG_MZQL27T6HBLA-00A08, size: 7680G}\n")
    assert all("gen.internal/cache" not in one.removed for one in marks(none)), "a cluster without is as it was"
