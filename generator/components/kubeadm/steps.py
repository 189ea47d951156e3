"""The numbered steps from bare nodes to a cluster that Argo CD syncs. Their words are in `prose/`."""

from collections.abc import Iterable, Iterator

from generator.components.component import Secret
from generator.components.kubeadm.labels import Marks, marks
from generator.components.kubeadm.secrets import secret_commands, store_functions, store_namespaces, store_rows
from generator.components.node_text import Escaped, NodeSet, Template, Text, Word, joined, template
from generator.model.cluster import Cluster
from generator.model.node_sets import node_set
from generator.model.nodes import Machine

APPLY = Text(Template("kubectl apply --server-side --force-conflicts --field-manager=argocd-controller"))
BUILD = Template("kustomize build --enable-helm overlays/{cluster}/{component} | {apply}{namespace} -f -\n")
STEP = Template("\n## {number}. {text}")
ROW = Template("| {pool} | {nodes} | `sudo node/prepare.sh {pool}` |\n")


def steps(cluster: Cluster, secrets: Iterable[Secret] = ()) -> Text:
    """Return the README of the bootstrap folder, for this very cluster and the Secrets that its components read."""
    head = _prose(
        "head",
        cluster=Word(cluster.name),
        nodes=Word(len(cluster.machines)),
        control=Word(len(cluster.control_plane)),
        version=Word(cluster.kubernetes.version),
        cni=Word(cluster.networks.cni),
    )
    numbered = enumerate(_steps(cluster, tuple(secrets)), start=1)
    return joined((head, *(Text(STEP, number=Word(number), text=text) for number, text in numbered)))


def _steps(cluster: Cluster, secrets: tuple[Secret, ...]) -> Iterator[Text]:
    yield _prepare(cluster)
    first, *others = cluster.control_plane
    if any(network.bond or network.vlan for machine in cluster.machines for network in machine.networks.values()):
        yield _prose("network-files")
    disks = [one for one in cluster.machines if any(map(one.disks_for, ("scratch", "objects", "cache")))]
    if disks:
        pods = _drive(cluster) if any(one.disks_for("objects") for one in disks) else joined(())
        yield _prose("disks", nodes=_names(disks), pods=pods)
    if cluster.kubernetes.encryption != "none":
        provider, nobody = Word(cluster.kubernetes.encryption), Text(Template("no other node (there is one only)"))
        yield _prose("key", first=Word(first.name), provider=provider, others=_names(others) if others else nobody)
    yield _init(cluster)
    yield _join(cluster)
    if any(one.annotations for one in marks(cluster)):
        yield _monitors(marks(cluster))
    yield _prose("labels", cluster=Word(cluster.name))
    yield _prose("network", namespaces=_build(cluster, "namespaces"), network=_build(cluster, cluster.networks.cni))
    if cluster.site.secrets:
        store, spaces = Word(cluster.site.secrets.store), store_namespaces(secrets)
        rows, functions = store_rows(secrets), store_functions(secrets)
        yield _prose("store", store=store, rows=rows, functions=functions, spaces=spaces)
    yield _prose("secrets", cluster=Word(cluster.name), commands=secret_commands(secrets))
    yield _argocd(cluster)
    if exposed := cluster.networks.exposure:
        yield _prose("exposure", domain=Word(exposed.domain), address=Word(exposed.address))
    if cluster.networks.firewall:
        yield _prose("firewall")
    yield _prose("upgrade", first=Word(first.name), operation=_operation(cluster))


def _drive(cluster: Cluster) -> Text:
    """Return how MinIO comes to a new drive."""
    return Text(DRIVE_BY_OPERATION if cluster.works_on_nodes else DRIVE)


def _operation(cluster: Cluster) -> Text:
    """Return that nobody need upgrade by hand, where the cluster has operations on nodes."""
    timer = Text(TIMER) if cluster.kubernetes.upgrades == "timer" else joined(())
    return joined((Text(OPERATION), timer)) if cluster.works_on_nodes else joined(())


def _prose(name: str, **values: Escaped | Text) -> Text:
    return Text(template(f"kubeadm/prose/{name}.md"), **values)


def _names(machines: Iterable[Machine]) -> NodeSet:
    return NodeSet(node_set(machine.name for machine in machines))


