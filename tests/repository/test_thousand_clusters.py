"""A fleet of a thousand clusters in parts, one of which is killed: together what one run writes, to the byte."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.repository.scaffold import starter

NAMES = [f"site-{number:03}" for number in range(1000)]
PARTS = ("1/4", "2/4", "3/4", "4/4")


def fleet(root: Path) -> Path:
    """Make a repository of small clusters, each with networks of its own."""
    for number, name in enumerate(NAMES):
        file = root / "clusters" / name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(starter(name).decode().replace("10.10.", f"{11 + number // 250}.{number % 250}."))
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    return root


def gen(root: Path, *words: str) -> "subprocess.Popen[str]":
    """Begin `gen render` with all that it starts in a group of its own."""
    command = [sys.executable, "-P", "-m", "generator", "render", "-C", str(root), *words]
    return subprocess.Popen(command, stdout=-1, stderr=-2, text=True, start_new_session=True)


def good(process: "subprocess.Popen[str]") -> float:
    """Wait for its end; returns the seconds until then."""
    begun = time.monotonic()
    out, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, out[-2000:]
    return time.monotonic() - begun


def held(root: Path) -> dict[str, str]:
    """Return the SHA-256 of each file but Git's own."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [one for one in folders if one != ".git"]
        paths = [Path(folder, name) for name in files]
        found |= {str(one.relative_to(root)): hashlib.sha256(one.read_bytes()).hexdigest() for one in paths}
    return found


@pytest.mark.soak
def test_a_thousand_clusters_in_parts_are_what_one_run_writes_though_one_is_killed(tmp_path: Path) -> None:
    root, parts = fleet(tmp_path / "fleet"), tmp_path / "parts"
    given = held(root)
    to = ("--to", str(parts))
    seconds = good(gen(root, "--shard", PARTS[0], *to))
    killed = gen(root, "--shard", PARTS[1], *to)
    time.sleep(seconds / 2)
    assert killed.poll() is None, "it was at its end already"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert [one.name for one in parts.glob("*.share")] == ["1-of-4.share"]
    assert held(root) == given
    for part in PARTS[1:]:
        good(gen(root, "--shard", part, *to))
    good(gen(root, "--from", str(parts)))
    joined = held(root)
    assert joined.keys() > given.keys()
    assert {name.split("/")[1] for name in joined if name.startswith("overlays/")} == {*NAMES}
    good(gen(fleet(tmp_path / "undivided")))
    different = {path for path, _ in joined.items() ^ held(tmp_path / "undivided").items()}
    assert sorted(different)[:20] == []
