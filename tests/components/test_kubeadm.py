"""The bootstrap folder: what kubeadm reads, what nodes get, and the scripts in it."""

import json
import os
import subprocess
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

import pytest
import yaml
from msgspec import structs
from reference import with_hardware, without_backups, without_operations

from generator.components import compose
from generator.components.argo_cd.settings import settings
from generator.components.common import CEPH, OBJECTS, OIDC_PREFIX, POOL, RACK, SCRATCH, SITE_CA
from generator.components.gpu_operator import DEFINITION as GPU_OPERATOR
from generator.components.kubeadm.disks import disk_scripts as scripts_by_place
from generator.components.kubeadm.endpoint import endpoint_files as endpoint_by_place
from generator.components.kubeadm.init import init_documents, join_document, upgrade_document
from generator.components.kubeadm.interfaces import interface_files
from generator.components.kubeadm.labels import label_files
from generator.components.kubeadm.node import node_files as files_by_place
from generator.components.kubeadm.node_changes import RULES
from generator.components.kubeadm.registration import node_labels, registration
from generator.components.kubeadm.secrets import secret_commands
from generator.components.kubeadm.steps import steps
from generator.components.node_text import Place
from generator.components.static import read_objects
from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster, Endpoint
from generator.model.gitops import Gitops, Window
from generator.model.nodes import Network
from generator.model.site import Mirror, Oidc, Proxy
from generator.model.text import Taint

SCRIPTS = Path(__file__).parent.parent.parent / "generator/components/kubeadm"


def node_files(cluster: Cluster) -> dict[str, object]:
    return dict(files_by_place(cluster).items())


def disk_scripts(cluster: Cluster) -> dict[str, str]:
    return dict(scripts_by_place(cluster).items())


def endpoint_files(cluster: Cluster) -> dict[str, object]:
    return dict(endpoint_by_place(cluster).items())


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


