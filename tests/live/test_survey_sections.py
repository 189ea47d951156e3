"""What each section is read from."""

from typing import Any

import pytest
from msgspec import structs
from surveyed import CONFIGS, CONTROL, KUBEADM, NODES, PODS, Object, begun, full, group, node, small, unlisted

from generator.model.cluster import Spec
from generator.model.teams import Member

READ = {
    *("repository", "site", "kubernetes", "networks", "fabric", "gpus", "pools", "nodes"),
    *("storage", "scheduling", "teams", "frameworks", "gitops", "components"),
}
WITHOUT = {"extras", "waivers"}
"""What a file that is only begun has nothing to say in."""


def container(image: str, **more: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [{"image": image, **more}]}}}}


def pod(name: str, image: str, *flags: str, **more: Any) -> Object:
    labels = {"component": name, "tier": "control-plane"}
    return {"metadata": {"name": f"{name}-cp-1", "labels": labels}, "spec": {"containers": [
        {"image": image, "command": [name, *flags], **more}]}}  # fmt: skip


def test_a_control_plane_without_kubeadm_is_read_from_its_flags() -> None:
    server = pod(
        "kube-apiserver",
        "registry.k8s.io/kube-apiserver:v1.35.3",
        "--service-cluster-ip-range=10.233.0.0/18,fd85::/116",
        "--encryption-provider-config=/etc/kubernetes/enc.yaml",
        "--oidc-issuer-url=https://id.example.org/realms/ml",
        "--oidc-client-id=lab",
        "--oidc-groups-claim=teams",
    )
    manager = pod(
        "kube-controller-manager",
        "registry.k8s.io/kube-controller-manager:v1.35.3",
        "--cluster-cidr=10.233.64.0/18,fd86::/112",
        "--node-cidr-mask-size-ipv4=25",
    )
    objects = {**small(), PODS: [server, manager]}
    del objects[KUBEADM]
    cluster, found = begun(objects)
    kubernetes = cluster.kubernetes
    assert [str(one) for one in (kubernetes.pod_cidr, kubernetes.service_cidr)] == ["10.233.64.0/18", "10.233.0.0/18"]
    assert [str(one) for one in (kubernetes.pod_cidr6, kubernetes.service_cidr6)] == ["fd86::/112", "fd85::/116"]
    assert (kubernetes.node_mask, kubernetes.encryption) == (25, "secretbox")
    assert any("by which provider Secrets are encrypted" in line for line in found.unknown)
    oidc = cluster.site.oidc
    assert oidc
    assert (oidc.issuer, oidc.client, oidc.groups_claim) == ("https://id.example.org/realms/ml", "lab", "teams")


def test_networks_of_services_since_kubernetes_1_33() -> None:
    """As the API server of 1.33 and later makes it: ServiceCIDR `kubernetes`."""
    objects = {**small(), KUBEADM: {}}
    served = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.43.0.0/16"]}}
    cluster, _ = begun(group(objects, "networking.k8s.io", "v1", servicecidrs=[served]))
    assert str(cluster.kubernetes.service_cidr) == "10.43.0.0/16"


def test_slices_of_nodes_where_nothing_else_says_the_pod_network() -> None:
    workers = [node(f"w-{number}", f"10.0.0.2{number}") for number in range(1, 4)]
    for number, one in enumerate(workers, 5):
        one["spec"]["podCIDR"] = f"10.42.{number}.0/24"
    cluster, found = begun({**small(*workers), KUBEADM: {}})
    assert str(cluster.kubernetes.pod_cidr) == "10.42.4.0/22"
    assert any("10.42.4.0/22 is the smallest that holds the nodes' slices" in line for line in found.unknown)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("api.example.org", "api.example.org:6443"),
        ("10.0.0.9:8443", "10.0.0.9:8443"),
        ("'[fd00::1]:6443'", "10.0.0.10:6443"),
        ("''", "10.0.0.10:6443"),
    ],
)
def test_the_endpoint(given: str, written: str) -> None:
    cluster, _ = begun({**small(), KUBEADM: {"data": {"ClusterConfiguration": f"controlPlaneEndpoint: {given}"}}})
    assert cluster.kubernetes.endpoint.address == written


