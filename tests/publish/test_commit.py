"""`gen commit`: what is committed, where, with which words; and what a hook that refuses leaves."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from gitworld import FILE, Person

from generator.publish.prepare import write_change

QUOTA = ("bench: {gpus: 2}", "bench: {gpus: 1}")
OTHER = "retention: 62d"


def hook(person: Person, name: str, text: str) -> None:
    place = person.root / ".git/hooks" / name
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def committed(person: Person, name: str = "HEAD") -> set[str]:
    return set(person.git("diff", "--name-only", f"{name}^", name).split("\n"))


def test_a_change_is_rendered_and_committed_on_a_branch_of_its_own(ann: Person) -> None:
    first = ann.head()
    ann.edit(*QUOTA)
    said = ann.gen("commit")
    assert said.code == 0, said.err
    assert ann.git("branch", "--show-current").startswith("gen/a30-bench")
    assert ann.head("main") == first
    assert ann.head("HEAD^") == first
    assert FILE in committed(ann)
    assert len(committed(ann)) > 1
    assert ann.files() == ""
    assert ann.gen("render", "--check").code == 0
    assert ann.git("log", "-1", "--format=%an <%ae>") == "Ann <ann@example.org>"


def test_the_message_says_what_the_change_does(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.gen("commit")
    subject, body = ann.git("log", "-1", "--format=%s"), ann.git("log", "-1", "--format=%b")
    assert subject.startswith("a30-bench: ")
    assert len(subject) <= 72
    assert "ClusterQueue" in body
    assert "changed" in body


def test_own_words_come_first(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.gen("commit", "-m", "Lend jw3 to vision\n\nUntil March.")
    assert ann.git("log", "-1", "--format=%s") == "Lend jw3 to vision"
    body = ann.git("log", "-1", "--format=%b")
    assert body.startswith("Until March.\n")
    assert "ClusterQueue" in body


def test_a_branch_that_is_checked_out_is_gone_on_with(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "mine")
    ann.edit(*QUOTA)
    assert ann.gen("commit").code == 0
    assert ann.git("branch", "--show-current") == "mine"
    ann.edit(OTHER, "retention: 20d")
    assert ann.gen("commit", "--branch", "mine").code == 0
    assert ann.git("rev-list", "--count", "main..mine") == "2"


def test_main_is_committed_to_only_when_it_is_named(ann: Person) -> None:
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main").code == 0
    assert ann.git("branch", "--format=%(refname:short)") == "main"
    assert ann.git("rev-list", "--count", "origin/main..main") == "1"


def test_a_taken_name_gets_a_number(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.gen("commit")
    name = ann.git("branch", "--show-current")
    ann.git("switch", "-q", "main")
    ann.edit(*QUOTA)
    assert ann.gen("commit").code == 0
    assert ann.git("branch", "--show-current") == f"{name}-2"


def test_files_of_others_stay_as_they_are_and_are_told(ann: Person) -> None:
    ann.edit(*QUOTA)
    ann.write("README.md", "# Mine\n")
    ann.write("notes/todo.md", "later\n")
    ann.write("clusters/a30-bench/NOTES.md", "mine\n")
    said = ann.gen("commit")
    assert said.code == 0
    assert "left alone: 3 files" in said.err
    assert not committed(ann) & {"README.md", "notes/todo.md", "clusters/a30-bench/NOTES.md"}
    assert {line[3:] for line in ann.files().split("\n")} >= {"notes/todo.md", "clusters/a30-bench/NOTES.md"}


def test_custom_files_belong_to_the_change(ann: Person) -> None:
    place = "overlays/a30-bench/queues/custom"
    assert (ann.root / place / "kustomization.yaml").exists()
    ann.write(
        f"{place}/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: kueue-system}\n"
    )
    text = (ann.root / place / "kustomization.yaml").read_text()
    ann.write(f"{place}/kustomization.yaml", f"{text}\nresources: [more.yaml]\n".replace("resources: []\n", ""))
    said = ann.gen("commit")
    assert said.code == 0, said.err + said.out
    assert committed(ann) == {f"{place}/more.yaml", f"{place}/kustomization.yaml"}
    assert "1 added" in ann.git("log", "-1", "--format=%b")


def test_nothing_to_commit_is_no_mistake_and_no_commit(ann: Person) -> None:
    before = ann.state()
    said = ann.gen("commit")
    assert (said.code, ann.state()) == (0, before)
    assert "nothing to commit" in said.out


def test_a_folder_of_a_larger_repository_is_enough(ann: Person, tmp_path: Path) -> None:
    whole = Person(tmp_path / "whole", ann._captured)
    whole.root.mkdir()
    subprocess.run(["cp", "-r", str(ann.root), str(whole.root / "lab")], check=True)
    subprocess.run(["rm", "-rf", str(whole.root / "lab/.git")], check=True)
    whole.git("init", "-q", "-b", "main")
    whole.git("config", "user.name", "Ann")
    whole.git("config", "user.email", "ann@example.org")
    whole.git("add", "-A")
    whole.git("commit", "-qm", "first")
    whole.edit(*QUOTA, file=f"lab/{FILE}")
    whole.write("other/file", "not gen's\n")
    inside = Person(whole.root / "lab", ann._captured)
    said = inside.gen("commit")
    assert said.code == 0, said.err
    assert all(path.startswith("lab/") for path in committed(whole))
    assert whole.files() == "?? other/file"


def test_a_hook_that_refuses_leaves_branch_and_index(ann: Person) -> None:
    hook(ann, "pre-commit", "echo 'no commits on Sundays' >&2; exit 1")
    ann.edit(*QUOTA)
    before = ann.state()
    said = ann.gen("commit")
    assert said.code == 1
    assert "no commits on Sundays" in said.err
    assert ann.state() == before
    hook(ann, "pre-commit", "exit 0")
    assert ann.gen("commit").code == 0


def test_a_message_hook_is_asked_and_may_be_met_with_own_words(ann: Person) -> None:
    hook(ann, "commit-msg", "grep -q '^LAB-[0-9]' \"$1\" || { echo 'name a ticket' >&2; exit 1; }")
    ann.edit(*QUOTA)
    before = ann.state()
    assert "name a ticket" in ann.gen("commit").err
    assert ann.state() == before
    assert ann.gen("commit", "-m", "LAB-7 less for mlperf").code == 0


def test_a_hook_may_not_change_what_gen_wrote(ann: Person) -> None:
    hook(ann, "pre-commit", f"echo '# formatted' >> {FILE}; git add {FILE}")
    ann.edit(*QUOTA)
    before = ann.state()
    said = ann.gen("commit")
    assert said.code == 1
    assert "a hook changed it" in said.err
    assert ann.state() == before


def test_hooks_may_add_files_of_their_own(ann: Person) -> None:
    hook(ann, "pre-commit", "date > stamp; git add stamp")
    ann.edit(*QUOTA)
    assert ann.gen("commit").code == 0
    assert "stamp" in committed(ann)


def test_a_signature_that_fails_leaves_nothing(ann: Person) -> None:
    ann.git("config", "commit.gpgSign", "true")
    ann.git("config", "gpg.program", "false")
    ann.edit(*QUOTA)
    before = ann.state()
    assert ann.gen("commit").code == 1
    assert ann.state() == before


NEEDED = "GEN-CHG-010:a30-bench/StatefulSet/kueue-system/db"


def refused_by_the_server(ann: Person) -> None:
    """Commit a StatefulSet, and change in it what may not be changed."""
    place = ann.root / "overlays/a30-bench/queues/custom"
    text = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: kueue-system}\nspec:\n"
    text += "  serviceName: ONE\n  selector: {matchLabels: {a: b}}\n  template:\n"
    text += "    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: example.org/a:1}]}\n"
    (place / "db.yaml").write_text(text)
    kustomization = place / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("resources: []\n", "") + "\nresources: [db.yaml]\n")
    assert ann.gen("commit").code == 0
    (place / "db.yaml").write_text(text.replace("ONE", "two"))


def test_what_is_refused_or_loses_data_needs_an_approval_with_a_reason(ann: Person) -> None:
    refused_by_the_server(ann)
    before, files = ann.state(), ann.files()
    said = ann.gen("commit")
    assert said.code == 3, said.err + said.out
    assert (ann.state(), ann.files()) == (before, files), "nothing is written before it is approved"
    assert f"gen commit --allow '{NEEDED} the reason'" in said.err
    said = ann.gen("commit", "--allow", f"{NEEDED} nobody uses it yet")
    assert said.code == 0, said.err
    assert f"\nGen-Allow: {NEEDED} nobody uses it yet" in ann.git("log", "-1", "--format=%B")
    assert ann.gen("diff", "main", "HEAD").code == 0, "gen diff takes the trailer for the approval"


def test_what_a_commit_approved_before_it_was_so_is_not_approved(ann: Person) -> None:
    """As `gen diff` says it; other approvals of the branch are no mistake of this commit."""
    refused_by_the_server(ann)
    also = f"Gen-Allow: {NEEDED[:-2]}other it is known as well"
    ann.git("commit", "-q", "--allow-empty", "-m", f"Approve\n\nGen-Allow: {NEEDED} nobody uses it yet\n{also}")
    said = ann.gen("commit")
    assert said.code == 3
    assert f"approved before it changed again: {NEEDED}" in said.out
    assert ann.gen("commit", "--allow", f"{NEEDED} nobody uses it yet").code == 0


def test_a_repository_that_the_environment_names_is_not_taken(
    ann: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a hook of that one, where Git says so to every program."""
    bob.git("rm", "-q", "--cached", "README.md")
    before = bob.state()
    ann.edit(*QUOTA)
    monkeypatch.setenv("GIT_DIR", str(bob.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(bob.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(bob.root / ".git/index"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    said = ann.gen("commit")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_LITERAL_PATHSPECS"):
        monkeypatch.delenv(name, raising=False)
    assert said.code == 0, said.err
    assert bob.state() == before
    assert FILE in committed(ann)
    assert ann.files() == ""


CUSTOM = "overlays/a30-bench/queues/custom"


@pytest.mark.parametrize("file", [FILE, f"{CUSTOM}/kustomization.yaml", f"{CUSTOM}/new.yaml", "generated"])
def test_what_was_not_judged_is_not_committed(ann: Person, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """Somebody saves a file while gen compares."""
    generated = min((ann.root / "overlays/a30-bench/queues").glob("*clusterqueue*.yaml"))
    place = generated if file == "generated" else ann.root / file

    def saved(*given: Any) -> Any:
        place.write_text((place.read_text() if place.exists() else "") + "# saved\n")
        return write_change(*given)

    ann.edit(*QUOTA)
    before = ann.state()
    monkeypatch.setattr("generator.publish.committing.write_change", saved)
    said = ann.gen("commit")
    assert said.code == 1, said.out
    assert f"{place.relative_to(ann.root)}: changed after gen had looked at it" in said.err
    assert ann.state() == before
    assert place.read_text().endswith("# saved\n")


def test_the_message_says_what_the_change_opens(ann: Person) -> None:
    place = ann.root / "overlays/a30-bench/queues/custom"
    text = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: in, namespace: kueue-system}\n"
    )
    text += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n"
    (place / "in.yaml").write_text(f"{text}subjects: [{{kind: User, name: eve}}]\n")
    kustomization = place / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("resources: []\n", "") + "\nresources: [in.yaml]\n")
    assert ann.gen("commit").code == 0
    body = ann.git("log", "-1", "--format=%b")
    assert "- opens rights: RoleBinding kueue-system/in added: User eve has ClusterRole view" in body


@pytest.mark.parametrize("name", ["GIT_AUTHOR_NAME"])
def test_the_author_may_come_from_the_environment(ann: Person, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "Carol")
    ann.edit(*QUOTA)
    ann.gen("commit")
    assert ann.git("log", "-1", "--format=%an") == "Carol"