def test_files_of_a_pool_are_its_own_whatever_its_name(ml50: Cluster) -> None:
    pools = {("all" if name == "gpu-training" else name): pool for name, pool in ml50.pools.items()}
    machines = tuple(structs.replace(one, pool="all") if one.pool == "gpu-training" else one for one in ml50.machines)
    files = node_files(structs.replace(ml50, pools=pools, machines=machines))
    assert not [path for path in files if path.startswith("node/all/") and "kubelet" in path and "patches" in path]
    assert [path for path in files if path.startswith("node/pools/all/") and "patches" in path]


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
    assert ("path: /etc/kubernetes/super-admin.conf" in text) == (by == "kube-vip")
    assert ("on control-plane nodes keepalived and curl" in text) == (by == "keepalived")
    # Also where it runs already, with other peers in its file.
    assert text.count("systemctl enable keepalived && sudo systemctl reload-or-restart keepalived") == (
        2 if by == "keepalived" else 0
    )
    numbers = [int(line.split(".")[0][3:]) for line in text.splitlines() if line.startswith("## ")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_another_file_of_containerd_restarts_the_toolkit_that_repeats_it() -> None:
    """Its drop-in holds the whole section that the file had when it ran, and counts more than the file."""
    advice = next(rule.instead for rule in RULES if rule.code == "GEN-CHG-234")
    restarted, _, then = advice.partition("restarts containerd; afterwards, on GPU nodes, ")
    assert "node/prepare.sh" in restarted
    assert then.startswith("restart the GPU operator's toolkit pods: their drop-in repeats")
    assert "drop-in for containerd repeats what config.toml said when it ran" in GPU_OPERATOR.notes


def test_the_steps_come_in_the_order_in_which_they_work(ml50: Cluster) -> None:
    """A node that joins the control plane needs the certificates before; a host name may be a whole domain name."""
    text = steps(ml50)
    others = [machine.address for machine in ml50.control_plane[1:]]
    copied = [text.index(line) for line in text.splitlines() if "scp " in line and "/etc/kubernetes/pki" in line]
    assert len(copied) == 2 * len(others) > 2
    assert all(f"root@{address}:/etc/kubernetes/pki/etcd/" in text for address in others)
    assert text.index("kubeadm init --config") < min(copied)
    assert max(copied) < text.index("kubeadm join --config")
    assert "$(hostname)" not in text
    assert "kubeadm/join-$(hostname -s).yaml" in text


def test_the_steps_say_what_cannot_be_done_twice_and_what_may_not_stay(ml50: Cluster) -> None:
    head, _, rest = steps(ml50).partition("\n## ")
    (exceptions,) = [part for part in head.replace("\n", " ").split(". ") if "can be run again" in part]
    assert "three exceptions" in exceptions
    assert all(word in exceptions for word in ("encryption key", "`kubeadm init`", "`kubeadm join`"))
    init = rest.partition("kubeadm init --config")[2].partition("\n## ")[0].replace("\n", " ")
    assert "`/etc/kubernetes/super-admin.conf` stands above all rights" in init
    assert "move it to a safe place outside the cluster" in init


@pytest.mark.parametrize(("by", "code"), [("kube-vip", "GEN-CHG-240"), ("keepalived", "GEN-CHG-239")])
def test_who_holds_the_address_is_replaced_as_it_was_brought(ml50: Cluster, by: str, code: str) -> None:
    """And what is no longer there goes first: two nodes would answer for one address."""
    advice = next(rule.instead for rule in RULES if rule.code == code)
    brought, gone = advice.split("`")[1::2]
    assert all(command in steps(endpoint(ml50, by)) for command in brought.split(" && "))
    assert gone.startswith(("sudo rm /etc/kubernetes/manifests/", "sudo systemctl disable --now "))


def test_the_steps_name_only_files_that_are_there(ml50: Cluster) -> None:
    files = bootstrap(ml50)
    folder = "clusters/ml50/bootstrap/"
    text = files[f"{folder}README.md"].decode()
    words = {word.strip("`;,.()") for word in text.split()}
    mentioned = {
        word for word in words if word.startswith(("node/", "nodes/", "kubeadm/", "endpoint/")) and "$(" not in word
    }
    assert {
        "node/prepare.sh",
        "kubeadm/init.yaml",
        "node/disks/mount.sh",
        "nodes/label.sh",
        "kubeadm/upgrade.yaml",
    } <= mentioned
    assert {word for word in mentioned if f"{folder}{word}" not in files} == set()


def test_every_file_says_what_to_edit(ml50: Cluster) -> None:
    for path, content in bootstrap(ml50).items():
        first, second = content.decode().split("\n")[:2]
        assert "Written by gen" in (second if first.startswith("#!") else first), path


def test_infiniband_modules_only_where_there_are_hcas(ml50: Cluster, a30: Cluster) -> None:
    files = node_files(ml50)
    assert "ib_ipoib" in str(files["node/pools/gpu-training/etc/modules-load.d/infiniband.conf"])
    assert "node/pools/cpu/etc/modules-load.d/infiniband.conf" not in files
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
            Mirror(registry="quay.io", mirror="harbor.example.org"),
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


def with_networks(cluster: Cluster, **networks: Network) -> Cluster:
    machines = tuple(structs.replace(one, networks={**one.networks, **networks}) for one in cluster.machines)
    return structs.replace(cluster, machines=machines)


def test_bonds_and_vlans_become_complete_files_that_nothing_copies(ml50: Cluster) -> None:
    node, storage = ml50.networks.node, ml50.networks.storage
    assert storage
    bonded = with_networks(
        ml50,
        node=structs.replace(node, interface="bond0", bond=("eno1", "eno3"), mtu=1500),
        storage=structs.replace(storage, interface="bond0.20", vlan=20, mtu=9000),
    )
    files: dict[str, str] = {path: str(text) for path, text in interface_files(bonded).items()}
    assert {path.rpartition("/")[2] for path in files if path.startswith("network/cpu-01/")} == {
        "05-bond0.netdev", "05-bond0.network", "05-eno1.network", "05-eno3.network", "05-bond0.20.netdev",
        "05-bond0.20.network",
    }  # fmt: skip
    bond = files["network/cpu-01/05-bond0.network"]
    for line in ("Address=10.10.0.131/22", "Gateway=10.10.0.1", "DNS=10.10.0.2", "VLAN=bond0.20", "MTUBytes=9000"):
        assert f"\n{line}\n" in bond, line
    assert "Bond=bond0\n" in files["network/cpu-01/05-eno3.network"]
    assert "Kind=bond" in files["network/cpu-01/05-bond0.netdev"]
    assert "Id=20" in files["network/cpu-01/05-bond0.20.netdev"]
    assert "Address=10.20.0.131/22" in files["network/cpu-01/05-bond0.20.network"]
    # The first file that matches wins.
    assert all(path.rpartition("/")[2] < "10-netplan-" for path in files)
    assert "sudo cp network/$(hostname -s)/*" in steps(bonded)
    # What prepare.sh copies lies below node/.
    assert not [path for path in bootstrap(bonded) if "/node/" in path and "systemd/network" in path]
    assert interface_files(ml50) == {}


def test_a_tagged_bond_lies_on_the_bond(ml50: Cluster) -> None:
    node = structs.replace(ml50.networks.node, interface="bond0.10", bond=("eno1", "eno3"), vlan=10)
    files: dict[str, str] = {path: str(text) for path, text in interface_files(with_networks(ml50, node=node)).items()}
    assert "Name=bond0\nKind=bond" in files["network/cp-1/05-bond0.netdev"]
    assert "Bond=bond0\n" in files["network/cp-1/05-eno1.network"]
    assert "VLAN=bond0.10\n" in files["network/cp-1/05-bond0.network"]
    assert "Address=10.10.0.11/22" in files["network/cp-1/05-bond0.10.network"]


def test_disks_are_named_stably(ml50: Cluster, a30: Cluster) -> None:
    lists = disk_scripts(ml50)
    nas = lists["node/disks/nas-1.list"].splitlines()
    assert nas[0] == "xfs /mnt/minio/drive-0 1000 model ST24000NM000H-3KS103"
    assert nas[15] == "xfs /mnt/minio/drive-15 1000 model ST24000NM000H-3KS103"
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


def test_the_key_script_refuses_unknown_providers() -> None:
    done = run("encryption-key.sh", "rot13")
    assert done.returncode == 1
    assert "rot13 is not secretbox or aescbc" in done.stderr


def test_the_documents_are_yaml_a_reader_reads_alike(ml50: Cluster) -> None:
    text = bootstrap(ml50)["clusters/ml50/bootstrap/kubeadm/init.yaml"].decode()
    assert list(yaml.load_all(text, yaml.CSafeLoader)) == init_documents(ml50)


def test_the_upgrade_keeps_the_patches_of_gpu_nodes(ml50: Cluster) -> None:
    document = upgrade_document(ml50)
    assert document["apply"]["patches"] == document["node"]["patches"] == {"directory": "/etc/kubernetes/patches"}
    assert document["apply"]["kubernetesVersion"] == "v1.35.3"


def test_an_upgrade_begins_with_a_backup_and_takes_each_node_from_drain_to_uncordon(ml50: Cluster) -> None:
    """In the order of upstream's page on upgrading kubeadm clusters."""
    text = str(steps(ml50)).partition("another version of Kubernetes")[2]
    words = (
        "Back up etcd", "copy this whole folder anew", "kubeadm's package first", "prepare.sh", "kubeadm upgrade apply",
        "kubeadm upgrade node", "kubectl drain", "kubectl uncordon NODE` gives it up", "kubelet and kubectl",
        "restart kubelet", "Last `kubectl uncordon",
    )  # fmt: skip
    places = [text.find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)


def test_the_steps_say_who_makes_the_next_backup_of_etcd(ml50: Cluster) -> None:
    text, without = str(steps(ml50)), str(steps(without_backups(ml50)))
    assert "`etcd-snapshot.timer` of each\ncontrol-plane node makes both every 6 h, and `backup-etcd` brings" in text
    assert "repeat both on a schedule of your own, or\nlet `kubernetes.etcd.backup` do it.\nOn cp-1" in without


def test_only_where_operations_are_the_steps_name_the_one_that_upgrades(ml50: Cluster) -> None:
    operation, timer = "`gen workflow submit kubernetes-upgrade`", "node-upgrade.timer"
    timed = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, upgrades="timer"))
    for cluster, told in (
        (ml50, (True, False)),
        (without_backups(timed), (True, True)),
        (without_operations(timed), (False, False)),
    ):
        text = str(steps(cluster)).partition("another version of Kubernetes")[2]
        assert (operation in text, timer in text) == told
        assert "By hand:\n\n1. Back up etcd" in text


