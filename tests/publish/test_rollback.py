"""`gen rollback`: what is taken back, what is told before, and what stops it."""

from gitworld import FILE, Person
from test_commit import OTHER, QUOTA, committed, hook

CUSTOM = "overlays/a30-bench/tenants/custom/kustomization.yaml"


def quota(person: Person, *words: str) -> str:
    person.git("switch", "-q", "-c", "work")
    person.edit(*QUOTA)
    assert person.gen("commit", *words).code == 0
    return person.head()


def tree(person: Person, name: str) -> str:
    return person.git("rev-parse", f"{name}^{{tree}}")


def test_the_last_commit_is_taken_back_whole_and_what_it_does_is_told(ann: Person) -> None:
    quota(ann, "-m", "Lend jw3 to vision")
    bad = ann.head()
    said = ann.gen("rollback", "--last")
    assert said.code == 0, said.err
    assert tree(ann, "HEAD") == tree(ann, "HEAD~2")
    assert ann.head("HEAD^") == bad
    assert ann.files() == ""
    assert said.out.startswith(f"takes back {bad[:9]}: Lend jw3 to vision\n")
    assert said.out.index("ClusterQueue mlperf changed") < said.out.index(f"{ann.head()[:9]} on work")
    assert "data does not come back" in said.err
    message = ann.git("log", "-1", "--format=%B")
    assert message.startswith(f"Roll back {bad[:9]}: Lend jw3 to vision\n\nThis takes back commit {bad}.\n")
    assert "ClusterQueue" in message


def test_an_older_commit_is_taken_back_and_later_ones_stay(ann: Person) -> None:
    bad = quota(ann)
    ann.edit(OTHER, "retention: 20d")
    assert ann.gen("commit").code == 0
    assert ann.gen("rollback", bad[:12]).code == 0
    text = (ann.root / FILE).read_text()
    assert QUOTA[0] in text
    assert "retention: 20d" in text
    assert ann.gen("render", "--check").code == 0


def test_a_merge_is_taken_back_with_all_that_it_brought(ann: Person) -> None:
    quota(ann)
    ann.git("switch", "-q", "main")
    ann.git("merge", "-q", "--no-ff", "-m", "Merge work", "work")
    said = ann.gen("rollback", "--last", "--branch", "main")
    assert said.code == 0, said.err
    assert tree(ann, "HEAD") == tree(ann, "HEAD~2")


def test_on_the_main_branch_a_new_one_is_made(ann: Person) -> None:
    quota(ann)
    ann.git("switch", "-q", "main")
    ann.git("merge", "-q", "--ff-only", "work")
    on_main = ann.head()
    assert ann.gen("rollback", "--last").code == 0
    assert ann.git("branch", "--show-current").startswith("gen/")
    assert ann.head("main") == on_main


def test_it_is_pushed_as_a_commit_is(ann: Person, bob: Person) -> None:
    ann.edit(*QUOTA)
    assert ann.gen("commit", "--branch", "main", "--push").code == 0
    said = ann.gen("rollback", "--last", "--branch", "main", "--push")
    assert said.code == 0, said.err
    bob.git("pull", "-q")
    assert QUOTA[0] in (bob.root / FILE).read_text()


def test_a_dry_run_tells_and_leaves_all_as_it_was(ann: Person) -> None:
    quota(ann)
    before = ann.state()
    said = ann.gen("rollback", "--last", "--dry-run")
    assert said.code == 0, said.err
    assert "ClusterQueue mlperf changed" in said.out
    assert ann.state() == before
    assert ann.files() == ""


def test_changes_that_are_not_committed_stop_it(ann: Person) -> None:
    quota(ann)
    ann.edit(OTHER, "retention: 20d")
    before = ann.state()
    said = ann.gen("rollback", "--last")
    assert said.code == 2
    assert f"{FILE}: changed and not committed" in said.err
    assert ann.state() == before
    assert "retention: 20d" in (ann.root / FILE).read_text()


