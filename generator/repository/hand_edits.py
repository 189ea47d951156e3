"""Telling a person's edits in generated files from what gen wrote itself."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, structs

from generator.layout.lock import LOCK, Writer, written_by
from generator.repository.folders import within
from generator.repository.git_folder import locate
from generator.repository.history import History, Snapshot
from generator.repository.lines import changed, first_difference, has_conflict, of_nobody, same
from generator.repository.own_code import other_source
from generator.repository.plan import Change, Plan, Tree
from generator.repository.record import Record
from generator.repository.renames import Renames
from generator.repository.vendored import on_disk

Kind: TypeAlias = Literal["committed", "uncommitted", "unknown"]

RenderAt: TypeAlias = Callable[[Snapshot, str], Tree | None]
"""Render the file of a cluster at a commit, those of all for no name; None where one of them cannot be rendered."""

HANDFUL = 5
"""How many edits are told one by one."""


class HandEdit(Struct, frozen=True, kw_only=True):
    """A file that would be overwritten or deleted although a person changed it.

    `unknown` is a file that may be stale or edited: the shallow clone ends before that can be told. `line` is the
    first line that differs, `by_hand` and `generated` what it says (None: no such line).

    It is no `Finding`: a finding has a code to look up and one fix; this is refused for the moment, by this plan only,
    is shown with both texts and two ways out, and many are folded into their folders.
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


def hand_edits(
    root: Path, plan: Plan, render_at: RenderAt, *, writer: Writer, discard: Collection[str] = ()
) -> Verdict:
    """Find the hand edits in the files that `plan` would update or delete.

    `writer` is this gen, as `gen.lock` names it: what another one wrote cannot be rendered again and counts as
    generated. `discard` holds files and folders that may be overwritten whatever they
    hold. Git is started only for files that are not as gen last left them. Raises `UsageError` when it refuses.
    """
    # An empty file holds nothing to lose, and is what a power cut may leave.
    overwritten = [
        change
        for change in plan.changes
        if change.old and change.old != change.new and not within(change.path, discard)
    ]
    if not overwritten:
        return Verdict()
    record = Record.load(root)
    doubtful = [change for change in overwritten if not record.knows(change.path, change.old or b"")]
    place = locate(root)
    if not doubtful:
        return Verdict()
    if place is None:
        return _unprotected(doubtful, "this is not a Git repository")
    with History(place) as history:
        if history.head is None and not record.exists:
            return _unprotected(doubtful, "nothing was committed yet")
        judge = _Judge(history, Renames(history, on_disk(root)), render_at, writer)
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
    keep, drop = _ways_out(edit)
    return (
        f"{edit.path}:{edit.line}: {what}\n"
        f"  by hand:   {_shown(edit.by_hand)}\n"
        f"  generated: {_shown(edit.generated)}\n"
        f"  to keep it: {keep}\n"
        f"  to drop it: {drop}"
    )


def _ways_out(edit: HandEdit) -> tuple[str, str]:
    drop = f"run again with `--discard {edit.path}`"
    if edit.kind == "unknown":
        return "`git fetch --unshallow`, then run again", drop
    if edit.path != LOCK:
        return f"move it into {_home(edit.path)}", drop
    if edit.kind == "committed":
        return "nothing but digests is kept in this file", drop
    # A digest that stands here is taken for true and would outlive `--discard`.
    return (
        "commit it, then run again: digests are taken as they are committed, nothing else is kept in this file",
        f"`git checkout HEAD -- {LOCK}`, then run again",
    )


def refusals(edits: Sequence[HandEdit]) -> Iterator[str]:
    """Say of each edit what `refusal` says; many are folded into their folders."""
    if len(edits) <= HANDFUL:
        yield from map(refusal, edits)
        return
    folders = _folded(edits)
    for folder, found in folders.items():
        first = f"{found[0].path}:{found[0].line}"
        yield f"{folder}: {len(found)} changed by hand, and gen would overwrite that; the first is {first}"
    if any(edit.kind == "unknown" for edit in edits):
        yield "  to be sure: `git fetch --unshallow`, then run again: this shallow clone ends before all can be told"
    yield "  to see them all: run again with `--dry-run --output json`"
    yield "  to keep them: move them into the custom/ folders of overlays or into cluster files"
    yield f"  to drop them: run again with `{' '.join(f'--discard {folder}' for folder in folders)}`"


def _folded(edits: Sequence[HandEdit]) -> dict[str, list[HandEdit]]:
    """Return edits by their folders: of components if these are few, otherwise higher ones."""
    for depth in (3, 2, 1):
        found: dict[str, list[HandEdit]] = {}
        for edit in edits:
            found.setdefault("/".join(edit.path.split("/")[:depth]), []).append(edit)
        if len(found) <= HANDFUL:
            break
    return found


class _At(NamedTuple):
    """A file as it was at a commit."""

    commit: str
    path: str


