"""A machine that is to become a node: a folder stands for its root, programs only tell, and disks are files."""

import os
import subprocess
from pathlib import Path

from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster

# A disk's file: its content's type, UUID and label, or nothing; then a line for each part of it. The file `mounted` has
# a line for each mount: where, what, its UUID.
PROGRAMS = {
    "id": "echo 0",
    "wipefs": 'for d; do :; done; awk "NR == 1 && NF { print \\$1 }" "$d"',
    "lsblk": 'for d; do :; done; case $* in *MAJ:MIN*) echo "250:$(basename "$(readlink -f "$d")") disk '
    '$(awk "NR == 1 { print \\$2 }" "$d")";; *) echo disk; sed 1d "$d";; esac; case $* in *MAJ:MIN*) '
    'sed 1d "$d" | while read -r t; do echo "251:1 $t -"; done;; esac',
    "blkid": 'for d; do :; done; case $* in *LABEL*) n=3 ;; *) n=2 ;; esac; awk -v n=$n "NR == 1 { print \\$n }" "$d"',
    "mkfs.xfs": 'd=$3; f=$(basename "$(readlink -f "$d")"); echo "xfs uuid-$f $2" >"$d"; mkdir -p "$GEN_DEV/by-uuid"; '
    'ln -s "$d" "$GEN_DEV/by-uuid/uuid-$f"; echo "$d" >>"$GEN_DEV/made"',
    "findmnt": "for m; do :; done; case $* in *UUID*) n=3 ;; *) n=2 ;; esac; "
    'awk -v m="$m" -v n=$n "\\$1 == m { print \\$n; f = 1 } END { exit !f }" "$GEN_DEV/mounted"',
    "mount": '[ ! -e "$GEN_DEV/broken" ] || exit 32; for m; do :; done; '
    'u=$(awk -v m="$m" "\\$2 == m { print substr(\\$1, 6) }" "$GEN_FSTAB"); '
    '[ ! -e "$GEN_DEV/stale" ] || u=uuid-stale; echo "$m $u $u" >>"$GEN_DEV/mounted"; echo mount >>"$GEN_DEV/order"',
    "systemctl": 'echo "$*" >>"$GEN_DEV/order"',
    "udevadm": "exit 0",
    "chgrp": 'echo "$@" >>"$GEN_DEV/groups"',
    "chattr": "exit 1",
}

# What containerd 1.7 and 2.2 make of the file (`containerd config dump`), as far as it matters here.
DUMPS = (
    """[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "SANDBOX"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          SystemdCgroup = true
    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = "/etc/containerd/certs.d"
""",
    """[plugins]
    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'SANDBOX'
    [plugins.'io.containerd.cri.v1.images'.registry]
      config_path = '/etc/containerd/certs.d'
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
            BinaryName = ''
            SystemdCgroup = true
""",
)
SANDBOX = "registry.k8s.io/pause:3.10.1"
DUMP = DUMPS[1].replace("SANDBOX", SANDBOX)


class PreparedNode:
    """The bootstrap folder, as it was copied to a node, and the node's root."""

    def __init__(self, place: Path, cluster: Cluster) -> None:
        self.place, self.root = place, place / "root"
        for path, content in bootstrap(cluster).items():
            file = place / path.removeprefix(f"clusters/{cluster.name}/bootstrap/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for folder in ("etc", "usr/local/share/ca-certificates"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/fstab").write_text("UUID=root / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n")
        (place / "bin").mkdir()
        for name in ("modprobe", "sysctl", "swapoff", "systemctl", "rdma", "update-ca-certificates", "age"):
            self.program(name, f'echo "{name} $*" >>{place}/calls')
        self.program("id", "echo 0")
        self.containerd(DUMP)

    def program(self, name: str, body: str) -> None:
        (self.place / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.place / "bin" / name).chmod(0o755)

    def containerd(self, dump: str) -> None:
        (self.place / "dump").write_text(dump)
        self.program("containerd", f"cat {self.place}/dump")

    def prepare(self, pool: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.place}/bin:{os.environ['PATH']}", "GEN_ROOT": str(self.root)}
        command = ["sh", str(self.place / "node/prepare.sh"), pool]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return (self.place / "calls").read_text().splitlines()
