"""States of Git in which nothing is committed: one sentence with the command that helps, and nothing changes."""

from pathlib import Path

import pytest
from gitworld import FILE, Person

QUOTA = ("bench: {gpus: 2}", "bench: {gpus: 1}")


def refused(person: Person, *words: str, code: int = 2) -> str:
    """Return the one sentence by which a commit is refused, having changed nothing."""
    before, files = person.state(), person.files()
    said = person.gen("commit", *words)
    assert (said.code, said.out) == (code, "")
    assert person.state() == before
    assert person.files() == files
    assert said.err.startswith("gen: ")
    assert said.err.count("\n") == 1, said.err
    return said.err


def test_what_is_staged_is_not_mixed_with_what_gen_commits(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.write("README.md", "# Another\n")
    ann.git("add", "README.md")
    assert "README.md: staged" in (told := refused(ann))
    assert "`git restore --staged .`" in told
    ann.git("restore", "--staged", ".")
    assert ann.gen("commit").code == 0


def test_an_intent_to_add_counts_as_staged(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.write("notes.md", "later\n")
    ann.git("add", "--intent-to-add", "notes.md")
    assert "notes.md: staged" in refused(ann)


def test_a_detached_head_is_on_no_branch(ann: Person) -> None:
    ann.git("switch", "-q", "--detach")
    ann.edit(*QUOTA)
    assert "HEAD is detached" in (told := refused(ann))
    assert "`git switch -c NAME`" in told
    assert "`git switch NAME` goes back" in told
    assert "HEAD is detached" in refused(ann, "--branch", "mine")


def diverge(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "other")
    ann.edit("cpu: 64", "cpu: 48")
    ann.git("commit", "-qam", "other")
    ann.git("switch", "-q", "main")
    ann.edit("cpu: 64", "cpu: 56")
    ann.git("commit", "-qam", "mine")


def test_a_merge_in_progress_is_ended_first(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "other")
    ann.write("README.md", "# Other\n")
    ann.git("commit", "-qam", "other")
    ann.git("switch", "-q", "main")
    ann.edit(*QUOTA)
    ann.git("commit", "-qam", "mine")
    ann.git("merge", "-q", "--no-commit", "--no-ff", "other")
    assert "a merge is in progress" in (told := refused(ann))
    assert "`git commit`" in told
    assert "`git merge --abort`" in told


@pytest.mark.parametrize(
    ("begin", "leave"),
    [
        (("merge", "other"), "git merge --abort"),
        (("rebase", "other"), "git rebase --abort"),
        (("cherry-pick", "other"), "git cherry-pick --abort"),
    ],
)
def test_conflicts_are_settled_by_people(ann: Person, begin: tuple[str, ...], leave: str) -> None:
    diverge(ann)
    ann.git(*begin, ok=False)
    assert f"{FILE}: has a conflict that is not settled" in (told := refused(ann))
    assert f"`{leave}`" in told


def test_a_conflict_without_a_merge_is_found_as_well(ann: Person) -> None:
    ann.edit("cpu: 64", "cpu: 48")
    ann.git("stash", "-q")
    ann.edit("cpu: 64", "cpu: 56")
    ann.git("commit", "-qam", "mine")
    ann.git("stash", "pop", ok=False)
    assert "has a conflict that is not settled" in refused(ann)


def test_a_rebase_that_waits_without_a_conflict_is_in_progress(ann: Person) -> None:
    diverge(ann)
    ann.git("rebase", "other", ok=False)
    ann.git("checkout", "-q", "--theirs", FILE)
    ann.git("add", FILE)
    assert "a rebase is in progress" in refused(ann)


def test_a_bisection_is_ended_first(ann: Person) -> None:
    ann.git("bisect", "start")
    assert refused(ann).endswith("a bisection is in progress; end it with `git bisect reset`\n")


def test_nobody_is_named_as_the_author(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.git("config", "--unset", "user.email")
    assert "`git config --global user.name" in refused(ann)


def test_a_repository_without_a_commit_gets_its_first_by_hand(ann: Person, tmp_path: Path) -> None:
    fresh = Person(tmp_path / "fresh", ann._captured)
    fresh.root.mkdir()
    fresh.git("init", "-q")
    fresh.gen("init", "lab")
    said = fresh.gen("commit")
    assert said.code == 2
    assert "`git add --all && git commit`" in said.err


def test_outside_of_git_there_is_nothing_to_commit_to(ann: Person, tmp_path: Path) -> None:
    plain = Person(tmp_path / "plain", ann._captured)
    plain.root.mkdir()
    plain.gen("init", "lab")
    said = plain.gen("commit")
    assert said.code == 2
    assert "`git init`" in said.err


def test_a_bare_repository_has_nothing_to_render(ann: Person, remote: Path) -> None:
    said = Person(remote, ann._captured).gen("commit")
    assert said.code == 2
    assert said.err.count("\n") == 1


def test_a_branch_is_not_taken_from_somebody(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.git("branch", "other")
    assert "`git switch other`" in refused(ann, "--branch", "other")
    assert "no branch can be called so" in refused(ann, "--branch", "a..b")


def test_a_push_needs_a_remote(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.git("remote", "remove", "origin")
    assert "`git remote add origin ADDRESS`" in refused(ann, "--push")
    ann.git("remote", "add", "one", "file:///nowhere")
    ann.git("remote", "add", "two", "file:///nowhere")
    assert "`git config remote.pushDefault NAME`" in refused(ann, "--push")


def test_an_approval_says_why(ann: Person) -> None:
    ann.edit(*QUOTA)
    for reason in ("", " WHY"):
        assert "say why as well" in refused(ann, "--allow", f"GEN-CHG-010:a30-bench/StatefulSet/a/b{reason}")
    assert "nothing in this change needs it" in refused(ann, "--allow", "GEN-CHG-010:a30-bench/StatefulSet/a/b moved")


def test_a_wrong_cluster_file_is_not_committed(ann: Person) -> None:
    ann.edit("podCIDR: 10.244.0.0/16", "podCIDR: 10.96.0.0/16 ")
    before, files = ann.state(), ann.files()
    said = ann.gen("commit")
    assert said.code == 1
    assert "GEN-NET" in said.out
    assert "nothing was committed" in said.err
    assert (ann.state(), ann.files()) == (before, files)


def test_a_hand_edit_is_not_committed(ann: Person) -> None:
    ann.edit(*QUOTA)
    place = min((ann.root / "overlays/a30-bench/queues").glob("*clusterqueue*.yaml"))
    place.write_text(place.read_text() + "# mine\n")
    before = ann.state()
    said = ann.gen("commit")
    assert said.code == 1
    assert "was changed by hand" in said.err
    assert ann.state() == before


def test_a_file_that_git_keeps_and_would_ignore_is_committed(ann: Person) -> None:
    ann.write(".gitignore", "overlays/*/queues/\n")
    ann.git("add", ".gitignore")
    ann.git("commit", "-qm", "a rule that came later")
    ann.edit(*QUOTA)
    said = ann.gen("commit")
    assert said.code == 0, said.err
    assert "clusterqueue" in ann.git("show", "--name-only", "--format=", "HEAD")
    assert ann.files() == ""


def test_a_file_that_git_ignores_would_be_missed_by_argo_cd(ann: Person) -> None:
    ann.write(".gitignore", "namespaces/\n")
    ann.git("add", ".gitignore")
    ann.git("rm", "-rq", "--cached", "overlays/a30-bench/namespaces")
    ann.git("commit", "-qm", "a careless rule")
    ann.edit(*QUOTA)
    before = ann.state()
    said = ann.gen("commit")
    assert said.code == 1
    assert "`git check-ignore -v overlays/a30-bench/namespaces" in said.err
    assert ann.state() == before
