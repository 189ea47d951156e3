"""Where a repository and its clusters lie. A shell that completes a word waits for this: nothing heavy is imported."""

import re
from collections.abc import Iterator
from pathlib import Path

from generator.errors import UsageError
from generator.repository.folders import inside, stands

RENDERED = ("argocd", "bootstrap")
"""The folders that gen writes beside a cluster's file."""

_MEANT = re.compile(r"cluster\.ya?ml", re.IGNORECASE)


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` with a folder `clusters`, and never one beyond the Git repository
    that `start` is in. Raises UsageError.
    """
    for folder in (start, *start.parents):
        if (folder / "clusters").is_dir():
            return folder
        if (folder / ".git").exists():
            break
    raise UsageError(f"{start}: there is no folder `clusters` here or above; `gen init NAME` begins a repository")


def names(root: Path) -> list[str]:
    """Return the names of the repository's clusters, in order; also of one whose file is a link to nothing. Raises
    UsageError for a folder that cannot be looked into.
    """
    return [name for name in inside(root, "clusters") if stands(root, f"clusters/{name}/cluster.yaml")]


def _fileless(root: Path) -> list[str]:
    return [name for name in inside(root, "clusters") if not stands(root, f"clusters/{name}/cluster.yaml")]


def gone(root: Path) -> list[str]:
    """Return the names of clusters for which gen has written, and which have no file any more. Raises as `names`."""
    return [name for name in _fileless(root) if any((root / f"clusters/{name}/{part}").is_dir() for part in RENDERED)]


def misnamed(root: Path) -> dict[str, str]:
    """Return, by the name of a cluster without a file, what to do where another name than cluster.yaml was given to
    it. Raises as `names`.
    """
    files = ((name, file) for name in _fileless(root) for file in inside(root, f"clusters/{name}"))
    return {
        name: f"clusters/{name} has no cluster.yaml, but {file}: "
        f"`git mv clusters/{name}/{file} clusters/{name}/cluster.yaml`"
        for name, file in files
        if _MEANT.fullmatch(file)
    }


def without_file(root: Path) -> Iterator[str]:
    """Say of each cluster that looks as if its file was lost what to do. Raises as `names`."""
    wrong = misnamed(root)
    yield from wrong.values()
    for name in gone(root):
        if name not in wrong:
            yield (
                f"clusters/{name} has no cluster.yaml, but what gen wrote for it: `gen render` removes that; if the "
                f"file was lost, `git restore --source HEAD clusters/{name}/cluster.yaml` brings it back"
            )
