"""What the documentation tells people to run, so that tests run just that."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml
from reference import ROOT

from tools import program


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page of `docs/` in one language, in their order."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def as_administrator(script: str, kubeconfig: Path, folder: Path, *before: Path) -> "subprocess.CompletedProcess[str]":
    """Run what a page says as somebody types it, in a folder, with the real kubectl; programs in the folders `before`
    come first.
    """
    path = os.pathsep.join(map(str, (*before, Path(program("kubectl")).parent, os.environ["PATH"])))
    env = {"PATH": path, "KUBECONFIG": str(kubeconfig), "HOME": str(folder)}
    command = ["/bin/sh", "-c", script]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=180)


def of_teams() -> dict[str, dict[str, Any]]:
    """Return the manifests that teams are told to write, of kinds of Kubernetes' own."""
    names = ("a gang", "without GPUs", "a service")
    return dict(zip(names, (one for one in _of_teams() if not _operated(one)), strict=True))


def of_operators() -> dict[str, dict[str, Any]]:
    """Return those of kinds that an operator runs, by their kinds."""
    return {one["kind"]: one for one in _of_teams() if _operated(one)}


def _of_teams() -> list[dict[str, Any]]:
    return [yaml.safe_load(block) for block in blocks("teams.md", "yaml")]


def _operated(manifest: dict[str, Any]) -> bool:
    return "." in manifest["apiVersion"].partition("/")[0]
