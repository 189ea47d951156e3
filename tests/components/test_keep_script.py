"""What a backup keeps, and how long: against two real MinIO servers, with the rights and the rules of their setup."""

import base64
import hashlib
import json
import time
import urllib.request
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from agedobjects import older
from bucketpair import Pair, await_ready, servers
from minioserver import Server, archive_over, asked

from generator.components.minio.settings import lifecycle, policy
from generator.model.retention import LATE_DAYS
from generator.model.storage import Bucket, Lock, ObjectUser

__all__ = ["servers"]  # a fixture

pytestmark = pytest.mark.real

ODD = 'odd $(touch x) "<&>" 100% k\\y é'
KEYS = ("a/one", "a/two", "three", ODD, "line\nfeed", "z")
GONE = (ODD, "line\nfeed")
UNPACKED = {"x-amz-meta-snowball-auto-extract": "true"}
PASSWORD = "only-for-this-test"
DAYS = 30
NAMES = tuple(f"kept-{number}" for number in range(20))


def bucket(name: str) -> Bucket:
    return Bucket(name=f"{name}-backup", lock=Lock(days=DAYS), expire_versions=DAYS)


def made_users(pair: Pair) -> None:
    """Make who writes and who hides and locks, with the rights of MinIO's setup, on all buckets of this file."""
    buckets = [bucket(name) for name in NAMES]
    for access in ("backup", "retention"):
        user = ObjectUser(name=access, buckets=tuple(one.name for one in buckets), access=access)
        file = pair.folder / f"{access}.json"
        file.write_text(json.dumps(policy(user, buckets)))
        pair.mc("admin", "user", "add", "target", access, PASSWORD)
        pair.mc("admin", "policy", "create", "target", access, str(file))
        pair.mc("admin", "policy", "attach", "target", access, "--user", access)


class Kept(Pair):
    """A backup whose bucket keeps for some days, as the cluster file says, and who hides and locks there."""

    source: Server

    def __init__(self, source: Server, target: Server, folder: Path, name: str) -> None:
        super().__init__(source, target, folder, name)
        self.mc("retention", "set", "--default", "compliance", f"{DAYS}d", f"target/{self.copy}")
        self.mc("ilm", "rule", "import", f"target/{self.copy}", text=json.dumps(lifecycle(bucket(name))))
        self.keys |= {"TARGET": ("backup", PASSWORD), "RETENTION": ("retention", PASSWORD)}

    def proven(self, *keys: str) -> None:
        """Fill the source, copy it, and record that, as a run does before its last step."""
        data = self.folder / "data"
        for key in keys:
            (data / key).parent.mkdir(parents=True, exist_ok=True)
            (data / key).write_text(f"content of {key}\n")
        for place in (f"source/{self.name}", f"target/{self.copy}"):
            self.mc("cp", "--recursive", f"{data}/", f"{place}/")
        self.recorded(keys)

    def recorded(self, keys: Collection[str], ahead: int = 0) -> None:
        """Write the record of a run that ended just now, or will end in so many seconds."""
        size = sum(len(f"content of {key}\n".encode()) for key in keys)
        text = f'{{"backup":"{self.name}","objects":{len(keys)},"bytes":{size},"moving":0}}\n'
        self.ended = datetime.now(UTC) + timedelta(seconds=ahead)
        self.stamp = self.ended.strftime("%Y%m%dT%H%M%SZ")
        self.mc("pipe", f"target/{self.copy}/_gen/backups/{self.name}/{self.stamp}.json", text=text)

    def keep(self, **more: str) -> tuple[int, str]:
        """The last step of a run."""
        access, secret = self.keys["RETENTION"]
        told = {"TARGET_ACCESS_KEY": access, "TARGET_SECRET_KEY": secret, "LOCK_DAYS": f"{DAYS}"}
        told["SHRINK_PERCENT"] = "80"
        process = self.script("keep.sh", "keep", self.environment() | told | more)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    def kept(self, *words: str, **more: str) -> None:
        code, said = self.keep(**more)
        assert code == 0, said
        for word in words:
            assert word in said

    def fails(self, *words: str, expected: int = 2, **more: str) -> None:
        code, said = self.keep(**more)
        assert code == expected, said
        for word in words:
            assert word in said

    def gone(self, *keys: str) -> None:
        """Delete objects in the source."""
        self.mc("rm", *(f"source/{self.name}/{key}" for key in keys))

    def there(self, *options: str) -> list[str]:
        """The names of the copies, or of all their versions and marks of deletion."""
        return [one["key"] for one in self.listed(*options)]

    def listed(self, *options: str) -> list[dict[str, Any]]:
        listed = self.mc("--json", "ls", "--recursive", *options, f"target/{self.copy}").splitlines()
        return [one for one in map(json.loads, listed) if not one["key"].startswith("_gen/")]

    def within(self, room: int) -> int:
        """Count the versions, once MinIO has removed what is too old: it has a minute for what is a day's work."""
        for _ in range(60):
            count = sum(not one.get("isDeleteMarker") for one in self.listed("--versions"))
            if count <= room:
                break
            time.sleep(1)
        return count

    def older(self, days: int) -> None:
        """Let days pass."""
        older(self.source.folder / self.name, days)
        older(self.target.folder / self.copy, days)

    def plain(self, method: str, key: str) -> None:
        """Write or delete an object of the source, where everybody may."""
        request = urllib.request.Request(f"{self.source.url}/{self.name}/{key}", method=method)
        request.data = f"content of {key}\n".encode() if method == "PUT" else None
        urllib.request.urlopen(request).close()

    def settled(self, count: int) -> None:
        """Wait until the bucket's rule has left so many versions and marks of deletion; who lists them has it begin."""
        for _ in range(50):
            if len(found := self.there("--versions")) == count:
                return
            time.sleep(0.1)
        pytest.fail(f"there are {found}")

    def until(self, key: str, *options: str) -> float:
        """The days that a lock still lasts."""
        said = json.loads(self.mc("--json", "retention", "info", *options, f"target/{self.copy}/{key}"))
        return (datetime.fromisoformat(said["until"]) - datetime.now(UTC)) / timedelta(days=1)