def _prepare(cluster: Cluster) -> Text:
    rows = joined(Text(ROW, pool=Word(pool), nodes=_names(cluster.in_pools(pool))) for pool in sorted(cluster.pools))
    wanted = cluster.kubernetes.deliver
    ways = joined(Text(template(f"kubeadm/prose/{way}.md")) for way in ("ansible", "cloud-init") if way in wanted)
    text = _prose("prepare", version=Word(cluster.kubernetes.version), packages=_packages(cluster), rows=rows)
    return joined((text, ways))


def _packages(cluster: Cluster) -> Text:
    ceph, storage = cluster.storage.ceph, cluster.storage
    wanted = {
        Template(", on control-plane nodes keepalived and curl"): cluster.kubernetes.endpoint.by == "keepalived",
        Template(", nftables"): cluster.networks.firewall is not None,
        Template(", on control-plane nodes age"): bool(cluster.kubernetes.etcd.backup),
        Template(", on InfiniBand nodes the host's RDMA tools"): any(one.hardware.hcas for one in cluster.machines),
        Template(", on Ceph nodes lvm2"): bool(ceph and ceph.encryption.rest),
        Template(", on nodes with disks for scratch or MinIO xfsprogs"): bool(storage.scratch or storage.objects),
        Template(", nfs-common or nfs-utils"): any(one.nfs for one in storage.elsewhere),
        Template(", on nodes with disks for copies of datasets xfsprogs"): bool(cluster.cache_hosts),
    }
    return joined(Text(words) for words, needed in wanted.items() if needed)


def _init(cluster: Cluster) -> Text:
    words, before, after = _endpoint(cluster)
    first = Word(cluster.control_plane[0].name)
    text = _prose("init", first=first, words=words, admission=_admission(cluster), before=before, after=after)
    return joined((text, _prose("metrics-ports"))) if cluster.monitoring.prometheus else text


def _admission(cluster: Cluster) -> Text:
    return Text(ADMISSION) if cluster.kubernetes.pod_security != "privileged" else joined(())


def _endpoint(cluster: Cluster) -> tuple[Text, Text, Text]:
    """Return what to know before `kubeadm init`, and what is done before and after it."""
    if cluster.kubernetes.endpoint.by == "kube-vip":
        return Text(KUBE_VIP), Text(KUBE_VIP_BEFORE), Text(KUBE_VIP_AFTER)
    if cluster.kubernetes.endpoint.by == "keepalived":
        return joined(()), Text(KEEPALIVED), joined(())
    return Text(EXTERNAL, address=Word(cluster.kubernetes.endpoint.address)), joined(()), joined(())


