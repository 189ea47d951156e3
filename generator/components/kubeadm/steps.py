"""The numbered steps from bare nodes to a cluster that Argo CD syncs."""

from collections.abc import Iterator

from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.node_sets import node_set


def steps(cluster: Cluster) -> str:
    """Return the README of the bootstrap folder, for this very cluster."""
    parts = [_head(cluster), *(f"## {number}. {step}" for number, step in enumerate(_steps(cluster), start=1))]
    return "\n".join(parts)


def _head(cluster: Cluster) -> str:
    return f"""\
<!-- Written by gen. Do not edit; instead: clusters/{cluster.name}/cluster.yaml -->
# {cluster.name}: from bare nodes to Argo CD

{len(cluster.machines)} nodes, {len(cluster.control_plane)} of them control plane; Kubernetes \
{cluster.kubernetes.version}, {cluster.networks.cni}. Nothing in this folder is synced by Argo CD. Every step can be
run again, and ends with how to see that it worked. Nothing here holds a key or a token: nothing secret belongs here.
"""


def _steps(cluster: Cluster) -> Iterator[str]:
    yield _prepare(cluster)
    disks = [one.name for one in cluster.machines if one.disks_for("scratch") or one.disks_for("objects")]
    if disks:
        yield _disks(node_set(disks))
    if cluster.kubernetes.encryption != "none":
        yield _key(cluster)
    yield _init(cluster)
    yield _join(cluster)
    if cluster.storage.ceph and cluster.networks.storage and cluster.storage.ceph.network == "host":
        yield _monitors(cluster)
    yield _network(cluster)
    yield _secrets(cluster)
    yield _argocd(cluster)


def _prose(name: str) -> str:
    return read_text(f"kubeadm/prose/{name}.md").removesuffix("\n")


def _prepare(cluster: Cluster) -> str:
    rows = "\n".join(
        f"| {pool} | {node_set(machine.name for machine in cluster.in_pools(pool))} | `sudo node/prepare.sh {pool}` |"
        for pool in sorted(cluster.pools)
    )
    return f"""\
Every node
Install containerd 1.7 or newer, kubeadm, kubelet and kubectl {cluster.kubernetes.version}, chrony{_packages(cluster)}.
Copy this whole folder to each node; all commands on nodes are run from inside it:

| pool | nodes | command |
|---|---|---|
{rows}

Check: `systemctl is-active containerd` says active, `swapon --show` nothing.
"""


def _packages(cluster: Cluster) -> str:
    ceph, storage = cluster.storage.ceph, cluster.storage
    wanted = {
        "on InfiniBand nodes the host's RDMA tools": any(machine.hardware.hcas for machine in cluster.machines),
        "on Ceph nodes lvm2": bool(ceph and ceph.encryption.rest),
        "on nodes with disks for scratch or MinIO xfsprogs": bool(storage.scratch or storage.objects),
    }
    return "".join(f", {words}" for words, needed in wanted.items() if needed)


def _disks(nodes: str) -> str:
    return f"""\
Disks for scratch and MinIO
On each of {nodes}, first without `--yes` to see what would be done:
{_prose("disks")}
"""


def _key(cluster: Cluster) -> str:
    first, *others = (machine.name for machine in cluster.control_plane)
    return f"""\
Key for Secrets at rest
On {first} only:
```sh
sudo node/encryption-key.sh {cluster.kubernetes.encryption}
```
Copy `/etc/kubernetes/enc/encryption.yaml` (mode 0600) to {", ".join(others) or "no other node (there is one only)"} \
and to a safe place outside the cluster:
without it no backup of etcd can be read.
Check: `sudo ls -l /etc/kubernetes/enc/` shows the file on every control-plane node.
"""


def _init(cluster: Cluster) -> str:
    first = cluster.control_plane[0]
    before, after = _endpoint(cluster)
    return f"""\
First control-plane node
On {first.name}:
```sh
sudo mkdir -p /etc/kubernetes/audit && sudo cp kubeadm/audit-policy.yaml /etc/kubernetes/audit/policy.yaml
{before}sudo kubeadm init --config kubeadm/init.yaml
{after}```
Check: `sudo kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz` says ok. The node stays NotReady until
the network is there (below). To go back: `sudo kubeadm reset`.
"""


def _endpoint(cluster: Cluster) -> tuple[str, str]:
    if cluster.kubernetes.endpoint.by == "kube-vip":
        return KUBE_VIP_BEFORE, KUBE_VIP_AFTER
    if cluster.kubernetes.endpoint.by == "keepalived":
        return KEEPALIVED, ""
    return f"# {cluster.kubernetes.endpoint.address} must lead to this node's port 6443 already.\n", ""


