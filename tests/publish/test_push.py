"""`gen commit --push` to a real remote: races between two writers, conflicts, and remotes that refuse."""

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from gitworld import FILE, Person
from test_commit import refused_by_the_server

from generator.repository.git_commands import GitCommands
from generator.repository.remotes import fetch, push

QUOTA = ("bench: {gpus: 2}", "bench: {gpus: 1}")
RETENTION = ("retention: 62d", "retention: 20d")
RESERVED = ("reserved: {cpu: 1, memory: 4Gi}", "reserved: {cpu: 2, memory: 4Gi}")


def at(remote: Path, ann: Person, name: str) -> str:
    return Person(remote, ann._captured).git("rev-parse", name)


def test_a_push_makes_the_branch_there_and_follows_it(ann: Person, remote: Path) -> None:
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "less")
    assert said.code == 0, said.err
    assert at(remote, ann, "less") == ann.head()
    assert ann.git("rev-parse", "--abbrev-ref", "less@{upstream}") == "origin/less"
    assert "pushed" in said.out


def test_a_lost_race_is_run_again_on_top_of_the_others_commit(ann: Person, bob: Person, remote: Path) -> None:
    bob.edit(*RETENTION)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert at(remote, ann, "main") == ann.head()
    assert ann.head("HEAD^") == bob.head()
    text = (ann.root / FILE).read_text()
    assert QUOTA[1] in text
    assert RETENTION[1] in text
    assert ann.files() == ""
    assert ann.gen("render", "--check").code == 0
    assert "on top of" in said.out
    assert ann.git("worktree", "list").count("\n") == 0


def test_a_conflict_in_generated_files_alone_is_rendered_away(ann: Person, bob: Person, remote: Path) -> None:
    node = "    - {name: jw%d, pool: bench, address: 129.254.202.%d}\n"
    first, last = "    - {name: jw1, pool: system, address: 129.254.202.251}\n", node % (3, 253)
    bob.edit(first, first + node % (4, 244))
    said = bob.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    ann.edit(last, last + node % (5, 245))
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert at(remote, ann, "main") == ann.head()
    assert ann.gen("render", "--check").code == 0
    assert ann.gen("check").code == 0
    assert all(f"name: jw{number}," in (ann.root / FILE).read_text() for number in (4, 5))


def test_generated_files_that_do_conflict_are_rendered_again(ann: Person, bob: Person, remote: Path) -> None:
    """Both change the same generated lines, from different lines of the cluster file."""
    bob.edit(*RESERVED)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    ann.git("fetch", "-q")
    ann.git("switch", "-q", "-c", "by-hand")
    ann.git("rebase", "origin/main", ok=False)
    assert "overlays/a30-bench/queues" in ann.git("diff", "--name-only", "--diff-filter=U"), "the premise"
    ann.git("rebase", "--abort")
    ann.git("switch", "-q", "main")
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert ann.gen("render", "--check").code == 0
    assert at(remote, ann, "main") == ann.head()


def test_a_conflict_in_the_cluster_file_leaves_all_as_it_was(ann: Person, bob: Person, remote: Path) -> None:
    bob.edit("bench: {gpus: 2}", "bench: {gpus: 0}")
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    before, files = ann.state(), ann.files()
    said = ann.gen("commit", "--push")
    ann.write("README.md", "# Mine, not committed\n")
    ann.edit(*RETENTION)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert f"{FILE}: your commits and those on origin/main change the same lines" in said.err
    assert "`git pull --rebase origin main`" in said.err
    assert ann.head("HEAD^") == before[1].removeprefix("refs/heads/main")
    assert (files, ann.files()) == ("", "M README.md")
    assert at(remote, ann, "main") == bob.head()
    assert ann.git("worktree", "list").count("\n") == 0