def test_files_that_are_not_gens_stay_in_either_state(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "work")
    ann.edit(*QUOTA)
    ann.write("README.md", "# Our lab\n")
    assert ann.gen("commit").code == 0
    ann.git("commit", "-q", "--amend", "--no-edit", "README.md")
    ann.write("notes.txt", "mine\n")
    said = ann.gen("rollback", "--last")
    assert said.code == 0, said.err
    assert "stays as it is: 1 file of that commit that gen does not own: README.md" in said.err
    assert (ann.root / "README.md").read_text() == "# Our lab\n"
    assert "README.md" not in committed(ann)
    assert ann.files() == "?? notes.txt"


def test_lines_that_changed_since_are_left_to_a_person(ann: Person) -> None:
    bad = quota(ann)
    ann.edit(QUOTA[1], "bench: {gpus: 0}")
    assert ann.gen("commit").code == 0
    before = ann.state()
    said = ann.gen("rollback", bad)
    assert said.code == 1
    assert f"{FILE}: later commits changed the same lines as {bad[:9]}" in said.err
    assert ann.state() == before
    assert ann.files() == ""


def test_what_loses_data_needs_an_approval(ann: Person) -> None:
    ann.git("switch", "-q", "-c", "work")
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: runs, namespace: mlperf}\nspec: {}\n"
    ann.write("overlays/a30-bench/tenants/custom/claim.yaml", claim)
    ann.edit("resources: []", "resources: [claim.yaml]", CUSTOM)
    assert ann.gen("commit").code == 0
    before = ann.state()
    said = ann.gen("rollback", "--last")
    assert said.code == 3, said.out + said.err
    approval = said.err.partition("--allow '")[2].partition(" the reason'")[0]
    assert approval.startswith("GEN-CHG-")
    assert ann.state() == before
    assert ann.files() == ""
    assert ann.gen("rollback", "--last", "--allow", f"{approval} nothing was stored yet").code == 0
    assert f"Gen-Allow: {approval} nothing was stored yet" in ann.git("log", "-1", "--format=%B")


def test_what_another_gen_wrote_is_rendered_anew(ann: Person) -> None:
    """The commit to take back brought a newer gen along, and what that writes otherwise."""
    lock = (ann.root / "gen.lock").read_text()
    generated = next((ann.root / "overlays/a30-bench/queues").glob("clusterqueue-*.yaml"))
    ann.git("switch", "-q", "-c", "work")
    ann.edit('gen: "', 'gen: "0.0.1+', "gen.lock")
    generated.write_text(generated.read_text() + "# as an older gen wrote it\n")
    ann.git("commit", "-q", "-a", "-m", "older")
    ann.edit(*QUOTA)
    assert ann.gen("render", "--discard", str(generated.relative_to(ann.root)), "--discard", "gen.lock").code == 0
    ann.git("commit", "-q", "-a", "-m", "newer")
    said = ann.gen("rollback", "--last")
    assert said.code == 0, said.err
    assert QUOTA[0] in (ann.root / FILE).read_text()
    assert "older gen" not in generated.read_text()
    assert (ann.root / "gen.lock").read_text() == lock
    assert ann.gen("render", "--check").code == 0


def test_a_hook_that_refuses_leaves_all_as_it_was(ann: Person) -> None:
    quota(ann)
    before = ann.state()
    hook(ann, "pre-commit", "echo no >&2; exit 1")
    said = ann.gen("rollback", "--last")
    assert said.code == 1
    assert ann.state() == before
    assert ann.files() == ""
    assert QUOTA[1] in (ann.root / FILE).read_text()


def test_what_is_no_commit_of_the_branch_is_told(ann: Person) -> None:
    quota(ann)
    first = ann.head("HEAD^")
    assert "Git knows no such commit" in ann.gen("rollback", "nowhere").err
    assert "is the first commit" in ann.gen("rollback", first).err
    ann.git("switch", "-q", "main")
    assert "is not on the branch that is checked out" in ann.gen("rollback", "work").err
    assert ann.gen("rollback").code == 2
    assert ann.gen("rollback", "work", "--last").code == 2