class _Judge:
    """Answers for one plan; every commit is rendered at most once."""

    def __init__(self, history: History, renames: Renames, render_at: RenderAt, writer: Writer) -> None:
        self._history = history
        self._renames = renames
        self._render_at = render_at
        self._writer = writer
        self._trees: dict[tuple[str, str], Tree | None] = {}
        self._others: dict[str, bool] = {}
        self._untold: set[str] = set()

    def question(self, change: Change) -> HandEdit | None:
        """Find the hand edit that a change would destroy."""
        edit = self._question(change)
        # A commit may know the file by the name that its cluster had then.
        return edit and structs.replace(edit, path=change.path)

    def _question(self, change: Change) -> HandEdit | None:
        old, path = change.old or b"", change.path
        head, others = self._history.head, self._history.others()
        places = [_At(commit, self._renames.before(path, None, commit)) for commit in (head, *(others or ())) if commit]
        standing = self._read(places[0]) if head else None
        if standing is not None and same(standing, old):
            return self._committed(places[0])
        held = [place for place in places if self._read(place)]
        if others is not None and held:
            return next((edit for place in held if (edit := self._committed(place))), None)
        before = change.new if standing is None else standing
        known = [each for each in (standing, change.new) if each is not None]
        if has_conflict(old) and known and not changed(old, known) and not of_nobody(old, known):
            return None
        return _edit("uncommitted", path, old, before)

    def notes(self) -> Iterator[str]:
        """Say what could not be told."""
        if self._untold:
            yield (
                f"{several(self._untold)}: whether it was changed by hand cannot be told, because another gen "
                "wrote it or the cluster file of that commit cannot be rendered; `git diff` shows what changes"
            )

    def _committed(self, head: _At) -> HandEdit | None:
        """Follow a file back through the commits that changed it until its rendering explains it.

        What a merge, a squash or a rebase combined may be stale without any edit: a commit is to blame only for
        places where it differs from its own rendering and from all its parents.
        """
        pending, seen = [head], set[_At]()
        while pending:
            at = pending.pop()
            if at not in seen and not self._explained(at):
                seen.add(at)
                edit, origins = self._trace(at)
                if edit:
                    return edit
                pending += origins
        return None

    def _explained(self, at: _At) -> bool:
        """Whether the file needs no look into the past: gone, as rendered, or from another gen."""
        here = self._read(at)
        if here is None:
            return True
        if self._foreign(at.commit):
            # The lock itself changes with every gen, which is no news.
            self._untold.update({at.path} - {LOCK})
            return True
        tree = self._tree(at.commit, at.path) or {}
        return at.path in tree and same(tree[at.path], here)

    def _trace(self, at: _At) -> tuple[HandEdit | None, list[_At]]:
        """Judge the last commit that changed the file; otherwise its parents answer."""
        commit = self._history.touched(*at)
        if commit is None or (commit != at.commit and self._explained(_At(commit, at.path))):
            return None, []
        tree, cut_off = self._tree(commit, at.path), self._history.cut_off(commit)
        here, rendered = self._history.read(commit, at.path) or b"", (tree or {}).get(at.path)
        parents = [] if cut_off else self._parents(commit, at.path)
        before = [self._read(parent) or b"" for parent in parents]
        if not changed(here, [rendered or b"", *before]):
            return None, parents
        if tree is None:
            self._untold.add(at.path)
            return None, []
        edit = _edit("unknown" if cut_off else "committed", at.path, here, rendered)
        return structs.replace(edit, commit=commit, author=self._history.author(commit)), []

    def _parents(self, commit: str, path: str) -> list[_At]:
        parents = self._history.parents(commit)
        return [_At(parent, self._renames.before(path, commit, parent)) for parent in parents]

    def _read(self, at: _At) -> bytes | None:
        return self._history.read(*at)

    def _tree(self, commit: str, path: str) -> Tree | None:
        """Return what a commit renders to, as far as it decides this file: in a fleet one cluster of very many."""
        top, name, *below = (*path.split("/"), "")
        cluster = name if top in {"clusters", "overlays"} and below else ""
        if (commit, cluster) not in self._trees:
            self._trees[commit, cluster] = self._render_at(Snapshot(self._history, commit), cluster)
        return self._trees[commit, cluster]

    def _foreign(self, commit: str) -> bool:
        if commit not in self._others:
            writer = written_by(self._history.read(commit, LOCK) or b"")
            other = writer != self._writer or other_source(self._history, commit)
            self._others[commit] = bool(writer.version) and other
        return self._others[commit]


def _edit(kind: Kind, path: str, here: bytes, generated: bytes | None) -> HandEdit:
    line, ours, theirs = first_difference(here, generated or b"")
    return HandEdit(path=path, kind=kind, line=line, by_hand=ours, generated=theirs)


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


def _unprotected(changes: Sequence[Change], why: str) -> Verdict:
    files = several([change.path for change in changes])
    return Verdict(notes=(f"{files}: overwritten without asking, because {why}; in Git, hand edits are found",))


def several(paths: Collection[str]) -> str:
    """Name the first of some files, and how many more there are."""
    first = min(paths)
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
