"""kubeadm's own files, `kubeadm.k8s.io/v1beta4`: arguments are lists of name and value (facts: network-gpu 10)."""

from generator.components.common import API_PORT, OIDC_PREFIX, SITE_CA
from generator.components.component import Manifest
from generator.components.kubeadm.bootstrap_images import mirrored
from generator.components.kubeadm.registration import arguments, registration
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

API = "kubeadm.k8s.io/v1beta4"
ENCRYPTION_FILE = "/etc/kubernetes/enc/encryption.yaml"
AUDIT_FILE = "/etc/kubernetes/audit/policy.yaml"
ADMISSION_FILE = "/etc/kubernetes/admission/config.yaml"
DISCOVERY_FILE = "/etc/kubernetes/discovery.conf"
PATCHES = "/etc/kubernetes/patches"
ANY = "0.0.0.0"  # noqa: S104 - metrics ports, which listen on loopback by default


def init_documents(cluster: Cluster) -> list[Manifest]:
    """Return what `kubeadm init` reads on the first control-plane node."""
    first = cluster.control_plane[0]
    init: Manifest = {
        "apiVersion": API,
        "kind": "InitConfiguration",
        "localAPIEndpoint": api_endpoint(first),
        "nodeRegistration": registration(cluster, first).document,
        "patches": {"directory": PATCHES},
    }
    shared = [cluster_configuration(cluster), kubelet_configuration(cluster)]
    mode = cluster.networks.kube_proxy
    if mode is None:
        return [{**init, "skipPhases": ["addon/kube-proxy"]}, *shared]
    # Calico cannot follow a kube-proxy that writes something else than it does itself.
    proxy = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": mode}
    return [init, *shared, proxy]


def join_document(cluster: Cluster, machine: Machine) -> Manifest:
    """Return what `kubeadm join` reads on any other node.

    It holds no token and no certificate key: the node reads both from `discovery.conf`, a kubeconfig that the
    first control-plane node writes and a person copies, and certificates are copied likewise. Both end
    with the installation and never pass through Git.
    """
    serving = {"controlPlane": {"localAPIEndpoint": api_endpoint(machine)}} if machine.role == "control-plane" else {}
    return {
        "apiVersion": API,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": DISCOVERY_FILE}},
        "nodeRegistration": registration(cluster, machine).document,
        "patches": {"directory": PATCHES},
        **serving,
    }


def upgrade_document(cluster: Cluster) -> Manifest:
    """Return what `kubeadm upgrade` reads. Without `patches` it would write the kubelet's shared configuration over
    that of GPU nodes, whose kubelet then refuses the state file of its CPU manager.
    """
    patches = {"patches": {"directory": PATCHES}}
    return {
        "apiVersion": API,
        "kind": "UpgradeConfiguration",
        "apply": {"kubernetesVersion": f"v{cluster.kubernetes.version}", **patches},
        "node": patches,
    }


def api_endpoint(machine: Machine) -> Manifest:
    """Return where a node's API server listens."""
    return {"advertiseAddress": str(machine.address), "bindPort": API_PORT}


def cluster_configuration(cluster: Cluster) -> Manifest:
    """Return what all control-plane nodes share; kubeadm keeps it in the cluster."""
    settings = cluster.kubernetes
    images, etcd_image = mirrored(cluster)
    etcd = {
        "quota-backend-bytes": str(settings.etcd.quota.value),
        "auto-compaction-mode": "periodic",
        "auto-compaction-retention": "1h",
        **scraped(cluster, "listen-metrics-urls", f"http://{_metrics_address(cluster)}:2381"),
    }
    return {
        "apiVersion": API,
        "kind": "ClusterConfiguration",
        "clusterName": cluster.name,
        "kubernetesVersion": f"v{settings.version}",
        "controlPlaneEndpoint": settings.endpoint.address,
        "certificatesDir": "/etc/kubernetes/pki",
        **images,
        "networking": {
            "podSubnet": _both(settings.pod_cidr, settings.pod_cidr6),
            "serviceSubnet": _both(settings.service_cidr, settings.service_cidr6),
            "dnsDomain": settings.dns_domain,
        },
        "apiServer": api_server(cluster),
        "controllerManager": {"extraArgs": arguments(controller_manager(cluster))},
        "scheduler": {"extraArgs": arguments(scraped(cluster))},
        "etcd": {"local": {**etcd_image, "dataDir": settings.etcd.data_dir, "extraArgs": arguments(etcd)}},
        **({} if cluster.networks.kube_proxy else {"proxy": {"disabled": True}}),
    }


def _both(network: object, second: object | None) -> str:
    return f"{network},{second}" if second else str(network)


def _metrics_address(cluster: Cluster) -> str:
    """Return where etcd tells its metrics, to whoever asks: one node's address, or any where several share the file."""
    return str(cluster.control_plane[0].address) if len(cluster.control_plane) == 1 else ANY