def test_what_moves_the_endpoint_and_by_which_interface() -> None:
    env = [{"name": "vip_interface", "value": "bond0"}]
    vip = pod("kube-vip", "ghcr.io/kube-vip/kube-vip:v1.0.1", env=env)
    cluster, _ = begun({**small(), PODS: [vip]})
    assert cluster.kubernetes.endpoint.by == "kube-vip"
    assert cluster.networks.node.interface == "bond0"


def test_several_control_plane_nodes_without_a_known_mover_are_told() -> None:
    others = [node(f"cp-{number}", f"10.0.0.1{number}", labels=CONTROL) for number in (2, 3)]
    cluster, found = begun(small(*others))
    assert [one.role for one in cluster.machines] == ["control-plane"] * 3
    assert any("what keeps this address up" in line for line in found.unknown)


def test_calico_its_data_plane_and_its_nodes_network() -> None:
    one = node("w-1", "10.0.0.21")
    one["metadata"]["annotations"] = {"projectcalico.org/IPv4Address": "10.0.0.21/20"}
    objects = {**small(one), "/apis/apps/v1/daemonsets": [container("docker.io/calico/node:v3.32.1")]}
    spec = {"calicoNetwork": {"linuxDataplane": "Nftables", "mtu": 8950, "ipPools": [{"encapsulation": "VXLAN"}]}}
    installation = {"metadata": {"name": "default"}, "spec": spec}
    objects = group(objects, "operator.tigera.io", "v1", installations=[installation])
    pools = [
        {"metadata": {"name": name}, "spec": {"cidr": cidr, "allowedUses": ["LoadBalancer"]}}
        for name, cidr in (("a", "10.0.14.0/25"), ("b", "10.0.14.128/26"))
    ]
    cluster, _ = begun(group(objects, "crd.projectcalico.org", "v1", ippools=pools))
    networks = cluster.networks
    assert (networks.cni, networks.data_plane) == ("calico", "nftables")
    assert (str(networks.node.cidr), networks.node.mtu) == ("10.0.0.0/20", 9000)
    assert networks.load_balancer
    assert str(networks.load_balancer.range) == "10.0.14.0-10.0.14.191"
    assert networks.load_balancer.announce == "none"


def test_another_pod_network_is_told() -> None:
    flannel = container("docker.io/rancher/flannel:v0.26")
    _, found = begun({**small(), "/apis/apps/v1/daemonsets": [flannel]})
    assert any("the cluster has flannel" in line for line in found.unknown)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("docker.io/rancher/mirrored-calico-node:v3.30.2", "calico"),
        ("rancher/mirrored-cilium-cilium:v1.18.0", "cilium"),
        ("10.0.0.5:5000/quay.io/cilium/cilium", "cilium"),
    ],
)
def test_pod_networks_by_whatever_registry(image: str, name: str) -> None:
    cluster, _ = begun({**small(), "/apis/apps/v1/daemonsets": [container(image)]})
    assert cluster.networks.cni == name
    assert cluster.components[name].managed is False


def test_the_operator_of_cilium_alone_is_no_cilium() -> None:
    _, found = begun({**small(), "/apis/apps/v1/deployments": [container("quay.io/notcilium/cilium-envoy:v1")]})
    assert any("neither cilium nor calico is seen" in line for line in found.unknown)


def owned(name: str, **amounts: Any) -> Object:
    return {"name": name, **amounts}


def queue(name: str, *flavors: Object, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"resourceGroups": [{"flavors": list(flavors)}], **spec}}


