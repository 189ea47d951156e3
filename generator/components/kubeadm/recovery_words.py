"""Sentences of the page about a lost site that are not true of every cluster."""

from generator.components.node_text import Template

STEP = Template("\n## {number}. {text}")
LETTERS = Template(" ({letters})")
CASES = {
    "A": Template(
        "| A | workers run; {control}, or their disks, are lost; a snapshot of etcd is there | what was written to "
        "Kubernetes after the snapshot | {steps} |\n"
    ),
    "B": Template(
        "| B | nothing runs; {disks} are whole; a snapshot of etcd is there | as A, and what ran | {steps} |\n"
    ),
    "C": Template(
        "| C | nothing runs; {disks} are whole; no snapshot of etcd is there | every object that is not in Git: claims "
        "of teams, jobs, passwords | {steps} |\n"
    ),
    "D": Template(
        "| D | this repository, `escrow.age`, and what was copied elsewhere | all that has no copy elsewhere "
        "| {steps} |\n"
    ),
}
DISKS = Template("{hosts} and their disks")
NO_DISKS = Template("the machines")
ROTATED = Template(", and after keys of Ceph were rotated")
HAND = {
    True: Template(
        "; `escrow.age`, and\na private key of age in `KEY.txt` that belongs to one of `site.escrow.recipients`"
    ),
    False: Template(",\nand what `gen bootstrap` was given"),
}
NOBODY = Template(
    " It takes nothing while\n`site.escrow.recipients` names nobody who may decrypt it: that comes first."
)
HELD = Template("""\
After a snapshot Rook waits (*etcd*):
```sh
kubectl -n rook-ceph scale deployment rook-ceph-operator --replicas=1
```
""")
PLAIN = Template(
    "`shred --remove etcd.db keys.tar` here, `/root/etcd.db` on\n{nodes}; and weeks later etcd's `member-before-*`, "
)
ROOK_BEFORE = Template("`/root/rook-before`, ")
WIPE = Template("""\
 Ceph is nothing without
`/var/lib/rook` of {hosts} and the Secret rook-ceph-mon.""")
KEEP = Template(
    "if [ -d {data}/member ] && [ ! -e etcd-before ]; then systemctl stop kubelet && crictl ps --quiet --name "
    '"^etcd$" | xargs --no-run-if-empty crictl stop && rm -rf etcd-part && cp -a {data} etcd-part && '
    "mv etcd-part etcd-before; fi && "
)
"""Etcd's data, which `kubeadm reset` removes: copied once, and whole, while nobody writes it."""
SNAPSHOTS = Template("""\
 Snapshots of etcd go by themselves to {place};
a copy of one outside the site now and then is worth its room.""")
NO_SNAPSHOTS = Template("""\

Nothing takes snapshots of etcd here (`kubernetes.etcd.backup`): there are no cases A and B, and objects that are not in
Git are lost with etcd.""")
NAMES = Template(",\n`rook-ceph/rook-ceph-mon` among them")
NO_MONITOR = Template("""\
`monitors.sh` makes one, as the
end of the step *Ceph* says: before Rook starts, or it begins with empty ones.""")
NO_MONITOR_ENCRYPTED = Template("""\
the disks are encrypted,
and their keys were with the monitors. Unless `dm-crypt.age` was kept, what is on them is lost: go on as in case D, with
these machines.""")
KEYS_LOST = Template("""\
None: nothing here opens the disks. With
`dm-crypt.age` each can be opened with its own key (`cryptsetup`); a whole cluster was never brought back that way.""")
CIRCLE = Template("""\
 In case B its drives are
served by nobody: do as in case C until the step *MinIO* holds, get both files there, and begin with case B again, with
the `kubeadm reset` of *Without a snapshot* before *An empty control plane*. It touches nothing that is on disks.""")
SCALE = Template("kubectl -n {namespace} scale {what} --replicas={count}\n")
FIRST = Template(", those of Ceph and MinIO first")
CLAIMS = Template("""\
; what their
former ones held lies in Ceph as images and subvolumes `csi-vol-...` that no claim names: bring a claim back from its
backup where it has one""")
AGAIN = Template("""\
 Whoever came for
a snapshot gets it now, as etcd/README.md says, and goes back to *Snapshot and keys*.""")
LOOP_BUT = Template("""\
, with `| grep -v rook-ceph-mon` behind `sort -u`: Ceph's identity would wait
   for disks that are gone""")
LINES = {
    "bucket": Template(
        "- Bucket of {store}, where it is empty: `gen restore {name} --cluster {cluster}`, and with `--switch all` "
        "once you have looked{inside}.\n"
    ),
    "volume": Template("- Claim of a team, where it is empty: `gen restore {name} --cluster {cluster}`{inside}.\n"),
    "zabbix": Template("- Zabbix, where its database is empty: docs/operations.md, Zabbix's database{inside}.\n"),
    "": Template("- No bucket and no claim has a backup here.\n"),
}
INSIDE = Template("; not in case D, for its backup was in the site")
RUN = Template("gen workflow submit {name} --cluster {cluster} --watch\n")
FIRST_OF_CLAIMS = Template(
    "In case D the drill of a claim finds nothing before its first backup, which comes by its schedule.\n"
)
FIRST_BACKUPS = Template("""\
In case D what was backed up within the site has no backup yet, and a drill of it nothing to bring back. There, before:
```sh
{runs}```
In every case:
""")
RECIPIENT = Template(" --recipient {key}")
OUTSIDE = Template("Backups that lie outside it: {names}.\n")
NO_OUTSIDE = Template("""\
**No backup of {cluster} lies outside it** (`to.at`, a service of
`storage.elsewhere`): with the site all its data is lost, and what follows makes an empty cluster with the old names
and keys.
""")
