"""The restore script against two real MinIO servers: what it brings back, and that nothing wrong passes."""

import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bucketpair import Pair, Source, Trusted, await_ready, servers
from minioserver import ROOT_PASSWORD, ROOT_USER, Server

from generator.components.minio.settings import READ, READ_BUCKET
from tools import program

if TYPE_CHECKING:
    import subprocess

__all__ = ["servers"]  # a fixture

pytestmark = pytest.mark.real

ODD = 'odd "<&>" 100% k\\y é'
KEYS = ("a/one", "a/two", "three", ODD)
MAKE = [
    "s3:CreateBucket",
    "s3:ListAllMyBuckets",
    "s3:PutObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:GetBucketLocation",
]


class Site(Pair):
    """A backed-up bucket, its backup, and the script that brings it back. The first server is the live side."""

    def __init__(self, source: Source, target: Trusted, folder: Path, name: str) -> None:
        super().__init__(source, target, folder, name)
        self.into, self.switch, self.at, self.when, self.seen = f"{name}-restored", "none", "", "", "*"
        self.keys |= {"RESTORE": self.keys["SOURCE"], "LIVE": self.keys["SOURCE"]}
        for key in KEYS:
            self.put(key, f"content of {key}\n")

    def begin(self, phase: str, **more: str) -> "subprocess.Popen[str]":
        """Begin one phase of the restore."""
        env = self.environment() | {
            "BACKUP_URL": self.target.url,
            "BACKUP_BUCKET": self.copy,
            "LIVE_URL": self.source.url,
            "LIVE_BUCKET": self.name,
            "INTO": self.into,
            "AT": self.at,
            "WHEN": self.when,
            "SWITCH": self.switch,
            "PARALLEL": "3",
            "RESTORED_NAMES": self.seen,
            "ROOM": "",
            "FREE": "",
        }
        for side, of in (("BACKUP", "TARGET"), ("RESTORE", "RESTORE"), ("LIVE", "LIVE")):
            env[f"{side}_ACCESS_KEY"], env[f"{side}_SECRET_KEY"] = self.keys[of]
        return self.script("restore.sh", phase, env | more)

    def phase(self, phase: str, **more: str) -> tuple[int, str]:
        """Run one phase of the restore; its result with all that it said."""
        process = self.begin(phase, **more)
        said, _ = process.communicate(timeout=120)
        if phase == "precheck" and process.returncode == 0:
            self.when = (self.folder / "work/when").read_text()
        return process.returncode, said

    def restore(self) -> str:
        """A whole restore, as the workflow does it; returns what it said."""
        phases = ["precheck", "copy", "verify", *(["switch"] if self.switch != "none" else [])]
        said = ""
        for phase in phases:
            code, words = self.phase(phase)
            assert code == 0, words
            said += words
        return said

    def read(self, bucket: str, key: str) -> str:
        return self.mc("cat", f"source/{bucket}/{key}")

    def names(self, bucket: str) -> list[str]:
        return sorted(self.mc("ls", "--recursive", f"source/{bucket}").splitlines())


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def later() -> str:
    """Let a second pass: records and versions are told apart by seconds."""
    time.sleep(2.1)
    return now()


