"""Backups to an NFS export, as rendered, by the real workflow controller in real pods.

One thing is not as rendered: the volumes are a folder of this machine in the place of the export, which it cannot
mount.
"""

import json
import os
import time
from pathlib import Path

import pytest
from auditing import betrayed, stored, unused, written
from bucketpair import large
from exported import exported
from minioserver import ROOT_PASSWORD
from msgspec import structs
from onenode.backups import READS
from onenode.etcd_snapshot import read_back, snapshot
from onenode.site import Site, await_template, good, run_of, words
from reference import load

from generator.components.argo_workflows.install import turns
from generator.components.component import Manifest
from generator.components.etcd_backup import NAMESPACE as ETCD
from generator.components.etcd_backup import etcd_backup
from generator.components.rook_ceph import NAMESPACE
from generator.components.workflows import workflows
from generator.model.backup import BackupSource, CopyTarget
from generator.model.cluster import Cluster

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

ODD = ('odd "<&>" 100% k\\y é', "a folder/한글 + &=?.txt", "$(touch x)", "~tilde'quote")
FILED = "backup-etcd-filed"
ACCOUNTS = (*(f"{NAMESPACE}:{name}" for name in ("backup", "restore", "drill")), f"{ETCD}:etcd-backup")


def filed() -> Cluster:
    """Return the cluster with the backup of a further bucket, and that of etcd, on an export."""
    cluster = exported(load("ml50"))
    one, *_ = cluster.backups
    source = BackupSource(bucket="filed", store=one.source.store)
    made = structs.replace(one, name="filed", source=source, target=CopyTarget(bucket="filed", at="nas"))
    return structs.replace(cluster, backups=(made,))


@pytest.fixture(scope="module")
def nas(backups: Site) -> Path:
    """Make all that backups to the export are, and return the folder in its place."""
    from onenode.node import Node
    from onenode.simulated import load_python

    load_python(Node(backups.folder))
    folder = backups.folder / "nas"
    folder.mkdir()
    folder.chmod(0o777)
    cluster = filed()
    for one in (*turns(cluster), *workflows(cluster).objects, *etcd_backup(cluster).objects):
        if one["metadata"]["name"] == "backup-etcd":  # that to a bucket stays
            one["metadata"]["name"] = FILED
        backups.api.apply(backups.at_its_ends(in_a_folder(one, folder)))
    await_template(backups.api, ETCD, "etcd-backup-to-files")
    return folder


def in_a_folder(one: Manifest, folder: Path) -> Manifest:
    """Return a volume with a folder in the place of the export, and anything else as it is."""
    if one["kind"] != "PersistentVolume":
        return one
    rest = {key: value for key, value in one["spec"].items() if key not in {"nfs", "mountOptions"}}
    assert len(rest) == len(one["spec"]) - 2
    return {**one, "spec": {**rest, "hostPath": {"path": str(folder), "type": "Directory"}}}


@pytest.fixture(scope="module")
def held(backups: Site) -> dict[str, str]:
    """Fill a bucket; returns the SHA-256 of each object."""
    backups.mc("mb", "source/filed")
    for key in ODD:
        backups.mc("pipe", f"source/filed/{key}", text=f"content of {key}")
    file = backups.folder / "filed"
    for key, mib in (("empty", 0), ("in parts", 20)):
        large(file, mib)
        backups.mc("put", "--part-size", "8MiB", str(file), f"source/filed/{key}")
    time.sleep(1.1)
    return {key: backups.digest(f"source/filed/{key}") for key in backups.listed("source/filed")}


def said(site: Site, operation: str, *words: str) -> str:
    """Run an operation, which succeeds; returns what its pods said."""
    return site.gen("logs", good(site.gen("submit", operation, *words, "--watch"))).stdout


def backup(site: Site) -> tuple[str, ...]:
    """Return the words that run the backup so that it reads each file of the copy."""
    return ("backup-filed", *words(source_url=site.source.url, rounds="1"))


def test_a_bucket_is_brought_to_the_export_tried_and_brought_back(
    backups: Site, nas: Path, held: dict[str, str]
) -> None:
    assert f"{len(held)} objects, of which {len(held)} were read" in said(backups, *backup(backups))
    said(backups, "drill-filed")
    (drill,) = [json.loads(file.read_text()) for file in (nas / "filed" / "drills").iterdir()]
    assert drill["objects"] == drill["proven"] == len(held)
    said(backups, "restore-filed", "-p", "into=filed-then")
    assert {key: backups.digest(f"source/filed-then/{key}") for key in backups.listed("source/filed-then")} == held


def test_bytes_that_change_on_the_exports_disk_are_found_and_brought_anew(
    backups: Site, nas: Path, held: dict[str, str]
) -> None:
    """Size and time are what they were, and the disk says nothing: only who reads it all sees it."""
    said(backups, *backup(backups))
    file = nas / "filed" / "data" / held["in parts"][:2] / held["in parts"]
    about, data = file.stat(), bytearray(file.read_bytes())
    data[9_000_000] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    bad = backups.gen("submit", *backup(backups), "--watch")
    assert bad.returncode == 1, bad.stdout
    assert "1 files of nas are not as they were written: look at its disks" in bad.stdout, bad.stdout
    told = f"not as it was written: /target/{file.relative_to(nas)}: in parts\n"
    assert told in backups.gen("logs", run_of(bad)).stdout
    said(backups, *backup(backups))
    data[9_000_000] ^= 1
    assert file.read_bytes() == data


def test_a_snapshot_of_etcd_is_brought_to_the_export_and_read_again(backups: Site, nas: Path) -> None:
    taken = snapshot(backups)
    assert "newest snapshot of node localhost: " in said(backups, FILED, *words(nodes='["localhost"]'))
    (brought,) = (nas / "etcd-backup" / "etcd").glob("*.db.age")
    read_back(brought, taken)
    assert brought.with_name(f"{brought.name.partition('.')[0]}.json").exists()
    assert (nas / "etcd-backup" / "etcd" / "cluster").read_text() == "ml50\n"


def test_no_right_is_unused_and_none_is_missing(backups: Site) -> None:
    """After all others."""
    assert unused(backups.api, backups.folder, *ACCOUNTS) == set()


def test_no_secret_is_told(backups: Site, nas: Path) -> None:
    """After all others: in no parameter, result or log of all these runs, nor in a record on the export."""
    assert {ROOT_PASSWORD, READS} <= backups.secrets
    records = [(str(file), file.read_text()) for file in nas.rglob("*.json")]
    assert records
    places = [*stored(backups.api), *written(backups.folder), *records]
    assert any("pod-logs/" in place and "not as it was written: /target/" in text for place, text in places)
    assert any(place.endswith("/workflows") and "backup-filed" in text for place, text in places)
    assert betrayed(places, backups.secrets) == []
