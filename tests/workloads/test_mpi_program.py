"""The MPI program that `gen workload new` writes, run to its end on Debian's Open MPI and mpi4py: its launcher begins a
process on each of two workers, one is lost, and the launcher that is made again goes on.

In place of ssh is what ssh and sshd do here: a command begins with the worker's variables alone.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobprograms import resumed, saved, until
from reference import load

from generator.workloads import workload
from generator.workloads.wanted import Wanted

pytestmark = pytest.mark.real

STEPS, EVERY = 3000, 250
NEEDED = ("/usr/bin/mpirun", "/usr/lib/python3/dist-packages/mpi4py")
SSH = """\
#!/bin/sh
[ "$1 $2" = "-F {folder}/ssh.conf" ] || exit 2
shift 2
while :; do
  case $1 in -x) shift ;; -o) shift 2 ;; *) break ;; esac
done
echo "$1" >>{folder}/asked
shift
exec env -i {variables} sh -c "$*"
"""
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
QUIET = {"OMPI_MCA_mpi_yield_when_idle": "1"}
"""Who waits for a message leaves the CPU to others: here all share two."""
ON_LOOPBACK = {f"OMPI_MCA_{one}_tcp_if_include": "lo" for one in ("oob", "btl")} | {"OMPI_MCA_btl": "tcp,self"}


class Job:
    """An MPIJob of ml50 on two workers, of whose GPUs each has one here; its launcher as a process of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        asked = Wanted(name="bert", team="vision", gpus=16, image="example.org/x:1")
        program, *_, job = workload(load("ml50"), "mpi", asked).manifests
        for name, text in program["data"].items():
            (folder / name).write_text(self.here(text))
        self.replicas, self.most = job["spec"]["mpiReplicaSpecs"], job["spec"]["runPolicy"]["backoffLimit"]
        self.workers = self.replicas["Worker"]["replicas"]
        (folder / "kept").mkdir()
        (folder / "hosts").write_text("".join(f"bert-worker-{index}.bert slots=1\n" for index in range(self.workers)))
        said = " ".join(f"{name}={text!r}" for name, text in self.variables("Worker").items())
        (folder / "ssh").write_text(SSH.format(folder=folder, variables=said))
        (folder / "ssh").chmod(0o755)
        self.launchers: list[subprocess.Popen[bytes]] = []

    def here(self, text: str) -> str:
        return text.replace("/program", str(self.folder)).replace("/etc/mpi/hostfile", f"{self.folder}/hosts")

    def container(self, replica: str) -> dict[str, Any]:
        found: dict[str, Any] = self.replicas[replica]["template"]["spec"]["containers"][0]
        return found

    def variables(self, replica: str) -> dict[str, str]:
        """Return what a pod's process is told, and what this machine is another for."""
        said = {one["name"]: one["value"] for one in self.container(replica)["env"]}
        own = {"CHECKPOINTS": f"{self.folder}/kept", "HOME": str(self.folder), "PATIENCE": "60"}
        path = {"PATH": f"{self.folder}:/usr/bin:/bin"}
        return said | own | path | AS_ROOT | QUIET | ON_LOOPBACK

    def launch(self) -> None:
        """Start the launcher, or start it once more, with what the operator adds (mpi_job_controller.go)."""
        added = {
            "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
            "OMPI_MCA_orte_default_hostfile": f"{self.folder}/hosts",
            "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        }
        container = self.container("Launcher")
        argv = [self.here(word) for word in [*container["command"], *container["args"]]]
        argv += [f"--steps={STEPS}", f"--save-every={EVERY}"]
        env = self.variables("Launcher") | added
        with (self.folder / "log").open("ab") as log:
            self.launchers.append(
                subprocess.Popen(argv, env=env, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
            )

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def process(self, rank: int) -> int | None:
        """Return the process of a rank."""
        for found in Path("/proc").glob("[0-9]*"):
            try:
                words = (found / "cmdline").read_bytes().split(b"\0")
                told = (found / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"{self.folder}/train.py".encode() in words and f"OMPI_COMM_WORLD_RANK={rank}".encode() in told:
                return int(found.name)
        return None

    def ended(self) -> bool:
        """Do what the Job's controller does: make a launcher that failed again. Tell whether one has ended well."""
        if self.launchers[-1].poll():
            assert len(self.launchers) <= self.most, self.log()[-6000:]
            self.launch()
        return self.launchers[-1].poll() == 0

    def close(self) -> None:
        """End the launcher, which ends all that it began."""
        if self.launchers and self.launchers[-1].poll() is None:
            self.launchers[-1].terminate()
            self.launchers[-1].wait(30)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    if not all(map(os.path.exists, NEEDED)) or not shutil.which("ssh"):
        pytest.skip("Open MPI, mpi4py or ssh is not here (Debian: openmpi-bin, python3-mpi4py, openssh-client)")
    made = Job(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("lost", [0, 1])
def test_a_job_whose_process_is_lost_goes_on_from_its_checkpoint_to_the_end(job: Job, lost: int) -> None:
    job.launch()
    until("it saves", lambda: bool(saved(job.log())) or job.ended(), job.log)
    process = job.process(lost)
    assert process, job.log()
    os.kill(process, signal.SIGKILL)
    until("it ends", job.ended, job.log)
    # One more where the machine is so busy that an sshd is late.
    assert len(job.launchers) >= 2
    assert saved(job.log())[-1] == STEPS
    assert len(resumed(job.log())) == 1
    assert resumed(job.log())[0] >= EVERY
    assert job.log().count("begins with 2 processes") == 1
    asked = (job.folder / "asked").read_text().split()
    assert set(asked) == {"bert-worker-0.bert", "bert-worker-1.bert"}
    assert len(asked) == 2 * 2 * 2, "each launcher asks whether a worker is there, and then begins it"