def test_teams() -> None:
    cpu = [
        owned("cpu", nominalQuota="40", borrowingLimit="8"),
        owned("memory", nominalQuota="128Gi"),
        owned("nvidia.com/gpu", nominalQuota="0"),
    ]
    gpu = [owned("cpu", nominalQuota="8"), owned("nvidia.com/gpu", nominalQuota=8, lendingLimit="2")]
    nowhere = {"name": "spot", "resources": [owned("cpu", nominalQuota="9")]}
    idle = {"name": "h100", "resources": [owned("nvidia.com/gpu", nominalQuota="0")]}
    queues = [
        queue("vision", {"name": "h100", "resources": gpu}, {"name": "cpu", "resources": cpu}, nowhere),
        queue("language", idle, cohort="department-nlp", queueingStrategy="StrictFIFO", fairSharing={"weight": "3"}),
        queue("Not_a_team"),
    ]
    flavors = [
        {"metadata": {"name": "h100"}, "spec": {"nodeLabels": {"team": "a"}}},
        {"metadata": {"name": "cpu"}, "spec": {"nodeLabels": {"cpu": "yes"}}},
        {"metadata": {"name": "spot"}, "spec": {"nodeLabels": {"spot": "yes"}}},
    ]
    hard = {"requests.storage": "22Ti", "rbd.storageclass.storage.k8s.io/requests.storage": "3Ti", "pods": "9"}
    hard["local.storageclass.storage.k8s.io/requests.storage"] = "2Ti"
    for name in ("nfs", "longhorn"):  # of one gen writes that itself, of the other somebody must have said so
        hard[f"{name}.storageclass.storage.k8s.io/requests.storage"] = "20Ti"
    binding = {
        "roleRef": {"name": "gen:team-member"},
        "subjects": [{"kind": "Group", "name": "oidc:vision"}, {"kind": "User", "name": "oidc:eve"}],
    }
    viewers = {"roleRef": {"name": "gen:team-viewer"}, "subjects": [{"kind": "Group", "name": "oidc:sre"}]}
    other = {"roleRef": {"name": "edit"}, "subjects": [{"kind": "Group", "name": "someone"}]}
    base = full()
    base[NODES].append(node("w-9", "10.0.0.29", labels={"cpu": "yes"}))
    objects = group(base, "kueue.x-k8s.io", "v1beta1", resourceflavors=flavors, clusterqueues=queues)
    wider = {"requests.storage": "80Ti", "local.storageclass.storage.k8s.io/requests.storage": "9Ti"}
    quotas = [{"metadata": {"name": name}, "spec": {"hard": own}} for name, own in (("q", hard), ("r", wider))]
    objects["/api/v1/namespaces/vision/resourcequotas"] = quotas
    scratch = {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"}
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    nfs = {"metadata": {"name": "nfs"}, "provisioner": "nfs.csi.k8s.io"}
    objects[classes] = [*objects.get(classes, ()), scratch, nfs]
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/rolebindings"
    objects[bindings] = [{"metadata": {"name": "b"}, **one} for one in (binding, viewers, other)]
    cluster, found = begun(objects)
    vision, language = cluster.teams
    assert (vision.quotas["gpu-h100"].gpus, vision.quotas["gpu-h100"].lend) == (8, 2)
    assert (vision.quotas["cpu"].cpus, str(vision.quotas["cpu"].memory), vision.quotas["cpu"].borrow) == (
        40,
        "128Gi",
        8,
    )
    assert vision.members == (Member(group="vision"), Member(user="eve"), Member(group="sre", role="viewer"))
    assert str(vision.storage) == "20Ti"
    assert {name: str(size) for name, size in vision.storage_classes.items()} == {"rbd": "3Ti", "longhorn": "20Ti"}
    assert (language.department, language.queueing, language.weight, language.quotas) == ("nlp", "StrictFIFO", 3, {})
    assert list(cluster.scheduling.departments) == ["nlp"]
    assert cluster.scheduling.reclaim == "never"
    told = " ".join(found.unknown)
    assert "what vision owns of flavor spot: it is no pool's nodes" in told
    bounded = "storageClasses: {local: 2Ti} bounds its scratch: say it, unless that is all its nodes have"
    assert bounded in " ".join(found.text.replace("#", " ").split())
    assert "ClusterQueue `Not_a_team` is left out" in told
    assert "startMinutes, fairSharing: Kueue's configuration is not seen in kueue-system" in told


def test_kueues_own_configuration() -> None:
    text = "waitForPodsReady: {timeout: 45m}\nfairSharing: {preemptionStrategies: []}\n"
    config = {"metadata": {"name": "kueue-manager-config"}, "data": {"controller_manager_config.yaml": text}}
    cluster, _ = begun({**full(), "/api/v1/namespaces/kueue-system/configmaps": [config]})
    assert (cluster.scheduling.start_minutes, cluster.scheduling.fair_sharing) == (45, True)


def test_storage() -> None:
    nfs = {
        "metadata": {"name": "home", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "nfs.csi.k8s.io",
        "parameters": {"server": "nas.example.org", "share": "/export"},
    }
    labels = {"app": "rook-ceph-osd", "topology-location-host": "w-1", "device-class": "hdd"}
    osds = [{"metadata": {"name": f"osd-{number}", "labels": labels}} for number in range(3)]
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [{"values": ["w-1"]}]}]}
    volume = {
        "metadata": {"name": "v"},
        "spec": {
            "local": {"path": "/mnt/a"},
            "capacity": {"storage": "3577Gi"},
            "storageClassName": "fast",
            "nodeAffinity": {"required": affinity},
        },
    }
    tenant = {"metadata": {"name": "objects"}, "spec": {"pools": [{"servers": 4, "volumesPerServer": 8}]}}
    objects = group(full(), "minio.min.io", "v2", tenants=[tenant])
    objects["/apis/storage.k8s.io/v1/storageclasses"] = [nfs]
    objects["/apis/apps/v1/deployments"] = osds
    objects["/api/v1/persistentvolumes"] = [volume, volume]
    cluster, found = begun(objects)
    assert cluster.storage.nfs
    assert (cluster.storage.nfs.server, cluster.storage.nfs.storage_class) == ("nas.example.org", "home")
    assert "  #   blockPools:" not in found.text
    assert "  #   ceph: {pools: [POOL], monitors: 3, network: host, " in found.text
    assert "keys:" not in found.text
    text = " ".join(found.text.replace("#", " ").split())
    assert "storage class home (the default one) of nfs.csi.k8s.io" in text
    assert "Ceph has 3 hdd on w-1" in text
    assert "the disks behind 2 x 3577Gi of class fast on w-1" in text
    assert "MinIO tenant objects of MinIO's operator, which gen does not use: 4 servers with 8 volumes" in text


