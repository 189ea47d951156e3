"""The script that sets MinIO up, run on a real MinIO with the files that the component makes."""

import json
import shutil
import urllib.error
import urllib.request
from ssl import create_default_context

import pytest
from minioserver import archive_over, asked
from msgspec import structs
from setupstore import OBJECTS, ROOT, Store, access_key, login

from generator.components.minio.metrics import USER, token
from generator.model.cluster import Cluster
from generator.model.storage import Bucket, Lock, ObjectUser

pytest_plugins = ["apiserver", "setupsite"]
pytestmark = pytest.mark.real


def test_it_makes_what_the_cluster_file_says_and_again_the_same(store: Store, first: str, ml50: Cluster) -> None:
    again = store.setup(ml50)
    assert (again.returncode, again.stdout) == (0, first), again.stderr
    assert "COMPLIANCE" in store.client("retention", "info", "--default", "s/locked").stdout
    assert "3DAYS" in store.client("retention", "info", "--default", "s/locked").stdout
    rules = json.loads(store.client("ilm", "rule", "export", "s/locked").stdout)["Rules"]
    assert [rule["NoncurrentVersionExpiration"]["NoncurrentDays"] for rule in rules] == [9]
    assert "954 MiB" in store.client("quota", "info", "s/locked").stdout
    assert "un-versioned" in store.client("version", "info", "s/plain").stdout


def test_it_tells_no_secret(first: str) -> None:
    assert "user copier" in first
    for secret in (*ROOT.values(), "secretcopier", access_key("copier")):
        assert secret not in first


def test_a_backup_user_adds_and_reads_and_removes_nothing(store: Store) -> None:
    key = login("copier")
    assert store.client("pipe", "s/locked/a/b", key=key, text="data").returncode == 0
    assert store.client("pipe", "s/locked/a/b", key=key, text="newer").returncode == 0
    assert store.client("cat", "s/locked/a/b", key=key).stdout == "newer"
    assert "a/" in store.client("ls", "s/locked", key=key).stdout
    for words in (
        ("rm", "s/locked/a/b"),
        ("rm", "--versions", "--force", "s/locked/a/b"),
        ("rb", "--force", "s/locked"),
        ("retention", "set", "--default", "compliance", "1d", "s/locked"),
        ("ilm", "rule", "add", "--noncurrent-expire-days", "1", "s/locked"),
        ("version", "suspend", "s/locked"),
        ("pipe", "s/plain/x"),
        ("ls", "s/plain"),
    ):
        assert store.client(*words, key=key).returncode != 0, words
    assert store.client("cat", "s/locked/a/b", key=key).stdout == "newer"


def test_nobody_removes_a_locked_version(store: Store) -> None:
    assert store.client("pipe", "s/locked/kept", text="data").returncode == 0
    removed = store.client("rm", "--versions", "--force", "--bypass", "s/locked/kept")
    assert "WORM protected" in removed.stderr + removed.stdout


def test_writers_remove_and_readers_only_read(store: Store) -> None:
    author, reader = login("author"), login("reader")
    assert store.client("pipe", "s/plain/x", key=author, text="data").returncode == 0
    assert store.client("rm", "s/plain/x", key=author).returncode == 0
    assert store.client("pipe", "s/locked/seen", text="data").returncode == 0
    assert store.client("cat", "s/locked/seen", key=reader).stdout == "data"
    assert store.client("pipe", "s/locked/seen", key=reader, text="changed").returncode != 0


def test_a_writer_hides_objects_and_removes_no_version(store: Store) -> None:
    key = login("author")
    assert store.client("pipe", "s/versions/x", key=key, text="data").returncode == 0
    assert store.client("rm", "s/versions/x", key=key).returncode == 0
    assert store.client("rm", "--versions", "--force", "s/versions/x", key=key).returncode != 0
    assert store.client("undo", "s/versions/x").returncode == 0
    assert store.client("cat", "s/versions/x").stdout == "data"


def forced(store: Store, key: str, path: str) -> int:
    """Ask to delete what is at a path, or below it, with all versions."""
    return asked((store.endpoint, store.ca), key, "DELETE", path, headers={"x-minio-force-delete": "true"})


