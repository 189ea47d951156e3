"""The pinned Helm, run so that nothing of this machine or its user can change what a chart becomes."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from generator.components.component import Release
from generator.errors import CommandError, UsageError
from generator.layout.emit import emit
from generator.layout.upstream import Inputs
from generator.model.served import api_list, minor_of
from generator.model.versions import HELM
from generator.process import cache_home, run

__all__ = ["HelmError", "helm", "hermetic", "inflate", "words"]

# What Helm may see of the environment where it talks to the network; else nothing.
NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


class HelmError(UsageError):
    """Helm refused; the text is its own."""


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


def inflate(chart: Path, release: Release, inputs: Inputs) -> str:
    """Return everything that a chart makes of a release: CRDs, hooks and tests too. Raises HelmError."""
    with hermetic() as env:
        values = Path(env["HOME"], "values.yaml")
        values.write_text(emit(release.values), encoding="utf-8")
        apis = sorted({*api_list(minor_of(inputs.kubernetes)), *inputs.apis})
        argv = [helm(), "template", release.name, str(chart), "--namespace", release.namespace]
        argv += ["--values", str(values), "--kube-version", inputs.kubernetes, "--include-crds"]
        argv += ["--api-versions", ",".join(apis)]
        try:
            return run(argv, env=env)
        except UsageError as error:
            what = f"helm template {release.name} {release.chart.name} --version {release.chart.version}"
            said = words(error.output, {env["HOME"]: ""}) if isinstance(error, CommandError) else "it did not end"
            raise HelmError(f"`{what}` failed: {said}") from None


def words(output: str, hidden: Mapping[str, str]) -> str:
    """Return what Helm said, in one line, less its advice on flags and whatever is `hidden`."""
    for text, shown in hidden.items():
        output = output.replace(text, shown) if text else output
    lines: Sequence[str] = [line.strip().removeprefix("Error: ") for line in output.splitlines()]
    return "; ".join(line for line in lines if line and "--debug flag" not in line) or "it said nothing"
