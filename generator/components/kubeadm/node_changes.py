"""What it means when nodes come or go, and when the files differ that people bring to them."""

from generator.components.common import POOL, RACK
from generator.components.kubeadm.firewall_changes import RULES as WALLS
from generator.model.change import (
    ABSENT,
    FILE,
    NODE,
    NODE_LABELS,
    SECRETS,
    ChangeRule,
    Effect,
    FieldChange,
    ObjectChange,
)

README = "clusters/<cluster>/bootstrap/README.md"
PREPARE = "on each node, with its pool, `sudo node/prepare.sh POOL`, which copies it"

KEPT = "control-plane nodes go on with their own copy; while it is replaced, another node must hold the address"
# Two that hold it at a time are worse than none: half of all connections end at the wrong one.
COPIED = (
    "on one control-plane node after the other, until the address answers: `{}`. One that has left endpoint/ goes from "
    "all of these nodes, before another holds the address: `{}`"
)


def serves(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether nodes are of the control plane."""
    return "controlPlane" in (change.old or change.new)


def evicts(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a taint comes that no pod may stay with."""
    return str(field.path[-1]).endswith(":NoExecute") and field.new is not ABSENT


def is_made(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a person must make a Secret from now on."""
    return field.path[1:] == ("source",) and field.new in {"given", "generated"}


def is_key(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether another kind of key is made for Secrets at rest."""
    return all("encryption-key.sh" in str(line) for line in (field.old, field.new))


NODES = (
    ChangeRule(
        code="GEN-CHG-222",
        kinds=(NODE,),
        on="removed",
        effect=Effect.DRAIN,
        reason="nothing empties or stops it by itself: its pods must go elsewhere, and volumes on its own disks end "
        "with it",
        instead="before the merge, by docs/operations.md, Taking a node out: what it stores is moved away first, then "
        "`kubectl drain --timeout=30m`, `kubectl delete node`, `sudo kubeadm reset` there",
    ),
    ChangeRule(
        code="GEN-CHG-223",
        kinds=(NODE,),
        on="removed",
        effect=Effect.DRAIN,
        reason="it is of the control plane: its etcd stays a member that never answers, and counts for the majority",
        instead="one at a time, and never below three that answer: `sudo kubeadm reset` on it, which leaves etcd, then "
        "`kubectl delete node`",
        when=serves,
    ),
    ChangeRule(
        code="GEN-CHG-224",
        kinds=(NODE,),
        on="added",
        effect=Effect.BY_HAND,
        reason="somebody must make it a node; nothing runs there before",
        instead=f"the steps of {README} for every node, for disks and for joining; merge when it is Ready",
    ),
)

LISTS = (
    ChangeRule(
        code="GEN-CHG-225",
        kinds=(NODE_LABELS,),
        effect=Effect.BY_HAND,
        reason="nodes that have joined keep the labels and taints that they have; one that leaves the file stays too, "
        "unless it is gen's own",
        instead=f"`nodes/label.sh nodes/labels.list` ({README}, Labels and taints). Pods that a DaemonSet chose by a "
        "label go when it does",
    ),
    ChangeRule(
        code="GEN-CHG-226",
        kinds=(NODE_LABELS,),
        effect=Effect.DRAIN,
        reason="once somebody sets this taint, every pod that does not tolerate it is stopped at once",
        instead="drain the nodes first, then `nodes/label.sh nodes/labels.list`",
        when=evicts,
    ),
    ChangeRule(
        code="GEN-CHG-243",
        kinds=(NODE_LABELS,),
        paths=(f"*.[{RACK}]",),
        effect=Effect.BY_HAND,
        reason="Rook read the rack when it made the node's OSDs, and reads it no more: they stay where Ceph has them, "
        "and copies that should lie in several racks may lie in one",
        instead="`nodes/label.sh nodes/labels.list`, then `ceph osd crush move NODE rack=RACK`, one node after the "
        "other: its data moves",
    ),
    ChangeRule(
        code="GEN-CHG-244",
        kinds=(NODE_LABELS,),
        paths=(f"*.[{POOL}]",),
        effect=Effect.BY_HAND,
        reason="the node keeps the files of its old pool, and what chooses nodes by their pool follows the label: "
        "pods go or come, quotas no longer fit",
        instead="drain it, `sudo node/prepare.sh NEWPOOL` there, then `nodes/label.sh nodes/labels.list`, uncordon",
    ),
    ChangeRule(
        code="GEN-CHG-227",
        kinds=(SECRETS,),
        effect=Effect.NONE,
        reason="the list says what must exist: components make what differs, and what is no longer in it stays",
    ),
    ChangeRule(
        code="GEN-CHG-228",
        kinds=(SECRETS,),
        effect=Effect.BY_HAND,
        reason="pods that read it do not start before somebody has made it",
        instead=f"make it by {README}, Secrets, before the merge",
        when=is_made,
    ),
    ChangeRule(
        code="GEN-CHG-229",
        kinds=(FILE,),
        paths=("[README.md]",),
        effect=Effect.NONE,
        reason="the steps are for the next one who installs",
    ),
    ChangeRule(
        code="GEN-CHG-230",
        kinds=(FILE,),
        paths=("[README.md]",),
        effect=Effect.BY_HAND,
        reason="API servers go on with the key that they have; Secrets stay as they are written. Nobody reads a Secret "
        "again whose key is lost",
        instead="the new key second in encryption.yaml on every control-plane node, then first, then all Secrets "
        "written anew, and only then the old key away",
        link="https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/",
        when=is_key,
    ),
    ChangeRule(
        code="GEN-CHG-975",
        kinds=(FILE,),
        paths=("recovery",),
        effect=Effect.NONE,
        reason="it is for the day on which a site is lost; who keeps a copy of this folder elsewhere copies it anew",
    ),
    ChangeRule(
        code="GEN-CHG-231",
        kinds=(FILE,),
        paths=(
            "node.[encryption-key.sh]",
            "node.[discovery.sh]",
            "nodes.[label.sh]",
        ),
        effect=Effect.NONE,
        reason="it is for the next time somebody makes a key, joins a node or labels nodes; until then it does nothing",
    ),
    ChangeRule(
        code="GEN-CHG-737",
        kinds=(FILE,),
        paths=("node.[prepare.sh]", "node.disks.[mount.sh]"),
        effect=Effect.BY_HAND,
        reason="nodes stay as the former one left them; the next who runs it, as root, does what it says now, and from "
        "then on nodes differ",
        instead="read what it does more, then run it again, node by node; each says itself that this is safe",
    ),
    ChangeRule(
        code="GEN-CHG-232",
        kinds=(FILE,),
        paths=("node.disks",),
        effect=Effect.BY_HAND,
        reason="disks stay mounted as they are: a new line is an empty disk until somebody mounts it, and one that "
        "left stays in /etc/fstab",
        instead=f"{README}, Disks for scratch and MinIO, on the nodes that are named",
    ),
)

ON_NODES = (
    ChangeRule(
        code="GEN-CHG-233",
        kinds=(FILE,),
        paths=("node.all", "node.pools"),
        effect=Effect.BY_HAND,
        reason="the file is on no node until somebody copies it",
        instead=PREPARE,
    ),
    ChangeRule(
        code="GEN-CHG-234",
        kinds=(FILE,),
        paths=("node.all.etc.containerd.[config.toml]",),
        effect=Effect.BY_HAND,
        reason="containerd reads it at its start; containers run on meanwhile",
        instead=f"{PREPARE} and restarts containerd; afterwards, on GPU nodes, restart the GPU operator's toolkit "
        "pods: their drop-in repeats what the file said before",
    ),
    ChangeRule(
        code="GEN-CHG-235",
        kinds=(FILE,),
        paths=("node.all.etc.containerd.[certs.d]",),
        effect=Effect.BY_HAND,
        reason="containerd reads it at the next pull, without a restart; until it is there images come from where they "
        "came before",
        instead="copy the file to the same place below /etc/containerd/certs.d on every node; node/prepare.sh does it "
        "too, but restarts containerd",
        link="https://github.com/containerd/containerd/blob/main/docs/hosts.md",
    ),
    ChangeRule(
        code="GEN-CHG-236",
        kinds=(FILE,),
        paths=(
            "node.all.etc.[modprobe.d]",
            "node.pools.*.etc.[modprobe.d]",
        ),
        effect=Effect.REBOOT,
        reason="the kernel takes arguments of itself and of modules when these are loaded",
        instead=f"node by node: drain, {PREPARE}, restart the node, uncordon",
    ),
    ChangeRule(
        code="GEN-CHG-237",
        kinds=(FILE,),
        paths=("node.all.etc.systemd", "node.pools.*.etc.systemd"),
        effect=Effect.BY_HAND,
        reason="services take it when they are restarted",
        instead=f"{PREPARE} and restarts containerd; for the kubelet `sudo systemctl restart kubelet`: pods stay",
    ),
    ChangeRule(
        code="GEN-CHG-238",
        kinds=(FILE,),
        paths=("network",),
        effect=Effect.DRAIN,
        reason="nothing copies it to the node; once somebody does, the node's network goes down and comes up again",
        instead=f"node by node, one failure domain at a time: drain, copy ({README}, network files), restart the node, "
        "uncordon",
    ),
    ChangeRule(
        code="GEN-CHG-239",
        kinds=(FILE,),
        paths=("endpoint",),
        effect=Effect.BY_HAND,
        reason=KEPT,
        instead=COPIED.format(
            "sudo cp endpoint/keepalived-$(hostname -s).conf /etc/keepalived/keepalived.conf && "
            "sudo systemctl reload-or-restart keepalived",
            "sudo systemctl disable --now keepalived",
        ),
    ),
    ChangeRule(
        code="GEN-CHG-240",
        kinds=("bootstrap/Pod",),
        effect=Effect.BY_HAND,
        reason=KEPT,
        instead=COPIED.format(
            "sudo cp endpoint/kube-vip.yaml /etc/kubernetes/manifests/",
            "sudo rm /etc/kubernetes/manifests/kube-vip.yaml",
        ),
    ),
    ChangeRule(
        code="GEN-CHG-241",
        kinds=("bootstrap/Application",),
        effect=Effect.BY_HAND,
        reason="the Application that holds all others is applied by people; the one that runs stays as it is",
        instead=f"`kubectl apply` it, as {README} does under Argo CD",
    ),
)

DELIVERED = (
    ChangeRule(
        code="GEN-CHG-880",
        kinds=(FILE,),
        paths=("ansible",),
        effect=Effect.NONE,
        reason="the playbook does what it says when somebody runs it",
    ),
    ChangeRule(
        code="GEN-CHG-881",
        kinds=(FILE,),
        paths=("cloud-init",),
        effect=Effect.NONE,
        reason="a machine reads its user data once, when it starts for the first time, and nodes keep what they have: "
        "what a file of theirs changes is told of that file",
    ),
)

RULES = (*NODES, *LISTS, *ON_NODES, *WALLS, *DELIVERED)
