"""What HEAD says of cluster files that the working tree has otherwise. Asked with each check: Git is started once where
nothing differs, and no library for it is imported.
"""

from collections.abc import Iterable
from contextlib import suppress
from os import environ
from pathlib import Path

from msgspec import Struct

from generator.errors import CommandError, UsageError
from generator.model.cluster import Cluster
from generator.process import run
from generator.repository.git_folder import LEADING, GitFolder, locate
from generator.spec.decode import decode
from generator.spec.document import Document
from generator.spec.reader import read

MOST = 8
"""Clusters of which more are not laid out twice: so many are not edited by hand, and `gen diff` tells of them."""


class AtHead(Struct, frozen=True):
    """A cluster file as HEAD has it."""

    document: Document
    cluster: Cluster


def differing_from_head(root: Path) -> list[str]:
    """Return the cluster files, by path, that HEAD has and the working tree has not, or not so. None outside of Git,
    before the first commit, and where Git will not read the repository.
    """
    try:
        place = locate(root)
        if place is None:
            return []
        pattern = f":(top,glob){place.prefix}clusters/*/cluster.yaml"
        how = ("--name-only", "--no-renames", "--no-ext-diff", "-z")
        listed = _git(place, "diff", *how, "HEAD", "--", pattern)
    except (CommandError, UsageError):
        return []
    return [path.removeprefix(place.prefix) for path in listed.split("\0") if path]


def clusters_at_head(root: Path, paths: Iterable[str]) -> dict[str, AtHead]:
    """Return these files as HEAD has them, by path, but for those that are wrong there, or that Git does not have."""
    place = locate(root)
    texts = {path: text for path in paths if place and (text := _text(place, path)) is not None}
    documents = {path: read(text, path) for path, text in texts.items()}
    whole = {path: one for path, one in documents.items() if one.value and not one.findings}
    decoded = {path: (one, decode(one)) for path, one in whole.items()}
    return {path: AtHead(one, found) for path, (one, found) in decoded.items() if isinstance(found, Cluster)}


def _text(place: GitFolder, path: str) -> str | None:
    with suppress(CommandError, UsageError):
        return _git(place, "cat-file", "blob", f"HEAD:{place.prefix}{path}")
    return None


def _git(place: GitFolder, *words: str) -> str:
    # Git neither writes what it learns of files nor fetches what it lacks: nobody asked for that.
    quiet = ["-c", "diff.autoRefreshIndex=false"]
    own = {name: value for name, value in environ.items() if name not in LEADING}
    return run(["git", *quiet, *words], cwd=place.top, env={**own, "GIT_NO_LAZY_FETCH": "1"})