def test_the_same_change_by_two_is_made_once(ann: Person, bob: Person, remote: Path) -> None:
    for person in (bob, ann):
        person.edit(*QUOTA)
        said = person.gen("commit", "--push", "--branch", "main")
        assert said.code == 0, said.err
    assert at(remote, ann, "main") == bob.head() == ann.head()


def test_uncommitted_work_survives_a_race(ann: Person, bob: Person) -> None:
    bob.edit(*RETENTION)
    bob.gen("commit", "--push", "--branch", "main")
    ann.edit(*QUOTA)
    ann.write("README.md", "# Mine\n")
    ann.write("notes.md", "mine\n")
    assert ann.gen("commit", "--push", "--branch", "main").code == 0
    assert ann.files() == "M README.md\n?? notes.md"
    assert (ann.root / "README.md").read_text() == "# Mine\n"


def test_uncommitted_work_on_what_others_pushed_stops_the_push(ann: Person, bob: Person, remote: Path) -> None:
    bob.write("README.md", "# Theirs\n")
    bob.git("commit", "-qam", "theirs")
    bob.git("push", "-q")
    ann.edit(*QUOTA)
    ann.write("README.md", "# Mine\n")
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert "README.md: changed here and not committed, and on origin/main as well" in said.err
    assert (ann.root / "README.md").read_text() == "# Mine\n"
    assert at(remote, ann, "main") == bob.head()
    ann.git("stash", "-q")
    assert ann.gen("commit", "--push").code == 0, "main is not pushed unless it is named"
    assert ann.gen("commit", "--push", "--branch", "main").code == 0
    assert at(remote, ann, "main") == ann.head() != bob.head()


def test_what_is_wrong_on_top_of_others_is_not_pushed(ann: Person, bob: Person, remote: Path) -> None:
    """Each change is right by itself; together two nodes have one address."""
    first = "    - {name: jw1, pool: system, address: 129.254.202.251}\n"
    last = "    - {name: jw3, pool: bench, address: 129.254.202.253}\n"
    bob.edit(first, first + "    - {name: jw4, pool: bench, address: 129.254.202.244}\n")
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(last, last + "    - {name: jw5, pool: bench, address: 129.254.202.244}\n")
    assert ann.gen("commit", "--branch", "main").code == 0
    before = ann.state()
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert "GEN-" in said.out
    assert "nothing was pushed" in said.err
    assert ann.state() == before
    assert at(remote, ann, "main") == bob.head()