@pytest.fixture(scope="module")
def names(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    await_ready(servers[0])
    made_users(Pair(*servers, tmp_path_factory.mktemp("users"), "users"))
    return iter(NAMES)


@pytest.fixture
def kept(servers: tuple[Server, Server], names: Iterator[str], tmp_path: Path) -> Kept:
    made = Kept(*servers, tmp_path, next(names))
    made.proven(*KEYS)
    return made


def test_what_is_gone_is_hidden_and_goes_after_its_days(kept: Kept) -> None:
    kept.gone(*GONE)
    kept.recorded(KEYS, ahead=8)
    kept.kept("hid 2 objects")
    assert {*kept.there()} == {*KEYS} - {*GONE}
    marks = [one["lastModified"] for one in kept.listed("--versions") if one.get("isDeleteMarker")]
    assert min(map(datetime.fromisoformat, marks)) > kept.ended  # whoever asks for the record has what it proved
    kept.older(DAYS - 1)
    kept.settled(len(KEYS) + len(GONE))  # with the marks of deletion
    kept.older(2)
    kept.settled(len(KEYS) - len(GONE))
    assert {*kept.there("--versions")} == {*KEYS} - {*GONE}


def test_who_asks_for_the_last_backup_has_all_that_it_proved(kept: Kept) -> None:
    kept.backup()
    kept.gone(*GONE)
    kept.kept("hid 2 objects")
    access, secret = kept.keys["TARGET"]
    told = {"BACKUP_URL": kept.target.url, "BACKUP_BUCKET": kept.copy, "AT": "", "SEED": "7"}
    keys = {"BACKUP_ACCESS_KEY": access, "BACKUP_SECRET_KEY": secret}
    # A clock that was a year ahead wrote a record, and none of these waits for it or takes it for the newest.
    kept.recorded(KEYS[:1], ahead=365 * 86400)
    kept.kept("backups of the last days: 6 objects", "hid 0 objects")
    drill = kept.script("drill.sh", "prove", kept.environment() | told | keys)
    said, _ = drill.communicate(timeout=120)
    assert drill.returncode == 0, said
    assert f"brought {len(KEYS)} objects back" in said
    # What comes back is copied once more.
    kept.put("line\nfeed", "back again")
    assert kept.run("mirror")[0] == 0
    kept.kept("hid 0 objects")
    assert kept.mc("cat", f"target/{kept.copy}/line\nfeed") == "back again"


def test_a_run_that_was_killed_is_done_to_its_end(kept: Kept) -> None:
    more = kept.folder / "more"
    more.mkdir()
    for number in range(600):
        (more / f"{number:05}").touch()
    kept.mc("cp", "--recursive", f"{more}/", f"target/{kept.copy}/more/")
    access, secret = kept.keys["RETENTION"]
    told = {"TARGET_ACCESS_KEY": access, "TARGET_SECRET_KEY": secret, "LOCK_DAYS": ""}
    process = kept.script("keep.sh", "keep", kept.environment() | told)
    while len(left := kept.there()) == len(KEYS) + 600:
        assert process.poll() is None, process.communicate()[0]
    process.kill()
    process.communicate()
    assert len(left) > len(KEYS)
    # What it had begun goes on for a moment: no pod's would.
    while kept.keep()[0] == 1:
        time.sleep(0.5)
    assert {*kept.there()} == {*KEYS}


def test_locks_are_extended_once_in_a_tenth_of_their_days(kept: Kept) -> None:
    kept.kept("no lock need be extended")
    kept.gone("a/two")
    kept.kept("hid 1 objects")
    kept.older(4)
    assert kept.until("z") < DAYS - 3.9
    kept.kept(f"extended {len(KEYS)} locks to {DAYS + 1} days from now")  # one is hidden, and one is the record
    assert all(kept.until(key) > DAYS + 0.9 for key in KEYS if key != "a/two")
    kept.kept("no lock need be extended")
    # A run was killed: what comes last in the order of names was not reached.
    kept.older(5)
    for key in (*KEYS[:-1], f"_gen/backups/{kept.name}/{kept.stamp}.json"):
        if key != "a/two":
            kept.mc("retention", "set", "compliance", f"{DAYS}d", f"target/{kept.copy}/{key}")
    kept.kept("extended")
    assert kept.until("z") > DAYS + 0.9
    # What is hidden is not locked for longer.
    listed = kept.mc("--json", "ls", "--versions", f"target/{kept.copy}/a/two").splitlines()
    (version,) = [one["versionId"] for one in map(json.loads, listed) if not one.get("isDeleteMarker")]
    assert kept.until("a/two", "--version-id", version) < DAYS - 8.9


def test_a_lost_source_hides_nothing(kept: Kept) -> None:
    kept.gone(*GONE)
    kept.fails("the source shrank by more than 20 %", SHRINK_PERCENT="20")
    kept.more["SHRINK_PERCENT"] = "20"
    kept.settle()
    code, said = kept.run("verify")  # lost while it was copied: no record says that this is the backup
    assert code == 2, said
    assert "the source shrank by more than 20 %" in said
    kept.mc("rb", "--force", f"source/{kept.name}")
    kept.fails("the listing of source/", expected=1)
    assert {*kept.there()} == {*KEYS}


def test_a_backup_of_another_name_or_source_hides_nothing(kept: Kept) -> None:
    kept.backup()
    kept.gone(*KEYS[1:])
    kept.always["NAME"] = "renamed"
    kept.settle()
    for phase in ("precheck", "verify"):
        code, said = kept.run(phase)
        assert code == 2, said
        assert "the source shrank by more than 20 %" in said
    kept.fails("the source shrank by more than 80 %")
    kept.mc("mb", f"source/{kept.name}-other")
    kept.mc("mirror", str(kept.folder / "data"), f"source/{kept.name}-other")
    for name in ("renamed", kept.name):
        kept.always |= {"NAME": name, "SOURCE_BUCKET": f"{kept.name}-other"}
        code, said = kept.run("precheck")
        assert code == 2, said
        assert f"are of bucket {kept.name}, and would be mixed with those of {kept.name}-other" in said
    assert {*kept.there()} == {*KEYS}
    kept.always["SHRINK_PERCENT"] = "100"
    assert kept.run("precheck")[0] == 0


def test_keys_that_are_missing_or_may_too_little_are_told(kept: Kept) -> None:
    kept.fails("run `gen bootstrap`", TARGET_ACCESS_KEY="")
    kept.gone("three")
    access, secret = kept.keys["TARGET"]
    less = {"TARGET_ACCESS_KEY": access, "TARGET_SECRET_KEY": secret}
    kept.fails("cannot hide what is gone", "Access Denied", expected=1, **less)
    kept.put("three", "back again")
    kept.older(4)
    kept.fails("cannot read the lock", "Access Denied", expected=1, **less)


def until(days: float, mode: str = "COMPLIANCE") -> dict[str, Any]:
    """Return what asks for a lock that ends in so many days."""
    when = (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = f"<Retention><Mode>{mode}</Mode><RetainUntilDate>{when}</RetainUntilDate></Retention>".encode()
    sum_ = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
    return {"query": {"retention": ""}, "body": body, "headers": {"content-md5": sum_}}


def test_who_hides_and_locks_can_neither_remove_nor_write_nor_lock_for_ever(kept: Kept) -> None:
    place = kept.target.address, kept.folder / "mc/certs/CAs/ca.crt"
    (version,) = [one["versionId"] for one in kept.listed("--versions") if one["key"] == "z"]
    login, path = ":".join(kept.keys["RETENTION"]), f"/{kept.copy}/z"

    def answer(method: str, path: str = path, **more: Any) -> int:
        return asked(place, login, method, path, **more)

    assert answer("PUT", **until(DAYS + 0.5)) == 200
    kept.older(DAYS + 1)  # no lock is left: rights alone protect
    for refused in (
        answer("DELETE", query={"versionId": version}),
        answer("DELETE", headers={"x-minio-force-delete": "true"}),
        answer("PUT"),
        answer("PUT", query={"versionId": version}),
        answer("PUT", f"/{kept.copy}/_gen/", body=archive_over("z", version), headers=UNPACKED),
        answer("DELETE", f"/{kept.copy}/_gen/backups/{kept.name}/{kept.stamp}.json"),
        answer("PUT", **until(DAYS + 2.5)),
        answer("PUT", **until(DAYS, "GOVERNANCE")),
    ):
        assert refused in {400, 403}
    assert answer("PUT", **until(DAYS + 1)) == 200
    assert answer("PUT", **until(DAYS)) in {400, 403}
    login = ":".join(kept.keys["TARGET"])  # who writes neither hides nor extends
    assert answer("DELETE") == 403
    assert answer("PUT", **until(DAYS + 1.5)) == 403


def test_sixty_days_of_new_keys_stay_within_the_room(
    servers: tuple[Server, Server], names: Iterator[str], tmp_path: Path
) -> None:
    """Each day two objects are new and two are gone, of twenty: what is kept is what the rules of the room count."""
    kept = Kept(*servers, tmp_path, next(names))
    kept.mc("anonymous", "set", "public", f"source/{kept.name}")
    kept.proven(*(f"{number:03}" for number in range(20)))
    most, room = 0, 20 + (DAYS + LATE_DAYS) * 2
    for day in range(60):
        for number in (2 * day, 2 * day + 1):
            kept.plain("DELETE", f"{number:03}")
            kept.plain("PUT", f"{20 + number:03}")
        # Trouble that may pass: the workflow tries again, too.
        assert any(kept.run(phase)[0] == 0 for phase in ("mirror", "mirror"))
        kept.kept("hid 2 objects")
        most = max(most, kept.within(room))
        kept.older(1)
    assert 20 + DAYS * 2 <= most <= room
    # The oldest was copied ten days ago.
    assert kept.until("120") > DAYS * 0.9 - 1
