"""Telling a person's edits in generated files from what gen wrote itself."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from generator.repository.history import History, Snapshot
from generator.repository.place import locate
from generator.repository.plan import Change, Plan, Tree
from generator.repository.record import Record

__all__ = ["HandEdit", "Kind", "RenderAt", "Verdict", "hand_edits", "refusal"]

Kind: TypeAlias = Literal["committed", "uncommitted", "unknown"]

RenderAt: TypeAlias = Callable[[Snapshot], Tree | None]
"""Render the cluster files of a commit, None where they cannot be rendered."""

_LOCK = "gen.lock"
_VERSION = re.compile(rb'^gen: *"?([^"\s]+)', re.MULTILINE)
_CONFLICT = re.compile(rb"^(<{7} .*\n)(?s:.*)^>{7} ", re.MULTILINE)


class HandEdit(Struct, frozen=True, kw_only=True):
    """A file that would be overwritten or deleted although a person changed it.

    `unknown` is a file that may be stale or edited: the shallow clone ends before that can be told. `line` is the
    first line that differs, `by_hand` and `generated` what it says (None: no such line).
    """

    path: str
    kind: Kind
    commit: str = ""
    author: str = ""
    line: int
    by_hand: str | None
    generated: str | None


class Verdict(Struct, frozen=True):
    """What hand edits a plan would destroy, and what could not be told, as sentences to show."""

    edits: tuple[HandEdit, ...] = ()
    notes: tuple[str, ...] = ()


def hand_edits(root: Path, plan: Plan, render_at: RenderAt, *, version: str, discard: Collection[str] = ()) -> Verdict:
    """Find the hand edits in the files that `plan` would update or delete.

    `version` is gen's own, which `gen.lock` names as `gen: "<version>"`: what another version wrote cannot be
    rendered again and counts as generated. `discard` holds files and folders that may be overwritten whatever they
    hold. Git is started only for files that are not as gen last left them. Raises `UsageError` when it refuses.
    """
    record = Record.load(root)
    # An empty file holds nothing to lose, and is what a power cut may leave.
    doubtful = [
        change
        for change in plan.changes
        if change.old and not _within(change.path, discard) and not record.knows(change.path, change.old)
    ]
    place = locate(root)
    if not doubtful:
        return Verdict()
    if place is None:
        return _unprotected(doubtful, "this is not a Git repository")
    with History(place) as history:
        if history.head is None and not record.exists:
            return _unprotected(doubtful, "nothing was committed yet")
        judge = _Judge(history, render_at, version)
        edits = tuple(edit for change in doubtful if (edit := judge.question(change)))
    return Verdict(edits, tuple(judge.notes()))


def refusal(edit: HandEdit) -> str:
    """Say what a person changed, how to keep it and how to drop it."""
    who = f" by {edit.author}" if edit.author else ""
    what = {
        "committed": f"was changed by hand in commit {edit.commit[:9]}{who}, and gen would overwrite it",
        "uncommitted": "was changed by hand and not committed, and gen would overwrite it",
        "unknown": "may have been changed by hand: this shallow clone ends before that can be told",
    }[edit.kind]
    keep = "`git fetch --unshallow`, then run again" if edit.kind == "unknown" else f"move it into {_home(edit.path)}"
    return (
        f"{edit.path}:{edit.line}: {what}\n"
        f"  by hand:   {_shown(edit.by_hand)}\n"
        f"  generated: {_shown(edit.generated)}\n"
        f"  to keep it: {keep}\n"
        f"  to drop it: run again with `--discard {edit.path}`"
    )


class _Judge:
    """Answers for one plan; every commit is rendered at most once."""

    def __init__(self, history: History, render_at: RenderAt, version: str) -> None:
        self._history = history
        self._render_at = render_at
        self._version = version.encode()
        self._trees: dict[str, Tree | None] = {}
        self._untold: set[str] = set()

    def question(self, change: Change) -> HandEdit | None:
        """Find the hand edit that a change would destroy."""
        old, path = change.old or b"", change.path
        head = self._history.head
        standing = self._history.read(head, path) if head else None
        if head and standing is not None and _same(standing, old):
            return self._committed(head, path)
        others = self._history.others()
        heads = [commit for commit in (head, *(others or ())) if commit and self._history.read(commit, path)]
        if others is not None and heads:
            return next((edit for commit in heads if (edit := self._committed(commit, path))), None)
        if _CONFLICT.search(old):
            return None
        before = change.new if standing is None else standing
        return _edit("uncommitted", path, old, before)

    def notes(self) -> Iterator[str]:
        """Say what could not be told."""
        if self._untold:
            yield (
                f"{_several(self._untold)}: whether it was changed by hand cannot be told, because another version "
                "of gen wrote it or the cluster file of that commit cannot be rendered; `git diff` shows what changes"
            )

    def _committed(self, head: str, path: str) -> HandEdit | None:
        """Follow a file back through the commits that changed it until its rendering explains it.

        What a merge, a squash or a rebase combined may be stale without any edit: a commit is to blame only for
        places where it differs from its own rendering and from all its parents.
        """
        pending, seen = [head], set[str]()
        while pending:
            commit = pending.pop()
            if commit not in seen and not self._explained(commit, path):
                seen.add(commit)
                edit, origins = self._trace(commit, path)
                if edit:
                    return edit
                pending += origins
        return None

    def _explained(self, commit: str, path: str) -> bool:
        """Whether the file needs no look into the past: gone, as rendered, or from another version of gen."""
        here = self._history.read(commit, path)
        if here is None:
            return True
        if self._foreign(commit):
            # The lock itself changes with every version, which is no news.
            self._untold.update({path} - {_LOCK})
            return True
        tree = self._tree(commit) or {}
        return path in tree and _same(tree[path], here)

    def _trace(self, commit: str, path: str) -> tuple[HandEdit | None, list[str]]:
        """Judge the last commit that changed the file; otherwise its parents answer."""
        touched = self._history.touched(commit, path)
        if touched is None or (touched != commit and self._explained(touched, path)):
            return None, []
        tree = self._tree(touched)
        if tree is None:
            self._untold.add(path)
            return None, []
        here = self._history.read(touched, path) or b""
        rendered = tree.get(path)
        if self._history.cut_off(touched):
            return self._blame("unknown", touched, path, here, rendered), []
        parents = self._history.parents(touched)
        before = [self._history.read(parent, path) or b"" for parent in parents]
        if not _CONFLICT.search(here) and _changed_by_hand(here, [rendered or b"", *before]):
            return self._blame("committed", touched, path, here, rendered), []
        return None, parents

    def _blame(self, kind: Kind, commit: str, path: str, here: bytes, rendered: bytes | None) -> HandEdit:
        edit = _edit(kind, path, here, rendered)
        return structs.replace(edit, commit=commit, author=self._history.author(commit))

    def _tree(self, commit: str) -> Tree | None:
        if commit not in self._trees:
            self._trees[commit] = self._render_at(Snapshot(self._history, commit))
        return self._trees[commit]

    def _foreign(self, commit: str) -> bool:
        named = _VERSION.search(self._history.read(commit, _LOCK) or b"")
        return named is not None and named[1] != self._version


def _changed_by_hand(here: bytes, others: Sequence[bytes]) -> bool:
    """Whether some place of `here` differs from all `others`."""
    lines = here.splitlines()
    return bool(set.intersection(*(_places(lines, other.splitlines()) for other in others)))


def _places(lines: list[bytes], others: list[bytes]) -> set[int]:
    """Return where `lines` differ from `others`: 2n + 1 is line n, 2n the gap before it."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for files that are not as they were

    places = set[int]()
    for what, start, end, *_ in SequenceMatcher(None, lines, others).get_opcodes():
        if what == "insert":
            places.add(2 * start)
        elif what == "delete":
            places.update(range(2 * start + 1, 2 * end))
        elif what == "replace":
            places.update(range(2 * start, 2 * end + 1))
    return places


