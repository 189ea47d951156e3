"""Packages that only some commands need, as a message for those who left them out."""

import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

# Modules by the extra of pyproject.toml that brings them.
EXTRAS = {
    "jsonschema_rs": "rendered",
    "kubernetes_validate": "rendered",
    "kubernetes": "server",
    "pyrage": "server",
    "argo_workflows": "argo",
}
NEEDED_BY = {
    "rendered": "what judges objects (`gen check PATH`, `gen check --rendered`)",
    "server": "what asks an API server (`gen check --server`, `gen status`, `gen workflow` ...)",
    "argo": "`gen workflow --argo-server`",
}


def left_out(module: str | None) -> str | None:
    """Return what to install where a module of an extra is missing; None for any other module."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    if extra is None:
        return None
    packages = " ".join(_packages(extra))
    # A tool that uv installs has no pip of its own.
    installer = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"{NEEDED_BY[extra]} needs packages that this installation left out: {installer} {packages}"


def absent(extra: str) -> str | None:
    """Return what to install where an extra is missing."""
    missing = (name for name, of in EXTRAS.items() if of == extra and not find_spec(name))
    return left_out(next(missing, None))


def _packages(extra: str) -> list[str]:
    """Return an extra's packages, pinned; their plain names where gen itself is not installed."""
    try:
        wanted = [each.partition(";") for each in requires("gen") or ()]
    except PackageNotFoundError:
        wanted = []
    pinned = [name.strip() for name, _, when in wanted if f'"{extra}"' in when]
    return pinned or [name.replace("_", "-") for name, of in EXTRAS.items() if of == extra]