@pytest.mark.parametrize(
    ("cephx", "told"),
    [
        ({"csi": {"keyGeneration": 3, "keepPriorKeyCountMax": 0}}, "keys: {csi: 3, former: 0}"),
        ({"csi": {"keyType": "aes"}, "daemon": {"keyGeneration": 2}}, "keys: {daemons: 2}"),
    ],
)
def test_generations_of_keys_do_not_go_back(cephx: dict[str, Any], told: str) -> None:
    objects = full()
    ceph = {"metadata": {"name": "ceph"}, "spec": {"mon": {"count": 3}, "security": {"cephx": cephx}}}
    _, found = begun(group(objects, "ceph.rook.io", "v1", cephclusters=[ceph]))
    assert told in " ".join(found.text.replace("#", " ").split())


def test_what_surrounds_it() -> None:
    root = {
        "metadata": {"name": "root"},
        "spec": {"source": {"repoURL": "git@git.example.org:lab/c.git", "targetRevision": "refs/heads/production"}},
    }
    classes = [{"metadata": {"name": "nginx"}}, {"metadata": {"name": "cilium", "annotations": {
        "ingressclass.kubernetes.io/is-default-class": "true"}}}]  # fmt: skip
    objects = group(small(), "argoproj.io", "v1alpha1", applications=[root])
    objects["/apis/networking.k8s.io/v1/ingressclasses"] = classes
    objects["/api/v1/namespaces/argocd/configmaps/argocd-cm"] = {"data": {"url": "https://argocd.lab.example.org"}}
    cluster, _ = begun(objects)
    assert (cluster.repository.url, cluster.repository.branch) == ("git@git.example.org:lab/c.git", "production")
    assert (cluster.site.domain, cluster.gitops.host) == ("lab.example.org", "argocd.lab.example.org")
    assert cluster.site.ingress_class == "cilium"


