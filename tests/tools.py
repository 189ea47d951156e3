"""Programs that tests run."""

import os
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "kustomize.py"


def kustomize() -> list[str] | None:
    """Return the command to put before a folder's name to render it, or None where no Kustomize is found."""
    found: list[str] | None = runpy.run_path(str(SCRIPT))["command"]()
    return found


def need_kustomize() -> list[str]:
    """Return the command; without one the test fails in CI and is skipped elsewhere."""
    found = kustomize()
    if found:
        return found
    why = "no Kustomize: run `python tools/kustomize.py`, or set GEN_KUSTOMIZE"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
