"""The bootstrap folder: what kubeadm reads, what nodes get, and the scripts in it."""

import os
import shutil
import subprocess
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

import pytest
import yaml
from msgspec import structs
from reference import with_hardware

from generator.components.common import CEPH, OBJECTS, OIDC_PREFIX, POOL, RACK, SCRATCH
from generator.components.kubeadm.disks import disk_scripts
from generator.components.kubeadm.endpoint import endpoint_files
from generator.components.kubeadm.init import init_documents, join_document
from generator.components.kubeadm.node import node_files
from generator.components.kubeadm.registration import node_labels, registration
from generator.components.kubeadm.steps import steps
from generator.components.static import read_objects
from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster, Endpoint, Mirror, Oidc, Proxy
from generator.model.nodes import NetworkOverride
from generator.model.text import Taint

SCRIPTS = Path(__file__).parent.parent.parent / "generator/components/kubeadm"


def kinds(cluster: Cluster) -> dict[str, dict]:  # type: ignore[type-arg]
    return {document["kind"]: document for document in init_documents(cluster)}


def named(arguments: list[dict[str, str]]) -> dict[str, str]:
    found = {entry["name"]: entry["value"] for entry in arguments}
    assert len(found) == len(arguments)
    return found


def endpoint(cluster: Cluster, by: str) -> Cluster:
    kubernetes = structs.replace(cluster.kubernetes, endpoint=Endpoint(address="10.10.0.10:6443", by=by))  # type: ignore[arg-type]
    return structs.replace(cluster, kubernetes=kubernetes)


def test_networks_are_those_of_the_file(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        configuration = kinds(cluster)["ClusterConfiguration"]
        assert configuration["networking"]["podSubnet"] == str(cluster.kubernetes.pod_cidr)
        assert configuration["networking"]["serviceSubnet"] == str(cluster.kubernetes.service_cidr)
        assert configuration["controlPlaneEndpoint"] == cluster.kubernetes.endpoint.address
        dns = kinds(cluster)["KubeletConfiguration"]["clusterDNS"][0]
        assert dns == str(cluster.kubernetes.service_cidr[10])


def test_kube_proxy_is_there_only_without_cilium(ml50: Cluster, a30: Cluster) -> None:
    assert kinds(ml50)["ClusterConfiguration"]["proxy"] == {"disabled": True}
    assert "KubeProxyConfiguration" not in kinds(ml50)
    assert "proxy" not in kinds(a30)["ClusterConfiguration"]
    assert "KubeProxyConfiguration" in kinds(a30)


def test_the_pod_slices_have_the_size_of_the_file(ml50: Cluster) -> None:
    arguments = named(kinds(ml50)["ClusterConfiguration"]["controllerManager"]["extraArgs"])
    assert arguments["node-cidr-mask-size"] == "24"
    dual = structs.replace(
        ml50.kubernetes, pod_cidr6=IPv6Network("fd00:1::/56"), service_cidr6=IPv6Network("fd00:2::/112")
    )
    cluster = structs.replace(ml50, kubernetes=dual)
    configuration = kinds(cluster)["ClusterConfiguration"]
    assert configuration["networking"]["podSubnet"] == "10.244.0.0/16,fd00:1::/56"
    masks = named(configuration["controllerManager"]["extraArgs"])
    # The API refuses the name without a family beside those with one.
    assert "node-cidr-mask-size" not in masks
    assert masks["node-cidr-mask-size-ipv4"] == "24"


def test_the_encryption_key_is_named_and_never_written(ml50: Cluster) -> None:
    server = kinds(ml50)["ClusterConfiguration"]["apiServer"]
    path = named(server["extraArgs"])["encryption-provider-config"]
    assert any(path.startswith(volume["mountPath"]) for volume in server["extraVolumes"])
    for path, content in bootstrap(ml50).items():
        assert b"secret: " not in content or path.endswith("encryption-key.sh"), path
    without = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, encryption="none"))
    assert "encryption-provider-config" not in named(kinds(without)["ClusterConfiguration"]["apiServer"]["extraArgs"])
    assert "Key for Secrets" not in steps(without)


