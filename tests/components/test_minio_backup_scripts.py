"""Backups of buckets of MinIO against real servers: with the rights that their users have, and where MinIO encrypts."""

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bucketpair import await_ready
from minioserver import Server, certificates
from msgspec import structs
from test_drill_script import KEYS, recorded
from test_drill_script import Site as Drill
from test_restore_script import Site as Restore

from generator.components.minio.backed_up import OWNER, READER, RESTORER, users
from generator.components.minio.settings import policy
from generator.model.backup import BackupSource
from generator.model.cluster import Cluster

pytestmark = pytest.mark.real
SIDES = {READER: "SOURCE", RESTORER: "RESTORE", OWNER: "LIVE"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("target")
    made = Server(folder / "drive", certificates=certificates(folder / "certs"))
    yield made
    made.stop()


@pytest.fixture(scope="module", params=["plain", "encrypts"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("source") / "drive", encrypts=request.param == "encrypts")
    await_ready(made)
    yield made
    made.stop()


PLAIN = pytest.mark.parametrize("source", ["plain"], indirect=True)
ENCRYPTS = pytest.mark.parametrize("source", ["encrypts"], indirect=True)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"m{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"


@pytest.fixture
def site(source: Server, target: Server, tmp_path: Path, name: str, ml50: Cluster) -> Restore:
    made = with_users(Restore(source, target, tmp_path, name), ml50)
    made.into = f"{name}-restored-20261127"
    # For what is elsewhere: MinIO takes whatever region a request names.
    made.seen, made.always = "*-restored-*", etags(source) | {"MC_REGION": "eu-central-1"}
    made.backup()
    return made


@pytest.fixture
def drill(source: Server, target: Server, tmp_path: Path, name: str) -> Drill:
    made = Drill(source, target, tmp_path, name)
    made.always = etags(source)
    return made


def etags(source: Server) -> dict[str, str]:
    return {"ETAGS": "other" if source.more else "md5"}


def with_users(made: Restore, cluster: Cluster) -> Restore:
    """Give the scripts the keys of the three users, each with the policy that gen writes for it."""
    (first, *_) = cluster.minio_backups
    backups = [structs.replace(first, source=BackupSource(bucket=one)) for one in (made.name, f"{made.name}-other")]
    made.mc("mb", f"source/{made.name}-other")
    for user in users(structs.replace(cluster, backups=tuple(backups))):
        access, file = f"{user.name}-{made.name}", made.folder / f"{user.name}.json"
        file.write_text(json.dumps(policy(user)))
        made.mc("admin", "user", "add", "source", access, "a-secret-of-it")
        made.mc("admin", "policy", "create", "source", access, str(file))
        made.mc("admin", "policy", "attach", "source", access, "--user", access)
        made.keys[SIDES[user.name]] = (access, "a-secret-of-it")
    return made


def test_what_is_gone_comes_back_with_the_rights_of_its_users(site: Restore) -> None:
    site.mc("rm", f"source/{site.name}/a/one")
    site.put("three", "damaged\n")
    site.switch = "missing"
    said = site.restore()
    assert "made the bucket" in said
    assert site.read(site.name, "a/one") == "content of a/one\n"
    assert site.read(site.into, "three") == "content of three\n"
    site.switch = "all"
    site.restore()
    assert site.read(site.name, "three") == "content of three\n"


REFUSED = {
    "SOURCE": ("rm {0}/three", "cp {0}/three {0}/four", "mb {0}-restored-x"),
    "RESTORE": ("cat {0}/three", "ls {0}/", "mb {0}-more", "rm {0}-restored-20261127/three"),
    "LIVE": ("rm {0}/three", "mb {0}-restored-x", "cat {0}-restored-20261127/three"),
}


@PLAIN
def test_none_of_the_users_may_more(site: Restore) -> None:
    site.restore()
    site.into = f"{site.name}-restored-again"
    code, said = site.phase("precheck", ROOM="100")  # what is there counts
    assert (code, "of the 0.0 GiB that restored buckets may take" in said) == (2, True), said
    site.into = "something-else"
    code, said = site.phase("precheck")
    assert (code, "may not make the bucket" in said) == (2, True), said
    for side, commands in REFUSED.items():
        access, secret = site.keys[side]
        host = site.source.url.replace("://", f"://{access}:{secret}@")
        for command in commands:
            done = subprocess.run(
                [str(site.bin / "mc"), *command.format(f"mine/{site.name}").split()],
                env={"MC_HOST_mine": host, "MC_CONFIG_DIR": str(site.folder / "mc"), "HOME": str(site.folder)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode, (side, command)
            assert re.search("Access Denied|Insufficient permissions", done.stderr), (side, command, done.stderr)
    assert site.read(site.name, "three") == "content of three\n"


@ENCRYPTS
def test_a_drill_knows_content_that_minio_encrypted_from_other(drill: Drill) -> None:
    drill.settle()
    for phase in ("mirror", "verify"):
        code, said = drill.run(phase)
        assert code == 0, said
    recorded(drill)
    record = drill.drill()
    assert record["proven"] == record["objects"] == len(KEYS)
    drill.put("three", "content OF three\n", "target")
    recorded(drill)
    code, said = drill.phase("prove")
    assert (code, "differs in content: three" in said) == (2, True), said