# A pod sees no mount that the node makes later: `mountPropagation` is `None` where nothing is said.
DRIVE = Template("""\
MinIO's pod of this node still has the former drive: delete it (`kubectl --namespace minio get pods --output wide` names
it, `kubectl --namespace minio delete pod NAME`). It starts with the new one, and MinIO heals by itself.
""")
DRIVE_BY_OPERATION = Template("""\
MinIO's pod of this node still has the former drive: `gen workflow submit drive-replacement -p node=NODE -p drive=NUMBER
--watch` has it take the new one, once all others are good, and waits until MinIO has healed it (docs/operations.md,
Replacing a disk).
""")
OPERATION = Template("""\
`gen workflow submit kubernetes-upgrade` does or waits for all of this in order (docs/operations.md, Upgrading
Kubernetes).
""")
TIMER = Template("""\
`node-upgrade.timer` on each node does what its Node asks for, with files that root alone may write, in such a folder
as /var/lib/gen/bootstrap. Where it would not, the Node's annotation `gen.internal/upgrade-files` says why.
""")
# Blocks of commands hold no comments: zsh takes none where people type or paste.
EXTERNAL = Template(". {address} must lead to this node's port 6443 already")
KUBE_VIP = Template(", where kube-vip starts with super-admin.conf, as admin.conf has no rights until init is done")
KUBE_VIP_BEFORE = Template("""\
sudo mkdir -p /etc/kubernetes/manifests && sudo cp endpoint/kube-vip.yaml /etc/kubernetes/manifests/kube-vip.yaml
sudo sed -i 's#path: /etc/kubernetes/admin.conf#path: /etc/kubernetes/super-admin.conf#' \
/etc/kubernetes/manifests/kube-vip.yaml
""")
KUBE_VIP_AFTER = Template("""\
sudo sed -i 's#path: /etc/kubernetes/super-admin.conf#path: /etc/kubernetes/admin.conf#' \
/etc/kubernetes/manifests/kube-vip.yaml
""")
KEEPALIVED = Template("""\
sudo cp endpoint/keepalived-$(hostname -s).conf /etc/keepalived/keepalived.conf
sudo systemctl enable keepalived && sudo systemctl reload-or-restart keepalived
""")
# What a control-plane node does after its join, by what holds the address: commands, and words.
JOINED = {
    "kube-vip": Template("sudo cp endpoint/kube-vip.yaml /etc/kubernetes/manifests/\n"),
    "keepalived": KEEPALIVED,
    "external": Template(""),
}
ADMISSION = Template("""\
sudo mkdir -p /etc/kubernetes/admission && sudo cp kubeadm/admission.yaml /etc/kubernetes/admission/config.yaml
""")
BALANCED = Template("; add each to the load balancer after its join")
COPIED = Template("""\
ssh root@{address} mkdir -p /etc/kubernetes/pki/etcd
sudo scp /etc/kubernetes/pki/{ca.crt,ca.key,sa.key,sa.pub,front-proxy-ca.crt,front-proxy-ca.key} \
root@{address}:/etc/kubernetes/pki/
sudo scp /etc/kubernetes/pki/etcd/ca.{crt,key} root@{address}:/etc/kubernetes/pki/etcd/
""")


def _join(cluster: Cluster) -> Text:
    first, *others = cluster.control_plane
    control = _prose(
        "control",
        first=Word(first.name),
        copied=joined(Text(COPIED, address=Word(machine.address)) for machine in others),
        admission=_admission(cluster),
        joined=Text(JOINED[cluster.kubernetes.endpoint.by]),
        words=Text(BALANCED) if cluster.kubernetes.endpoint.by == "external" else joined(()),
    )
    return _prose(
        "join",
        first=Word(first.name),
        control=control if others else joined(()),
        nodes=Word(len(cluster.machines)),
    )


ANNOTATE = Template("kubectl annotate node {node} {key}={value}\n")


def _monitors(nodes: Iterable[Marks]) -> Text:
    commands = (
        Text(ANNOTATE, node=Word(one.node), key=Word(key), value=Word(value))
        for one in nodes
        for key, value in one.annotations.items()
    )
    return _prose("monitors", commands=joined(commands))


def _build(cluster: Cluster, component: str, namespace: str = "") -> Text:
    inside = Text(Template(" -n {namespace}"), namespace=Word(namespace)) if namespace else joined(())
    return Text(BUILD, cluster=Word(cluster.name), component=Word(component), apply=APPLY, namespace=inside)


CLOSED = Template("""\
In the times that `gitops.windows` of the cluster file closes nothing of these components is installed either: leave it
out until all is there, or begin while all are open.
""")


BY_YOURSELF = Template("""\
, and repeat both on a schedule of your own, or
let `kubernetes.etcd.backup` do it""")
BY_A_TIMER = Template("""\
. From then on `etcd-snapshot.timer` of each
control-plane node makes both every {hours} h, and `backup-etcd` brings them away""")


def _repeated(cluster: Cluster) -> Text:
    """Return who makes the next backups of etcd."""
    backup = cluster.kubernetes.etcd.backup
    return Text(BY_A_TIMER, hours=Word(backup.every_hours)) if backup else Text(BY_YOURSELF)


def _argocd(cluster: Cluster) -> Text:
    return _prose(
        "argo-cd",
        windows=Text(CLOSED) if cluster.gitops.windows else joined(()),
        argo=_build(cluster, "argo-cd", "argocd"),
        apply=APPLY,
        cluster=Word(cluster.name),
        first=Word(cluster.control_plane[0].name),
        repeated=_repeated(cluster),
        enc=joined(()) if cluster.kubernetes.encryption == "none" else Text(Template(" enc")),
    )