def test_two_writers_at_the_same_moment_both_get_in(
    ann: Person, bob: Person, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other's push comes between this one's fetch and its push, twice."""
    others = iter([RETENTION, RESERVED])

    def beaten(git: GitCommands, place: str, branch: str) -> str:
        found = fetch(git, place, branch)
        if change := next(others, None):
            bob.git("pull", "-q", "--rebase")
            bob.edit(*change)
            assert bob.gen("render").code == 0
            bob.git("commit", "-qam", "quicker")
            bob.git("push", "-q")
        return found

    bob.edit("timezone: Asia/Seoul", "timezone: Europe/Paris")
    assert bob.gen("render").code == 0
    bob.git("commit", "-qam", "first")
    bob.git("push", "-q")
    monkeypatch.setattr("generator.publish.pushing.fetch", beaten)
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert ann.git("rev-list", "--count", "main") == "5"
    text = (ann.root / FILE).read_text()
    assert all(new in text for new in (QUOTA[1], RETENTION[1], RESERVED[1], "Europe/Paris"))
    assert at(remote, ann, "main") == ann.head()
    assert ann.gen("render", "--check").code == 0


def test_a_race_that_is_never_won_ends(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.publish.pushing.push", lambda *_: False)
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    before = ann.state()
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert "run `gen commit --push` again" in said.err
    assert ann.state() == before


def test_a_remote_that_refuses_is_quoted(ann: Person, remote: Path) -> None:
    place = remote / "hooks/pre-receive"
    place.write_text("#!/bin/sh\necho 'main is protected'; exit 1\n")
    place.chmod(0o755)
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert "origin did not take the branch main; the commit stays here" in said.err
    assert "pre-receive hook declined" in said.err
    assert "main is protected" in said.err


def test_a_remote_that_is_not_there_is_told_without_its_password(ann: Person) -> None:
    ann.git("remote", "set-url", "origin", "http://ann:s3cret@127.0.0.1:1/lab.git")
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push")
    assert said.code == 1
    assert "s3cret" not in said.err + said.out
    assert "did not take the branch" in said.err


def test_processes_that_push_at_once_lose_nothing(ann: Person, bob: Person, remote: Path) -> None:
    """Two gens, started together as two people would."""
    ann.edit(*QUOTA)
    bob.edit(*RETENTION)
    done: dict[str, subprocess.CompletedProcess[str]] = {}

    def go(person: Person) -> None:
        words = [sys.executable, "-P", "-m", "generator", "commit", "--push", "--branch", "main"]
        done[person.root.name] = subprocess.run(words, cwd=person.root, check=False, capture_output=True, text=True)

    threads = [threading.Thread(target=go, args=(person,)) for person in (ann, bob)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.returncode for each in done.values()] == [0, 0], [each.stderr for each in done.values()]
    last = next(person for person in (ann, bob) if at(remote, ann, "main") == person.head())
    text = (last.root / FILE).read_text()
    assert QUOTA[1] in text
    assert RETENTION[1] in text
    assert last.git("rev-list", "--count", "main") == "3"


def rewritten(ann: Person, bob: Person) -> str:
    """Bob pushes a commit, Ann builds on it, and Bob takes it back. Returns it."""
    bob.write("README.md", "# A password\n")
    bob.git("commit", "-qam", "withdrawn")
    bob.git("push", "-q")
    ann.git("pull", "-q", "--ff-only")
    bob.git("reset", "-q", "--hard", "HEAD^")
    return ann.head()


@pytest.mark.parametrize("more", [True, False])
def test_what_others_have_taken_back_is_not_put_back(ann: Person, bob: Person, remote: Path, *, more: bool) -> None:
    """Whether the branch there is another one since, or only shorter."""
    gone = rewritten(ann, bob)
    if more:
        bob.write("README.md", "# Instead\n")
        bob.git("commit", "-qam", "instead")
    bob.git("push", "-q", "--force")
    ann.edit(*QUOTA)
    for _ in range(2):
        said = ann.gen("commit", "--push", "--branch", "main")
        assert said.code == 1, "the second time as well: the fetch has moved what was seen of the remote"
        assert f"origin/main: its history was rewritten: {gone[:9]} was there and is there no longer" in said.err
        assert "`git pull --rebase origin main`" in said.err
        assert at(remote, ann, "main") == bob.head()
    assert gone in ann.git("rev-list", "main")
    ann.git("pull", "-q", "--rebase", "origin", "main")
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert gone not in ann.git("rev-list", "main")
    assert at(remote, ann, "main") == ann.head() != bob.head()


def test_commits_that_were_fetched_and_taken_back_are_no_matter(ann: Person, bob: Person) -> None:
    bob.write("README.md", "# A password\n")
    bob.git("commit", "-qam", "withdrawn")
    bob.git("push", "-q")
    ann.git("fetch", "-q")
    bob.git("commit", "-q", "--amend", "-m", "again")
    bob.git("push", "-q", "--force")
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--push", "--branch", "main").code == 0
    assert ann.head("HEAD^") == bob.head()


def test_a_remote_with_another_address_to_push_to_is_pushed_to(ann: Person, remote: Path, tmp_path: Path) -> None:
    fork = tmp_path / "fork.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(remote), str(fork)], check=True)
    ann.git("remote", "set-url", "--push", "origin", str(fork))
    for change in (QUOTA, RETENTION):
        ann.edit(*change)
        said = ann.gen("commit", "--push", "--branch", "main")
        assert said.code == 0, said.err
        assert at(fork, ann, "main") == ann.head()


def test_others_who_were_quicker_there_are_found_there(ann: Person, bob: Person, remote: Path, tmp_path: Path) -> None:
    """And not where commits come from, which lacks what is seen there."""
    fork = tmp_path / "fork.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(remote), str(fork)], check=True)
    ann.git("remote", "set-url", "--push", "origin", str(fork))
    bob.git("remote", "set-url", "origin", str(fork))
    bob.write("README.md", "# Theirs\n")
    bob.git("commit", "-qam", "theirs")
    bob.git("push", "-q")
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert at(fork, ann, "main") == ann.head()
    assert ann.head("HEAD^") == bob.head()


@pytest.mark.parametrize("move", [("switch", "-q", "-c", "other"), ("commit", "-q", "--allow-empty", "-m", "mine")])
def test_a_branch_that_moved_meanwhile_is_left_alone(
    ann: Person, bob: Person, remote: Path, monkeypatch: pytest.MonkeyPatch, move: tuple[str, ...]
) -> None:
    def moving(git: GitCommands, *words: str) -> bool:
        done = push(git, *words)
        if done:
            ann.git(*move)
        return done

    bob.edit(*RETENTION)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    monkeypatch.setattr("generator.publish.pushing.push", moving)
    mine = ann.head()
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert "pushed; your branch moved meanwhile and stays as it is: `git pull --rebase origin main`" in said.err
    assert at(remote, ann, "main^") == bob.head()
    assert mine == ann.head("HEAD" if move[0] == "switch" else "HEAD^")
    assert mine in ann.git("rev-list", "main")
    assert ann.files() == ""


def test_several_commits_are_put_on_top_of_what_others_rendered(ann: Person, bob: Person, remote: Path) -> None:
    """Both change the same generated files, and nobody has changed one by hand."""
    bob.edit(*RESERVED)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main", "-m", "One").code == 0
    ann.edit(*RETENTION)
    said = ann.gen("commit", "--push", "--branch", "main", "-m", "Two")
    assert said.code == 0, said.err
    assert ann.git("log", "--format=%s", "-3") == "Two\nOne\n" + bob.git("log", "-1", "--format=%s")
    assert at(remote, ann, "main") == ann.head()
    assert ann.gen("render", "--check").code == 0


def test_a_hand_edit_of_others_is_not_rendered_over(ann: Person, bob: Person, remote: Path) -> None:
    place = min((bob.root / "overlays/a30-bench/queues").glob("*clusterqueue*.yaml"))
    place.write_text(place.read_text() + "# theirs\n")
    bob.git("commit", "-qam", "by hand")
    bob.git("push", "-q")
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    ann.edit(*RETENTION)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert f"was changed by hand in commit {bob.head()[:9]} by Bob" in said.err
    assert at(remote, ann, "main") == bob.head()


def test_an_empty_commit_on_top_is_pushed_as_well(ann: Person, bob: Person, remote: Path) -> None:
    """An approval is one: it must not get lost."""
    bob.edit(*RETENTION)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    ann.git("commit", "-q", "--allow-empty", "-m", "Approve\n\nGen-Allow: GEN-CHG-010:a/b/c/d it is known")
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 0, said.err
    assert at(remote, ann, "main") == ann.head()
    assert ann.git("log", "-1", "--format=%B").endswith("Gen-Allow: GEN-CHG-010:a/b/c/d it is known")
    assert ann.head("HEAD^^") == bob.head()
    assert ann.gen("render", "--check").code == 0


@pytest.mark.parametrize("theirs", ["notes.md", "kept/notes.md", "kept"])
def test_a_file_that_git_ignores_is_not_overwritten(ann: Person, bob: Person, remote: Path, theirs: str) -> None:
    mine = "kept/notes.md" if theirs == "kept" else theirs.split("/", maxsplit=1)[0]
    (ann.root / ".git/info/exclude").write_text("notes.md\nkept\n")
    ann.write(mine, "mine\n")
    bob.write(theirs, "theirs\n")
    bob.git("add", theirs)
    bob.git("commit", "-qm", "theirs")
    bob.git("push", "-q")
    ann.edit(*QUOTA)
    said = ann.gen("commit", "--push", "--branch", "main")
    assert said.code == 1
    assert f"{theirs}: changed here and not committed, and on origin/main as well" in said.err
    assert (ann.root / mine).read_text() == "mine\n"
    assert at(remote, ann, "main") == bob.head()


def test_a_working_tree_of_a_gen_that_was_killed_is_forgotten(ann: Person, bob: Person, tmp_path: Path) -> None:
    """Where its folder is gone; what is somebody else's stays."""
    for place in ("gen-killed/tree", "gen-runs/tree", "usb/tree"):
        ann.git("worktree", "add", "-q", "--detach", str(tmp_path / place))
    for place in ("gen-killed", "usb"):
        shutil.rmtree(tmp_path / place)
    bob.edit(*RETENTION)
    assert bob.gen("commit", "--push", "--branch", "main").code == 0
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--push", "--branch", "main").code == 0
    known = ann.git("worktree", "list")
    assert [place in known for place in ("gen-killed/tree", "gen-runs/tree", "usb/tree")] == [False, True, True]


def without_benchmarks(ann: Person) -> None:
    """Take out what is generated, with the data that it reads."""
    text = (ann.root / FILE).read_text()
    for first, behind in (("    datasets:\n", "\n  # One team owns"), ("  mlperf:\n    team", "  # A sick GPU is")):
        text = text[: text.index(first)] + text[text.index(behind) :]
    ann.write(FILE, text)


def approved(ann: Person, change: Callable[[Person], None]) -> set[str]:
    """Commit a change on a branch with all approvals that it needs, and return them; others see the branch before."""
    ann.git("switch", "-q", "-c", "mine")
    change(ann)
    needed = re.findall("^needs approval: (.+)$", ann.gen("commit").out, re.MULTILINE)
    assert needed
    allow = [word for each in needed for word in ("--allow", f"{each} nobody uses it yet")]
    assert ann.gen("commit", *allow).code == 0
    ann.git("push", "-q", "origin", "mine^:refs/heads/mine")
    return {*needed}


@pytest.mark.parametrize("change", [without_benchmarks, refused_by_the_server])
def test_what_a_commit_approves_is_approved_on_top_of_others_as_well(
    ann: Person, bob: Person, remote: Path, change: Callable[[Person], None]
) -> None:
    """It was committed with the reasons before, and only pushed later."""
    needed = approved(ann, change)
    bob.git("pull", "-q")
    bob.git("switch", "-q", "mine")
    bob.edit(*RETENTION)
    assert bob.gen("commit", "--push").code == 0
    said = ann.gen("commit", "--push")
    assert said.code == 0, said.err + said.out
    assert ann.head("HEAD^") == bob.head()
    assert {*re.findall(r"^Gen-Allow: (\S+) nobody", ann.git("log", "-1", "--format=%B"), re.MULTILINE)} == needed
    assert at(remote, ann, "mine") == ann.head()


def test_what_is_another_thing_on_top_of_others_is_approved_no_longer(ann: Person, bob: Person, remote: Path) -> None:
    """Others changed what is made of the same object."""
    (needed,) = approved(ann, refused_by_the_server)
    bob.git("pull", "-q")
    bob.git("switch", "-q", "mine")
    bob.write("overlays/a30-bench/queues/custom/more.yaml", "kind: Patch\n")
    assert bob.gen("commit", "--push").code == 0
    before = ann.state()
    said = ann.gen("commit", "--push")
    assert said.code == 3
    assert f"approved before it changed again: {needed}" in said.out
    assert ann.state() == before
    assert at(remote, ann, "mine") == bob.head()
