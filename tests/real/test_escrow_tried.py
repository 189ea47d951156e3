"""The escrow as it is tried twice a year: the commands of `docs/operations.md` with the real age and kubectl, on a real
API server. That nodes seal their keys so is tried in `test_etcd.py`, that they reach the bucket in
`test_etcd_upload.py`.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from auditing import betrayed
from documented import as_administrator, blocks
from etcdsite import identity_of
from msgspec import structs
from reference import load

from generator.live.bootstrap.escrow import append
from generator.model.secret_store import Escrow
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

SEALED = ["pki/ca.crt", "pki/ca.key", "pki/sa.key", "pki/front-proxy-ca.key", "pki/etcd/ca.key", "enc/encryption.yaml"]
MC = '#!/bin/sh\nat=$HOME/bucket/etcd; [ "$1" = cp ] && cp "$at/${2##*/}" "$at/${3##*/}" "$4"\n'
"""Stands for the client of a bucket, which is tried elsewhere."""


class Person:
    """Who has a key of age, the escrow file and a kubeconfig."""

    def __init__(self, api: "ApiServer", folder: Path) -> None:
        self.api, self.folder, self.key = api, folder, folder / "KEY.txt"
        recipient = identity_of(self.key)
        ml50 = load("ml50")
        self.cluster = structs.replace(ml50, site=structs.replace(ml50.site, escrow=Escrow(recipients=(recipient,))))
        file = folder / "clusters/ml50/cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(f"site:\n  escrow:\n    recipients:\n      - {recipient} # Ann's\n")
        (folder / "bin").mkdir()
        (folder / "bin/mc").write_text(MC)
        (folder / "bin/mc").chmod(0o755)
        api.kubeconfig(folder / "admin.conf")

    def types(self, words: str, **other: str) -> str:
        """Run the block of the page that holds words, with others in place of some of its own; what it printed."""
        (block,) = [one for one in blocks("operations.md", "sh") if words in one]
        for old, new in other.items():
            assert old in block, old
            block = block.replace(old, new)
        before = (self.folder / "bin", Path(program("age")).parent)
        done = as_administrator(block, self.folder / "admin.conf", self.folder, *before)
        return done.stdout + done.stderr

    def has(self, namespace: str, name: str, value: str) -> dict[str, Any]:
        """Store a Secret, and return it as `gen bootstrap` makes it."""
        self.api.namespace(namespace)
        made = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "labels": {"a": "b"}},
            "type": "Opaque",
            "data": {"key": value},
        }
        self.api.apply(made)
        return made


@pytest.fixture
def person(api: "ApiServer", tmp_path: Path) -> Iterator[Person]:
    yield Person(api, tmp_path)
    for space, name in (("minio", "minio-kms"), ("rook-ceph", "rook-ceph-mon")):
        api.request("DELETE", f"/api/v1/namespaces/{space}/secrets/{name}")


VALUE, OTHER = "dGhlIHZhbHVlIG9mIHRoZSBrZXk=", "YW5vdGhlciB2YWx1ZSBvZiBpdA=="
FILE, AGAIN, KEYS = "kubectl diff", "of=secret/minio-kms", "keys.age minio/etcd-backup"


def test_copies_that_are_what_the_cluster_has_are_named_alone(person: Person) -> None:
    for namespace, name in (("rook-ceph", "rook-ceph-mon"), ("minio", "minio-kms")):
        append(person.folder / "escrow.age", person.cluster, person.has(namespace, name, VALUE))
    assert person.types(FILE) == "minio/minio-kms\nrook-ceph/rook-ceph-mon\n"


def test_what_differs_is_told_without_a_value_and_kept_anew(person: Person) -> None:
    escrow = person.folder / "escrow.age"
    append(escrow, person.cluster, person.has("minio", "minio-kms", VALUE))
    person.has("minio", "minio-kms", OTHER)
    said = person.types(FILE)
    assert "key: '***" in said, said
    assert betrayed([("what is shown", said)], [VALUE, OTHER]) == []
    before = escrow.read_text()
    assert person.types(AGAIN) == ""
    assert escrow.read_text().startswith(before)
    assert person.types(FILE) == "minio/minio-kms\n"
    files = [(str(one), one.read_text(errors="replace")) for one in person.folder.rglob("*") if one.is_file()]
    assert betrayed(files, [VALUE, OTHER]) == []


def test_a_copy_for_others_is_told_and_kept_for_those_who_are_recipients_now(person: Person) -> None:
    others = structs.replace(person.cluster.site, escrow=Escrow(recipients=(identity_of(person.folder / "theirs"),)))
    monitors = person.has("rook-ceph", "rook-ceph-mon", VALUE)
    place = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"data": "a=10.20.0.131:3300"}}
    place |= {"metadata": {"name": "rook-ceph-mon-endpoints", "namespace": "rook-ceph"}}
    person.api.apply(place)
    append(person.folder / "escrow.age", structs.replace(person.cluster, site=others), monitors, place)
    assert "no identity matched" in person.types(FILE)
    of_ceph = "of='secret/rook-ceph-mon configmap/rook-ceph-mon-endpoints'"
    assert person.types(AGAIN, **{AGAIN: of_ceph, "space=minio": "space=rook-ceph"}) == ""
    assert person.types(FILE) == "rook-ceph/rook-ceph-mon\n"


def test_what_cannot_be_read_or_sealed_whole_adds_nothing(person: Person) -> None:
    """The last copy counts: an empty one, or one of a Secret without its ConfigMap, would hide the good one."""
    escrow = person.folder / "escrow.age"
    append(escrow, person.cluster, person.has("minio", "minio-kms", VALUE))
    before = escrow.read_text()
    missing = {AGAIN: "of='secret/minio-kms configmap/not-there'"}
    assert 'configmaps "not-there" not found' in person.types(AGAIN, **missing)
    assert 'secrets "not-there" not found' in person.types(AGAIN, **{AGAIN: "of=secret/not-there"})
    (person.folder / "clusters/ml50/cluster.yaml").write_text("site: {}\n")
    assert "no recipients" in person.types(AGAIN)
    assert escrow.read_text() == before


def sealed(person: Person) -> None:
    """Have in the bucket what a node brought there."""
    node, bucket = person.folder / "node", person.folder / "bucket/etcd"
    bucket.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "--create", "--directory", node, "--file", node / "keys.tar", "pki", "enc"], check=True)
    (recipient,) = person.cluster.site.escrow.recipients
    for plain, name in (("keys.tar", "keys.age"), ("new.db", "snapshot.db.age")):
        subprocess.run([program("age"), "-r", recipient, "-o", bucket / name, node / plain], check=True)


def test_the_keys_beside_snapshots_open_and_are_of_this_cluster(person: Person) -> None:
    node = person.folder / "node"
    for name in SEALED:
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).write_text("key")
    (node / "pki/ca.crt").write_bytes(person.api.certificate.read_bytes())
    (node / "new.db").write_bytes(b"a database" * 1000)
    sealed(person)
    *names, one, other, size = person.types(KEYS).splitlines()
    assert sorted(names) == sorted(name for name in SEALED if name != "pki/ca.crt")
    assert (one == other, size) == (True, "10000")
    shutil.rmtree(node / "pki/etcd")
    (node / "pki/ca.crt").write_text("of another cluster")
    sealed(person)
    *names, one, other, _ = person.types(KEYS).splitlines()
    assert (len(names), one == other) == (4, False)
