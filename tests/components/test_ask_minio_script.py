"""The script that asks MinIO of its drives, with more of them than a pod's last words have room for. MinIO is played
here: test_minio_replacement.py asks real servers.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from generator.components.static import read_text

ROOM = 4096
"""Bytes of last words that Kubernetes keeps of a container."""
SERVERS, DRIVES = 8, 16


def drive(server: int, number: int, *, healed: str = "", state: str = "ok") -> dict[str, Any]:
    """Return a drive in the form of `mc admin info`; `healed` is how the healing goes that MinIO tells of."""
    end = f"https://minio-{server}.minio-hl.minio.svc.cluster.local:9000/export-{number}"
    said: dict[str, Any] = {"endpoint": end, "path": f"/export-{number}", "state": state}
    if healed:
        said["heal_info"] = {
            "heal_id": f"c5bab9c2-472a-4431-a77c-{server:06}{number:06}",
            "endpoint": end,
            "finished": healed == "finished",
            "items_failed": 0,
            "bytes_done": 4398046511104,
        }
    return said


def asks(folder: Path, drives: list[dict[str, Any]], *words: str) -> list[str]:
    """Return the lines of the answer."""
    servers = [{"state": "online", "endpoint": "minio", "drives": drives}]
    offline = sum(one["state"] == "offline" for one in drives)
    info = {"info": {"backend": {"offlineDisks": offline}, "servers": servers}}
    (folder / "info").write_text(json.dumps(info, indent=1))
    (folder / "mc").write_text(f"#!/bin/sh\ncat {folder}/info\n")
    (folder / "mc").chmod(0o755)
    (folder / "root").mkdir(exist_ok=True)
    for name in ("ca.crt", "root/rootUser", "root/rootPassword"):
        (folder / name).write_text("any")
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "SECRETS": str(folder),
        "TOLD": str(folder / "told"),
        "MC_CONFIG_DIR": str(folder / "config"),
        "ENDPOINT": "any",
    }
    command = ["sh", "-c", read_text("node_operations/ask-minio.sh"), "ask", "drives", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = (folder / "told").read_text()
    assert len(said) <= ROOM
    return said.splitlines()


def all_drives(**state: str) -> list[dict[str, Any]]:
    return [drive(server, number, **state) for server in range(SERVERS) for number in range(DRIVES)]


def test_of_drives_that_were_healed_once_none_is_told_but_the_one_that_is_asked_for(tmp_path: Path) -> None:
    counts = ["offline 0", f"drives {SERVERS * DRIVES}"]
    assert asks(tmp_path, all_drives(healed="finished")) == counts
    healed, *last = asks(tmp_path, all_drives(healed="finished"), "minio-1", "1")
    assert last == counts
    assert healed.startswith(
        "heal https://minio-1.minio-hl.minio.svc.cluster.local:9000/export-1 finished 0 4398046511104 "
    )


@pytest.mark.parametrize(("kind", "state"), [("heal", {"healed": "running"}), ("bad", {"state": "offline"})])
def test_of_more_than_there_is_room_for_whole_lines_are_told_and_the_counts(
    tmp_path: Path, kind: str, state: dict[str, str]
) -> None:
    drives = [*all_drives(**state), drive(99, 1, healed="finished")]
    *told, healed, offline, last = asks(tmp_path, drives, "minio-99", "1")
    assert healed.startswith("heal https://minio-99.")
    assert (offline.split()[0], last) == ("offline", f"drives {len(drives)}")
    assert len(told) > 20
    assert {one.split()[0] for one in told} == {kind}
