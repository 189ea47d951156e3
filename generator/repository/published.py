"""Whether what stands in a repository is what Argo CD syncs: rendered, committed, and in the branch that it follows."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from generator.model.cluster import Cluster, cluster_file
from generator.repository.cluster_files import Loaded
from generator.repository.git_commands import GitCommands
from generator.repository.git_folder import locate
from generator.repository.hand_edits import several
from generator.repository.remotes import remote_of
from generator.repository.render import render
from generator.repository.working_tree import branch, head, ignored, status


class Published(Struct, frozen=True):
    """Why what stands is not what Argo CD syncs (`refusal`), or why nobody here can tell (`note`)."""

    refusal: str = ""
    note: str = ""


def published(root: Path, loaded: Loaded, cluster: Cluster) -> Published:
    """Compare a cluster's folders with its file, with HEAD, and with the branch that Argo CD follows, which is asked
    for its newest commit. Raises UsageError where Git cannot tell.
    """
    if why := _unrendered(root, loaded, cluster):
        return Published(why)
    place = locate(root)
    if place is None:
        return Published(f"{root} is not in Git, which Argo CD reads: git init, git add --all, git commit, then push")
    with GitCommands(place) as git:
        if not head(git):
            return Published("nothing is committed yet: git add --all, git commit, then push")
        changed = [path for path in (*status(git).changed, *ignored(git)) if _of(cluster, path)]
        if changed:
            return Published(f"{several(changed)}: not committed; commit it (`gen commit`) and push: Argo CD reads Git")
        return _pushed(git, cluster)


def _unrendered(root: Path, loaded: Loaded, cluster: Cluster) -> str:
    outcome = render(root, [loaded], dry_run=True, waiting=lambda _: None, verify=True)
    differing = [change.path for change in outcome.plan.changes if _of(cluster, change.path)]
    if differing:
        return f"{several(differing)}: not what {loaded.document.file} says; `gen render`, commit and push"
    if wrong := [*outcome.stale, *outcome.damaged]:
        return f"{several(wrong)}: not as `gen vendor` would write it; `gen vendor`, commit and push"
    return ""


def _of(cluster: Cluster, path: str) -> bool:
    return path.startswith(_folders(cluster)) or path == cluster_file(cluster.name)


def _folders(cluster: Cluster) -> tuple[str, ...]:
    name = cluster.name
    return "base/", "workflows/", f"overlays/{name}/", f"clusters/{name}/argocd/", f"clusters/{name}/bootstrap/"


def _pushed(git: GitCommands, cluster: Cluster) -> Published:
    url, name = cluster.repository.url, cluster.repository.branch
    answer = _newest(git, (url, remote_of(git, branch(git))), name)
    if answer is None:
        return Published(
            note=f"{url} cannot be asked from here; Argo CD syncs what its branch {name} holds: push first"
        )
    if not answer:
        return Published(f"{url} has no branch {name}, which Argo CD is to follow: git push")
    if answer == head(git):
        return Published()
    if git.ask("cat-file", "-e", f"{answer}^{{commit}}").status:
        return Published(f"the branch {name} of {url} is at {answer[:12]}, which is not here: git pull, then run again")
    paths = [f":(top,literal){git.place.prefix}{folder}" for folder in _folders(cluster)]
    if git.ask("diff", "--quiet", answer, "HEAD", "--", *paths).status:
        return Published(f"the branch {name} of {url} has something else, at {answer[:12]}: git push, then run again")
    return Published()


def _newest(git: GitCommands, places: Sequence[str], name: str) -> str | None:
    """Return the newest commit of a branch, of the first place that answers; "" where it has none, None where no place
    does.
    """
    for place in filter(None, places):
        answer = git.ask("ls-remote", place, f"refs/heads/{name}")
        if not answer.status:
            return answer.output.partition("\t")[0].strip()
    return None
