"""A machine whose timer asks its Node what is to be done: a folder stands for its root, programs only tell."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from msgspec import structs
from nodeworld import PreparedNode

from generator.model.cluster import Cluster

ASKED = "node 1.35.3 2026-11-23T15:00:00Z"
CONF = "Dpkg::Options::=--force-conf"
APT_WAYS = f"--yes --quiet -o DPkg::Lock::Timeout=900 -o {CONF}def -o {CONF}old"
PROGRAMS = ("apt-get", "apt-mark", "crictl", "dnf", "dpkg", "kubeadm", "kubectl")
NEEDED = (
    "basename", "cat", "cp", "cut", "date", "dirname", "find", "flock", "grep", "head", "mkdir", "mv", "readlink", "rm",
    "sed", "sh", "sha256sum", "sort", "stat", "sync", "tail", "tr",
)  # fmt: skip


def by_timer(cluster: Cluster) -> Cluster:
    """Return the cluster whose machines have a timer."""
    return structs.replace(cluster, kubernetes=structs.replace(cluster.kubernetes, upgrades="timer"))


class Machine(PreparedNode):
    """A node that was prepared. What its Node says is in the file `asked`; what it answered in `answered`."""

    def __init__(self, place: Path, cluster: Cluster) -> None:
        super().__init__(place, cluster)
        self.path, self.moment = os.environ["PATH"], "0.05"
        told = f'echo "${{0##*/}} $*" >>{place}/calls'
        self.program("kubectl", f"case $1 in get) cat {place}/asked ;; *) {told} ;; esac")
        for name in ("apt-get", "apt-mark", "dpkg"):
            self.program(name, told)
        self.program("dpkg-query", f"cat {place}/packages")
        self.program("uname", "echo 6.1.0-28-amd64")
        self.program("hostname", "echo GPU-01")
        self.program("kubeadm", f'case $1 in version) echo v1.34.6 ;; *) {told}; [ ! -e {place}/full ] || '
                     '{ echo "no space left on device"; exit 1; } ;; esac')  # fmt: skip
        self.boot("b1")
        self.asks(ASKED)
        done = self.prepare("gpu-training")
        assert done.returncode == 0, done.stderr
        (place / "calls").unlink()

    def asks(self, words: str, *, cordoned: bool = True, files: str = "1.35.3") -> None:
        (self.place / "asked").write_text(f"{'true' if cordoned else ''}|{files}||{words}")

    def boot(self, name: str) -> None:
        """Let the machine boot."""
        file = self.root / "proc/sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")

    def run(self) -> "subprocess.CompletedProcess[str]":
        """Run the script once, as the timer does."""
        env = {
            **os.environ,
            "PATH": f"{self.place}/bin:{self.path}",
            "GEN_ROOT": str(self.root),
            "GEN_MOMENT": self.moment,
        }
        begin = f'echo $$ >{self.place}/shell; exec sh "$0"'
        command = ["sh", "-c", begin, str(self.root / "usr/local/sbin/node-upgrade.sh")]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    def without(self, *names: str) -> None:
        """Let programs be nowhere on the machine whose names begin so, nor any other than scripts need."""
        folder = self.place / "others"
        folder.mkdir()
        for name in NEEDED:
            (folder / name).symlink_to(shutil.which(name) or name)
        for one in (self.place / "bin").iterdir():
            if one.name.startswith(names):
                one.unlink()
        self.path = str(folder)

    def state(self) -> dict[str, str]:
        """What it told of itself last."""
        lines = [one for one in self.calls if "gen.internal/machine=" in one]
        return dict(one.split("=", 1) for one in lines[-1].partition("gen.internal/machine=")[2].split())

    def conditions(self) -> dict[str, str]:
        """The conditions of its Node that it set last."""
        lines = [one for one in self.calls if "--subresource=status" in one]
        said = json.loads(lines[-1].partition("--patch ")[2]) if lines else {"status": {"conditions": []}}
        return {one["type"]: one["status"] for one in said["status"]["conditions"]}

    def told(self) -> list[str]:
        """What was run, without what prepare.sh runs and what the machine tells of itself; and forget it."""
        file = self.place / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [
            one
            for one in lines
            if (
                one.split()[0] in PROGRAMS
                or one.endswith(("restart containerd", "restart kubelet", "systemctl reboot"))
            )
            and "gen.internal/machine=" not in one
            and "--subresource=status" not in one
        ]
