#!/usr/bin/env python3
"""Build what makes volumes and snapshots of a driver's on a cluster (CSI's sidecars, the snapshot controller that gen
installs), and a driver whose volumes are folders, once, and print the folder that holds them, as `tools/real.py` does;
names choose among them as there.

The driver is our own: neither csi-driver-host-path nor a driver of Ceph is served as a Go module.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from real import Program, main, wrapped

PROVISIONER = "github.com/kubernetes-csi/external-provisioner/v6"
SNAPSHOTTER = "github.com/kubernetes-csi/external-snapshotter/v8"
KUBELET = "k8s.io/kubelet"


def folders(program: Program, go: str, work: Path) -> None:
    """Build our own driver, with the definitions of calls that the others use."""
    shutil.copy(Path(__file__).parent / "csi_folders" / "main.go", work)
    needs = (f"{program.module} {program.version}", *(one.replace("@", " ") for one in program.beside))
    lines = ["module folders", "", "go 1.26", "", *(f"require {one}" for one in needs)]
    (work / "go.mod").write_text("\n".join(lines) + "\n")
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "build", "-o", program.name, "."], cwd=work, env=env, check=True, stdout=sys.stderr)


# Versions on the same libraries of Kubernetes, which are then built once.
PROGRAMS = (
    Program("snapshot-controller", SNAPSHOTTER, "v8.6.0", f"{SNAPSHOTTER}/cmd/snapshot-controller", wrapped),
    Program("csi-snapshotter", SNAPSHOTTER, "v8.6.0", f"{SNAPSHOTTER}/cmd/csi-snapshotter", wrapped),
    Program("csi-provisioner", PROVISIONER, "v6.3.0", f"{PROVISIONER}/cmd/csi-provisioner", wrapped),
    Program(
        "csi-folders",
        "github.com/container-storage-interface/spec",
        "v1.12.0",
        "",
        folders,
        (f"{KUBELET}@v0.36.1", "google.golang.org/grpc@v1.81.1"),
    ),
)


if __name__ == "__main__":
    main(sys.argv[1:], PROGRAMS)