@pytest.fixture
def site(servers: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    name = f"r{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    await_ready(servers[0])
    made = Site(*servers, tmp_path, name)
    made.backup()
    return made


def test_all_of_it_comes_into_a_new_bucket_and_the_live_one_stays(site: Site) -> None:
    site.mc("rm", f"source/{site.name}/a/one")
    site.put("three", "damaged\n")
    live = site.names(site.name)
    said = site.restore()
    assert "4 objects, " in said
    assert "4 proven by checksum" in said
    for key in KEYS:
        assert site.read(site.into, key) == f"content of {key}\n"
    assert len(site.names(site.into)) == len(KEYS)
    assert site.names(site.name) == live


def test_a_point_in_time_is_the_backup_that_had_ended_by_then(site: Site) -> None:
    site.at = later()
    site.put("three", "CONTENT of three\n")
    site.put("five", "new since\n")
    site.backup()
    said = site.restore()
    assert "copied 1 older versions" in said
    assert site.read(site.into, "three") == "content of three\n"
    assert len(site.names(site.into)) == len(KEYS)
    site.at, site.into = "", f"{site.into}-now"
    site.restore()
    assert site.read(site.into, "three") == "CONTENT of three\n"
    assert len(site.names(site.into)) == len(KEYS) + 1


def test_what_was_hidden_by_then_is_no_object(site: Site) -> None:
    """As of a time mc lists marks of deletion, too."""
    site.put("gone", "soon\n")
    site.backup()
    site.mc("rm", f"source/{site.name}/gone")
    site.mc("rm", f"target/{site.copy}/gone")
    site.backup()
    site.at = later()
    site.put("five", "new since\n")
    site.backup()
    site.restore()
    assert len(site.names(site.into)) == len(KEYS)


def test_a_backup_under_way_is_not_mixed_in(site: Site) -> None:
    later()
    site.put("three", "half of the next backup\n", "target")
    site.restore()
    assert site.read(site.into, "three") == "content of three\n"


def test_a_switch_brings_back_what_is_missing_and_leaves_what_is_newer(site: Site) -> None:
    site.mc("rm", f"source/{site.name}/{ODD}")
    site.put("a/two", "written since\n")
    site.switch = "missing"
    assert "1 missing objects are back, 0 were replaced, 1 written since" in site.restore()
    assert site.read(site.name, ODD) == f"content of {ODD}\n"
    assert site.read(site.name, "a/two") == "written since\n"


def test_a_switch_of_all_takes_back_what_was_written_since(site: Site) -> None:
    site.mc("rm", f"source/{site.name}/a/one")
    site.put("a/two", "written since\n")
    site.put("five", "only here\n")
    site.switch = "all"
    assert "1 missing objects are back, 3 were replaced, 0 written since" in site.restore()
    for key in KEYS:
        assert site.read(site.name, key) == f"content of {key}\n"
    assert site.read(site.name, "five") == "only here\n"


@pytest.mark.parametrize("damage", ["content OF three\n", "cut"])
def test_an_object_that_is_damaged_is_replaced(site: Site, damage: str) -> None:
    site.put("three", damage)
    later()
    site.put("three", "content of three\n", "target")  # its copy is younger than the damage
    later()
    site.run("record")
    site.switch = "missing"
    assert "0 missing objects are back, 1 were replaced, 0 written since" in site.restore()
    assert site.read(site.name, "three") == "content of three\n"


def test_a_restore_that_was_killed_is_done_once_more(site: Site) -> None:
    site.put("five", "first\n")
    site.put("big", "x" * 8_000_000)
    site.backup()
    site.at = later()
    site.put("five", "second\n")
    site.backup()
    site.phase("precheck")
    site.more["MC_LIMIT_UPLOAD"] = "1MiB"
    process = site.begin("copy")
    time.sleep(2.5)
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=60)
    del site.more["MC_LIMIT_UPLOAD"]
    assert site.phase("verify")[0] == 2
    site.restore()
    site.restore()
    assert site.read(site.into, "five") == "first\n"


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("three", None, "missing: three"),
        ("three", "short", "differs in size: three"),
        ("three", "content OF three\n", "differs in content: three"),
        (ODD, f"content OF {ODD}\n", "differs in content: odd"),
    ],
)
def test_an_object_that_is_not_as_in_the_backup_is_red(site: Site, key: str, text: str | None, expected: str) -> None:
    site.restore()
    if text is None:
        site.mc("rm", f"source/{site.into}/{key}")
    else:
        site.mc("pipe", f"source/{site.into}/{key}", text=text)
    code, said = site.phase("verify")
    assert code == 2, said
    assert expected in said


def test_a_copy_that_rotted_on_the_disk_is_not_taken_for_good(site: Site) -> None:
    (part,) = (site.target.folder / site.copy).glob("three/xl.meta")
    data = part.read_bytes()
    assert data.count(b"content of three") == 1
    part.write_bytes(data.replace(b"content of three", b"content OF three"))
    site.phase("precheck")
    code, said = site.phase("copy")
    assert code == 1, said
    assert "the copy is not whole" in said


