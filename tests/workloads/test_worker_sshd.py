"""What an MPI worker's sshd is told, by a stand-in for it."""

import subprocess
from pathlib import Path

from generator.components.static import FOLDER

STAND_IN = '#!/bin/sh\necho "$@" >"$OUT/words"\ncp "$3" "$OUT/sshd.conf"\n'


def told(folder: Path, **variables: str) -> dict[str, str]:
    """Return the settings of sshd, by name."""
    (folder / "sshd").write_text(STAND_IN)
    (folder / "ssh-keygen").write_text("#!/bin/sh\n")
    for name in ("sshd", "ssh-keygen"):
        (folder / name).chmod(0o755)
    said = {"PATH": f"{folder}:/usr/bin:/bin", "OUT": str(folder), "SSH": "/ssh"} | variables
    subprocess.run(["sh", FOLDER / "mpi/worker.sh"], env=said, check=True)
    lines = (folder / "sshd.conf").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def test_it_listens_where_no_rights_are_needed_and_takes_the_job_s_keys_only(tmp_path: Path) -> None:
    settings = told(tmp_path)
    assert (settings["Port"], settings["AuthorizedKeysFile"]) == ("2222", "/ssh/authorized_keys")
    assert (settings["PasswordAuthentication"], settings["UsePAM"]) == ("no", "no")


def test_what_is_started_gets_the_pod_s_variables(tmp_path: Path) -> None:
    settings = told(tmp_path, NCCL_IB_HCA="=mlx5_0,mlx5_1", TWO="two words")
    assert '"=mlx5_0,mlx5_1"' in settings["SetEnv"]
    assert 'TWO="two words"' in settings["SetEnv"]
    assert f'PATH="{tmp_path}:' in settings["SetEnv"]


def test_what_sshd_could_not_read_is_left_out(tmp_path: Path) -> None:
    settings = told(tmp_path, QUOTED='a"b', LINES_OF_IT="one\nPermitRootLogin yes", KEPT="1")
    assert ("QUOTED" in settings["SetEnv"], "LINES_OF_IT" in settings["SetEnv"]) == (False, False)
    assert 'KEPT="1"' in settings["SetEnv"]
    assert "PermitRootLogin" not in settings
