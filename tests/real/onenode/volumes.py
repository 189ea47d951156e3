"""Volumes and snapshots of them on the one real node: CSI's own sidecars, the snapshot controller that gen installs,
and kubelet, with a driver whose volumes are folders in the place of Ceph's, under their names. What a class of gen's
says of drivers is thereby heeded; what Ceph's drivers make of its other parameters is not seen.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from apiserver import programs
from twin.plane import Plane
from volsyncsite import MOVER

from generator.components.ceph_cluster.classes import snapshot_classes, storage_classes
from generator.components.ceph_csi_drivers import CEPHFS_DRIVER, RBD_DRIVER
from generator.components.rook_ceph import NAMESPACE
from generator.model.storage import Ceph
from generator.rehearsal.twin.running import running
from onenode.images import files, image
from onenode.node import NAME, Node
from onenode.simulated import python

DRIVERS = {"rbd": RBD_DRIVER, "cephfs": CEPHFS_DRIVER}
TOOLS = (
    "awk", "basename", "bash", "cat", "chmod", "cut", "date", "dirname", "grep", "head", "ln", "ls", "mkdir", "mktemp",
    "realpath", "rm", "sync", "timeout",
)  # fmt: skip
"""What the mover's script runs beside restic, and pods that write what it backs up."""


def load_mover(node: Node) -> None:
    """Put VolSync's image onto the node, made of its script, restic, and what of this machine they use."""
    restic, volsync = programs("restic", "volsync")
    held = files(Path("/usr/bin") / name for name in TOOLS) | python()
    held |= {"/usr/local/bin/restic": Path(restic)}
    held |= {"/mover-restic/entry.sh": Path(volsync).resolve().with_name("mover-restic.sh")}
    # Scripts and their libraries look there; on this machine the one leads to the other.
    held |= {"/bin/bash": held["/usr/bin/bash"]}
    node.load(image(node.folder / "mover.tar", MOVER, held, Env=["PATH=/usr/local/bin:/usr/bin:/bin"]))


@contextlib.contextmanager
def volumes(api: Plane, node: Node, ceph: Ceph) -> Iterator[Path]:
    """Serve gen's classes of volumes and of snapshots until the block ends; yields the folder with all volumes."""
    controller, snapshotter, provisioner, driver = programs(
        "snapshot-controller", "csi-snapshotter", "csi-provisioner", "csi-folders"
    )
    config = f"--kubeconfig={api.address.kubeconfig('admin')}"
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        for kind, name in DRIVERS.items():
            folder = node.folder / kind
            folder.mkdir()
            _declare(api, kind, name)
            words, socket = _driver(driver, node, folder, name)
            start(running(folder / "driver", words, socket.exists))
            for one in (provisioner, snapshotter):
                words = [one, config, f"--csi-address={socket}", "--timeout=30s"]
                start(running(folder / Path(one).name, words, lambda: True))
            api.wait(f"kubelet knows {name}", lambda name=name: _known(api, name))  # type: ignore[misc]
        start(running(node.folder / "snapshots", [controller, config], lambda: True))
        for made in (*storage_classes(ceph), *snapshot_classes(ceph)):
            api.apply(made)
        yield node.folder


def _driver(program: str, node: Node, folder: Path, name: str) -> tuple[list[str], Path]:
    socket = folder / "csi.sock"
    found_by = node.folder / "kubelet-root" / "plugins_registry" / f"{folder.name}.sock"
    return [program, name, NAME, str(folder), str(socket), str(found_by)], socket


def _declare(api: Plane, kind: str, name: str) -> None:
    """Make what Rook and the operator of Ceph's drivers make. Nothing attaches folders to a node."""
    api.apply(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": name},
            "spec": {"attachRequired": False, "podInfoOnMount": False, "fsGroupPolicy": "File"},
        }
    )
    for role in ("provisioner", "node"):
        metadata = {"name": f"rook-csi-{kind}-{role}", "namespace": NAMESPACE}
        held = {"userID": "csi", "userKey": os.urandom(8).hex()}
        api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": held})


def _known(api: Plane, driver: str) -> bool:
    found = api.get(f"/apis/storage.k8s.io/v1/csinodes/{NAME}") or {}
    return any(one["name"] == driver for one in found.get("spec", {}).get("drivers") or ())
