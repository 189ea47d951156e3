"""Programs that tests run."""

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
    """Return the command; without one the test fails in CI and is skipped elsewhere."""
    found = FOUND or kustomize()
    if found:
        return found
    why = "no Kustomize: run `python tools/kustomize.py`, or set GEN_KUSTOMIZE"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def without_rights(folder: Path, *words: str) -> tuple[int, str]:
    """Run gen in a folder as somebody whom a closed file or folder stops; return its status and words."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root, and no setpriv")
    command = [*(_UNPRIVILEGED if os.geteuid() == 0 else []), sys.executable, "-P", "-m", "generator", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
