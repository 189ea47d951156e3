"""The Applications that a commit has for a cluster, built as Argo CD would build them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from generator.build.objects import ROOT, Object
from generator.components.common import SYNC_WAVE
from generator.errors import UsageError
from generator.live.applications import syncs_by_itself
from generator.model.cluster import Cluster
from generator.model.fields import dig
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import GitFolder, locate
from generator.repository.history import History
from generator.repository.remotes import fetch, remote_of
from generator.repository.sides import commit_side
from generator.repository.working_tree import branch
from generator.review.compare import build_side


class Wanted(Struct, frozen=True, kw_only=True):
    """An Application as a commit has it. `automated`: Argo CD syncs it by itself; `place` is where it takes its
    objects from.
    """

    name: str
    wave: int
    tier: str
    automated: bool
    place: tuple[str, str, str]


def wanted(root: Path, commit: str, cluster: Cluster) -> dict[str, Wanted]:
    """Return a commit's Applications by name, without root. Raises UsageError where they cannot be built."""
    with History(place_of(root)) as history:
        built = build_side(commit_side(history, commit, commit[:9]), cluster.name, ())
    if built.findings:
        raise UsageError(f"commit {commit[:9]}: {built.findings[0].file}: {built.findings[0].message}")
    found = [one for one in built.objects if one.component == ROOT and one.kind == "Application"]
    if not found:
        raise UsageError(f"commit {commit[:9]}: it has no Applications of {cluster.name}; was it rendered?")
    return {one.name: _wanted(one, cluster) for one in found}


def chosen(found: Iterable[Wanted], names: Sequence[str], tier: str) -> Iterator[str]:
    """Yield the names of those that are meant: named ones, those of a tier, else all and root. Raises UsageError."""
    known = {one.name: one for one in found}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"{unknown[0]}: the commit has no such Application; there are {', '.join(sorted(known))}")
    tiers = sorted({one.tier for one in known.values()})
    if tier and tier not in tiers:
        raise UsageError(f"--tier {tier}: no Application is of it; there are {', '.join(tiers)}")
    yield from names
    yield from (name for name, one in known.items() if tier and one.tier == tier)
    if not names and not tier:
        yield from (ROOT, *known)


def _wanted(one: Object, cluster: Cluster) -> Wanted:
    own = cluster.extras.get(one.name)
    return Wanted(
        name=one.name,
        wave=int(one.annotations.get(SYNC_WAVE) or 0),
        tier=own.tier if own else str(one.spec.get("project")),
        automated=syncs_by_itself(one.manifest),
        place=place(one.manifest),
    )


def place(application: object) -> tuple[str, str, str]:
    """Return where an Application takes its objects from: repository, branch, folder."""
    source = dig(application, "spec", "source") or {}
    repository, revision, path = (str(source.get(key) or "") for key in ("repoURL", "targetRevision", "path"))
    return repository, revision, path


def place_of(root: Path) -> GitFolder:
    """Return the Git repository of a folder. Raises UsageError."""
    found = locate(root)
    if found is None:
        raise UsageError(f"{root}: this is not a Git repository; take a clone of the one that Argo CD syncs")
    return found


def bring(root: Path, commit: str, cluster: Cluster) -> None:
    """Have a commit of the cluster's branch at hand: fetched where it is not. Raises UsageError."""
    with GitCommands(place_of(root)) as git:
        if _has(git, commit):
            return
        remote = remote_of(git, branch(git))
        if remote:
            fetch(git, remote, cluster.repository.branch)
        if not _has(git, commit):
            raise UsageError(
                f"{commit[:9]}: Argo CD has this commit of {cluster.repository.url}, and this clone does not; "
                f"`git fetch {remote or cluster.repository.url}`, or take a clone of that repository"
            )


def _has(git: GitCommands, commit: str) -> bool:
    return not git.ask("cat-file", "-e", f"{commit}^{{commit}}").status


def pushed(root: Path, name: str, tip: str, cluster: Cluster) -> str:
    """Return the full name of a commit that the branch has. Raises UsageError for one that it has not."""
    on = cluster.repository.branch
    with GitCommands(place_of(root)) as git:
        commit = git.value("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if not commit:
            raise UsageError(f"--revision {name}: Git knows no such commit here; `git fetch` may bring it")
        if git.ask("merge-base", "--is-ancestor", commit, tip).status:
            ahead = not git.ask("merge-base", "--is-ancestor", tip, commit).status
            mend = "push it first" if ahead else f"merge it into {on}, or name another"
            raise UsageError(
                f"--revision {name}: {commit[:9]} is not on the branch {on} as Argo CD sees it (at {tip[:9]}); {mend}"
            )
    return commit


def newest_at_remote(root: Path, cluster: Cluster) -> str:
    """Return the commit that the cluster's branch has where this clone fetches from; empty where it has no remote."""
    with GitCommands(place_of(root)) as git:
        remote = remote_of(git, branch(git))
        return fetch(git, remote, cluster.repository.branch) if remote else ""
