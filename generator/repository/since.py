"""Which clusters a change reaches: what else stands in a repository whose base is sound need not be looked at again."""

from collections.abc import Iterable
from pathlib import Path

from generator.errors import UsageError
from generator.layout.lock import LOCK, LockFile, Writer, written_by
from generator.repository.git_folder import locate
from generator.repository.history import History, Snapshot
from generator.repository.places import names
from generator.repository.reach import holding, sharing
from generator.repository.sides import commit_side
from generator.repository.vendored import locked

SHARED = ("base", "workflows", "schemas")


def affected(root: Path, base: str) -> tuple[str, ...] | None:
    """Return the clusters that what was committed since `base` reaches, in order; None where that may be all of them.
    Commits are compared, and nothing that is not committed. Raises UsageError where Git does not have them.
    """
    place = locate(root)
    if place is None:
        raise UsageError(f"{root}: this is not a Git repository, and --since compares commits; leave it out")
    with History(place) as history:
        if history.head is None:
            raise UsageError(f"{root}: nothing was committed yet, and --since compares commits; leave it out")
        commit = history.commit(base)
        commit = history.merge_base(commit, history.head) or commit
        paths = history.differing(commit, history.head)
        if LOCK in paths and not _only_more(*(_lock(history, each) for each in (commit, history.head))):
            return None
        side = commit_side(history, history.head, "")
        others = {path for path in paths if not path.startswith(("base/", "workflows/"))}
        also = {folder.split("/")[1] for folder in (*sharing(side, others), *holding(side, paths))}
    return _reached(root, paths, also)


def _lock(history: History, commit: str) -> tuple[Writer, LockFile]:
    """Return which gen wrote a commit, and what was locked there."""
    content = history.read(commit, LOCK) or b""
    return written_by(content), locked(Snapshot(history, commit).read)


def _only_more(old: tuple[Writer, LockFile], new: tuple[Writer, LockFile]) -> bool:
    """Tell whether all that was locked is as it was: what another gen writes, or is inflated from other charts, may
    be any cluster's.
    """
    pairs = ((getattr(old[1], key), getattr(new[1], key)) for key in ("charts", "manifests", "images"))
    return old[0] == new[0] and all(before.items() <= after.items() for before, after in pairs)


def _reached(root: Path, paths: Iterable[str], also: Iterable[str]) -> tuple[str, ...] | None:
    standing, found = names(root), {*also}
    for path in sorted(paths):
        top, name, *_ = (*path.split("/"), "")
        if top in SHARED:
            users = _users(root, path, standing)
            # One is enough: what is shared is the same for all. Of what nobody uses only a whole render tells.
            if not users & found:
                found |= {min(users)} if users else set()
            if not users and (root / path).exists():
                return None
        elif top in {"clusters", "overlays"} and name in standing:
            found.add(name)
        elif top in {"clusters", "overlays"} and (root / path).exists():
            return None
    return tuple(name for name in standing if name in found)


def _users(root: Path, path: str, standing: Iterable[str]) -> set[str]:
    """Return the clusters that are built from the folder of a shared file."""
    if path.startswith("schemas/"):
        return {*standing}
    folder, component = shared_folder(path)
    files = {name: root / f"overlays/{name}/{component}/kustomization.yaml" for name in standing}
    return {name for name, file in files.items() if file.is_file() and f"{folder}\n" in file.read_text()}


def shared_folder(path: str) -> tuple[str, str]:
    """Return the folder of base or workflows that a file is in, and the component that is built from it."""
    top, *parts = path.split("/")
    return "/".join((top, *parts[: 2 if top == "base" else 1])), parts[0] if top == "base" else top