def test_every_eviction_signal_is_named(ml50: Cluster) -> None:
    # pkg/kubelet/eviction/defaults_linux.go: one that is left out beside others is off.
    signals = {"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"}
    kubelet = kinds(ml50)["KubeletConfiguration"]
    assert set(kubelet["evictionHard"]) == signals
    assert "imageMinimumGCAge" not in kubelet


def test_etcd_tells_its_metrics_on_one_address(ml50: Cluster, a30: Cluster) -> None:
    etcd = kinds(a30)["ClusterConfiguration"]["etcd"]["local"]
    assert named(etcd["extraArgs"])["listen-metrics-urls"] == "http://129.254.202.251:2381"
    assert "2381" in steps(a30)
    assert "2381" not in steps(ml50)


@pytest.mark.parametrize(("pods", "mask"), [("fd00:1::/40", "56"), ("fd00:1::/56", "72"), ("fd00:1::/112", "120")])
def test_slices_of_the_second_family_fit_it(ml50: Cluster, pods: str, mask: str) -> None:
    dual = structs.replace(ml50.kubernetes, pod_cidr6=IPv6Network(pods, strict=False))
    masks = named(
        kinds(structs.replace(ml50, kubernetes=dual))["ClusterConfiguration"]["controllerManager"]["extraArgs"]
    )
    assert masks["node-cidr-mask-size-ipv6"] == mask


PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"


def test_one_ca_of_the_site_is_trusted_by_all(ml50: Cluster) -> None:
    mirrors = (Mirror(registry="quay.io", mirror="harbor.example.org"),)
    cluster = structs.replace(ml50, site=structs.replace(ml50.site, ca=PEM, mirrors=mirrors))
    server = kinds(cluster)["ClusterConfiguration"]["apiServer"]
    assert named(server["extraArgs"])["oidc-ca-file"] == "/etc/kubernetes/site-ca.crt"
    mounted = next(volume for volume in server["extraVolumes"] if volume["name"] == "site-ca")
    assert (mounted["mountPath"], mounted["readOnly"], mounted["pathType"]) == (SITE_CA, True, "File")
    files = node_files(cluster)
    assert files["node/all/etc/kubernetes/site-ca.crt"] == f"{PEM}\n"
    assert 'ca = "/etc/kubernetes/site-ca.crt"' in str(files["node/all/etc/containerd/certs.d/quay.io/hosts.toml"])
    assert "ca = " not in str(node_files(structs.replace(cluster, site=structs.replace(cluster.site, ca=None))))
    assert json.loads(settings(cluster)["oidc.config"])["rootCA"] == PEM
    assert "rootCA" not in settings(ml50)["oidc.config"]


def test_a_provider_with_a_public_certificate_is_trusted_beside_a_ca_of_the_site(ml50: Cluster) -> None:
    """Both programs trust nothing else once they are given a CA for it."""
    provider = ml50.site.oidc
    assert provider
    public = structs.replace(ml50.site, ca=PEM, oidc=structs.replace(provider, ca="system"))
    cluster = structs.replace(ml50, site=public)
    server = kinds(cluster)["ClusterConfiguration"]["apiServer"]
    assert "oidc-issuer-url" in named(server["extraArgs"])
    assert "oidc-ca-file" not in named(server["extraArgs"])
    assert "site-ca" not in {volume["name"] for volume in server["extraVolumes"]}
    assert "rootCA" not in settings(cluster)["oidc.config"]
    assert node_files(cluster)["node/all/etc/kubernetes/site-ca.crt"] == f"{PEM}\n"


