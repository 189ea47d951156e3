"""Whether what stands is what Argo CD syncs."""

from pathlib import Path

import pytest
from gitworld import FILE, Person, clone, plain_environment, seed

from generator.repository.cluster_files import load
from generator.repository.published import Published, published


@pytest.fixture
def ann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    """A clone whose cluster file names the very remote."""
    plain_environment(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    bare = seed(tmp_path)
    person = clone(bare, tmp_path / "ann", "Ann", capsys)
    url = next(line for line in (person.root / FILE).read_text().splitlines() if "url:" in line)
    person.edit(url, "    url: https://127.0.0.1:1/clusters.git")
    assert person.gen("render").code == 0
    commit(person)
    person.git("push", "-q", "origin", "main")
    return person


def commit(person: Person) -> None:
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "x")


def judged(person: Person) -> Published:
    (loaded,) = load(person.root, ["a30-bench"])
    assert loaded.cluster
    return published(person.root, loaded, loaded.cluster)


def test_what_is_rendered_committed_and_pushed_is_what_argo_cd_syncs(ann: Person) -> None:
    """The address of the cluster file does not answer from here, and that which was cloned from does."""
    assert judged(ann) == Published()


def test_a_cluster_file_that_was_not_rendered_is_told(ann: Person) -> None:
    ann.edit("cpu: 64", "cpu: 32")
    assert "`gen render`, commit and push" in judged(ann).refusal


@pytest.mark.parametrize("file", ["overlays/a30-bench/tenants/custom/extra.yaml", "clusters/a30-bench/argocd/custom/x"])
def test_what_is_not_committed_is_told(file: str, ann: Person) -> None:
    ann.write(file, "a: b\n")
    assert file in judged(ann).refusal
    assert "not committed" in judged(ann).refusal


def test_what_git_ignores_is_told(ann: Person) -> None:
    ann.write(".gitignore", "namespace-*\n")
    commit(ann)
    ann.git("rm", "-rq", "--cached", "overlays/a30-bench/namespaces")
    ann.git("commit", "-q", "-m", "y")
    assert "not committed" in judged(ann).refusal


def test_what_is_no_business_of_the_cluster_is_left_alone(ann: Person) -> None:
    ann.write("notes.txt", "a\n")
    ann.write("overlays/other/x.yaml", "a: b\n")
    assert judged(ann) == Published()
    ann.git("add", "notes.txt")
    ann.git("commit", "-q", "-m", "notes")
    assert judged(ann) == Published()


def test_what_is_not_pushed_is_told(ann: Person) -> None:
    ann.write("overlays/a30-bench/tenants/custom/extra.yaml", "a: b\n")
    commit(ann)
    assert "has something else" in judged(ann).refusal
    assert "git push" in judged(ann).refusal
    ann.git("push", "-q", "origin", "main")
    assert judged(ann) == Published()


def test_a_branch_that_went_on_is_told(ann: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bob = clone(tmp_path / "lab.git", tmp_path / "bob", "Bob", capsys)
    bob.write("overlays/a30-bench/tenants/custom/extra.yaml", "a: b\n")
    commit(bob)
    bob.git("push", "-q", "origin", "main")
    assert "git pull" in judged(ann).refusal


def test_a_branch_that_is_not_there_is_told(ann: Person, tmp_path: Path) -> None:
    ann.git("push", "-q", "origin", "main:other")
    ann.git("--git-dir", str(tmp_path / "lab.git"), "symbolic-ref", "HEAD", "refs/heads/other")
    ann.git("push", "-q", "origin", ":main")
    assert "has no branch main" in judged(ann).refusal


def test_where_nobody_answers_is_a_note(ann: Person) -> None:
    ann.git("remote", "remove", "origin")
    found = judged(ann)
    assert found.refusal == ""
    assert "https://127.0.0.1:1/clusters.git cannot be asked from here" in found.note


def test_without_git_or_a_commit_nothing_is_there_for_argo_cd(ann: Person) -> None:
    ann.git("update-ref", "-d", "HEAD")
    assert "nothing is committed yet" in judged(ann).refusal
    (ann.root / ".git").rename(ann.root.parent / "away")
    assert "is not in Git" in judged(ann).refusal
