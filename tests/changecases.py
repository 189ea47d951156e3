"""Cases of changes: the files `tests/changes/<code>.yaml`."""

from pathlib import Path
from typing import Any

import yaml
from mergepatch import merged

FOLDER = Path(__file__).parent / "changes"


def cases(file: Path) -> list[dict[str, Any]]:
    """Return the cases of a file, each with its sides whole: what `both` have stands there once, as a map with which
    theirs are merged, or as a list before theirs.
    """
    return [_whole(case) for case in yaml.load(file.read_text(), yaml.CSafeLoader)]


def _whole(case: dict[str, Any]) -> dict[str, Any]:
    if "both" not in case:
        return case
    both = case["both"]
    sides = {side: both + case[side] if isinstance(both, list) else merged(both, case[side]) for side in ("old", "new")}
    return case | sides