def test_versions_that_went_are_missed(site: Site) -> None:
    site.at = later()
    site.put("three", "CONTENT of three\n")
    site.backup()
    site.mc("rm", "--versions", "--force", f"target/{site.copy}/three")
    site.put("three", "CONTENT of three\n", "target")
    code, said = site.phase("precheck")
    assert code == 2, said
    assert "of 4 objects that were proven at" in said
    assert "the backup still holds 3" in said


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2020-01-01T00:00:00Z", "is before the first good backup, which ended at 20"),
        ("yesterday or so", "is no time"),
    ],
)
def test_a_time_without_a_backup_is_a_verdict(site: Site, at: str, said: str) -> None:
    site.at = at
    code, words = site.phase("precheck")
    assert (code, said in words) == (2, True), words


def test_a_bucket_that_holds_something_else_is_refused(site: Site) -> None:
    site.mc("mb", f"source/{site.into}")
    site.mc("pipe", f"source/{site.into}/foreign", text="not of this backup")
    code, said = site.phase("precheck")
    assert code == 2, said
    assert "name another bucket" in said


def test_the_live_bucket_is_never_restored_into(site: Site) -> None:
    site.into = site.name
    code, said = site.phase("precheck")
    assert code == 2, said
    assert "is the live bucket" in said


SIZE = sum(len(f"content of {key}\n".encode()) for key in KEYS)


@pytest.fixture
def restorer(site: Site) -> Site:
    """Whoever restores sees no bucket but those that it made, so called here. MinIO refuses to list none."""
    site.mc("mb", f"source/{site.name}-restored-0")
    site.user("source", *MAKE, of=f"{site.name}-restored*")
    site.keys["RESTORE"] = site.keys["SOURCE"]
    return site