@pytest.mark.parametrize(("user", "refused"), [("author", 400), ("copier", 403), ("reader", 403), (USER, 403)])
def test_nobody_forces_versions_away(user: str, refused: int, store: Store) -> None:
    """The policy of a writer lets it: the bucket does not, for it was made with object lock."""
    for text in ("older", "newer"):
        assert store.client("pipe", "s/versions/below/forced", text=text).returncode == 0
    before = store.client("ls", "--versions", "--recursive", "s/versions").stdout
    paths = ("/versions/below/forced", "/versions/below/", "/versions/below", "/locked/below/")
    assert [forced(store, login(user), path) for path in paths] == [*[refused] * 3, 403]
    assert store.client("ls", "--versions", "--recursive", "s/versions").stdout == before
    assert (" v2 PUT below/forced" in before, " v1 PUT below/forced" in before) == (True, True)


@pytest.mark.parametrize(("user", "path"), [("author", "/versions/kept"), ("copier", "/locked/kept-too")])
def test_nobody_writes_in_place_of_a_version(user: str, path: str, store: Store) -> None:
    key, place = login(user), f"s{path}"
    assert store.client("pipe", place, key=key, text="older").returncode == 0
    (listed,) = store.client("--json", "ls", "--versions", place).stdout.splitlines()
    version = json.loads(listed)["versionId"]
    where = (store.endpoint, store.ca)
    assert asked(where, key, "PUT", path, query={"versionId": version}) == 403
    assert asked(where, key, "POST", path, query={"uploads": "", "versionId": version}) == 403
    copied = {"x-amz-copy-source": path, "x-amz-metadata-directive": "REPLACE"}
    assert asked(where, key, "PUT", path, query={"versionId": version}, headers=copied) == 403
    assert store.client("cat", "--version-id", version, place).stdout == "older"
    assert asked(where, key, "PUT", path) == 200
    assert store.client("cat", place).stdout == "forged"


def test_an_archive_still_writes_in_place_of_a_locked_version(store: Store) -> None:
    """What operations.md says of archives: when this fails MinIO has closed it, and the words there may go."""
    key, place = login("copier"), "s/locked/packed"
    assert store.client("pipe", place, key=key, text="older").returncode == 0
    version = json.loads(store.client("--json", "ls", "--versions", place).stdout)["versionId"]
    body, unpack = archive_over("packed", version), {"x-amz-meta-snowball-auto-extract": "true"}
    assert asked((store.endpoint, store.ca), key, "PUT", "/locked/any.tar", body=body, headers=unpack) == 200
    assert store.client("cat", "--version-id", version, place).stdout == "forged"


def test_of_a_bucket_that_was_made_without_object_lock_it_says_what_that_means(store: Store, ml50: Cluster) -> None:
    assert store.client("mb", "s/earlier").returncode == 0
    author = ObjectUser(name="author", buckets=("earlier",), access="write")
    buckets = (Bucket(name="earlier"), Bucket(name="versions"), Bucket(name="plain", versioning=False))
    done = store.setup(ml50, structs.replace(OBJECTS, buckets=buckets, users=(author, *OBJECTS.users[::2])))
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "without object lock" in line]
    assert [line.partition(":")[0] for line in told] == ["bucket earlier"], done.stdout
    assert store.client("pipe", "s/earlier/forced", text="older").returncode == 0
    assert forced(store, login("author"), "/earlier/forced") == 204
    assert not store.client("ls", "--versions", "s/earlier").stdout, "MinIO refuses it: `open_to_force` may go"
    assert store.setup(ml50).returncode == 0


def test_a_replaced_key_and_a_removed_user_are_shut_out(store: Store, ml50: Cluster) -> None:
    assert store.setup(ml50, keys="second").returncode == 0
    assert store.client("ls", "s/locked", key=login("copier", "second")).returncode == 0
    assert store.client("ls", "s/locked", key=login("copier")).returncode != 0
    fewer = structs.replace(OBJECTS, users=OBJECTS.users[1:])
    assert store.setup(ml50, fewer, keys="second").returncode == 0
    assert store.client("ls", "s/locked", key=login("copier", "second")).returncode != 0
    assert store.setup(ml50).returncode == 0
    assert store.client("ls", "s/locked", key=login("copier")).returncode == 0


def test_a_key_is_replaced_while_its_user_goes_on_writing(store: Store, ml50: Cluster) -> None:
    """First MinIO knows both keys, then consumers change, then the former one is taken away."""
    assert store.setup(ml50, keys="former").returncode == 0
    assert writes(store, "former")
    former = store.folder / "secrets" / "copier" / "formerAccessKey"
    former.write_text(access_key("copier", "former"))
    for _ in range(2):  # again, as after a sync that was ended in the middle
        done = store.setup(ml50, keys="newer")
        assert done.returncode == 0, done.stderr
        assert access_key("copier", "former") not in done.stdout
        assert "user copier: its former key is not disabled" in done.stdout
        assert (writes(store, "former"), writes(store, "newer")) == (True, True)
    assert store.client("ls", "s/locked", key=login("reader", "former")).returncode != 0, "who has no former key named"
    former.unlink()
    assert store.setup(ml50, keys="newer").returncode == 0
    assert (writes(store, "former"), writes(store, "newer")) == (False, True)
    assert store.setup(ml50).returncode == 0


