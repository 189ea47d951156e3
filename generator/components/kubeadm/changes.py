"""What changes of kubeadm's files mean: kubeadm read them once, and nothing reads them again by itself.

How each is brought to a running cluster is written in Kubernetes' page on reconfiguring (`PAGE`).
"""

from generator.model.change import ABSENT, ChangeRule, Effect, FieldChange, ObjectChange

PAGE = "https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-reconfigure/"
IN_CLUSTER = "kubeadm.k8s.io/ClusterConfiguration"
KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"
JOIN = "kubeadm.k8s.io/JoinConfiguration"
ADMISSION = "apiserver.config.k8s.io/AdmissionConfiguration"
EDIT = "`kubectl -n kube-system edit cm kubeadm-config` likewise"
ONE_BY_ONE = f"{EDIT}, then on each control-plane node, one after the other: "


def slice_of_nodes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the size of each node's slice of the pod network changes."""
    return "node-cidr-mask-size" in str(field.path)


def stops_decrypting(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the API server loses what it reads encrypted Secrets with."""
    return "[encryption-provider-config]" in field.path and field.new is ABSENT


def stood_before(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether there was such a document before."""
    return bool(change.old)


IN_THE_CLUSTER = (
    ChangeRule(
        code="GEN-CHG-200",
        kinds=(IN_CLUSTER,),
        effect=Effect.BY_HAND,
        reason="kubeadm read it at its start and keeps a copy in the cluster; this file changes neither",
        instead=f"{ONE_BY_ONE}the phase of `kubeadm init` that writes what depends on it",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-201",
        kinds=(IN_CLUSTER,),
        paths=("networking.podSubnet",),
        effect=Effect.IMPOSSIBLE,
        reason="each node holds its slice of the old network for good (`podCIDRs` of a Node never change)",
        instead="a second pool of addresses beside it, where the pod network can have one, or a new cluster",
    ),
    ChangeRule(
        code="GEN-CHG-202",
        kinds=(IN_CLUSTER,),
        paths=("controllerManager.extraArgs",),
        effect=Effect.IMPOSSIBLE,
        reason="each node holds a slice of the old size for good (`podCIDRs` of a Node never change)",
        instead="keep the size, or make a new cluster",
        when=slice_of_nodes,
    ),
    ChangeRule(
        code="GEN-CHG-203",
        kinds=(IN_CLUSTER,),
        paths=("networking.serviceSubnet",),
        effect=Effect.IMPOSSIBLE,
        reason="every Service keeps its address of the old range, and the API server's certificate and the cluster's "
        "DNS lie in it",
        instead="keep the first range, and add a second one with an object `ServiceCIDR`",
        link="https://kubernetes.io/docs/tasks/network/extend-service-ip-ranges/",
    ),
    ChangeRule(
        code="GEN-CHG-204",
        kinds=(IN_CLUSTER,),
        paths=("networking.dnsDomain",),
        effect=Effect.OUTAGE,
        reason="every name that is written in full ends with it: kubelets, CoreDNS, certificates and programs must "
        "change together",
        instead="keep the domain, or make a new cluster",
    ),
    ChangeRule(
        code="GEN-CHG-205",
        kinds=(IN_CLUSTER,),
        paths=("controlPlaneEndpoint",),
        effect=Effect.OUTAGE,
        reason="every kubelet asks the API server at the old address, and keeps asking it; the pod network is sent to "
        "the new one by the same change",
        instead="let both addresses answer, with a certificate for both (`kubeadm init phase certs apiserver`), before "
        "this is merged; then the kubeconfigs of all nodes, and the old address last",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-242",
        kinds=(IN_CLUSTER,),
        paths=("proxy.disabled",),
        effect=Effect.OUTAGE,
        reason="kube-proxy comes and goes by people alone: with nobody who serves Services, or two who do, connections "
        "through them fail",
        instead="to have it: `kubeadm init phase addon kube-proxy --config kubeadm/init.yaml`, before the pod network "
        "stops replacing it; to be rid of it: delete its DaemonSet when the network replaces it, and restart the nodes",
        link="https://docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free/",
    ),
    ChangeRule(
        code="GEN-CHG-206",
        kinds=(IN_CLUSTER,),
        paths=("apiServer.certSANs",),
        effect=Effect.BY_HAND,
        reason="the API server's certificate stays as it is: who asks by a new name does not trust it",
        instead=f"{ONE_BY_ONE}move `apiserver.crt` and `.key` out of /etc/kubernetes/pki, "
        "`kubeadm init phase certs apiserver --config kubeadm/init.yaml`, restart the API server",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-207",
        kinds=(IN_CLUSTER, "kubeadm.k8s.io/UpgradeConfiguration"),
        paths=("kubernetesVersion", "apply.kubernetesVersion"),
        effect=Effect.NONE,
        reason="it is told above what the new version means",
    ),
    ChangeRule(
        code="GEN-CHG-208",
        kinds=(IN_CLUSTER,),
        paths=("apiServer", "controllerManager", "scheduler"),
        effect=Effect.BY_HAND,
        reason="arguments of static Pods stay as they are; written anew, each restarts, and with one control-plane "
        "node the API is away for up to a minute",
        instead=f"{ONE_BY_ONE}`kubeadm init phase control-plane all --config kubeadm/init.yaml --patches "
        "/etc/kubernetes/patches`, with the node's own address in the file; what new arguments name "
        "(kubeadm/admission.yaml as /etc/kubernetes/admission/config.yaml) is copied first: without it no API server "
        "starts",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-209",
        kinds=(IN_CLUSTER,),
        paths=("apiServer.extraArgs",),
        effect=Effect.OUTAGE,
        reason="an API server without the keys cannot read the Secrets that are encrypted, and most programs stop with "
        "that",
        instead="put `identity` first in encryption.yaml, write all Secrets anew "
        "(`kubectl get secrets -A -o json | kubectl replace -f -`), and only then take the argument away",
        link="https://kubernetes.io/docs/tasks/administer-cluster/decrypt-data/",
        when=stops_decrypting,
    ),
    ChangeRule(
        code="GEN-CHG-210",
        kinds=(IN_CLUSTER,),
        paths=("etcd",),
        effect=Effect.BY_HAND,
        reason="etcd runs on as it is; written anew, its static Pod restarts on that node",
        instead=f"{ONE_BY_ONE}`kubeadm init phase etcd local --config kubeadm/init.yaml`, and wait until all members "
        "are healthy before the next",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-211",
        kinds=(IN_CLUSTER,),
        paths=("etcd.local.dataDir",),
        effect=Effect.OUTAGE,
        reason="an etcd that starts with another folder finds nothing in it, and the API server nothing in etcd",
        instead="one member at a time: stop it, move the folder, start it with the new place, wait until it is healthy",
    ),
)

ONCE = (
    ChangeRule(
        code="GEN-CHG-212",
        kinds=("kubeadm.k8s.io/InitConfiguration", JOIN),
        effect=Effect.NONE,
        reason="kubeadm reads it once, when the node is made one; the nodes that are there keep what they have",
    ),
    ChangeRule(
        code="GEN-CHG-213",
        kinds=("kubeadm.k8s.io/InitConfiguration", JOIN),
        paths=("nodeRegistration.kubeletExtraArgs.[node-ip]", "localAPIEndpoint", "controlPlane"),
        effect=Effect.DRAIN,
        reason="the node keeps its old address, in the cluster, in its certificates, and in etcd on the control plane",
        instead="one node after the other: drain it, `kubectl delete node`, `sudo kubeadm reset`, give it the new "
        "address and join it again by clusters/<cluster>/bootstrap/README.md",
    ),
    ChangeRule(
        code="GEN-CHG-214",
        kinds=("kubeadm.k8s.io/UpgradeConfiguration",),
        effect=Effect.NONE,
        reason="the next `kubeadm upgrade` reads it",
    ),
    ChangeRule(
        code="GEN-CHG-215",
        kinds=("audit.k8s.io/Policy",),
        effect=Effect.BY_HAND,
        reason="the API servers read their own copy, at their start",
        instead="copy kubeadm/audit-policy.yaml to /etc/kubernetes/audit/policy.yaml on each control-plane node and "
        "restart its API server, one node after the other",
    ),
    ChangeRule(
        code="GEN-CHG-248",
        kinds=(ADMISSION,),
        effect=Effect.BY_HAND,
        reason="the API servers read their own copy, at their start; then namespaces without a label take no pod below "
        "its level: one that runs there does not come back once it ends",
        instead="see first what would be refused: `kubectl label --dry-run=server --overwrite ns --all "
        "pod-security.kubernetes.io/enforce=<level>`; then copy kubeadm/admission.yaml to "
        "/etc/kubernetes/admission/config.yaml on each control-plane node, before its API server has the flag, which "
        "does not start without the file, and restart it, one node after the other",
        link="https://kubernetes.io/docs/tasks/configure-pod-container/enforce-standards-admission-controller/",
    ),
)

DAEMONS = (
    ChangeRule(
        code="GEN-CHG-216",
        kinds=(KUBELET,),
        effect=Effect.BY_HAND,
        reason="kubelets run on as they are; their restart leaves pods running, but with less room for pods a kubelet "
        "may evict some",
        instead="`kubectl -n kube-system edit cm kubelet-config` likewise (what stands below node/ is copied by "
        "node/prepare.sh), then on each node `sudo kubeadm upgrade node phase kubelet-config --config "
        "kubeadm/upgrade.yaml` and `sudo systemctl restart kubelet`",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-217",
        kinds=(KUBELET,),
        paths=("cpuManagerPolicy", "memoryManagerPolicy"),
        effect=Effect.DRAIN,
        reason="a kubelet with another policy than its state file says does not start: the node must be drained, and "
        "the file deleted",
        instead="node by node: drain, stop the kubelet, delete /var/lib/kubelet/cpu_manager_state (or "
        "memory_manager_state), bring the new configuration, start it, uncordon",
        link="https://github.com/kubernetes/kubernetes/blob/v1.35.3/pkg/kubelet/cm/cpumanager/state/state_checkpoint.go",
    ),
    ChangeRule(
        code="GEN-CHG-218",
        kinds=(KUBELET,),
        paths=("cgroupDriver", "containerRuntimeEndpoint"),
        effect=Effect.DRAIN,
        reason="every pod of the node must be made anew, and containerd must be told the same",
        instead="node by node: drain, change both, restart containerd and the kubelet, uncordon",
    ),
    ChangeRule(
        code="GEN-CHG-219",
        kinds=(KUBELET,),
        paths=("clusterDNS", "clusterDomain"),
        effect=Effect.OUTAGE,
        reason="pods are told it when they start: those made later ask elsewhere for names than those that run",
        instead="keep it, or let both answer until every pod was made anew",
    ),
    ChangeRule(
        code="GEN-CHG-220",
        kinds=("kubeproxy.config.k8s.io/KubeProxyConfiguration",),
        effect=Effect.BY_HAND,
        reason="kube-proxy reads its ConfigMap, at its start",
        instead="`kubectl -n kube-system edit cm kube-proxy` likewise, then `kubectl -n kube-system rollout restart "
        "daemonset kube-proxy`",
        link=PAGE,
    ),
    ChangeRule(
        code="GEN-CHG-221",
        kinds=("kubeproxy.config.k8s.io/KubeProxyConfiguration",),
        paths=("mode",),
        effect=Effect.OUTAGE,
        reason="connections through Services break while rules of both modes stand beside each other, and the pod "
        "network's data plane must follow the same mode",
        instead="node by node: drain, change, restart the node, uncordon",
        when=stood_before,
    ),
)

RULES = (*IN_THE_CLUSTER, *ONCE, *DAEMONS)
