#!/usr/bin/env python3
"""Build containerd in several versions, and what NVIDIA's container toolkit adds to its configuration, once, and print
the folder that holds them, as `tools/real.py` does; names choose among them as there. On two cores and with nothing
cached it takes some ten minutes.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from real import Program, main, wrapped

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


if __name__ == "__main__":
    main(sys.argv[1:], PROGRAMS)