def application(name: str) -> Object:
    return {"metadata": {"name": name, "labels": {"gen.internal/cluster": "copy"}}, "spec": {}}


def test_what_gen_installed_is_gens_and_what_the_file_does_not_ask_for_is_told() -> None:
    objects = group(full(), "argoproj.io", "v1alpha1", applications=[application("cilium"), application("rook-ceph")])
    cluster, found = begun(objects)
    assert "cilium" not in cluster.components
    assert cluster.components["cert-manager"].managed is False
    told = "components: gen installed rook-ceph, and this file does not ask for it yet (there is no storage.ceph)"
    assert f"{told}: rendered as it is, it takes them out" in found.unknown


def test_sections_that_are_only_asked_for_are_named() -> None:
    """A cluster does not show what its owner wants of gen beside; a section that the file gets must be in one list."""
    _, found = begun(full())
    (line,) = [one for one in found.unknown if "what gen is asked for beside" in one]
    asked = {one.encode_name for one in structs.fields(Spec)} - READ - WITHOUT
    assert {one for one in asked if f" {one}," not in line} == set()


def test_components_that_gen_would_add_are_listed() -> None:
    _, found = begun(full())
    text = " ".join(found.text.replace("#", " ").split())
    assert "not there, and gen would install: argo-cd, gpu-operator, issuers," in text


def test_kubelets_of_another_version_are_told() -> None:
    one = node("w-1", "10.0.0.21")
    one["status"]["nodeInfo"]["kubeletVersion"] = "v1.34.9"
    _, found = begun(small(one))
    assert "some kubelets are of another version: v1.34.9" in found.text


def test_etcd_as_kubeadm_was_told() -> None:
    text = "etcd: {local: {dataDir: /data/etcd, extraArgs: [{name: quota-backend-bytes, value: '4294967296'}]}}"
    old = "etcd: {local: {extraArgs: {quota-backend-bytes: '4294967296'}}}"
    for each in (text, old):
        cluster, _ = begun({**small(), KUBEADM: {"data": {"ClusterConfiguration": each}}})
        assert str(cluster.kubernetes.etcd.quota) == "4Gi"


def test_dns_and_reserved_of_kubelets() -> None:
    kubelet = "clusterDomain: lab.local\nkubeReserved: {cpu: 500m, memory: 1Gi}\nsystemReserved: {cpu: 1500m}\n"
    cluster, _ = begun({**small(), f"{CONFIGS}/kubelet-config": {"data": {"kubelet": kubelet}}})
    assert cluster.kubernetes.dns_domain == "lab.local"
    assert (str(cluster.kubernetes.reserved.cpu), str(cluster.kubernetes.reserved.memory)) == ("2", "1Gi")


