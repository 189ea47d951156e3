"""What a commit would hold, and what it means, before anything is written."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from generator.repository.cluster_files import Loaded, load
from generator.repository.commits import refuse_changed_meanwhile
from generator.repository.git_commands import GitCommands, GitRefusalError
from generator.repository.hand_edits import several
from generator.repository.history import History
from generator.repository.outcome import Outcome
from generator.repository.plan import Change
from generator.repository.render import render
from generator.repository.sides import Side, commit_side, working_side
from generator.repository.vendored import on_disk
from generator.repository.working_tree import ignored, status
from generator.review.approvals import Approval, in_commits
from generator.review.report import Report, report
from generator.review.sides import Sides

Tell = Callable[[str], None]


class Prepared(Struct, frozen=True, kw_only=True):
    """A change that may be committed: cluster files as they are `loaded`, what a render would do (`outcome`: None where
    a file is wrong), and what the change means (`report`: None where nothing differs, or a render is refused).
    `clusters` are those whose files differ, `judged` what all files that would be committed say, None for those that
    go.
    """

    loaded: tuple[Loaded, ...]
    outcome: Outcome | None = None
    report: Report | None = None
    clusters: tuple[str, ...] = ()
    judged: Mapping[str, bytes | None] = {}

    @property
    def stopped(self) -> bool:
        """Whether nothing may be committed."""
        outcome = self.outcome
        unfit = outcome is None or outcome.refused or bool(outcome.stale or outcome.damaged)
        return unfit or bool(self.report and self.report.unapproved)


def prepare(git: GitCommands, base: str, approved: Iterable[str], waiting: Tell, *, before: str = "HEAD") -> Prepared:
    """Check and render without writing, and compare with the commit `base`. What the branch's commits approve counts
    where it is still as they have it; `before` is the last of them. Raises UsageError.
    """
    root, touched = root_of(git), status(git).mine
    # Before anything is judged: whatever changes from here on is found when it is committed.
    standing = {path: on_disk(root)(path) for path in touched}
    loaded = load(root, ())
    if any(one.wrong for one in loaded):
        return Prepared(loaded=tuple(loaded))
    outcome = render(root, loaded, dry_run=True, waiting=waiting, verify=True)
    paths = {*touched, *(change.path for change in outcome.plan.changes)}
    if outcome.refused or (not paths and base == "HEAD"):
        return Prepared(loaded=tuple(loaded), outcome=outcome)
    judged = standing | {change.path: change.new for change in outcome.plan.changes}
    found = _report(git, (base, before), (touched, outcome.plan.changes), approved)
    return Prepared(loaded=tuple(loaded), outcome=outcome, report=found, clusters=_clusters(paths), judged=judged)


def _report(
    git: GitCommands,
    commits: tuple[str, str],
    differing: tuple[Sequence[str], Sequence[Change]],
    approved: Iterable[str],
) -> Report:
    (base, before), (touched, changes) = commits, differing
    with History(git.place) as history:
        new = working_side(root_of(git), history, touched, changes)
        commit = history.commit(base)
        old = commit_side(history, commit, f"{base} ({commit[:9]})", at_hand=new)
        between = history.differing(commit, history.head or commit)
        paths = frozenset({*between, *touched, *(change.path for change in changes)})
        said = _approved(history, history.commit(before), new, paths)
        return report(Sides(old=old, new=new, differing=paths, approved=said), approved)


def _approved(history: History, last: str, new: Side, differing: Collection[str]) -> tuple[Approval, ...]:
    """Return what the branch's commits up to `last` approve, since it left the main one."""
    main = history.main_branch()
    left = history.merge_base(main, last) if main else None
    if left is None:
        return ()
    was = commit_side(history, last, "")
    paths = {*differing, *history.differing(last, history.head or last)}
    for side in (was, new):
        side.gather(*{path.rpartition("/")[0] or path for path in paths})
    return in_commits(history, left, last, (path for path in paths if was.identity(path) != new.identity(path)))


def _clusters(paths: Collection[str]) -> tuple[str, ...]:
    parts = (path.split("/") for path in sorted(paths))
    return tuple(dict.fromkeys(part[1] for part in parts if part[0] in {"clusters", "overlays"} and len(part) > 2))


def write_change(git: GitCommands, prepared: Prepared, waiting: Tell) -> Mapping[str, bytes | None]:
    """Render for good, and return the files to commit and what they say. Raises UsageError where that fails, where Git
    is told to ignore what Argo CD needs, or where a file was not judged.
    """
    render(root_of(git), prepared.loaded, dry_run=False, waiting=waiting)
    if unseen := ignored(git):
        raise GitRefusalError(
            f"{several(unseen)}: Git is told to ignore it, and Argo CD would miss it; "
            f"`git check-ignore -v {unseen[0]}` names the line that does"
        )
    paths = status(git).mine
    refuse_changed_meanwhile(path for path in paths if path not in prepared.judged)
    return {path: prepared.judged[path] for path in paths}


def root_of(git: GitCommands) -> Path:
    """Return the repository's root, as gen means it: a folder of the working tree."""
    return git.place.top / git.place.prefix