def test_a_former_key_that_is_disabled_stays_so(store: Store, ml50: Cluster) -> None:
    assert store.setup(ml50, keys="stolen").returncode == 0
    assert store.setup(ml50).returncode == 0
    (store.folder / "secrets" / "copier" / "formerAccessKey").write_text(access_key("copier", "stolen"))
    assert store.setup(ml50).returncode == 0
    assert (writes(store, "stolen"), writes(store, "first")) == (False, True)


def writes(store: Store, keys: str) -> bool:
    """Tell whether the writer of backups may write and read with these keys."""
    key, place = login("copier", keys), f"s/locked/of-{keys}"
    written = store.client("pipe", place, key=key, text=keys).returncode == 0
    return written and store.client("cat", place, key=key).stdout == keys


METRICS = ("cluster", "node", "bucket", "resource")


@pytest.mark.parametrize("part", METRICS)
def test_metrics_are_told_to_the_token_alone(part: str, store: Store) -> None:
    """`of_nobody` is signed with another key, `of_a_user` with one of a user that may not read metrics."""
    ours = token(access_key(USER).encode(), f"secret{USER}".encode())
    of_nobody = token(access_key(USER).encode(), b"another")
    of_a_user = token(access_key("author").encode(), b"secretauthor")
    assert scrape(store, part, ours) == 200
    for wrong in (None, of_nobody, of_a_user, ours[:-2]):
        assert scrape(store, part, wrong) == 403, wrong


def test_the_user_that_reads_metrics_does_nothing_else(store: Store) -> None:
    key = login(USER)
    assert store.client("pipe", "s/plain/seen", text="data").returncode == 0
    for words in (("ls", "s/plain"), ("cat", "s/plain/seen"), ("admin", "user", "list", "s"), ("admin", "info", "s")):
        assert store.client(*words).returncode == 0, words
        assert store.client(*words, key=key).returncode != 0, words


def scrape(store: Store, part: str, bearer: bytes | None) -> int:
    """Ask for metrics, with a token where there is one, and return the status."""
    headers = {"Authorization": f"Bearer {bearer.decode()}"} if bearer else {}
    asked = urllib.request.Request(f"https://{store.endpoint}/minio/v2/metrics/{part}", headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=30, context=create_default_context(cafile=str(store.ca))) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_bucket_without_lock_cannot_get_one(store: Store, ml50: Cluster) -> None:
    assert store.client("mb", "s/older").returncode == 0
    done = store.setup(ml50, structs.replace(OBJECTS, buckets=(Bucket(name="older", lock=Lock(days=1)),), users=()))
    assert done.returncode == 1
    assert "bucket older exists without object lock" in done.stderr


def test_it_gives_up_on_a_store_that_is_not_there(store: Store, ml50: Cluster) -> None:
    done = store.setup(ml50, ENDPOINT="127.0.0.1:1", WAIT="1")
    assert done.returncode == 1
    assert "127.0.0.1:1 was not ready" in done.stderr


def test_a_missing_key_is_a_failure(store: Store, ml50: Cluster) -> None:
    nobody = structs.replace(OBJECTS, buckets=(), users=(ObjectUser(name="nobody", buckets=(), access="read"),))
    store.write(ml50, nobody, "first")
    (store.folder / "secrets" / "nobody" / "accessKey").unlink()
    done = store.run()
    assert done.returncode != 0
    assert "done" not in done.stdout


def test_without_the_secret_of_the_metrics_all_else_is_set_up_and_their_key_is_shut_out(
    store: Store, ml50: Cluster
) -> None:
    store.write(ml50, OBJECTS, "third")
    shutil.rmtree(store.folder / "secrets" / USER)
    done = store.run()
    assert done.returncode == 0, done.stderr
    assert f"user {USER}: not made, since its Secret is not there: run `gen bootstrap`" in done.stdout
    assert store.client("ls", "s/locked", key=login("copier", "third")).returncode == 0
    former = token(access_key(USER).encode(), f"secret{USER}".encode())
    assert scrape(store, "cluster", former) == 403
    assert store.setup(ml50).returncode == 0
    assert scrape(store, "cluster", former) == 200