def test_the_identity_provider_reaches_the_api_server(ml50: Cluster, a30: Cluster) -> None:
    arguments = named(kinds(ml50)["ClusterConfiguration"]["apiServer"]["extraArgs"])
    assert isinstance(ml50.site.oidc, Oidc)
    assert arguments["oidc-issuer-url"] == ml50.site.oidc.issuer
    # A group `system:masters` of the provider must not be the cluster's.
    assert arguments["oidc-groups-prefix"] == arguments["oidc-username-prefix"] == OIDC_PREFIX
    nobody = structs.replace(a30, site=structs.replace(a30.site, oidc=None))
    assert "oidc-issuer-url" not in named(kinds(nobody)["ClusterConfiguration"]["apiServer"]["extraArgs"])


def test_every_other_node_joins_with_its_own_address_and_taints(ml50: Cluster) -> None:
    for machine in ml50.machines[1:]:
        document = join_document(ml50, machine)
        node = document["nodeRegistration"]
        assert node["name"] == machine.name
        assert named(node["kubeletExtraArgs"])["node-ip"] == str(machine.address)
        assert [taint["key"] for taint in node["taints"]] == [taint.key for taint in machine.taints]
        assert ("controlPlane" in document) == (machine.role == "control-plane")
        assert "token" not in str(document)
        assert "certificateKey" not in str(document)


def test_a_node_with_two_families_registers_both(ml50: Cluster) -> None:
    machine = structs.replace(ml50.machines[0], address6=IPv6Address("fd00::1"))
    assert named(registration(ml50, machine).document["kubeletExtraArgs"])["node-ip"] == "10.10.0.11,fd00::1"


def test_no_taints_means_none(a30: Cluster) -> None:
    # Without `taints: []` kubeadm would put its own.
    assert kinds(a30)["InitConfiguration"]["nodeRegistration"]["taints"] == []
    machine = structs.replace(a30.machines[0], taints=(Taint("dedicated", "", "NoExecute"),))
    assert registration(a30, machine).document["taints"] == [{"key": "dedicated", "effect": "NoExecute"}]


def test_labels_are_what_components_select_by(ml50: Cluster) -> None:
    labels = {machine.name: node_labels(ml50, machine) for machine in ml50.machines}
    assert all(labels[machine.name][POOL] == machine.pool for machine in ml50.machines)
    assert all(labels[machine.name][RACK] == machine.rack for machine in ml50.machines)
    assert {name for name, found in labels.items() if CEPH in found} == {f"cpu-{n:02}" for n in range(1, 29)}
    assert {name for name, found in labels.items() if OBJECTS in found} == {f"nas-{n}" for n in range(1, 5)}
    assert {name for name, found in labels.items() if SCRATCH in found} == {f"gpu-{n:02}" for n in range(1, 16)}


def test_only_a_floating_address_needs_files(ml50: Cluster) -> None:
    pod = endpoint_files(ml50)["endpoint/kube-vip.yaml"]
    assert isinstance(pod, dict)
    env = named(pod["spec"]["containers"][0]["env"])
    assert (env["address"], env["port"], env["vip_interface"]) == ("10.10.0.10", "6443", "eno1")
    assert endpoint_files(endpoint(ml50, "external")) == {}
    files = endpoint_files(endpoint(ml50, "keepalived"))
    assert set(files) == {f"endpoint/keepalived-cp-{n}.conf" for n in (1, 2, 3)}
    priorities = {line for text in files.values() for line in str(text).splitlines() if "priority" in line}
    assert len(priorities) == 3
    assert "10.10.0.12\n        10.10.0.13" in str(files["endpoint/keepalived-cp-1.conf"])
    assert "auth_pass" not in str(files)


def test_keepalived_alone_has_no_peers(a30: Cluster) -> None:
    text = str(endpoint_files(endpoint(a30, "keepalived"))["endpoint/keepalived-jw1.conf"])
    assert "unicast_peer" not in text


