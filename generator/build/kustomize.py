"""Kustomize: where the program is, and what it makes of a folder."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from generator.build.broken import BrokenError, unbuilt
from generator.build.go_yaml import UnreadableError
from generator.build.manifests import documents, is_manifest
from generator.components.component import Manifest
from generator.errors import CommandError, UsageError
from generator.process import cache_home, run

ORIGIN = "originAnnotations"
"""What `buildMetadata` of a kustomization must hold for `run_kustomize`."""

NEEDED_BY = (
    "gen bootstrap, check --rendered and --server, commit, diff, drift, images, rehearse, report, rollback, sync"
)
"""The commands that build objects; all others do without."""

PINNED = (5, 8, 1)
"""The version that Argo CD of the catalogue builds with; an older one refuses some of what that takes."""

_VERSION = re.compile(r"(?:Kustomize Version: |^\{?)v(\d+)\.(\d+)\.(\d+)", re.MULTILINE)
_ORIGIN = "config.kubernetes.io/origin"
_FILE = re.compile(r"^(?:path|configuredIn): (.+)$", re.MULTILINE)


def program() -> list[str]:
    """Return the command that builds a folder: of $GEN_KUSTOMIZE, gen's cache, `kustomize` or `kubectl` on PATH the
    first that is there. Raises UsageError.
    """
    given = os.environ.get("GEN_KUSTOMIZE")
    if given and not shutil.which(given):
        raise UsageError(f"GEN_KUSTOMIZE: {given} is not a program; correct it or unset it")
    usual = [*((str(path), "build") for path in _cached()), ("kustomize", "build"), ("kubectl", "kustomize")]
    for name, verb in [(given, "build")] if given else usual:
        if path := shutil.which(name):
            return [path, verb]
    raise UsageError(
        "Kustomize was not found; install `kustomize` or `kubectl`, which has it "
        "(https://kubectl.docs.kubernetes.io/installation/kustomize/), or name one in GEN_KUSTOMIZE"
    )


def _cached() -> list[Path]:
    with suppress(UsageError):
        return sorted((cache_home() / "bin").glob("kustomize*/kustomize"), reverse=True)
    return []


def known(command: list[str]) -> str:
    """Return the command in words. Raises UsageError for a program that builds no kustomizations."""
    with suppress(CommandError):
        if "kustomization" in run([*command, "--help"], timeout=20):
            return " ".join(command)
    raise UsageError(
        f"{command[0]} is not Kustomize: its help does not speak of kustomizations; take it away, or name "
        "Kustomize in GEN_KUSTOMIZE"
    )


def older(command: list[str]) -> str:
    """Return what to say of a Kustomize that is older than Argo CD's, nothing of another."""
    asked = ["version", "--client"] if command[1] == "kustomize" else ["version"]
    with suppress(CommandError, UsageError):
        found = _VERSION.search(run([command[0], *asked]))
        if found and tuple(map(int, found.groups())) < PINNED:
            pinned, old = ".".join(map(str, PINNED)), ".".join(found.groups())
            return (
                f" ({command[0]} has Kustomize {old}, Argo CD {pinned}, which may build it: set GEN_KUSTOMIZE to one)"
            )
    return ""


def run_kustomize(command: list[str], folder: Path, place: str, component: str = "") -> list[tuple[Manifest, str]]:
    """Return the objects that Kustomize builds from a folder, each with its file relative to the folder (empty where
    it is not told). The folder's kustomization asks for `ORIGIN`. Raises BrokenError that names `place`, the folder
    of `component` where there is one.
    """
    try:
        found = documents(run([*command, str(folder)]))
    except CommandError as error:
        words = error.output.strip().replace(f"{folder}{os.sep}", "").replace(str(folder), place)
        if (copy := str(folder).removesuffix(place)) != str(folder):
            words = words.replace(copy, "")
        words += older(command)
        raise BrokenError(unbuilt(place, f"Kustomize cannot build it: {words}", component)) from None
    except UnreadableError as error:
        raise BrokenError(unbuilt(place, f"what Kustomize makes of it cannot be read: {error}", component)) from None
    return [(one, _origin(one)) for one in found if is_manifest(one)]


def _origin(manifest: Manifest) -> str:
    """Take the annotation out again that says where an object comes from, and return the file."""
    annotations = manifest["metadata"].get("annotations") or {}
    found = _FILE.search(str(annotations.pop(_ORIGIN, "")))
    if not annotations:
        manifest["metadata"].pop("annotations", None)
    return found[1] if found else ""