def test_labels_and_taints_are_set_on_nodes_that_have_joined(ml50: Cluster) -> None:
    lines = str(label_files(ml50)[Place("nodes", "labels.list")]).splitlines()
    training = [line for line in lines if line.split()[1] == "gpu-01"]
    assert training == [
        f"label gpu-01 {POOL}=gpu-training {SCRATCH}=true {RACK}=r1 {CEPH}- {OBJECTS}-",
        "taint gpu-01 nvidia.com/gpu=present:NoSchedule gen.internal/training=present:NoSchedule",
    ]
    assert {line.split()[1] for line in lines} == {machine.name for machine in ml50.machines}


def test_the_label_script_sets_each_line_and_tells_of_nodes_that_are_not_there(tmp_path: Path) -> None:
    fake = tmp_path / "kubectl"
    fake.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n[ "$3" != gone ]\n')
    fake.chmod(0o755)
    lines = ("# comment", "label n1 a=b c-", "label gone a=b", "taint gone x=y:NoSchedule", "label n2 a=")
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in lines))
    done = run("label.sh", str(tmp_path / "list"), env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1
    assert done.stderr.startswith("label.sh: not all was set on gone, for the reasons above")
    assert (tmp_path / "calls").read_text().splitlines() == [
        "label node n1 --overwrite a=b c-",
        "label node gone --overwrite a=b",
        "taint node gone --overwrite x=y:NoSchedule",
        "label node n2 --overwrite a=",
    ]


def test_the_label_script_is_silent_where_all_was_set(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text("#!/bin/sh\n")
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "list").write_text("label n1 a=b\n")
    done = run("label.sh", str(tmp_path / "list"), env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_new_drive_of_minio_needs_a_new_pod_or_the_operation(ml50: Cluster, a30: Cluster) -> None:
    told = [str(steps(one)) for one in (ml50, without_operations(ml50))]
    assert ["submit drive-replacement -p node=NODE" in text for text in told] == [True, False]
    assert ["kubectl --namespace minio delete pod NAME" in text for text in told] == [False, True]
    assert "minio" not in steps(a30)


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_each_secret_has_its_complete_command(request: pytest.FixtureRequest, name: str) -> None:
    cluster: Cluster = request.getfixturevalue(name)
    secrets = [secret for component in compose(cluster) for secret in component.secrets]
    text = steps(cluster, secrets)
    commands = [line for line in text.splitlines() if line.startswith("secret ")]
    wanted = [secret for secret in secrets if secret.source in ("given", "generated")]
    assert {tuple(line.split()[1:3]) for line in commands} == {(s.namespace, s.name) for s in wanted}
    assert len(commands) == len(wanted)
    for secret in wanted:
        (line,) = (line for line in commands if line.split()[1:3] == [secret.namespace, secret.name])
        assert [word.partition("=")[0] for word in line.split()[3:]] == list(secret.keys)
        for key, value in secret.labels.items():
            assert f"kubectl -n {secret.namespace} label secret {secret.name} {key}={value}" in text


def test_a_copied_secret_takes_the_files_of_the_first(ml50: Cluster) -> None:
    secrets = [secret for component in compose(ml50) for secret in component.secrets]
    lines = str(secret_commands(reversed(secrets))).splitlines()
    first, second = (
        next(n for n, line in enumerate(lines) if line.startswith(f"secret {namespace} minio-user-backup-writer "))
        for namespace in ("minio", "rook-ceph")
    )
    assert first < second
    assert "=minio/minio-user-backup-writer/secretKey" in lines[second]


def test_the_steps_say_that_closed_windows_close_the_first_installation_too(ml50: Cluster) -> None:
    closed = Gitops(windows=(Window(kind="deny", schedule="0 0 * * sat", duration="1d"),))
    told = "leave it\nout until all is there"
    assert told in steps(structs.replace(ml50, gitops=closed))
    assert told not in steps(ml50)