@pytest.mark.parametrize("by", ["kube-vip", "keepalived", "external"])
def test_the_steps_fit_the_endpoint(ml50: Cluster, by: str) -> None:
    text = steps(endpoint(ml50, by))
    assert ("super-admin.conf" in text) == (by == "kube-vip")
    assert ("systemctl enable --now keepalived" in text) == (by == "keepalived")
    numbers = [int(line.split(".")[0][3:]) for line in text.splitlines() if line.startswith("## ")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_steps_name_only_files_that_are_there(ml50: Cluster) -> None:
    files = bootstrap(ml50)
    folder = "clusters/ml50/bootstrap/"
    text = files[f"{folder}README.md"].decode()
    words = {word.strip("`;,.()") for word in text.split()}
    mentioned = {word for word in words if word.startswith(("node/", "kubeadm/", "endpoint/")) and "$(" not in word}
    assert {"node/prepare.sh", "kubeadm/init.yaml", "node/disks/mount.sh", "endpoint/kube-vip.yaml"} <= mentioned
    assert {word for word in mentioned if f"{folder}{word}" not in files} == set()


def test_every_file_says_what_to_edit(ml50: Cluster) -> None:
    for path, content in bootstrap(ml50).items():
        first, second = content.decode().split("\n")[:2]
        assert "Written by gen" in (second if first.startswith("#!") else first), path


def test_infiniband_modules_only_where_there_are_hcas(ml50: Cluster, a30: Cluster) -> None:
    files = node_files(ml50)
    assert "ib_ipoib" in str(files["node/gpu-training/etc/modules-load.d/infiniband.conf"])
    assert "node/cpu/etc/modules-load.d/infiniband.conf" not in files
    assert not [path for path in node_files(a30) if "infiniband" in path]
    assert not [path for path in node_files(a30) if "ceph.conf" in path]


def test_containerd_lets_pods_register_memory(ml50: Cluster) -> None:
    files = node_files(ml50)
    assert "LimitMEMLOCK=infinity" in str(files["node/all/etc/systemd/system/containerd.service.d/memlock.conf"])
    assert "enable_cdi = true" in str(files["node/all/etc/containerd/config.toml"])


def test_mirrors_and_proxy_reach_the_nodes(ml50: Cluster) -> None:
    site = structs.replace(
        ml50.site,
        ntp=(),
        mirrors=(
            Mirror(registry="docker.io", mirror="harbor.example.org/hub"),
            Mirror(registry="quay.io", mirror="https://harbor.example.org"),
        ),
        proxy=Proxy(http="http://proxy.example.org:3128", no_proxy=("10.99.0.0/16",)),
    )
    files = node_files(structs.replace(ml50, site=site))
    hub = str(files["node/all/etc/containerd/certs.d/docker.io/hosts.toml"])
    assert 'server = "https://registry-1.docker.io"' in hub
    assert '[host."https://harbor.example.org/v2/hub"]' in hub
    assert '[host."https://harbor.example.org/v2"]' in str(files["node/all/etc/containerd/certs.d/quay.io/hosts.toml"])
    proxy = str(files["node/all/etc/systemd/system/kubelet.service.d/proxy.conf"])
    for network in ("10.10.0.0/22", "10.20.0.0/22", "10.244.0.0/16", "10.96.0.0/12", ".svc", "10.99.0.0/16"):
        assert network in proxy
    assert not [path for path in files if "chrony" in path]
    assert not [path for path in node_files(ml50) if "proxy" in path]


def test_bonds_and_vlans_become_files(ml50: Cluster) -> None:
    machines = tuple(
        structs.replace(
            machine,
            networks={
                "node": structs.replace(machine.networks["node"], interface="bond0", bond=("eno1", "eno3")),
                "storage": structs.replace(machine.networks["storage"], interface="bond0.20", vlan=20),
            },
        )
        for machine in ml50.machines
    )
    files = node_files(structs.replace(ml50, machines=machines))
    assert "Kind=bond" in str(files["node/cpu/etc/systemd/network/20-bond0.netdev"])
    assert "Bond=bond0" in str(files["node/cpu/etc/systemd/network/30-eno3.network"])
    assert "Id=20" in str(files["node/cpu/etc/systemd/network/25-bond0.20.netdev"])
    assert NetworkOverride().bond == ()


def test_disks_are_named_stably(ml50: Cluster, a30: Cluster) -> None:
    lists = disk_scripts(ml50)
    nas = lists["node/disks/nas-1.list"].splitlines()
    assert nas[0] == "xfs /mnt/minio/drive-0 1000 model ST24000NM000H-3KS103 1"
    assert nas[15] == "xfs /mnt/minio/drive-15 1000 model ST24000NM000H-3KS103 16"
    assert "node/disks/cpu-01.list" not in lists
    assert set(disk_scripts(a30)) == {f"node/disks/{name}" for name in ("jw1.list", "jw2.list", "jw3.list", "mount.sh")}
    disk = ml50.machines[40].hardware.disks[0]
    for change, words in (
        ({"id": "nvme-x", "model": None}, "id nvme-x"),
        ({"path": "pci-1", "model": None}, "path pci-1"),
    ):
        machines = (
            with_hardware(ml50.in_pools("nas")[0], disks=(structs.replace(disk, use="objects", count=1, **change),)),
        )
        text = disk_scripts(structs.replace(ml50, machines=machines))["node/disks/nas-1.list"]
        assert text == f"xfs /mnt/minio/drive-0 1000 {words}\n"
    none = structs.replace(ml50, storage=structs.replace(ml50.storage, scratch=None, objects=None))
    assert disk_scripts(none) == {}


def test_the_audit_log_never_holds_the_content_of_secrets() -> None:
    for rule in read_objects("kubeadm/audit-policy.yaml")[0]["rules"]:
        assert rule["level"] in {"None", "Metadata"}


def test_no_disks_no_step(a30: Cluster) -> None:
    machines = tuple(with_hardware(machine, disks=()) for machine in a30.machines)
    assert "Disks for scratch" not in steps(structs.replace(a30, machines=machines))


def run(script: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPTS / script), *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def disks(tmp_path: Path) -> Path:
    """A folder that looks like /dev/disk, with empty files for disks."""
    names = tmp_path / "dev/by-id"
    names.mkdir(parents=True)
    for serial in ("B2", "A1"):
        (tmp_path / serial).write_bytes(b"\0" * 2**20)
        (names / f"nvme-MODEL_{serial}").symlink_to(tmp_path / serial)
        (names / f"nvme-MODEL_{serial}_1").symlink_to(tmp_path / serial)
        (names / f"nvme-MODEL_{serial}-part1").symlink_to(tmp_path / serial)
    return tmp_path


def mount(disks: Path, lines: str, *more: str) -> subprocess.CompletedProcess[str]:
    (disks / "node.list").write_text(lines)
    fstab = disks / "fstab"
    fstab.touch()
    return run(
        "mount.sh", str(disks / "node.list"), *more, env={"GEN_DEV": str(disks / "dev"), "GEN_FSTAB": str(fstab)}
    )


def test_mount_takes_whole_disks_in_the_order_of_their_serials(disks: Path) -> None:
    done = mount(disks, "# one\nxfs /mnt/x-0 0 model MODEL 1\nxfs /mnt/x-1 0 model MODEL 2\n")
    assert done.returncode == 0, done.stderr
    assert f"/mnt/x-0: mkfs.xfs on {disks}/dev/by-id/nvme-MODEL_A1\n" in done.stdout
    assert f"/mnt/x-1: mkfs.xfs on {disks}/dev/by-id/nvme-MODEL_B2\n" in done.stdout
    assert "dry run" in done.stdout


def test_mount_never_touches_a_disk_that_holds_something(disks: Path) -> None:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not installed")
    subprocess.run(["mkfs.ext4", "-q", str(disks / "A1")], check=True)
    before = (disks / "A1").read_bytes()
    done = mount(disks, "xfs /mnt/x-0 0 model MODEL 1\nxfs /mnt/x-1 0 model MODEL 2\n", "--yes")
    assert done.returncode == 1
    assert "is not empty; nothing is done to it" in done.stderr
    assert (disks / "A1").read_bytes() == before
    assert (disks / "B2").read_bytes() == b"\0" * 2**20
    assert (disks / "fstab").read_text() == ""


def test_mount_names_a_missing_disk_and_skips_what_is_done(disks: Path) -> None:
    done = mount(
        disks, "xfs /mnt/x-0 0 model MODEL 3\nxfs /mnt/x-1 0 id nvme-nope\nxfs /mnt/x-2 0 path pci-nope\n", "--yes"
    )
    assert done.returncode == 1
    assert done.stderr.count("no disk") == 3
    (disks / "fstab").write_text("UUID=1 /mnt/x-0 xfs defaults 0 2\n")
    (disks / "node.list").write_text("xfs /mnt/x-0 0 model MODEL 1\n")
    again = mount(disks, "xfs /mnt/x-0 0 model MODEL 1\n")
    assert again.returncode == 0
    assert "is in" in again.stdout


def test_the_key_script_refuses_unknown_providers() -> None:
    done = run("encryption-key.sh", "rot13")
    assert done.returncode == 1
    assert "rot13 is not secretbox or aescbc" in done.stderr


def test_the_documents_are_yaml_a_reader_reads_alike(ml50: Cluster) -> None:
    text = bootstrap(ml50)["clusters/ml50/bootstrap/kubeadm/init.yaml"].decode()
    assert list(yaml.safe_load_all(text)) == init_documents(ml50)
