"""Where a Python lies that has a framework: no dependency of gen is one.

`GEN_PYTORCH`, `GEN_JAX`, `GEN_TENSORFLOW`, `GEN_RAY` and `GEN_LOADGEN` each name a folder with such a `python3` (and
`torchrun` or `ray`). Where they name none it is Debian's PyTorch (python3-torch), and for the others what
`tools/frameworks.py` has put into the cache. Without any a test is skipped; CI counts that as failed.
"""

import os
import runpy
from pathlib import Path

import pytest
from reference import ROOT

DEBIAN = Path("/usr/bin")
TORCHRUN = f'#!/bin/sh\nexec {DEBIAN}/python3 {Path(__file__).parent}/debian_torchrun.py "$@"\n'


def home(kind: str, folder: Path) -> str:
    """Return the folder of the Python that has a framework; Debian's is made below `folder`."""
    given = os.environ.get(f"GEN_{kind.upper()}")
    if given:
        return given
    if kind == "pytorch":
        return _debian_torch(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        tool = runpy.run_path(str(ROOT / "tools/frameworks.py"))
    if not tool["whole"](kind):
        pytest.skip(f"no {kind}: run `python tools/frameworks.py {kind}`, or set GEN_{kind.upper()}")
    return str(tool["home"](kind))


def _debian_torch(folder: Path) -> str:
    if not Path(DEBIAN, "torchrun").exists():
        pytest.skip("GEN_PYTORCH names no Python with pytorch (Debian: python3-torch)")
    made = folder / "debian-torch"
    made.mkdir()
    (made / "torchrun").write_text(TORCHRUN)
    (made / "torchrun").chmod(0o755)
    (made / "python3").symlink_to(DEBIAN / "python3")
    return str(made)
