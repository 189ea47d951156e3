"""The pinned Helm, run so that nothing of this machine or its user can change what a chart becomes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from generator.components.component import HELM
from generator.errors import UsageError
from generator.process import cache_home, run

# What Helm may see of the environment where it talks to the network; else nothing.
NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


@cache
def helm() -> str:
    """Return the path of the pinned Helm: $GEN_HELM, else the cache, else PATH. Raises UsageError."""
    given = os.environ.get("GEN_HELM")
    cached = cache_home() / "bin" / f"helm-{HELM}" / "helm"
    usual = [str(path) for path in (cached, shutil.which("helm")) if path and os.access(path, os.X_OK)]
    seen = []
    for path in [shutil.which(given) or given] if given else usual:
        found = _version(path, "GEN_HELM: " if given else "")
        if found == HELM:
            return path
        seen.append(f"{'GEN_HELM: ' if given else ''}{path} is {found or 'no Helm'}")
    raise UsageError(
        f"Helm {HELM} is needed, for every machine to get the same from a chart; "
        f"{'; '.join(seen) or 'there is none'}; put https://get.helm.sh/helm-{HELM}-<system>-<machine>.tar.gz's "
        f"`helm` to {cached}, or name it: GEN_HELM=FILE"
    )


def _version(path: str, named: str) -> str:
    with hermetic() as env:
        try:
            return run([path, "version", "--template", "{{.Version}}"], env=env, timeout=30).strip()
        except UsageError as error:
            raise UsageError(f"{named}{error}") from None


@contextmanager
def hermetic(*, network: bool = False) -> Iterator[dict[str, str]]:
    """Give an environment with a home of its own, which is gone afterwards: no kubeconfig, no plugins, no logins."""
    with tempfile.TemporaryDirectory(prefix="gen-helm-") as home:
        names = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")
        helms = ("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME", "HELM_PLUGINS")
        env = dict.fromkeys((*names, *helms), home)
        env |= {"PATH": "/nonexistent", "HELM_PLUGINS": f"{home}/plugins", "LC_ALL": "C"}
        yield env | ({name: value for name in NETWORK if (value := os.environ.get(name))} if network else {})


def words(output: str, hidden: str) -> str:
    """Return what Helm said, in one line, less its advice on flags and a folder that is `hidden`."""
    lines = [line.strip().removeprefix("Error: ") for line in output.replace(hidden, "").splitlines()]
    return "; ".join(line for line in lines if line and "--debug flag" not in line) or "it said nothing"
