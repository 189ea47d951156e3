"""What stands in the repository's folders. One that is closed is told: taken for empty, it would hide what is in it."""

import os
from collections.abc import Collection
from pathlib import Path

from generator.errors import UsageError


def inside(root: Path, folder: str) -> list[str]:
    """Return the names of what is in a folder of the repository, in order; none where there is no such folder. Raises
    UsageError for one that cannot be read.
    """
    try:
        return sorted(path.name for path in (root / folder).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from None


def stands(root: Path, path: str) -> bool:
    """Tell whether there is anything at a path of the repository, be it a link to nothing. Raises UsageError where a
    closed folder does not let anybody tell.
    """
    try:
        os.lstat(f"{root}/{path}")  # Path takes twice as long, and some ask for a thousand
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    return True


def within(path: str, places: Collection[str]) -> bool:
    """Tell whether a path of the repository is one of these files and folders, or lies in one; a folder may end with a
    slash.
    """
    return any(path == place or path.startswith(f"{place}/") for place in (each.rstrip("/") for each in places))