def test_what_no_file_can_have_is_left_out() -> None:
    """Names and numbers that Kubernetes takes, and the types of a cluster file do not."""
    model = {"nvidia.com/gpu.product": "Some-" + "very-" * 11 + "long", "nvidia.com/gpu.memory": "1"}
    objects = full()
    objects[NODES].append(node("w-9", "10.0.0.29", labels=model, **{"nvidia.com/gpu": "1"}))
    long = {"gen.internal/pool": "p" * 63}
    objects[NODES] += [node("w-10", "10.0.0.30", labels=long), node("cp-2", "10.0.0.12", labels={**long, **CONTROL})]
    classes = [{"metadata": {"name": "top"}, "value": 2_000_000_000}, {"metadata": {"name": "low"}, "value": 5}]
    flavor = {"metadata": {"name": "h100"}, "spec": {"nodeLabels": {"team": "a"}}}
    many = [owned("nvidia.com/gpu", nominalQuota="9P", borrowingLimit="9P")]
    queues = [queue("vision", {"name": "h100", "resources": many}, cohortName="department-A.b")]
    objects = group(
        objects,
        "kueue.x-k8s.io",
        "v1beta2",
        resourceflavors=[flavor],
        clusterqueues=queues,
        workloadpriorityclasses=classes,
    )
    hard = {"requests.storage": "-1", "a_b.storageclass.storage.k8s.io/requests.storage": "1Ti"}
    objects["/api/v1/namespaces/vision/resourcequotas"] = [{"metadata": {"name": "q"}, "spec": {"hard": hard}}]
    nfs = {"provisioner": "nfs.csi.k8s.io", "parameters": {"server": "NAS_1", "share": "/a b"}}
    objects["/apis/storage.k8s.io/v1/storageclasses"] = [{"metadata": {"name": "nfs"}, **nfs}]
    source = {"repoURL": "https://git.example.org/c.git", "targetRevision": "v1.*"}
    root = {"metadata": {"name": "root"}, "spec": {"source": source}}
    objects = group(objects, "argoproj.io", "v1alpha1", applications=[root])
    objects[f"{CONFIGS}/kubelet-config"] = {"data": {"kubelet": "clusterDomain: Cluster.Local\nmaxPods: 9999"}}
    cluster, found = begun(objects)
    vision = cluster.teams[0]
    assert cluster.scheduling.priorities == {"low": 5}
    assert (vision.department, vision.storage, vision.storage_classes) == (None, None, {})
    assert vision.quotas["gpu-h100"].gpus == 2**31 - 1
    assert cluster.storage.nfs is None
    assert cluster.repository.branch == "main"
    assert (cluster.kubernetes.dns_domain, cluster.kubernetes.max_pods) == ("cluster.local", 500)
    assert unlisted(found) == []


def test_a_section_that_does_not_fit_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not foreseen: the rest of the file is worth having."""
    from generator.survey import survey as module

    monkeypatch.setattr(module, "teams", lambda *_: [{"name": "NOT A TEAM"}])
    cluster, found = begun(full())
    assert cluster.teams == ()
    assert "teams: this section: what the cluster has does not fit a file" in found.unknown


@pytest.mark.parametrize(
    ("told", "encryption", "line"),
    [
        ({"enable-wireguard": "true"}, "wireguard", ""),
        ({"enable-wireguard": "false"}, None, ""),
        ({"enable-ipsec": "true"}, None, "Cilium has IPsec, and the file only WireGuard"),
    ],
)
def test_an_encrypted_pod_network_stays_so(told: Object, encryption: str | None, line: str) -> None:
    objects = full()
    objects[f"{CONFIGS}/cilium-config"]["data"].update(told)
    cluster, found = begun(objects)
    assert cluster.networks.encryption == encryption
    assert line in " ".join(found.unknown)


@pytest.mark.parametrize(
    ("flags", "level", "line"),
    [
        ([], "privileged", ""),
        (["--admission-control-config-file=/etc/kubernetes/admission.yaml"], "baseline", "namespaces without a label"),
    ],
)
def test_what_namespaces_may_run_is_the_flag_s(flags: list[str], level: str, line: str) -> None:
    objects = full()
    server = next(one for one in objects[PODS] if one["metadata"]["name"].startswith("kube-apiserver"))
    server["spec"]["containers"][0].setdefault("command", []).extend(flags)
    cluster, found = begun(objects)
    assert cluster.kubernetes.pod_security == level
    assert line in " ".join(found.unknown)


def test_calico_s_own_encryption_is_told() -> None:
    felix = {"metadata": {"name": "default"}, "spec": {"wireguardEnabled": True}}
    objects = {**small(), "/apis/apps/v1/daemonsets": [container("quay.io/calico/node:v3.32.1")]}
    cluster, found = begun(group(objects, "crd.projectcalico.org", "v1", felixconfigurations=[felix]))
    assert cluster.networks.encryption is None
    assert "Calico encrypts by WireGuard" in found.text
