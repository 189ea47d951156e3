#!/usr/bin/env python3
"""Build containerd in several versions, and what NVIDIA's container toolkit adds to its configuration, once, and print
the folder that holds them, as `tools/real.py` does. On two cores and with nothing cached it takes some ten minutes.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kustomize import _fetch_go as fetch_go
from real import BIN, Program, build, missing, wrapped

V1 = "github.com/containerd/containerd"
V2 = f"{V1}/v2"
TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit"


def toolkit(program: Program, go: str, work: Path) -> None:
    """Build our own small program with the toolkit's package for containerd's configuration."""
    shutil.copy(Path(__file__).parent / "container_toolkit" / "main.go", work)
    (work / "go.mod").write_text(f"module toolkit\n\ngo 1.25\n\nrequire {program.module} {program.version}\n")
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "build", "-o", program.name, "."], cwd=work, env=env, check=True, stdout=sys.stderr)


# A minor that Debian and Ubuntu ship, the one that most clusters have, and the first that has format 4.
PROGRAMS = (
    Program("containerd-1.7", V1, "v1.7.35", f"{V1}/cmd/containerd", wrapped),
    Program("containerd-2.2", V2, "v2.2.9", f"{V2}/cmd/containerd", wrapped),
    Program("containerd-2.3", V2, "v2.3.7", f"{V2}/cmd/containerd", wrapped),
    # As the GPU Operator's default has it (its `toolkit.version`).
    Program("container-toolkit", TOOLKIT, "v1.20.0", "", toolkit),
)


def main() -> None:
    """Build what is missing. Of two runs at once the second waits for the first."""
    BIN.mkdir(parents=True, exist_ok=True)
    with (BIN / ".lock").open("w") as lock, tempfile.TemporaryDirectory(prefix=".go-", dir=BIN) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        todo = missing(PROGRAMS)
        go = (shutil.which("go") or fetch_go(Path(folder))) if todo else ""
        try:
            for program in todo:
                build(program, go)
        except subprocess.CalledProcessError as error:
            sys.exit(f"`{' '.join(error.cmd)}` ended with status {error.returncode}; it said why above")
    sys.stdout.write(f"{BIN}\n")


if __name__ == "__main__":
    main()
