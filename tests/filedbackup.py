"""A real server of objects, a folder as NFS has it, and the scripts that bring buckets from one to the other."""

import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any, Protocol

from minioserver import ROOT_PASSWORD, ROOT_USER

from generator.components.static import read_text
from generator.components.workflows.to_files import FILES
from tools import program

COUNTED = ("objects", "bytes", "moving", "read", "when", "stamp", "proven", "unknown", "rate")
"""What steps tell others, as files."""
STEPS = ("precheck", "copy", "verify", "record", "keep")


class Source(Protocol):
    """A server of objects, whose administrator is `ROOT_USER`."""

    url: str

    @property
    def certificates(self) -> Path | None:
        """Its certificate, with that of who signed it, where it has one."""


def client(scripts: Path, server: Source, authorities: str) -> Any:
    """Return the scripts' own client of a server: mc, which others ask with, takes half a second for each object."""
    sys.path.insert(0, str(scripts))
    try:
        return importlib.import_module("objects").S3(server.url, ROOT_USER, ROOT_PASSWORD, authorities)
    finally:
        sys.path.remove(str(scripts))


class Filed:
    """A bucket, and the folder that it is backed up to."""

    def __init__(self, server: Source, folder: Path, name: str, target: Path | None = None) -> None:
        self.server, self.folder, self.name = server, folder, name
        self.target, self.work, self.scripts = target or folder / "target", folder / "work", folder / "scripts"
        for made in (self.target, self.work, self.scripts):
            made.mkdir(parents=True, exist_ok=True)
        for file in FILES:
            (self.scripts / file).write_text(read_text(f"workflows/files/{file}.txt"))
        self.since = int(time.time())
        self.more: dict[str, str] = {}
        self.authorities = str(server.certificates / "CAs") if server.certificates else ""
        self.client = client(self.scripts, server, self.authorities)
        self.client.make(name)

    @property
    def store(self) -> Path:
        """Where the backup is."""
        return self.target / "copies"

    def mc(self, *arguments: str, text: str | None = None) -> str:
        """Run mc as the administrator."""
        url = self.server.url.replace("://", f"://{ROOT_USER}:{ROOT_PASSWORD}@")
        env = {"MC_HOST_site": url, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder)}
        command = [program("mc"), *arguments]
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=True).stdout

    def put(self, key: str, text: str, bucket: str = "") -> None:
        """Write an object."""
        file = self.folder / f"{uuid.uuid4()}"
        file.write_text(text)
        self.client.put(bucket or self.name, key, file, hashlib.sha256(file.read_bytes()).hexdigest(), {})
        file.unlink()

    def environment(self) -> dict[str, str]:
        """Return what the pods of all steps are told."""
        keys = {
            f"{whose}_{part}": value
            for whose in ("SOURCE", "RESTORE", "LIVE")
            for part, value in (("ACCESS_KEY", ROOT_USER), ("SECRET_KEY", ROOT_PASSWORD), ("URL", self.server.url))
        }
        return {
            **keys,
            "PATH": os.environ["PATH"],
            "TERMINATION_LOG": str(self.folder / "last-words"),
            "WORK": str(self.work),
            "AUTHORITIES": self.authorities,
            "TARGET": str(self.target),
            "FOLDER": "copies",
            "PLACE": "nas",
            "CLUSTER": "ml50",
            "NAME": self.name,
            "SINCE": str(self.since),
            "SOURCE_BUCKET": self.name,
            "ETAGS": "md5",
            "SHRINK_PERCENT": "20",
            "KEEP_DAYS": "30",
            "ROUNDS": "256",
            "PARALLEL": "8",
            "LIVE_BUCKET": self.name,
            "INTO": f"{self.name}-restored-1",
            "RESTORED_NAMES": f"{self.name}-restored-*",
            "AT": "",
            "SWITCH": "none",
            "ROOM": "",
            "FREE": "",
            "SEED": "7",
            "SAMPLE": "32",
            "SAMPLE_BYTES": "1000000",
            **{name.upper(): (self.work / name).read_text() for name in COUNTED if (self.work / name).exists()},
            **self.more,
        }

    def begin(self, script: str, step: str, **more: str) -> subprocess.Popen[str]:
        """Begin a step."""
        command = [sys.executable, str(self.scripts / script), step]
        env = {**self.environment(), **more}
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def step(self, script: str, step: str, code: int = 0, **more: str) -> str:
        """Run a step, and return what it said."""
        said, _ = (began := self.begin(script, step, **more)).communicate(timeout=120)
        assert began.returncode == code, said
        return said

    def backup(self, *steps: str, later: int = 0, **more: str) -> None:
        """Run a backup, so many seconds after the one before."""
        self.since += later
        for one in steps or STEPS:
            self.step("backup.py", one, 0, **more)

    def restore(self, *steps: str, code: int = 0, **more: str) -> str:
        """Bring the bucket back, and return what the last step said."""
        said = self.step("restore.py", "precheck", code if not steps else 0, **more)
        for number, one in enumerate(steps, 1):
            said = self.step("restore.py", one, code if number == len(steps) else 0, **more)
        return said

    def records(self) -> list[dict[str, Any]]:
        """Return what good runs wrote down."""
        return [json.loads(file.read_text()) for file in sorted((self.store / "records").glob("*.json"))]

    def last_words(self) -> str:
        """Return the message that a step ended with."""
        return (self.folder / "last-words").read_text()