@pytest.mark.parametrize(
    ("room", "free", "why"),
    [
        (SIZE - 1, "", "GiB that restored buckets may take 0.0 GiB are left: remove a bucket that was brought back"),
        (SIZE, SIZE - 1, "and Ceph has 0.0 GiB left before it is nearly full: make room first"),
        (SIZE, 0, "and Ceph has 0.0 GiB left before it is nearly full"),
        ("", 0, "and Ceph has 0.0 GiB left before it is nearly full"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_bucket_is_made(
    restorer: Site, room: int | str, free: int | str, why: str
) -> None:
    code, said = restorer.phase("precheck", ROOM=str(room), FREE=str(free))
    assert code == 2, said
    assert f"{restorer.into} needs 0.0 GiB more, " in said
    assert why in said
    assert f"{restorer.into}/" not in restorer.mc("ls", "source")


def test_what_just_fits_is_brought_back_and_what_is_there_counts_once(restorer: Site) -> None:
    full = {"ROOM": str(SIZE), "FREE": str(SIZE)}
    assert restorer.phase("precheck", **full)[0] == 0
    assert restorer.phase("copy")[0] == 0
    code, said = restorer.phase("precheck", ROOM=str(SIZE), FREE="0")
    assert code == 0, said


def test_what_was_brought_back_before_takes_room(restorer: Site) -> None:
    restorer.restore()
    restorer.into = f"{restorer.into}-again"
    code, said = restorer.phase("precheck", ROOM=str(2 * SIZE - 1))
    assert code == 2, said
    code, said = restorer.phase("precheck", ROOM=str(2 * SIZE))
    assert code == 0, said


def test_no_backup_is_a_verdict(site: Site) -> None:
    code, said = site.phase("precheck", NAME="another")
    assert code == 2, said
    assert "there is no good backup" in said


@pytest.mark.parametrize("side", ["TARGET", "RESTORE"])
@pytest.mark.parametrize("keys", [(ROOT_USER, "wrong-password"), ("nobody-knows-it", ROOT_PASSWORD)])
def test_wrong_keys_are_a_verdict_at_once(site: Site, side: str, keys: tuple[str, str]) -> None:
    site.keys[side] = keys
    code, said = site.phase("precheck")
    assert code == 2, said
    assert "are not accepted" in said
    assert keys[1] not in said


@pytest.mark.parametrize("phase", ["precheck", "switch"])
def test_a_switch_without_the_owner_s_keys_ends_before_anything_is_copied(site: Site, phase: str) -> None:
    site.switch = "missing"
    code, said = site.phase(phase, LIVE_ACCESS_KEY="", LIVE_SECRET_KEY="")
    assert code == 2, said
    assert f"there are no keys of the owner of {site.name}: copy their Secret here" in said
    site.switch = "none"
    assert site.phase("precheck", LIVE_ACCESS_KEY="")[0] == 0


def test_a_switch_that_is_none_is_refused_before_anything_is_copied(site: Site) -> None:
    code, said = site.phase("precheck", SWITCH="Missing")
    assert (code, "switch is none, missing or all, not Missing" in said) == (2, True)


@pytest.mark.parametrize("figure", ["SAMPLE", "ROOM", "FREE"])
@pytest.mark.parametrize("given", ["all", "32 GB", "0x8", "a[0]", "-1"])
def test_what_is_no_number_is_refused_before_anything_is_copied(site: Site, figure: str, given: str) -> None:
    code, said = site.phase("precheck", **{figure: given})
    assert code == 2, said
    assert f"{figure.lower()} is a whole number, not {given}" in said


def test_a_number_that_begins_with_zeros_is_what_it_says(site: Site) -> None:
    """As for steps in Python. Arithmetic of bash takes it for octal, and ends at an 8."""
    assert site.phase("precheck", SAMPLE="032", ROOM="0" * 9 + "9" * 12, FREE="08" + "0" * 12)[0] == 0


def saying(site: Site, doing: str, said: str) -> None:
    """Have the client answer so whatever it is told that has these words in it."""
    tool = site.bin / "mc"
    tool.unlink()
    answer = f"case \"$*\" in *'{doing}'*) printf '%s\\n' '{said}'; exit 1 ;; esac"
    tool.write_text(f'#!{program("bash")}\n{answer}\nexec {program("mc")} "$@"\n')
    tool.chmod(0o755)


def refusal(message: str, code: str = "") -> str:
    """Return what the client says of a refusal."""
    cause = {"message": message, "error": {"Code": code}}
    said = {"status": "error", "error": {"message": "Unable to make bucket", "cause": cause}}
    return json.dumps(said, separators=(",", ":"))


@pytest.mark.parametrize(
    ("said", "ends", "words"),
    [
        (refusal("503 Service Unavailable"), 1, "cannot make the bucket"),
        (refusal("you own it", "BucketAlreadyOwnedByYou"), 1, "you own it"),  # it could not be listed for a moment
        (refusal("another one has it", "BucketAlreadyExists"), 2, "another one has it"),
        (refusal("no more than 1000", "TooManyBuckets"), 2, "no more than 1000"),
        (refusal("Bucket quota exceeded", "QuotaExceeded"), 2, "there is no room where it goes"),
        (refusal("Access Denied.", "AccessDenied"), 2, "may not make the bucket"),
    ],
)
def test_only_what_stays_so_is_a_verdict_of_a_bucket_that_cannot_be_made(
    site: Site, said: str, ends: int, words: str
) -> None:
    saying(site, " mb ", said)
    code, told = site.phase("precheck")
    assert (code, words in told) == (ends, True), told


def test_a_bucket_that_cannot_be_listed_for_a_moment_is_looked_at_again(site: Site) -> None:
    site.mc("mb", f"source/{site.into}")
    saying(site, f" ls restored/{site.into}", refusal("503 Service Unavailable"))
    assert site.phase("precheck")[0] == 1
    saying(site, "nothing", "")
    assert site.phase("precheck")[0] == 0


def test_a_name_that_no_bucket_can_have_is_a_verdict(site: Site) -> None:
    code, said = site.phase("precheck", INTO="Not_a_name")
    assert (code, "cannot make the bucket Not_a_name" in said) == (2, True), said


def test_rights_to_read_the_backup_and_to_make_buckets_are_enough(site: Site) -> None:
    site.at = later()
    site.put("three", "CONTENT of three\n")
    site.backup()
    site.user("target", *READ_BUCKET, *READ)
    site.user("source", *MAKE, of=f"{site.name}*")
    site.keys |= {"RESTORE": site.keys["SOURCE"]}
    site.restore()
    assert site.read(site.into, "three") == "content of three\n"