KUBE_VIP_BEFORE = """\
# admin.conf has no rights until init is done: the first node starts with super-admin.conf.
sudo mkdir -p /etc/kubernetes/manifests && sudo cp endpoint/kube-vip.yaml /etc/kubernetes/manifests/kube-vip.yaml
sudo sed -i 's#path: /etc/kubernetes/admin.conf#path: /etc/kubernetes/super-admin.conf#' \
/etc/kubernetes/manifests/kube-vip.yaml
"""
KUBE_VIP_AFTER = """\
sudo sed -i 's#path: /etc/kubernetes/super-admin.conf#path: /etc/kubernetes/admin.conf#' \
/etc/kubernetes/manifests/kube-vip.yaml
"""
KEEPALIVED = """\
sudo cp endpoint/keepalived-$(hostname).conf /etc/keepalived/keepalived.conf
sudo systemctl enable --now keepalived
"""


# What a control-plane node does after its join, by what holds the address.
JOINED = {
    "kube-vip": "sudo cp endpoint/kube-vip.yaml /etc/kubernetes/manifests/   # after the join",
    "keepalived": "sudo cp endpoint/keepalived-$(hostname).conf /etc/keepalived/keepalived.conf && "
    "sudo systemctl enable --now keepalived   # after the join",
    "external": "# add the node to the load balancer after the join",
}


def _control(cluster: Cluster) -> str:
    first, *others = cluster.control_plane
    copied = "".join(
        f"sudo scp -r /etc/kubernetes/pki/{{ca.crt,ca.key,sa.key,sa.pub,front-proxy-ca.crt,front-proxy-ca.key}} "
        f"root@{machine.address}:/etc/kubernetes/pki/\n"
        f"sudo scp /etc/kubernetes/pki/etcd/ca.{{crt,key}} root@{machine.address}:/etc/kubernetes/pki/etcd/\n"
        for machine in others
    )
    return f"""
The other control-plane nodes, one after the other, need the certificates of {first.name} first (create
`/etc/kubernetes/pki/etcd` there), the audit policy and the encryption key; then on each:
```sh
sudo mkdir -p /etc/kubernetes/audit && sudo cp kubeadm/audit-policy.yaml /etc/kubernetes/audit/policy.yaml
sudo kubeadm join --config kubeadm/join-$(hostname).yaml
{JOINED[cluster.kubernetes.endpoint.by]}
```
On {first.name}:
```sh
{copied}```
"""


def _join(cluster: Cluster) -> str:
    first, *others = cluster.control_plane
    return f"""\
All other nodes
On {first.name}, make the file by which nodes find the cluster; it is good for two hours:
{_prose("discovery")}
{_control(cluster) if others else ""}
{_prose("workers")}
Check: `kubectl get nodes -L gen.internal/pool` lists {len(cluster.machines)} nodes with their pools. Labels and taints
come from the join files: racks must be right before Ceph starts, because Rook reads them once.
"""


def _monitors(cluster: Cluster) -> str:
    commands = "".join(
        f"kubectl annotate node {machine.name} network.rook.io/mon-ip={machine.addresses['storage']}\n"
        for machine in cluster.ceph_hosts
        if "storage" in machine.addresses
    )
    return f"""\
Ceph monitors on the storage network
A kubelet cannot annotate its own node. Without this, monitors take the node network and stay there:
```sh
{commands}```
Check: `kubectl get nodes -o custom-columns=NAME:.metadata.name,MON:.metadata.annotations.network\\.rook\\.io/mon-ip`.
"""


APPLY = "kubectl apply --server-side --force-conflicts --field-manager=argocd-controller"


def _build(path: str, namespace: str = "") -> str:
    where = f" -n {namespace}" if namespace else ""
    return f"kustomize build --enable-helm {path} | {APPLY}{where} -f -\n"


def _network(cluster: Cluster) -> str:
    cni = cluster.networks.cni
    return f"""\
Network
{_prose("network")}
```sh
{_build(f"overlays/{cluster.name}/namespaces")}{_build(f"overlays/{cluster.name}/{cni}")}```
Repeat the second line if it says that a kind is not known yet: its definition came with the same line.
Check: `kubectl get nodes` says Ready for all.
"""


def _secrets(cluster: Cluster) -> str:
    return f"""\
Secrets
{_prose("secrets")}
Check: `kubectl get secrets -A`, line by line against `clusters/{cluster.name}/bootstrap/secrets.yaml`.
"""


def _argocd(cluster: Cluster) -> str:
    enc = "" if cluster.kubernetes.encryption == "none" else " enc"
    return f"""\
Argo CD
```sh
{_build(f"overlays/{cluster.name}/argo-cd", "argocd")}kubectl -n argocd rollout status deployment argocd-repo-server
{APPLY} -f clusters/{cluster.name}/argocd/appproject-root.yaml
{APPLY} -f clusters/{cluster.name}/bootstrap/application-root.yaml
```
{_prose("argo-cd")}

Then make the first backup of etcd and of the certificates, and repeat both on a schedule of your own: no workflow does
it yet. On {cluster.control_plane[0].name}, with etcdctl of the running version:
```sh
sudo etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt \\
  --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key snapshot save /root/etcd.db
sudo tar -C /etc/kubernetes -czf /root/kubernetes-pki.tar.gz pki{enc}
```
Both hold every secret of the cluster: keep them encrypted, outside it.
"""
