"""The test of object stores, run as its pods run it, on a real MinIO and on a real gateway of Ceph: each with the user
and the bucket that the cluster makes for it.
"""

import contextlib
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
from auditing import betrayed
from minioserver import ROOT_PASSWORD, ROOT_USER, Server, certificates

from generator.components.minio import trial
from generator.components.static import read_text
from tools import program

pytestmark = pytest.mark.real

RUN, USER, PASSWORD = "acceptance-x7k2p", "trial-access", "trial-secret-of-this-test"
WRONG = "another-secret-of-this-test"


class Site:
    """A store that speaks S3, at a URL and with a certificate of this CA, and `mc` with the keys of who owns the bucket
    that is tried.
    """

    def __init__(self, folder: Path, url: str, ca: Path, owner: tuple[str, str]) -> None:
        self.folder, self.url, self.ca = folder, url, ca
        self.said: list[str] = []
        keys = folder / "keys/store"
        keys.mkdir(parents=True)
        (keys / "access").write_text(f"{USER}\n")
        (keys / "secret").write_text(f"{PASSWORD}\n")
        self.env = {
            "HOME": str(folder),
            "MC_HOST_s": url.replace("://", f"://{':'.join(owner)}@"),
            "MC_INSECURE": "1",
            "PATH": os.environ["PATH"],
        }

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
            "STORES": f"store {self.url}/{bucket}\n",
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


@contextlib.contextmanager
def minio(folder: Path) -> Iterator[Site]:
    """Run a MinIO with the user and the bucket that its setup makes."""
    signed = certificates(folder / "certs")
    server = Server(folder / "drive", certificates=signed)
    try:
        made = Site(folder, server.url, signed / "CAs/ca.crt", (ROOT_USER, ROOT_PASSWORD))
        deadline = time.monotonic() + 60
        while subprocess.run([program("mc"), "ls", "s"], env=made.env, capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, "MinIO did not start"
            time.sleep(0.2)
        for name, text in trial.files().items():
            (folder / name).write_text(text)
        for bucket in (trial.NAME, "others"):
            made.mc("mb", f"s/{bucket}")
        made.mc("admin", "user", "add", "s", USER, PASSWORD)
        made.mc("admin", "policy", "create", "s", "gen-trial", str(folder / f"policy-{trial.NAME}.json"))
        made.mc("admin", "policy", "attach", "s", "gen-trial", "--user", USER)
        made.mc("ilm", "rule", "import", f"s/{trial.NAME}", text=(folder / f"lifecycle-{trial.NAME}.json").read_text())
        yield made
    finally:
        server.stop()


@contextlib.contextmanager
def ceph(folder: Path) -> Iterator[Site]:
    """Run a gateway of Ceph with the user and the bucket that Rook makes for a claim: the bucket is the user's own, and
    it may make no other one.
    """
    from cephgateway import gateway

    signed = certificates(folder / "certs")
    with gateway(signed) as served:
        served.user("claim", USER, PASSWORD)
        made = Site(folder, served.url, signed / "CAs/ca.crt", (USER, PASSWORD))
        made.mc("mb", f"s/{trial.NAME}")
        served.run("radosgw-admin", "user", "modify", "--uid=claim", "--max-buckets=-1")
        Site(folder / "others", served.url, made.ca, (ROOT_USER, ROOT_PASSWORD)).mc("mb", "s/others")
        yield made


@pytest.fixture(scope="module", params=[minio, ceph], ids=["minio", "ceph"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with request.param(tmp_path_factory.mktemp("objects")) as made:
        yield made


def said(site: Site, process: "subprocess.Popen[str]") -> str:
    try:
        text, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    site.said.append(text)
    assert "Traceback" not in text, text
    return text


def result(text: str) -> dict[str, Any]:
    begin, line, end = text.splitlines()
    assert (begin, end) == ("== store store", "== end")
    found: dict[str, Any] = json.loads(line)
    return found


def test_all_is_written_read_compared_and_taken_away_with_its_own_rights(site: Site) -> None:
    site.mc("pipe", f"s/{trial.NAME}/acceptance-older/0/0-0", text="left")
    site.mc("pipe", f"s/{trial.NAME}/{RUN}/1/0-0", text="of another pod of this run")
    found = result(said(site, site.begin()))
    assert (found["different"], found["failed"], found["left"]) == (0, 0, 0), found
    assert found["put"]["objects"] == found["get"]["objects"] > 0
    assert found["put"]["bytes"] == found["put"]["objects"] * 2 * 2**20
    assert site.there() == [f"{RUN}/1/0-0"], "what a killed run left goes, what another pod writes stays"
    site.mc("rm", f"s/{trial.NAME}/{RUN}/1/0-0")


def test_keys_reach_no_other_bucket(site: Site) -> None:
    text = said(site, site.begin(bucket="others"))
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
    text = said(site, process)
    assert "== end" not in text
    assert bool(site.there()) == left, site.there()
    assert result(said(site, site.begin(RUN="acceptance-next")))["left"] == 0
    assert site.there() == []


@pytest.mark.parametrize("told", [{"STORES": "store https://127.0.0.1:1/trial\n"}, {"CA": "/dev/null"}])
def test_a_store_that_is_away_or_not_trusted_is_told(site: Site, told: dict[str, str]) -> None:
    assert said(site, site.begin(0, trial.NAME, **told)).splitlines()[1].startswith("error: ")


def test_the_keys_are_told_nowhere(site: Site) -> None:
    """After all others: in nothing that pods said, whatever went wrong, and in no name of an object."""
    said(site, site.begin(KEYS=str(wrong_keys(site))))
    for word in ("== end", "AccessDenied", "SignatureDoesNotMatch"):
        assert any(word in text for text in site.said), word
    places = [*enumerate(site.said), *enumerate(site.there())]
    assert betrayed(((str(where), text) for where, text in places), [PASSWORD, WRONG]) == []


def wrong_keys(site: Site) -> Path:
    """Return a folder with keys that the store does not accept."""
    folder = site.folder / "wrong/store"
    folder.mkdir(parents=True)
    (folder / "access").write_text(f"{USER}\n")
    (folder / "secret").write_text(f"{WRONG}\n")
    return folder.parent
