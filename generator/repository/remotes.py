"""The repository that commits are pushed to."""

import re

from generator.errors import UsageError
from generator.repository.git_commands import GitCommands, GitRefusalError

# Somebody else pushed before, or at this very moment: what a push with their commits below may settle.
_RACE = re.compile(
    r"\[rejected\] \((?:fetch first|non-fast-forward|stale info)\)"
    r"|\[remote rejected\] \((?:cannot lock ref|failed to update ref|incorrect old value).*\)"
)
_MAIN = re.compile(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)


def remote_of(git: GitCommands, branch: str) -> str:
    """Return the name of the remote that Git pushes a branch to, "" where there is none, or none that is meant."""
    known = git.value("remote").splitlines()
    asked = (f"branch.{branch}.pushRemote", "remote.pushDefault", f"branch.{branch}.remote")
    named = [git.value("config", key) for key in asked]
    usual = ["origin", *known] if len(known) == 1 else ["origin"]
    return next((name for name in (*named, *usual) if name in known), "")


def refuse_no_remote(git: GitCommands, remote: str) -> None:
    """Raise UsageError where there is nowhere to push to."""
    if remote:
        return
    if git.value("remote"):
        raise UsageError(
            "--push: there are several remotes and none is called origin; `git config remote.pushDefault NAME` says "
            "which is meant"
        )
    raise UsageError("--push: there is no remote; `git remote add origin ADDRESS` names one")


def address(git: GitCommands, remote: str) -> str:
    """Return the address of a remote as it is configured."""
    return git.value("config", f"remote.{remote}.url")


def main_told(git: GitCommands, remote: str) -> str:
    """Return the branch of a remote that others merge into, as it was said when it was cloned; "" where it was not."""
    return git.value("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD").removeprefix(f"{remote}/")


def main_of(git: GitCommands, remote: str) -> str:
    """Return the branch of a remote that others merge into; it is asked where that was never said, and "" where nobody
    says.
    """
    if told := main_told(git, remote):
        return told
    found = _MAIN.search(git.value("ls-remote", "--symref", remote, "HEAD"))
    return found[1] if found else ""


def has_one_address(git: GitCommands, remote: str) -> bool:
    """Tell whether commits are pushed to where they are fetched from."""
    return git.value("remote", "get-url", remote) == git.value("remote", "get-url", "--push", remote)


def last_seen(git: GitCommands, remote: str, branch: str) -> str:
    """Return the commit that a branch had on its remote when it was last looked at; "" where it never was."""
    return git.value("rev-parse", "--verify", "--quiet", _there(remote, branch))


def ever_seen(git: GitCommands, remote: str, branch: str) -> set[str]:
    """Return the commits that a branch ever had on its remote, as far as Git has kept that."""
    kept = git.value("rev-list", "--walk-reflogs", _there(remote, branch))
    return {*last_seen(git, remote, branch).split(), *kept.split()}


def _there(remote: str, branch: str) -> str:
    return f"refs/remotes/{remote}/{branch}"


def push(git: GitCommands, remote: str, commit: str, branch: str, over: str = "") -> bool:
    """Push a commit as a branch; hooks run. `over` is a commit below it that the branch must have there, "" for
    whichever. Returns False where it has another: somebody else has pushed before. Raises GitRefusalError where the
    remote or a hook refuses, or nobody answers.
    """
    # It forces nothing: what is pushed stands on top of the commit that is expected.
    expected = (f"--force-with-lease=refs/heads/{branch}:{over}",) if over else ()
    answer = git.ask("push", "--porcelain", *expected, remote, f"{commit}:refs/heads/{branch}")
    if not answer.status:
        return True
    if _RACE.search(answer.output):
        return False
    rows = (line.split("\t")[-1] for line in answer.output.splitlines() if line.startswith("!"))
    said = "\n".join(filter(None, (*rows, answer.words.strip()))) or "(Git said nothing)"
    raise GitRefusalError(f"{remote} did not take the branch {branch}; the commit stays here:\n{said}")


def follow(git: GitCommands, remote: str, branch: str) -> None:
    """Have a branch follow that of the remote, where it follows none: `git pull` and `git status` then know it."""
    if not git.value("config", f"branch.{branch}.merge"):
        git.ask("branch", "--quiet", f"--set-upstream-to={remote}/{branch}", branch)


def fetch(git: GitCommands, remote: str, branch: str) -> str:
    """Fetch a branch from where it is pushed to and return its commit. Raises GitRefusalError."""
    place = remote if has_one_address(git, remote) else git.value("remote", "get-url", "--push", remote)
    git.run(f"{remote} did not give the branch {branch}", "fetch", "--quiet", place, f"refs/heads/{branch}")
    return git.run("Git cannot read what it fetched", "rev-parse", "--verify", "FETCH_HEAD")