def scraped(cluster: Cluster, name: str = "bind-address", value: str = ANY) -> dict[str, str]:
    """Return the argument that opens a part's metrics where somebody reads them: otherwise they stay on loopback."""
    return {name: value} if cluster.monitoring.prometheus else {}


def controller_manager(cluster: Cluster) -> dict[str, str]:
    """Return the size of each node's slice of the pod network, under the name that fits one family or two."""
    mask, mask6, name = cluster.kubernetes.node_mask, cluster.kubernetes.node_mask6, "node-cidr-mask-size"
    masks = {f"{name}-ipv4": str(mask), f"{name}-ipv6": str(mask6)} if mask6 else {name: str(mask)}
    return {**scraped(cluster), **masks}


def api_server(cluster: Cluster) -> Manifest:
    """Return the API server's names, arguments and the host files it reads."""
    named = {"audit-policy-file": AUDIT_FILE, "audit-log-path": "/var/log/kubernetes/audit/audit.log",
             "audit-log-maxage": "30", "audit-log-maxbackup": "10", "audit-log-maxsize": "100"}  # fmt: skip
    volumes = [
        _volume("audit-policy", "/etc/kubernetes/audit", read_only=True),
        _volume("audit-log", "/var/log/kubernetes/audit", read_only=False),
    ]
    if cluster.kubernetes.pod_security != "privileged":
        named["admission-control-config-file"] = ADMISSION_FILE
        volumes.append(_volume("admission", "/etc/kubernetes/admission", read_only=True))
    if cluster.kubernetes.encryption != "none":
        named |= {"encryption-provider-config": ENCRYPTION_FILE, "encryption-provider-config-automatic-reload": "true"}
        volumes.append(_volume("encryption", "/etc/kubernetes/enc", read_only=True))
    if oidc := cluster.site.oidc:
        named |= {
            "oidc-issuer-url": oidc.issuer,
            "oidc-client-id": oidc.client,
            "oidc-username-claim": "preferred_username",
            "oidc-username-prefix": OIDC_PREFIX,
            "oidc-groups-claim": oidc.groups_claim,
            "oidc-groups-prefix": OIDC_PREFIX,
        }
        if cluster.site.oidc_ca:
            named |= {"oidc-ca-file": SITE_CA}
            volumes.append({**_volume("site-ca", SITE_CA, read_only=True), "pathType": "File"})
    names = [
        cluster.kubernetes.endpoint.host,
        *(str(machine.address) for machine in cluster.control_plane),
        cluster.host("api"),
    ]
    return {"certSANs": list(dict.fromkeys(names)), "extraArgs": arguments(named), "extraVolumes": volumes}


def admission(cluster: Cluster) -> Manifest:
    """Return which level of the Pod Security Standards holds where a namespace says none by a label. Warnings are left
    to labels: every apply in a namespace that has to be privileged would give one.
    """
    level, group = cluster.kubernetes.pod_security, "pod-security.admission.config.k8s.io/v1"
    defaults = {"enforce": level, "enforce-version": "latest"}
    configuration = {
        "apiVersion": group,
        "kind": "PodSecurityConfiguration",
        "defaults": defaults,
        # Static pods of the control plane, kube-proxy and pod networks must be privileged, and kubeadm labels nothing.
        "exemptions": {"namespaces": ["kube-system"]},
    }
    plugin = {"name": "PodSecurity", "configuration": configuration}
    return {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [plugin]}


def _volume(name: str, path: str, *, read_only: bool) -> Manifest:
    return {"name": name, "hostPath": path, "mountPath": path, "readOnly": read_only, "pathType": "DirectoryOrCreate"}


def kubelet_configuration(cluster: Cluster) -> Manifest:
    """Return what every kubelet shares; GPU nodes are patched (see `patches`)."""
    settings = cluster.kubernetes
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        # kubeadm gives the cluster's DNS the tenth address.
        "clusterDNS": [str(settings.service_cidr[10])],
        "clusterDomain": settings.dns_domain,
        "maxPods": settings.max_pods,
        "systemReserved": {"cpu": str(settings.reserved.cpu), "memory": str(settings.reserved.memory)},
        # Every signal: those that are left out here are off (kubelet, `mergeDefaultEvictionSettings`).
        "evictionHard": {
            "memory.available": "1Gi",
            "nodefs.available": "10%",
            "nodefs.inodesFree": "5%",
            "imagefs.available": "15%",
            "imagefs.inodesFree": "5%",
        },
        "shutdownGracePeriod": "60s",
        "shutdownGracePeriodCriticalPods": "20s",
        "protectKernelDefaults": True,
        # Serving certificates signed by the cluster would each have to be approved by somebody (kubeadm 1602).
        "serverTLSBootstrap": False,
        "failSwapOn": True,
    }
