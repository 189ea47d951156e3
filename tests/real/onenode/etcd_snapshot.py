"""A snapshot of the site's own etcd, encrypted as nodes do it, and read again once it has come back."""

import hashlib
import json
import secrets
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from etcdsite import identity_of

from generator.components.etcd_backup import NAMESPACE
from generator.live.apiserver import free_ports
from generator.rehearsal.twin.plane import _etcd
from generator.rehearsal.twin.running import listens, running
from tools import program

if TYPE_CHECKING:
    from twin.plane import Plane

    from onenode.site import Site


class Snapshot(NamedTuple):
    """What was encrypted, the key that opens it, and what the cluster held: an object, and one that came later."""

    data: bytes
    identity: Path
    before: str
    after: str


def snapshot(site: "Site") -> Snapshot:
    """Have the node be of the control plane, and a snapshot of the cluster's etcd lie there, encrypted."""
    labels = {"node-role.kubernetes.io/control-plane": ""}
    site.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "localhost", "labels": labels}})
    before, after = (f"snapshot-{secrets.token_hex(8)}" for _ in range(2))
    taken, out, identity = datetime.now(UTC), site.folder / "out", site.folder / f"{before}.txt"
    out.mkdir(exist_ok=True)
    noted(site.api, before)
    plain, sealed = site.folder / f"{before}.db", out / f"{taken:%Y%m%dT%H%M%SZ}.db.age"
    words = Path(f"/proc/{site.api.real._store.pid}/cmdline").read_text().split("\0")
    (url,) = [word.partition("=")[2] for word in words if word.startswith("--listen-client-urls=")]
    etcdctl("--endpoints", url, "snapshot", "save", str(plain))
    noted(site.api, after)
    subprocess.run([program("age"), "-r", identity_of(identity), "-o", sealed, plain], check=True)
    data = sealed.read_bytes()
    about = {"taken": f"{taken:%Y-%m-%dT%H:%M:%SZ}", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (out / f"{taken:%Y%m%dT%H%M%SZ}.json").write_text(json.dumps(about, separators=(",", ":")))
    return Snapshot(data, identity, before, after)


def noted(api: "Plane", name: str) -> None:
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}})


def read_back(brought: Path, taken: Snapshot) -> None:
    """See that what came back is the snapshot, and that an etcd which is restored from it has what the cluster had."""
    assert brought.read_bytes() == taken.data
    folder = taken.identity.with_suffix("")
    folder.mkdir()
    plain = folder / "etcd.db"
    subprocess.run([program("age"), "--decrypt", "-i", taken.identity, "-o", plain, brought], check=True)
    words = ["snapshot", "restore", str(plain), "--data-dir", str(folder / "etcd/data")]
    subprocess.run([program("etcdutl"), *words], check=True, capture_output=True)
    client, peer = free_ports(2)
    with running(folder / "etcd", _etcd(program("etcd"), client, peer), lambda: listens(client)):
        keys = etcdctl("--endpoints", f"http://127.0.0.1:{client}", "get", "--prefix", "--keys-only", "/registry/")
    there = f"/registry/configmaps/{NAMESPACE}/"
    assert f"{there}{taken.before}" in keys.split()
    assert f"{there}{taken.after}" not in keys.split()


def etcdctl(*words: str) -> str:
    return subprocess.run([program("etcdctl"), *words], check=True, capture_output=True, text=True).stdout
