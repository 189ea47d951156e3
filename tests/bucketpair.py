"""Two real servers, and the scripts of the backup between their buckets."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates

from generator.components.static import read_text
from tools import program

# All that the client image holds (ubi-micro: bash and coreutils) and the script may use.
TOOLS = [
    "bash", "cat", "cut", "date", "head", "join", "md5sum", "mkdir", "sha256sum", "shuf", "sleep", "sort", "split",
    "tail", "timeout", "wc",
]  # fmt: skip
SCRIPTS = (
    "backup.sh",
    "buckets.sh",
    "client.sh",
    "drill.sh",
    "guard.sh",
    "keep.sh",
    "ready.sh",
    "records.sh",
    "restore.sh",
)
COUNTED = ("objects", "bytes", "moving", "sampled", "listed")
"""What `verify` tells `record`, as files."""
WRITE = ["s3:PutObject", "s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation", "s3:AbortMultipartUpload"]
READ = ["s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """A source without TLS and a target with it."""
    folder = tmp_path_factory.mktemp("minio")
    source = Server(folder / "source")
    target = Server(folder / "target", certificates=certificates(folder / "certs"))
    yield source, target
    source.stop()
    target.stop()


class Source(Protocol):
    """A server of objects, whose administrator is `ROOT_USER`."""

    url: str


class Trusted(Source, Protocol):
    """One that is reached over TLS, and keeps its files in a folder."""

    folder: Path
    address: str

    @property
    def certificates(self) -> Path | None:
        """Its certificate, with that of who signed it."""


class Pair:
    """A source and a target, their buckets, and the script between them."""

    def __init__(self, source: Source, target: Trusted, folder: Path, name: str) -> None:
        self.source, self.target, self.folder, self.name = source, target, folder, name
        self.copy = f"{name}-backup"
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        for tool in [*TOOLS, "mc"]:
            (self.bin / tool).symlink_to(program(tool))
        ca = folder / "mc/certs/CAs/ca.crt"
        ca.parent.mkdir(parents=True)
        assert target.certificates
        shutil.copy(target.certificates / "CAs/ca.crt", ca)
        self.keys = {"SOURCE": (ROOT_USER, ROOT_PASSWORD), "TARGET": (ROOT_USER, ROOT_PASSWORD)}
        self.always: dict[str, str] = {}
        self.more: dict[str, str] = {}
        self.mc("mb", f"source/{name}")
        self.mc("mb", "--with-lock", f"target/{self.copy}")
        self.since = int(time.time())

    def mc(self, *arguments: str, text: str | None = None) -> str:
        """Run mc as the administrator of both."""
        hosts = {
            f"MC_HOST_{alias}": server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
            for alias, server in (("source", self.source), ("target", self.target))
        }
        return subprocess.run(
            [str(self.bin / "mc"), *arguments],
            env={**hosts, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder), "TZ": "UTC"},
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def put(self, key: str, text: str, where: str = "source") -> None:
        bucket = self.name if where == "source" else self.copy
        self.mc("pipe", f"{where}/{bucket}/{key}", text=text)

    def file(self, key: str, data: bytes, where: str = "source") -> None:
        """Upload an object as large as it is said to be beforehand, which may be empty."""
        bucket = self.name if where == "source" else self.copy
        (self.folder / "file").write_bytes(data)
        self.mc("cp", str(self.folder / "file"), f"{where}/{bucket}/{key}")

    def in_parts(self, key: str, mib: int, size: str) -> Path:
        """Upload an object of so many MiB into the source in parts of a size; returns a file that holds the same."""
        file = self.folder / f"in parts, {key}"
        large(file, mib)
        self.mc("put", "--part-size", size, str(file), f"source/{self.name}/{key}")
        assert "-" in json.loads(self.mc("--json", "ls", f"source/{self.name}/{key}"))["etag"]
        return file

    def user(self, alias: str, *actions: str, of: str = "") -> None:
        """Use a new user of one side who has only these rights on its bucket, or on those that a pattern means."""
        bucket = of or {"source": self.name, "target": self.copy}[alias]
        name, password = f"{alias}-{self.name}", 'it"s\\a:pass/word@1'
        arn = f"arn:aws:s3:::{bucket}"
        statement = {"Effect": "Allow", "Action": actions, "Resource": [arn, f"{arn}/*"]}
        policy = self.folder / f"{alias}.json"
        policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
        self.mc("admin", "user", "add", alias, name, password)
        self.mc("admin", "policy", "create", alias, name, str(policy))
        self.mc("admin", "policy", "attach", alias, name, "--user", name)
        self.keys[alias.upper()] = (name, password)

    def environment(self) -> dict[str, str]:
        values = {
            "PATH": str(self.bin),
            "HOME": str(self.folder),
            "MC_CONFIG_DIR": str(self.folder / "mc"),
            "WORK": str(self.folder / "work"),
            "NAME": self.name,
            "PLACE": "",
            "SINCE": str(self.since),
            "READY_SECONDS": "20",
            "ETAGS": "md5",
            "MC_LIMIT_UPLOAD": "",
            "COMPARE_PERCENT": "none",
            "SHRINK_PERCENT": "20",
            "SAMPLE": "50",
            "SAMPLE_BYTES": "1000000",
        }
        for side, server, bucket in (
            ("SOURCE", self.source, self.name),
            ("TARGET", self.target, self.copy),
        ):
            access, secret = self.keys[side]
            values |= {f"{side}_URL": server.url, f"{side}_BUCKET": bucket}
            values |= {f"{side}_ACCESS_KEY": access, f"{side}_SECRET_KEY": secret}
        return values | self.always | self.more

    def start(self, phase: str) -> "subprocess.Popen[str]":
        return self.script("backup.sh", phase, self.environment())

    def script(self, name: str, phase: str, env: dict[str, str]) -> "subprocess.Popen[str]":
        """Begin a phase of a script, which finds the others beside it, and is a process group of its own."""
        for each in SCRIPTS:
            (self.folder / each).write_text(read_text(f"workflows/{each}"))
        return subprocess.Popen(
            [str(self.bin / "bash"), str(self.folder / name), phase],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, phase: str) -> tuple[int, str]:
        process = self.start(phase)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    def backup(self) -> None:
        """A whole run, as the workflow does it; all that was written before it counts as settled."""
        time.sleep(1.1)  # times are compared in whole seconds
        self.since = int(time.time())
        for phase in ("precheck", "mirror", "verify"):
            code, said = self.run(phase)
            if code == 1:  # trouble that may pass: the workflow tries again, too
                code, said = self.run(phase)
            assert code == 0, said
        work = self.folder / "work"
        self.more = {name.upper(): (work / name).read_text() for name in COUNTED}
        code, said = self.run("record")
        assert code == 0, said

    def settle(self) -> None:
        time.sleep(1.1)
        self.since = int(time.time())

    def records(self) -> list[dict[str, Any]]:
        prefix = f"target/{self.copy}/_gen/backups/{self.name}/"
        keys = [json.loads(line)["key"] for line in self.mc("--json", "ls", prefix).splitlines()]
        return [json.loads(self.mc("cat", prefix + key)) for key in keys]


def large(file: Path, mib: int) -> str:
    """Write a file of so many MiB, of which no two are alike, whatever its size never more than one of them in memory;
    returns its SHA-256.
    """
    whole = hashlib.sha256()
    with file.open("wb") as out:
        for number in range(mib):
            block = hashlib.shake_256(f"{file.name} {number}".encode()).digest(2**20)
            out.write(block)
            whole.update(block)
    return whole.hexdigest()


def many(archive: Path, number: int) -> dict[str, bytes]:
    """Write an archive of so many small files in a hundred folders, and return what each holds. MinIO makes an object
    of each where it is uploaded with `UNPACKED`.
    """
    held = {f"many/{one % 100}/{one}": f"object {one}".encode() for one in range(number)}
    with tarfile.open(archive, "w") as made:
        for key, data in held.items():
            member = tarfile.TarInfo(key)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return held


UNPACKED = ("--attr", "X-Amz-Meta-Snowball-Auto-Extract=true")


def await_ready(server: Server) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(f"{server.url}/minio/health/cluster").close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("MinIO does not start")
