#!/usr/bin/env python3
"""Install the frameworks whose wheels tests run programs on, and LoadGen, once; print the folder of each one's Python.

Run as `python tools/frameworks.py [NAME ...]`; without a name all. Each lies in the cache ($XDG_CACHE_HOME or ~/.cache,
then gen/frameworks) as NAME-VERSION, some 0.4 (ray) to 1.5 GB (tensorflow) and half a minute each; LoadGen has 2 MB. It
is that of MLPerf Inference v5.0, whose repository has it at tag v5.0.1. PyTorch is Debian's (python3-torch): its own
wheel brings all of CUDA.
"""

import subprocess
import sys
import venv
from pathlib import Path

from kustomize import cached

FOLDER = cached().parents[2] / "frameworks"
NUMPY = "numpy==2.4.6"
WHOLE = "whole"
"""A file that says that all of it is there."""
WHEELS = {
    "jax": ("jax==0.10.2", NUMPY),
    "loadgen": ("mlcommons-loadgen==5.0.13",),
    "ray": ("ray==2.60.0", NUMPY),
    "tensorflow": ("tensorflow-cpu==2.21.0",),
}


def home(name: str) -> Path:
    """Return the folder of the Python that has a framework, whether it is there or not."""
    version = WHEELS[name][0].partition("==")[2]
    return FOLDER / f"{name}-{version}-{sys.implementation.cache_tag}" / "bin"


def whole(name: str) -> bool:
    """Tell whether a framework is in the cache, and not by half."""
    return (home(name) / WHOLE).exists()


def install(name: str) -> None:
    """Put a framework into the cache. What was stopped is begun anew.

    Raises CalledProcessError when pip fails; it has said why on standard error.
    """
    venv.create(home(name).parent, clear=True, with_pip=True)
    pip = [str(home(name) / "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *WHEELS[name]], check=True, stdout=sys.stderr)
    (home(name) / WHOLE).touch()


def main(names: list[str]) -> int:
    """Install what is missing; returns the exit code."""
    for name in names or sorted(WHEELS):
        if name not in WHEELS:
            sys.stderr.write(f"no framework is called {name}: {', '.join(sorted(WHEELS))}\n")
            return 2
        if not whole(name):
            install(name)
        sys.stdout.write(f"{home(name)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
