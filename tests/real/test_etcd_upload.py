"""Snapshots of a real etcd brought to a real MinIO, by the script of the pod and with the rights of its user alone."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from etcdsite import Machine, Site, fill, healthy, site
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates
from reference import load

from generator.components.etcd_backup.install import scripts
from generator.components.minio.settings import policy
from generator.model.storage import ObjectUser
from tools import program

pytestmark = pytest.mark.real

# All that the client image holds and the script may use.
TOOLS = ("bash", "cut", "date", "mkdir", "sha256sum", "timeout")
BUCKET, USER, PASSWORD = "etcd-backup", "writer", 'it"s\\a:pass/word@1'
SNAPSHOT = f"target/{BUCKET}/etcd/snapshot.db.age"


class Pod:
    """The pod on a node, and the bucket."""

    def __init__(self, made: Site, server: Server) -> None:
        self.site, self.server = made, server
        (self.machine,) = made.machines
        self.folder = made.folder / "pod"
        self.bin = self.folder / "bin"
        self.bin.mkdir(parents=True)
        for tool in (*TOOLS, "mc"):
            (self.bin / tool).symlink_to(program(tool))
        for name, text in scripts()["data"].items():
            (self.folder / name).write_text(text)
        (self.folder / "mc/certs/CAs").mkdir(parents=True)
        assert server.certificates
        shutil.copy(server.certificates / "CAs/ca.crt", self.folder / "mc/certs/CAs/ca.crt")

    def mc(self, *words: str, user: str = ROOT_USER, password: str = ROOT_PASSWORD) -> str:
        host = self.server.url.replace("://", f"://{user}:{password}@")
        env = {"MC_HOST_target": host, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder)}
        command = [str(self.bin / "mc"), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    def upload(self, **changed: str) -> "subprocess.CompletedProcess[str]":
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.folder / "mc"),
            "MC_CONFIG_DIR": str(self.folder / "mc"),
            "FILES": str(self.machine.out),
            "ENDING": ".db.age",
            "KEY": "etcd/snapshot.db.age",
            "FROM": "node cp-1",
            "LOOK": "`systemctl status etcd-snapshot` there",
            "NAME": "etcd",
            "SINCE": str(int(time.time())),
            "MAX_AGE": "900",
            "TARGET_URL": self.server.url,
            "TARGET_BUCKET": BUCKET,
            "PLACE": "",
            "TARGET_ACCESS_KEY": USER,
            "TARGET_SECRET_KEY": PASSWORD,
            "READY_SECONDS": "20",
        }
        command = [str(self.bin / "bash"), str(self.folder / "upload.sh")]
        return subprocess.run(command, env=env | changed, capture_output=True, text=True, check=False, timeout=60)

    def records(self) -> list[dict[str, object]]:
        at = f"target/{BUCKET}/_gen/backups/etcd/"
        keys = [json.loads(line)["key"] for line in self.mc("--json", "ls", at).splitlines()]
        return [json.loads(self.mc("cat", at + key)) for key in sorted(keys)]

    def versions(self) -> list[str]:
        """Return the versions of the snapshot, the newest first."""
        lines = [json.loads(line) for line in self.mc("--json", "ls", "--versions", SNAPSHOT).splitlines()]
        return [line["versionId"] for line in sorted(lines, key=lambda one: -one["versionOrdinal"])]

    def snapshot(self) -> None:
        time.sleep(1.1)
        done = self.machine.snapshot()
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def pod() -> Iterator[Pod]:
    with tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as name, site(Path(name), 1) as made:
        healthy(made.machines[0])
        fill(made.machines[0], 20)
        server = Server(Path(name) / "minio", certificates=certificates(Path(name) / "certificates"))
        try:
            found = Pod(made, server)
            _prepare(found)
            yield found
        finally:
            server.stop()


def _prepare(pod: Pod) -> None:
    """Make the bucket and the user as `minio-setup` does."""
    for _ in range(100):
        try:
            pod.mc("mb", "--with-lock", f"target/{BUCKET}")
            break
        except subprocess.CalledProcessError:
            time.sleep(0.2)
    pod.mc("retention", "set", "--default", "compliance", "14d", f"target/{BUCKET}")
    document = pod.folder / "policy.json"
    document.write_text(json.dumps(policy(ObjectUser(name=USER, buckets=(BUCKET,), access="backup"))))
    pod.mc("admin", "user", "add", "target", USER, PASSWORD)
    pod.mc("admin", "policy", "create", "target", USER, str(document))
    pod.mc("admin", "policy", "attach", "target", USER, "--user", USER)


def brought(pod: Pod, version: str, name: str) -> Path:
    """Bring a version back from the bucket, and decrypt it."""
    encrypted, plain = pod.folder / f"{name}.db.age", pod.folder / f"{name}.db"
    pod.mc("cp", "--version-id", version, SNAPSHOT, str(encrypted))
    subprocess.run([program("age"), "--decrypt", "-i", pod.site.identity, "-o", plain, encrypted], check=True)
    return plain


def test_what_is_brought_there_comes_back_also_an_older_one(pod: Pod) -> None:
    pod.snapshot()
    assert (done := pod.upload()).returncode == 0, done.stdout + done.stderr
    pod.machine.ctl("put", "/registry/pods/default/late", "of the second")
    pod.snapshot()
    assert (done := pod.upload()).returncode == 0, done.stdout + done.stderr
    newest, older = pod.versions()
    assert b"of the second" in brought(pod, newest, "newest").read_bytes()
    first = brought(pod, older, "older")
    assert b"of the second" not in first.read_bytes()
    assert b"pod 7" in first.read_bytes()
    keys = pod.folder / "keys.age"
    pod.mc("cp", f"target/{BUCKET}/etcd/keys.age", str(keys))
    assert keys.read_bytes() == max(pod.machine.out.glob("*.keys.age")).read_bytes()
    one, two = pod.records()
    assert int(str(one["revision"])) < int(str(two["revision"]))
    assert two == json.loads(max(pod.machine.out.glob("*.json")).read_text())


def test_it_may_be_repeated(pod: Pod) -> None:
    """As after a run that was killed before its record."""
    before = len(pod.records())
    assert pod.upload().returncode == 0
    assert len(pod.records()) == before


def test_an_older_snapshot_is_not_put_over_a_newer_one(pod: Pod) -> None:
    versions = pod.versions()
    older = min(pod.machine.out.glob("*.json"))
    alone = pod.folder / "another-node"
    alone.mkdir()
    for file in (older, older.with_suffix(".db.age")):
        shutil.copy(file, alone)
    done = pod.upload(FILES=str(alone), FROM="node cp-2")
    assert done.returncode == 0, done.stderr
    assert "of node cp-2 is there" in done.stdout
    assert pod.versions() == versions


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("old", "the newest of node cp-1 is of 2"),
        ("none", "node cp-1 has nothing to bring: `systemctl status etcd-snapshot` there"),
        ("damaged", "is not as it was taken"),
        ("keys", "the copy of the keys is not whole"),
        ("bucket", "the copy of the keys is not whole"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_recorded(pod: Pod, wrong: str, why: str) -> None:
    pod.snapshot()
    records, versions = pod.records(), pod.versions()
    folder = pod.folder / wrong
    shutil.copytree(pod.machine.out, folder)
    if wrong == "none":
        shutil.rmtree(folder)
        folder.mkdir()
    if wrong == "damaged":
        newest = max(folder.glob("*.db.age"))
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 1
        newest.write_bytes(content)
    changed = {
        "old": {"SINCE": str(int(time.time()) + 1800)},
        "keys": {"TARGET_SECRET_KEY": "another"},
        "bucket": {"TARGET_BUCKET": "another"},
    }.get(wrong, {})
    done = pod.upload(FILES=str(folder), **changed)
    assert done.returncode == 1, done.stdout + done.stderr
    assert why in done.stderr
    assert (pod.records(), pod.versions()) == (records, versions)


def test_a_connection_that_breaks_while_it_is_read_back_is_no_damage(pod: Pod) -> None:
    """Between the script and the real client: the first time that the snapshot is read, it breaks off."""
    tool = pod.bin / "mc"
    tool.unlink()
    breaking = f'case "$*" in "cat target/"*snapshot*) {program("mc")} "$@" | head -c 100; exit 1 ;; esac'
    tool.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\n{breaking}\nexec {program("mc")} "$@"\n')
    tool.chmod(0o755)
    done = pod.upload()
    tool.unlink()
    tool.symlink_to(program("mc"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"cannot read {SNAPSHOT} back" in done.stderr


def test_who_writes_them_cannot_delete_them(pod: Pod) -> None:
    version = pod.versions()[-1]
    with pytest.raises(subprocess.CalledProcessError):
        pod.mc("rm", "--version-id", version, SNAPSHOT, user=USER, password="it%22s%5Ca%3Apass%2Fword%401")
    assert version in pod.versions()


def test_of_the_clusters_users_the_writer_alone_reaches_them_and_nothing_else(pod: Pod) -> None:
    objects = load("ml50").storage.objects
    assert objects
    pod.mc("mb", "--ignore-existing", "target/datasets-backup")
    (pod.folder / "one").write_text("data")
    pod.mc("cp", str(pod.folder / "one"), "target/datasets-backup/one")
    reached: dict[str, set[str]] = {}
    for user in objects.users:
        document = pod.folder / f"{user.name}.json"
        document.write_text(json.dumps(policy(user)))
        pod.mc("admin", "user", "add", "target", user.name, ROOT_PASSWORD)
        pod.mc("admin", "policy", "create", "target", user.name, str(document))
        pod.mc("admin", "policy", "attach", "target", user.name, "--user", user.name)
        reached[user.name] = {
            place
            for place in (SNAPSHOT, f"target/{BUCKET}/_gen/backups/etcd/", "target/datasets-backup/one")
            if allowed(pod, user.name, "cat" if place[-1] != "/" else "ls", place)
        }
    assert reached.pop("etcd-writer") == {SNAPSHOT, f"target/{BUCKET}/_gen/backups/etcd/"}
    assert {name for name, places in reached.items() if places} == {"backup-writer", "backup-keeper", "restore-reader"}
    assert {place for places in reached.values() for place in places} == {"target/datasets-backup/one"}


def allowed(pod: Pod, user: str, *words: str) -> bool:
    try:
        pod.mc(*words, user=user, password=ROOT_PASSWORD)
    except (subprocess.CalledProcessError, UnicodeDecodeError) as wrong:
        return isinstance(wrong, UnicodeDecodeError)
    return True


def test_a_pod_of_another_group_reads_no_snapshot(pod: Pod) -> None:
    """The folder is its group's; what is beside it is root's alone."""
    machine: Machine = pod.machine
    assert (machine.out.stat().st_mode & 0o777, machine.out.stat().st_gid) == (0o750, 8737)
