"""Folders of the repository that somebody may not look into, and a current folder that is gone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

from tools import without_rights


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the reference clusters and what is rendered of them."""
    for each in ("base", "clusters", "overlays", "workflows"):
        shutil.copytree(ROOT / each, tmp_path / each)
    shutil.copy(ROOT / "gen.lock", tmp_path)
    return tmp_path


def closed(repository: Path, folder: str, mode: int, *words: str) -> tuple[int, str]:
    (repository / folder).chmod(mode)
    told = without_rights(repository, *words)
    (repository / folder).chmod(0o755)
    return told


@pytest.mark.parametrize("words", [["check"], ["check", "--cluster", "ml50"], ["render"]])
@pytest.mark.parametrize(
    ("folder", "mode", "named"),
    [
        ("clusters/a30-bench", 0, "clusters/a30-bench/cluster.yaml"),
        ("clusters", 0, "clusters"),
        ("clusters", 0o600, "clusters/a30-bench/cluster.yaml"),
    ],
)
def test_no_cluster_vanishes_in_a_closed_folder(
    repository: Path, folder: str, mode: int, named: str, words: list[str]
) -> None:
    assert closed(repository, folder, mode, *words) == (2, f"gen: {named}: cannot be read: Permission denied\n")


@pytest.mark.parametrize("folder", ["overlays", "overlays/ml50", "overlays/ml50/cilium"])
def test_a_closed_folder_of_what_is_rendered_is_one_message(repository: Path, folder: str) -> None:
    status, words = closed(repository, folder, 0, "render")
    assert (status, words.count("\n")) == (2, 1), words
    assert folder in words
    assert "Permission denied" in words


def test_the_doctor_tells_of_a_closed_folder(repository: Path) -> None:
    status, words = closed(repository, "clusters/ml50", 0, "doctor")
    assert status == 1
    assert "!!  clusters/ml50/cluster.yaml: cannot be read: Permission denied\n" in words


@pytest.mark.parametrize("verb", [["check"], ["doctor"], ["init", "x"], ["render"], ["check", "x.yaml"]])
def test_a_current_folder_that_is_gone_is_one_message(tmp_path: Path, verb: list[str]) -> None:
    here = tmp_path / "here"
    here.mkdir()
    script = 'rmdir "$PWD" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-P", "-m", "generator", *verb],
        cwd=here, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gen: the current folder is not there any more; go to one that is (`cd`), or name one with -C\n"
    )