def _same(one: bytes, other: bytes) -> bool:
    """Compare without line endings, which Git may have converted on checkout (core.autocrlf)."""
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def _edit(kind: Kind, path: str, here: bytes, generated: bytes | None) -> HandEdit:
    lines = zip_longest(here.splitlines(), (generated or b"").splitlines())
    number, (ours, theirs) = next(
        ((number, pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]), (1, (None, None))
    )
    return HandEdit(path=path, kind=kind, line=number, by_hand=_text(ours), generated=_text(theirs))


def _text(line: bytes | None) -> str | None:
    return None if line is None else line.decode(errors="replace")


def _shown(line: str | None) -> str:
    if line is None:
        return "(no such line)"
    return line if len(line) <= 100 else f"{line[:97]}..."


def _home(path: str) -> str:
    """Name the places where an edit of this file survives (see the repository's layout)."""
    folders = path.split("/")
    if folders[0] == "overlays" and len(folders) > 3:
        return f"{'/'.join(folders[:3])}/custom/ or clusters/{folders[1]}/cluster.yaml"
    if folders[0] == "clusters" and folders[2:3] == ["argocd"]:
        return f"clusters/{folders[1]}/argocd/custom/ or clusters/{folders[1]}/cluster.yaml"
    if folders[0] == "clusters" and len(folders) > 2:
        return f"clusters/{folders[1]}/cluster.yaml, or into a file of another name"
    return "the custom/ folder of an overlay or into the cluster file"


def _within(path: str, places: Collection[str]) -> bool:
    return any(path == place.rstrip("/") or path.startswith(f"{place.rstrip('/')}/") for place in places)


def _unprotected(changes: Sequence[Change], why: str) -> Verdict:
    files = _several([change.path for change in changes])
    return Verdict(notes=(f"{files}: overwritten without asking, because {why}; in Git, hand edits are found",))


def _several(paths: Collection[str]) -> str:
    first = min(paths)
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
