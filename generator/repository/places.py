"""Where a repository and its clusters lie. A shell that completes a word waits for this: nothing heavy is imported."""

from pathlib import Path

from generator.errors import UsageError
from generator.repository.folders import inside, stands


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
