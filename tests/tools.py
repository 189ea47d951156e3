"""Programs that tests run. Where one is not there a test is skipped, which CI counts as failed (`conftest.py`)."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

SCRIPT = Path(__file__).parent.parent / "tools" / "kustomize.py"
# Root reads everything, unless it gives that up.
_UNPRIVILEGED = ["setpriv", *(f"--{one}=-dac_override,-dac_read_search" for one in ("bounding-set", "inh-caps"))]


def kustomize() -> list[str] | None:
    """Return the command to put before a folder's name to render it, or None where no Kustomize is found."""
    found: list[str] | None = runpy.run_path(str(SCRIPT))["command"]()
    return found


FOUND = kustomize()
"""The command as it is found before a test has a cache of its own, in which nothing is built."""


def need_kustomize() -> list[str]:
    """Return the command; without one the test is skipped."""
    if found := FOUND or kustomize():
        return found
    pytest.skip("no Kustomize: run `python tools/kustomize.py`, or set GEN_KUSTOMIZE")


def program(name: str) -> str:
    """Return the path of a program, of the cache rather than of the machine; without it the test is skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = shutil.which(name, path=os.pathsep.join([str(cache / "gen/bin"), os.environ["PATH"]]))
    if not found:
        pytest.skip(f"{name} is not here")
    return found


def without_rights(folder: Path, *words: str) -> tuple[int, str]:
    """Run gen in a folder as somebody whom a closed file or folder stops; return its status and words."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root, and no setpriv")
    command = [*(_UNPRIVILEGED if os.geteuid() == 0 else []), sys.executable, "-P", "-m", "generator", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
