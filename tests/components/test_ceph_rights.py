"""Who may what in a real gateway of Ceph: the users and the policies of buckets that backups and restores are given."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reference import load
from test_restore_script import Site as Restore

from generator.components.ceph_cluster.buckets import backup_reader, backup_users, bucket_claims, restorer
from tools import program

if TYPE_CHECKING:
    from cephgateway import Gateway
    from minioserver import Server

pytest_plugins = ["cephgateway"]
pytestmark = pytest.mark.real

MIB = 2**20
REFUSED = ("Access Denied", "AccessDenied", "Insufficient permissions", "QuotaExceeded")


class Store:
    """The buckets of a cluster's object stores as Rook would make them: each claim has a user of its own."""

    def __init__(self, source: "Gateway", folder: Path) -> None:
        cluster = load("ml50")
        assert cluster.storage.ceph
        self.source, self.folder, self.secret = source, folder, "only-for-the-test-of-rights"
        self.claims = list(bucket_claims(cluster, cluster.storage.ceph))
        self.users = list(backup_users(cluster, cluster.storage.ceph))
        (folder / "mc/certs").mkdir(parents=True)
        shutil.copytree(source.certificates / "CAs", folder / "mc/certs/CAs")
        self.readers = [backup_reader(store) for store in cluster.storage.ceph.object_stores]
        self.restorers = [restorer(store) for store in cluster.storage.ceph.object_stores]

    def make(self) -> None:
        """Make what is rendered, and one bucket of which nobody makes backups."""
        for one in self.users:
            mask = ", ".join(one["spec"]["opMask"])
            self.source.user(
                one["metadata"]["name"], self.key(one["metadata"]["name"]), self.secret, f"--op-mask={mask}"
            )
        for one in (*self.claims, {"spec": {"bucketName": "private"}}):
            bucket = one["spec"]["bucketName"]
            self.source.user(f"obc-{bucket}", self.key(f"obc-{bucket}"), self.secret)
            self.good(f"obc-{bucket}", "mb", f"{bucket}")
            self.good(f"obc-{bucket}", "pipe", f"{bucket}/theirs", text=f"of {bucket}")
            if policy := one["spec"].get("additionalConfig", {}).get("bucketPolicy"):
                (self.folder / "policy.json").write_text(policy)
                self.good(f"obc-{bucket}", "anonymous", "set-json", str(self.folder / "policy.json"), bucket)

    def key(self, user: str) -> str:
        return f"key-of-{user}"

    def mc(self, user: str, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        """Run MinIO's client as a user of the store; the last word is a place there."""
        host = self.source.url.replace("://", f"://{self.key(user)}:{self.secret}@")
        env = {"MC_HOST_ceph": host, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder)}
        command = [program("mc"), *words[:-1], f"ceph/{words[-1]}"]
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=False, timeout=60)

    def good(self, user: str, *words: str, text: str = "") -> str:
        done = self.mc(user, *words, text=text)
        assert done.returncode == 0, (user, words, done.stdout + done.stderr)
        return done.stdout

    def refused(self, user: str, *words: str, text: str = "") -> None:
        done = self.mc(user, *words, text=text)
        said = done.stdout + done.stderr
        assert done.returncode != 0, (user, words, said)
        assert any(one in said for one in REFUSED), (user, words, said)


@pytest.fixture(scope="module")
def store(ends: "tuple[Gateway, Server]", tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(ends[0], tmp_path_factory.mktemp("store"))
    made.make()
    return made


def test_the_reader_reads_each_bucket_that_is_backed_up_and_writes_none(store: Store) -> None:
    (reader,) = store.readers
    buckets = [one["spec"]["bucketName"] for one in store.claims]
    assert sorted(buckets) == ["checkpoints", "datasets"]
    for bucket in buckets:
        assert "theirs" in store.good(reader, "ls", bucket)
        assert store.good(reader, "cat", f"{bucket}/theirs") == f"of {bucket}"
        store.refused(reader, "pipe", f"{bucket}/mine", text="x")
        store.refused(reader, "pipe", f"{bucket}/theirs", text="x")
        store.refused(reader, "rm", f"{bucket}/theirs")
        store.refused(reader, "tag", "remove", f"{bucket}/theirs")
        store.refused(reader, "anonymous", "set", "public", bucket)
        assert store.good(f"obc-{bucket}", "cat", f"{bucket}/theirs") == f"of {bucket}"
    store.refused(reader, "mb", "readers-own")


def test_the_reader_sees_no_other_bucket(store: Store) -> None:
    (reader,) = store.readers
    store.refused(reader, "ls", "private")
    store.refused(reader, "cat", "private/theirs")
    assert store.good(reader, "ls", "") == ""


def test_whoever_restores_makes_buckets_reads_no_other_and_deletes_nothing(store: Store) -> None:
    (user,) = store.restorers
    store.good(user, "mb", "datasets-restored")
    store.good(user, "pipe", "datasets-restored/one", text="back")
    assert store.good(user, "cat", "datasets-restored/one") == "back"
    store.refused(user, "rm", "datasets-restored/one")
    store.refused(user, "rb", "--force", "datasets-restored")
    assert store.good(user, "cat", "datasets-restored/one") == "back"
    for bucket in ("datasets", "private"):
        store.refused(user, "ls", bucket)
        store.refused(user, "cat", f"{bucket}/theirs")
        store.refused(user, "pipe", f"{bucket}/mine", text="x")
    assert "datasets-restored" in store.good(user, "ls", "")
    assert "private" not in store.good(user, "ls", "")


def test_the_room_of_restored_buckets_is_kept(store: Store) -> None:
    (user,) = store.restorers
    words = ("--quota-scope=user", f"--uid={user}")
    store.source.run("radosgw-admin", "quota", "set", *words, f"--max-size={MIB}")
    store.source.run("radosgw-admin", "quota", "enable", *words)
    try:
        store.good(user, "mb", "datasets-large")
        store.refused(user, "pipe", "datasets-large/one", text="x" * 2 * MIB)
    finally:
        store.source.run("radosgw-admin", "quota", "disable", *words)


def test_a_backup_and_a_restore_need_no_more_than_the_users_that_are_rendered(
    ends: "tuple[Gateway, Server]", store: Store, tmp_path: Path
) -> None:
    source, _ = ends
    site = Restore(*ends, tmp_path, "as-rendered")
    (reader,) = store.readers
    policy = json.loads(store.claims[0]["spec"]["additionalConfig"]["bucketPolicy"])
    (statement,) = policy["Statement"]
    arn = f"arn:aws:s3:::{site.name}"
    statement["Resource"] = [arn, f"{arn}/*"]
    (site.folder / "policy.json").write_text(json.dumps(policy))
    site.mc("anonymous", "set-json", str(site.folder / "policy.json"), f"source/{site.name}")
    site.in_parts("in parts", 64, "16MiB")
    site.keys["SOURCE"] = (store.key(reader), store.secret)
    site.backup()
    site.keys["RESTORE"] = (store.key(store.restorers[0]), store.secret)
    said = site.restore()
    assert "5 objects, " in said
    listed = source.run("radosgw-admin", "bucket", "stats", f"--bucket={site.into}")
    assert json.loads(listed)["owner"] == store.restorers[0]
