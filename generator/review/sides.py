"""Which two states of a repository are compared: commits, or the working tree."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from generator.errors import UsageError
from generator.model.cluster import cluster_file
from generator.repository.git_folder import locate
from generator.repository.history import History
from generator.repository.plan import Change
from generator.repository.sides import Side, commit_side, working_side
from generator.review.approvals import Approval, in_commits

if TYPE_CHECKING:
    from generator.repository.cluster_files import Loaded

UNKNOWN_MAIN = (
    "compared with HEAD, and commits are not told: Git knows no main branch here; `git remote set-head origin --auto` "
    "asks the remote for its own, `gen diff BRANCH` names one"
)


class Wanted(Struct, frozen=True, kw_only=True):
    """What the user wants compared; None for the place where the branch left the main branch, and for the working
    tree.
    """

    base: str | None = None
    head: str | None = None
    clusters: tuple[str, ...] = ()
    left: bool = False
    """Whether to compare with the commit at which the other side left `base`, and not with `base` itself."""


class Sides(Struct, frozen=True, kw_only=True):
    """Both states, the files that may differ, what the commits between them approve, and cluster files that are wrong:
    with them nothing can be compared. `note` says what was compared with where nobody said it and Git does not know.
    """

    old: Side
    new: Side
    differing: frozenset[str]
    clusters: tuple[str, ...] = ()
    approved: tuple[Approval, ...] = ()
    wrong: "tuple[Loaded, ...]" = ()
    note: str = ""


@contextmanager
def both_sides(root: Path, wanted: Wanted) -> Iterator[Sides]:
    """Yield the two states. Raises UsageError where Git does not have them."""
    place = locate(root)
    if place is None:
        raise UsageError(f"{root}: this is not a Git repository, and gen diff compares commits; `git init` and commit")
    with History(place) as history:
        if history.head is None:
            raise UsageError(f"{root}: nothing was committed yet, so there is nothing to compare with; commit first")
        head = history.head if wanted.head is None else history.commit(wanted.head)
        base, label, note = _base(history, wanted.base)
        if wanted.left:
            base = history.merge_base(base, head) or base
            label = f"{wanted.base} ({base[:9]})"
        differing, written = history.differing(base, head), set[str]()
        wrong: tuple[Loaded, ...] = ()
        if wanted.head is not None:
            new = commit_side(history, head, f"{wanted.head} ({head[:9]})")
        else:
            touched = history.changed_since(head)
            names = _unrendered(root, {*differing, *touched}, wanted.clusters)
            loaded = _loaded(root, names) if names else []
            wrong = tuple(one for one in loaded if one.wrong)
            rendered = _rendered(root, loaded) if loaded and not wrong else ()
            new = working_side(root, history, touched, rendered)
            written = {*touched, *(change.path for change in rendered)}
        old = commit_side(history, base, label, at_hand=new)
        _refuse_unknown(old, new, wanted.clusters)
        yield Sides(
            old=old,
            new=new,
            differing=frozenset(differing | written),
            clusters=wanted.clusters,
            approved=in_commits(history, base, head, written),
            wrong=wrong,
            note=note,
        )


def _loaded(root: Path, names: list[str]) -> "list[Loaded]":
    from generator.repository.cluster_files import load  # noqa: PLC0415 - it imports every check

    return load(root, names)


def _rendered(root: Path, loaded: "list[Loaded]") -> tuple[Change, ...]:
    from generator.repository.render import changes  # noqa: PLC0415 - it imports all that lays out

    return changes(root, loaded)


def _refuse_unknown(old: Side, new: Side, clusters: Sequence[str]) -> None:
    """Raise UsageError for a name that is no cluster's on either side: of it nothing could ever differ."""
    for name in clusters:
        if not any(side.below(f"{top}/{name}") for side in (old, new) for top in ("clusters", "overlays")):
            paths = (path for side in (old, new) for path in side.below("clusters"))
            there = ", ".join(sorted({path.split("/")[1] for path in paths if path.count("/") > 1})) or "none"
            raise UsageError(f"`{name}`: neither side has a cluster of this name; there are {there}")


def _base(history: History, name: str | None) -> tuple[str, str, str]:
    """Return what is compared with: the commit, how it is called, and what there is to say of it."""
    if name is not None:
        commit = history.commit(name)
        return commit, f"{name} ({commit[:9]})", ""
    main = history.main_branch()
    if main is None or history.head is None:
        commit = history.commit("HEAD")
        return commit, f"HEAD ({commit[:9]})", UNKNOWN_MAIN
    common = history.merge_base(main, history.head)
    if common is None:
        raise UsageError(
            f"{main}: this clone does not hold where the branch left it; `git fetch --unshallow` brings it"
        )
    return common, f"{main} ({common[:9]})", ""


def _unrendered(root: Path, differing: Collection[str], wanted: Sequence[str]) -> list[str]:
    """Return the clusters whose files differ: what is written of them may be older than what they say."""
    names = sorted(path.split("/")[1] for path in differing if path.startswith("clusters/"))
    changed = [name for name in dict.fromkeys(names) if cluster_file(name) in differing]
    return [name for name in changed if (root / cluster_file(name)).is_file() and (not wanted or name in wanted)]
