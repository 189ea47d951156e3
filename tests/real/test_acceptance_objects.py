"""The test of object stores, run as its pods run it, on a real MinIO with the user and bucket that its setup makes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates, program

from generator.components.minio import trial
from generator.components.static import read_text

pytestmark = pytest.mark.real

RUN, USER, PASSWORD = "acceptance-x7k2p", "trial-access", "trial-secret-of-this-test"


class Site:
    """MinIO with a bucket that is tried and one that is not, and what its administrator sees."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        (folder / "keys/minio").mkdir(parents=True)
        (folder / "keys/minio/access").write_text(f"{USER}\n")
        (folder / "keys/minio/secret").write_text(f"{PASSWORD}\n")
        assert server.certificates
        self.ca = server.certificates / "CAs/ca.crt"
        deadline = time.monotonic() + 60
        while subprocess.run([program("mc"), "ls", "s"], env=self.env, capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, "MinIO did not start"
            time.sleep(0.2)
        for name, text in trial.files().items():
            (folder / name).write_text(text)
        for bucket in (trial.NAME, "others"):
            self.mc("mb", f"s/{bucket}")
        self.mc("admin", "user", "add", "s", USER, PASSWORD)
        self.mc("admin", "policy", "create", "s", "gen-trial", str(folder / f"policy-{trial.NAME}.json"))
        self.mc("admin", "policy", "attach", "s", "gen-trial", "--user", USER)
        rules = (folder / f"lifecycle-{trial.NAME}.json").read_text()
        self.mc("ilm", "rule", "import", f"s/{trial.NAME}", text=rules)

    @property
    def env(self) -> dict[str, str]:
        root = f"https://{ROOT_USER}:{ROOT_PASSWORD}@{self.server.address}"
        return {"HOME": str(self.folder), "MC_HOST_s": root, "MC_INSECURE": "1", "PATH": os.environ["PATH"]}

    def mc(self, *words: str, text: str = "") -> str:
        done = subprocess.run(
            [program("mc"), *words], env=self.env, input=text, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def begin(self, place: int = 0, bucket: str = trial.NAME, **told: str) -> "subprocess.Popen[str]":
        """Begin what a pod runs."""
        script = self.folder / "object_stores.py"
        script.write_text(read_text("acceptance/object_stores.py.txt"))
        env = {
            "STORES": f"minio {self.server.url}/{bucket}\n",
            "KEYS": str(self.folder / "keys"),
            "CA": str(self.ca),
            "SIZE": str(2 * 2**20),
            "MOST": str(32 * 2**20),
            "SECONDS_EACH": "1",
            "THREADS": "4",
            "RUN": RUN,
            "JOB_COMPLETION_INDEX": str(place),
        }
        command = [sys.executable, "-u", "-B", str(script)]
        return subprocess.Popen(command, env=env | told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def there(self) -> list[str]:
        """Return the names of what the bucket holds."""
        lines = self.mc("--json", "ls", "--recursive", f"s/{trial.NAME}").splitlines()
        return sorted(json.loads(line)["key"] for line in lines)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("objects")
    server = Server(folder / "drive", certificates=certificates(folder / "certs"))
    try:
        yield Site(server, folder)
    finally:
        server.stop()


def said(process: "subprocess.Popen[str]") -> str:
    try:
        text, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in text, text
    return text


def result(text: str) -> dict[str, Any]:
    begin, line, end = text.splitlines()
    assert (begin, end) == ("== store minio", "== end")
    found: dict[str, Any] = json.loads(line)
    return found


def test_all_is_written_read_compared_and_taken_away_with_its_own_rights(site: Site) -> None:
    site.mc("pipe", f"s/{trial.NAME}/acceptance-older/0/0-0", text="left")
    site.mc("pipe", f"s/{trial.NAME}/{RUN}/1/0-0", text="of another pod of this run")
    found = result(said(site.begin()))
    assert (found["different"], found["failed"], found["left"]) == (0, 0, 0), found
    assert found["put"]["objects"] == found["get"]["objects"] > 0
    assert found["put"]["bytes"] == found["put"]["objects"] * 2 * 2**20
    assert site.there() == [f"{RUN}/1/0-0"], "what a killed run left goes, what another pod writes stays"
    site.mc("rm", f"s/{trial.NAME}/{RUN}/1/0-0")


def test_keys_reach_no_other_bucket(site: Site) -> None:
    text = said(site.begin(bucket="others"))
    assert text.splitlines()[1] == "error: GET: HTTP 403 AccessDenied"


@pytest.mark.parametrize(("by", "left"), [(signal.SIGTERM, False), (signal.SIGKILL, True)])
def test_nothing_stays_of_who_is_stopped_and_the_next_takes_away_what_a_kill_left(
    site: Site, by: signal.Signals, *, left: bool
) -> None:
    process = site.begin(SECONDS_EACH="30", MOST=str(2**30))
    deadline = time.monotonic() + 30
    while len(site.there()) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(by)
    text = said(process)
    assert "== end" not in text
    assert bool(site.there()) == left, site.there()
    assert result(said(site.begin(RUN="acceptance-next")))["left"] == 0
    assert site.there() == []
