"""`gen diff` as a user calls it, in repositories with a history."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generator.cli import run
from generator.repository.since import affected
from generator.review.approvals import reason_in

ROOT = Path(__file__).parents[2]
FILE = "clusters/a30-bench/cluster.yaml"
STATEFUL = (
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web, namespace: shop}\n"
    "spec: {serviceName: NAME, selector: {}, template: {}}\n"
)


class Repository:
    """A repository with the small reference cluster, rendered and committed."""

    def __init__(self, root: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._captured = captured

    def git(self, *words: str) -> str:
        """Run Git."""
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        done = subprocess.run(["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str = "more") -> str:
        """Commit all there is."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def edit(self, old: str, new: str, file: str = FILE) -> None:
        """Change a file as a person does."""
        text = (self.root / file).read_text()
        assert old in text
        (self.root / file).write_text(text.replace(old, new, 1))

    def gen(self, *words: str, expect: int = 0) -> str:
        """Run a verb and return all it said."""
        code = run([words[0], "-C", str(self.root), *words[1:]])
        said = "".join(self._captured.readouterr())
        assert code == expect, said
        return said

    def diff(self, *words: str, expect: int = 0) -> dict[str, Any]:
        """Return what `gen diff` says as JSON, of the one cluster there is."""
        found = json.loads(self.gen("diff", *words, "--output", "json", expect=expect))
        assert isinstance(found, dict)
        return found


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Repository]:
    for folder in ("clusters/a30-bench", "overlays/a30-bench", "base", "workflows", "schemas"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "gen.lock", tmp_path)
    found = Repository(tmp_path, capsys)
    found.git("init", "-q", "-b", "main")
    found.gen("render")
    found.commit("first")
    yield found
    assert found.git("status", "--porcelain", "base", "overlays") == "", "a comparison writes nothing"


def kinds(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["on"], each["kind"], each["name"]) for one in found["clusters"] for each in one["changes"]}


def test_a_state_is_not_different_from_itself(repository: Repository) -> None:
    assert "nothing differs in what is applied" in repository.gen("diff")
    assert repository.diff("HEAD", "HEAD")["clusters"] == []


def test_a_comment_and_the_order_of_keys_change_nothing(repository: Repository) -> None:
    repository.edit("  kubernetes:", "  # A remark.\n  kubernetes:")
    assert "nothing differs in what is applied" in repository.gen("diff")


def test_what_was_not_rendered_yet_is_compared_as_it_would_be(repository: Repository) -> None:
    repository.edit("gpus: 2", "gpus: 1")
    before = repository.diff()
    assert ("changed", "kueue.x-k8s.io/ClusterQueue", "mlperf") in kinds(before)
    assert before["head"] == "the working tree"


def test_a_branch_is_compared_with_where_it_left_the_main_one(repository: Repository) -> None:
    repository.git("checkout", "-qb", "less")
    repository.edit("gpus: 2", "gpus: 1")
    repository.gen("render")
    repository.commit()
    branch = repository.diff()
    assert branch["base"].startswith("main (")
    repository.git("checkout", "-q", "main")
    repository.edit("podCIDR: 10.244.0.0/16", "podCIDR: 10.245.0.0/16")
    repository.gen("render")
    repository.commit()
    repository.git("checkout", "-q", "less")
    assert kinds(repository.diff()) == kinds(branch)
    # Another pod network is refused.
    both = repository.diff("main", "less", expect=3)
    assert kinds(both) > kinds(branch)
    assert kinds(repository.diff("less", "main", expect=3)) == kinds(both)


def test_where_no_branch_is_the_main_one_it_says_what_helps(repository: Repository) -> None:
    said = "git remote set-head origin --auto"
    assert said not in repository.gen("diff")
    repository.git("branch", "-m", "trunk")
    told = repository.gen("diff")
    assert "\nnote: compared with HEAD" in f"\n{told}"
    assert said in told
    assert "HEAD (" in told
    assert said not in repository.gen("diff", "HEAD")
    origin = repository.root.parent / "origin.git"
    repository.git("clone", "-q", "--bare", ".", str(origin))
    repository.git("remote", "add", "origin", str(origin))
    repository.git("fetch", "-q", "origin")
    repository.git("remote", "set-head", "origin", "--auto")
    told = repository.gen("diff")
    assert said not in told
    assert "origin/HEAD (" in told, "what it says helps"


def test_since_names_the_commit_that_is_compared_with(repository: Repository) -> None:
    left = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-qb", "less")
    repository.commit("here")
    repository.git("checkout", "-q", "main")
    repository.commit("there")
    repository.git("checkout", "-q", "less")
    assert repository.diff("--since", "main")["base"] == f"main ({left[:9]})"


def test_a_name_that_no_cluster_has_is_refused(repository: Repository) -> None:
    said = repository.gen("diff", "--cluster", "nope", expect=2)
    assert "`nope`: neither side has a cluster of this name; there are a30-bench" in said
    assert "`nope`" in repository.gen("diff", "HEAD", "HEAD", "--cluster", "a30-bench", "--cluster", "nope", expect=2)
    (repository.root / FILE).unlink()
    assert "by hand" in repository.gen("diff", "--cluster", "a30-bench"), "one side is enough"


def test_a_cluster_that_is_gone_is_one_row(repository: Repository) -> None:
    (repository.root / FILE).unlink()
    found = repository.diff()
    assert kinds(found) == {("removed", "gen/Cluster", "a30-bench")}
    assert found["clusters"][0]["changes"][0]["effect"] == "by hand"
    repository.git("checkout", "-q", ".")
    repository.git("rm", "-rq", "clusters/a30-bench", "overlays/a30-bench")
    (repository.root / "clusters").mkdir()
    repository.commit()
    assert kinds(repository.diff("HEAD~1", "HEAD")) == {("removed", "gen/Cluster", "a30-bench")}
    assert kinds(repository.diff("HEAD", "HEAD~1")) == {("added", "gen/Cluster", "a30-bench")}


def test_a_cluster_that_is_renamed_is_compared_with_what_it_was(repository: Repository) -> None:
    repository.edit("name: a30-bench", "name: bench")
    for folder in ("clusters", "overlays"):
        repository.git("mv", f"{folder}/a30-bench", f"{folder}/bench")
    repository.gen("render")
    repository.commit()
    found = repository.diff("HEAD~1", "HEAD")
    assert [one["cluster"] for one in found["clusters"]] == ["bench"]
    seen = kinds(found)
    assert ("renamed", "gen/Cluster", "a30-bench") in seen
    assert ("changed", "kubeadm.k8s.io/ClusterConfiguration", "kubeadm/init.yaml") in seen
    assert not [each for each in seen if each[0] in {"added", "removed"} and each[1] != "/ConfigMap"]


def test_a_cluster_file_that_was_wrong_before_is_no_hindrance(repository: Repository) -> None:
    repository.edit('version: "1.35.3"', "version: [")
    repository.commit()
    repository.edit("version: [", 'version: "1.34.2"')
    found = repository.diff("HEAD")
    assert ("changed", "gen/Version", "kubernetes") in kinds(found)


def test_what_is_refused_needs_an_approval_of_just_that(repository: Repository) -> None:
    place = "overlays/a30-bench/zz"
    application = (repository.root / "clusters/a30-bench/argocd/application-scratch.yaml").read_text()
    (repository.root / place).mkdir()
    (repository.root / f"{place}/kustomization.yaml").write_text("resources: [web.yaml]\n")
    (repository.root / f"{place}/web.yaml").write_text(STATEFUL.replace("NAME", "one"))
    custom = repository.root / "clusters/a30-bench/argocd/custom"
    (custom / "zz.yaml").write_text(
        application.replace("overlays/a30-bench/scratch", place).replace("name: scratch", "name: zz")
    )
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [zz.yaml]\n"
    )
    base = repository.commit()
    (repository.root / f"{place}/web.yaml").write_text(STATEFUL.replace("NAME", "two"))
    needed = "GEN-CHG-010:a30-bench/StatefulSet/shop/web"
    said = repository.gen("diff", base, expect=3)
    assert f"needs approval: {needed}" in said
    assert "spec.serviceName: one -> two" in said
    assert repository.diff(base, expect=3)["unapproved"] == [needed]
    assert f"\napproved: {needed} (--allow)\n" in repository.gen("diff", base, "--allow", needed)
    other = "GEN-CHG-010:a30-bench/StatefulSet/shop/other"
    assert f"approved and not there: {other}" in repository.gen("diff", base, "--allow", other, expect=3)
    repository.commit(f"Another service\n\nGen-Allow: {needed} nobody uses it yet")
    repository.gen("diff", base, "HEAD")
    repository.gen("diff", base)
    for reason in ("", " WHY", " - "):
        repository.git("commit", "-q", "--amend", "-m", f"Another service\n\nGen-Allow: {needed}{reason}")
        assert "say why" in repository.gen("diff", base, "HEAD", expect=2)
    repository.git("commit", "-q", "--amend", "-m", "Another service\n\nGen-Allow: minio please")
    assert "write it as gen diff shows it" in repository.gen("diff", base, "HEAD", expect=2)


def another_service(repository: Repository) -> tuple[str, Path, str]:
    """Change what cannot be changed, in a commit. Returns the commit before, the file, and what is to be approved."""
    file = repository.root / "overlays/a30-bench/queues/custom/web.yaml"
    file.write_text(STATEFUL.replace("NAME", "one"))
    file.with_name("kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [web.yaml]\n"
    )
    base = repository.commit()
    file.write_text(STATEFUL.replace("NAME", "two"))
    repository.commit()
    return base, file, "GEN-CHG-010:a30-bench/StatefulSet/shop/web"


def test_an_approval_counts_in_the_last_paragraph_alone(repository: Repository) -> None:
    base, _, needed = another_service(repository)
    quoted = f"Tell of approvals\n\nGen-Allow: {needed} is what one writes\n\nThis is prose."
    repository.git("commit", "-q", "--allow-empty", "-m", quoted)
    assert repository.diff(base, "HEAD", expect=3)["unapproved"] == [needed]


def test_what_changes_again_is_to_be_approved_again(repository: Repository) -> None:
    base, file, needed = another_service(repository)
    repository.git("commit", "-q", "--allow-empty", "-m", f"Approve\n\nGen-Allow: {needed} it is new")
    repository.gen("diff", base, "HEAD")
    (repository.root / "README.md").write_text("# Another file\n")
    repository.commit()
    repository.gen("diff", base, "HEAD")
    file.write_text(STATEFUL.replace("NAME", "three"))
    for head in ((), ("HEAD",)):
        said = repository.gen("diff", base, *head, expect=3)
        assert f"approved before it changed again: {needed} (commit " in said
        assert f"needs approval: {needed}" in said
        repository.commit()


def test_every_form_tells_who_approved_what_and_why(repository: Repository) -> None:
    base, _, needed = another_service(repository)
    approving = repository.commit(f"Approve\n\nGen-Allow: {needed} nobody uses it yet")
    by = f"commit {approving[:9]} by Ann"
    assert f"\napproved: {needed} ({by}): nobody uses it yet\n" in repository.gen("diff", base, "HEAD")
    found = repository.diff(base, "HEAD")
    assert found["unapproved"] == []
    approval = {"approval": needed, "commit": approving, "author": "Ann", "reason": "nobody uses it yet"}
    assert found["approved"] == [approval]
    comment = repository.gen("diff", base, "HEAD", "--output", "markdown")
    assert "**1 change is approved.** None needs another approval." in comment
    assert f"\nApproved:\n\n- `{needed}` by `{by}`: `nobody uses it yet`\n" in comment
    page = repository.gen("diff", base, "HEAD", "--output", "html")
    assert f"<h2>Approved</h2><ul><li><code>{needed}</code> ({by}): nobody uses it yet</li></ul>" in page
    found = repository.diff(base, "HEAD~1", "--allow", needed)
    assert found["approved"] == [{**approval, "commit": None, "author": None, "reason": None}]


def test_who_gets_the_whole_cluster_needs_an_approval_though_nothing_feels_it(repository: Repository) -> None:
    custom = repository.root / "overlays/a30-bench/cert-manager/custom"
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: helper}\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n"
        "subjects: [{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}]\n"
    )
    (custom / "helper.yaml").write_text(binding)
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [helper.yaml]\n"
    )
    needed = "GEN-CHG-750:a30-bench/ClusterRoleBinding/helper"
    found = repository.diff(expect=3)
    assert found["unapproved"] == [needed]
    change = found["clusters"][0]["changes"][0]
    assert change["effect"] == "none"
    assert [(one["code"], one["gains"], one["approval"]) for one in change["opens"]] == [
        ("GEN-CHG-750", ["User eve has ClusterRole cluster-admin"], True)
    ]
    said = repository.gen("diff", expect=3)
    assert "ClusterRoleBinding helper added: User eve has ClusterRole cluster-admin" in said
    assert f"needs approval: {needed}" in said
    repository.gen("diff", "--allow", needed)
    base = repository.git("rev-parse", "HEAD")
    repository.commit(f"Let Eve in\n\nGen-Allow: {needed} she looks after it")
    repository.gen("diff", base, "HEAD")


STRANGER = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: AppProject, name: tenants}
  patch: |
    - op: add
      path: /spec/sourceRepos/-
      value: https://git.example.net/ONE.git
"""


def test_a_source_is_approved_as_it_is_and_another_one_anew(repository: Repository) -> None:
    base = repository.git("rev-parse", "HEAD")
    patch = repository.root / "clusters/a30-bench/argocd/custom/kustomization.yaml"
    patch.write_text(STRANGER.replace("ONE", "ours"))
    needed = "GEN-CHG-785:a30-bench/AppProject/argocd/tenants"
    repository.commit(f"Take from ours\n\nGen-Allow: {needed} it is ours")
    repository.gen("diff", base, "HEAD")
    patch.write_text(STRANGER.replace("ONE", "eve"))
    repository.commit()
    said = repository.gen("diff", base, "HEAD", expect=3)
    assert "repository https://git.example.net/eve.git" in said
    assert f"needs approval: {needed}" in said


def test_a_file_for_nodes_is_approved_as_it_is(repository: Repository) -> None:
    base = repository.git("rev-parse", "HEAD")
    root = "clusters/a30-bench/bootstrap/application-root.yaml"
    repository.edit("https://git.ml50.example.org/platform/clusters.git", "https://git.example.net/ours.git", root)
    needed = "GEN-CHG-787:a30-bench/Application/application-root.yaml"
    repository.commit(f"Take from ours\n\nGen-Allow: {needed} it is ours")
    repository.gen("diff", base, "HEAD")
    repository.edit("ours.git", "eve.git", root)
    repository.commit()
    assert f"needs approval: {needed}" in repository.gen("diff", base, "HEAD", expect=3)


def test_a_wrong_file_is_told_before_anything_is_compared(repository: Repository) -> None:
    repository.edit("cni: calico", "cni: calicoo")
    said = repository.gen("diff", expect=1)
    assert "did you mean `calico`?" in said
    assert "nothing was compared" in said


WRONG = {
    "an unknown commit": (("diff", "absent"), "absent: Git knows no such commit here; `git log --all` lists"),
    "an option for a commit": (("diff", "--", "--all"), "--all: Git knows no such commit"),
    "an approval of another form": (("diff", "--allow", "minio"), "write it as gen diff shows it"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_is_one_sentence(repository: Repository, name: str) -> None:
    words, text = WRONG[name]
    said = repository.gen(*words, expect=2)
    assert text in said
    assert len(said.splitlines()) <= 2


def test_without_git_or_commits_there_is_nothing_to_compare(repository: Repository) -> None:
    shutil.rmtree(repository.root / ".git")
    assert "this is not a Git repository" in repository.gen("diff", expect=2)
    repository.git("init", "-q", "-b", "main")
    assert "nothing was committed yet" in repository.gen("diff", expect=2)
    repository.commit()


def test_a_shallow_clone_says_what_it_lacks(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.commit("second")
    clone = tmp_path_factory.mktemp("clone") / "it"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository.root}", clone], check=True)
    shallow = Repository(clone, repository._captured)
    assert "`git fetch --unshallow`" in shallow.gen("diff", first, expect=2)
    assert "nothing differs" in shallow.gen("diff")


def test_a_comment_for_a_pull_request_is_markdown(repository: Repository) -> None:
    repository.edit("gpus: 2", "gpus: 1")
    said = repository.gen("diff", "--output", "markdown")
    assert said.startswith("<!-- gen diff -->\n### ")
    assert "`ClusterQueue mlperf` changed" in said


CLAIM = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: scratch}\n"
    "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: SIZE}}}\n"
)
CUSTOM = "overlays/a30-bench/scratch/custom"


def claim(repository: Repository, size: str, listed: str = "claim.yaml") -> None:
    (repository.root / f"{CUSTOM}/claim.yaml").write_text(CLAIM.replace("SIZE", size))
    (repository.root / f"{CUSTOM}/kustomization.yaml").write_text(
        f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [{listed}]\n"
    )


@pytest.mark.parametrize("broken", ["old", "new", "both"])
def test_what_cannot_be_built_is_neither_gone_nor_new(repository: Repository, broken: str) -> None:
    claim(repository, "2Gi", "absent.yaml" if broken != "new" else "claim.yaml")
    base = repository.commit()
    claim(repository, "1Gi", "absent.yaml" if broken != "old" else "claim.yaml")
    head = repository.commit()
    found = repository.diff(base, head, expect=1)
    assert kinds(found) == set()
    assert "absent.yaml" in found["clusters"][0]["findings"][0]
    assert "nothing that is applied differs" not in repository.gen("diff", base, head, expect=1)


def component(repository: Repository, text: str) -> None:
    (repository.root / f"{CUSTOM}/kustomization.yaml").write_text(
        f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{text}\n"
    )


LEADING = {
    "as it is": ("our/claims", "resources:\n- ../../../../our/claims"),
    "in quotes, with a blank": ("our claims", 'resources: ["../../../../our claims"]'),
    "written otherwise": ("our/claims", r'resources: ["\x2e\x2e/../../../our/claims"]'),
    "of another cluster": ("overlays/other/zz", "components: []\nresources: [../../../other/zz]"),
    "by way of another folder": ("our/claims", "resources:\n- ../../../../mine"),
    "with dots between": ("our/claims", "resources:\n- .././.././.././../our/claims"),
    "with two slashes": ("our/claims", "resources:\n- ..//..//..//..//our/claims"),
    "by way of what is shared": ("our/claims", "resources:\n- ../../../../base/../our/claims"),
    "beside a cluster's file": ("clusters/a30-bench/claims", "resources:\n- ../../../../clusters/a30-bench/claims"),
    "beside the schemas": ("schemas/claims", "resources:\n- ../../../../schemas/claims"),
}


@pytest.mark.parametrize("name", LEADING)
def test_a_folder_elsewhere_that_is_built_into_an_application_is_compared(repository: Repository, name: str) -> None:
    folder, text = LEADING[name]
    claims = repository.root / folder
    for place, listed in ((claims, "claim.yaml"), (repository.root / "mine", "../our/claims")):
        place.mkdir(parents=True)
        (place / "kustomization.yaml").write_text(f"resources: [{listed}]\n")
    (claims / "claim.yaml").write_text(CLAIM.replace("SIZE", "2Gi"))
    component(repository, text)
    base = repository.commit()
    (claims / "claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    expected = {("changed", "/PersistentVolumeClaim", "data")}
    assert kinds(repository.diff(base, expect=3)) == expected
    head = repository.commit()
    assert kinds(repository.diff(base, head, expect=3)) == expected
    # Whose `other` is nobody knows: all are looked at.
    assert affected(repository.root, base) == (None if folder.startswith("overlays/") else ("a30-bench",))
    (repository.root / "notes.md").write_text("# Of no cluster\n")
    repository.commit()
    assert affected(repository.root, head) == ()


def application(repository: Repository, name: str, place: str, folder: str = "custom") -> None:
    """Have an Application, of the user's own or in place of one of gen's."""
    text = (repository.root / "clusters/a30-bench/argocd/application-scratch.yaml").read_text()
    custom = repository.root / "clusters/a30-bench/argocd" / folder
    (custom / "zz.yaml").write_text(
        text.replace("overlays/a30-bench/scratch", place).replace("name: scratch", f"name: {name}")
    )
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [zz.yaml]\n"
    )


def test_a_folder_that_an_application_no_longer_holds_is_compared(repository: Repository) -> None:
    for name, size in (("zz", "2Gi"), ("yy", "1Gi")):
        place = repository.root / f"overlays/a30-bench/{name}"
        place.mkdir()
        (place / "kustomization.yaml").write_text("resources: [claim.yaml]\n")
        (place / "claim.yaml").write_text(CLAIM.replace("SIZE", size))
    application(repository, "zz", "overlays/a30-bench/zz")
    first = repository.commit()
    application(repository, "zz", "overlays/a30-bench/yy")
    second = repository.commit()
    component = repository.root / "clusters/a30-bench/argocd/custom/kustomization.yaml"
    component.write_text(component.read_text().replace("[zz.yaml]", "[]"))
    third = repository.commit()
    claim = ("/PersistentVolumeClaim", "data")
    assert ("changed", *claim) in kinds(repository.diff(first, second, expect=3))
    # It had no finalizer, so the claim stays behind.
    assert ("removed", *claim) in kinds(repository.diff(second, third))
    assert ("added", *claim) in kinds(repository.diff(third, second))


HELD = {
    "in a folder of one's own": "apps/zz",
    "beside a cluster's file": "clusters/a30-bench/zz",
    "beside the schemas": "schemas/zz",
    "where clusters share": "base/zz",
}


def plain(repository: Repository, place: str) -> str:
    """Have an Application of plain manifests in one of which a claim shrinks, and return the commit before that."""
    application(repository, "zz", place)
    (repository.root / place).mkdir(parents=True, exist_ok=True)
    (repository.root / place / "claim.yaml").write_text(CLAIM.replace("SIZE", "2Gi"))
    base = repository.commit()
    (repository.root / place / "claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    return base


@pytest.mark.parametrize("name", HELD)
def test_plain_manifests_are_compared_wherever_they_lie(repository: Repository, name: str) -> None:
    base = plain(repository, HELD[name])
    assert kinds(repository.diff(base, "HEAD", expect=3)) == {("changed", "/PersistentVolumeClaim", "data")}


def test_plain_manifests_are_of_the_cluster_whose_application_holds_them(repository: Repository) -> None:
    assert affected(repository.root, plain(repository, "apps/zz")) == ("a30-bench",)


def test_plain_manifests_come_and_go_with_their_application(repository: Repository) -> None:
    base = plain(repository, "apps/zz")
    application(repository, "yy", "apps/none")
    repository.commit()
    assert ("removed", "/PersistentVolumeClaim", "data") in kinds(repository.diff(base, "HEAD"))
    assert ("added", "/PersistentVolumeClaim", "data") in kinds(repository.diff("HEAD", base))


def test_a_whole_repository_of_plain_manifests_is_told_to_be_unknown(repository: Repository) -> None:
    base = plain(repository, ".")
    assert kinds(repository.diff(base, "HEAD")) == {("changed", "gen/Elsewhere", ".")}
    assert "not built here" in repository.gen("diff", base, "HEAD")


OTHERWISE = {
    "a chart": ("Chart.yaml", "name: x\n"),
    "jsonnet": ("x.jsonnet", "{}\n"),
    "a file that Argo CD passes over": ("x.yaml", "# +argocd:skip-file-rendering\n"),
    "what is no object": ("values.yaml", "replicas: 1\n"),
    "what nobody can read": ("x.yaml", "a: [\n"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_argo_cd_may_make_something_else_of_is_told_to_be_unknown(repository: Repository, name: str) -> None:
    file, text = OTHERWISE[name]
    (repository.root / "apps/zz").mkdir(parents=True)
    (repository.root / "apps/zz" / file).write_text(text)
    base = plain(repository, "apps/zz")
    assert kinds(repository.diff(base, "HEAD")) == {("changed", "gen/Elsewhere", "apps/zz")}


SOURCES = {
    "another branch": ("targetRevision: refs/heads/main", "targetRevision: refs/heads/stable"),
    "another repository": ("clusters.git", "others.git"),
    "parameters": (
        "    targetRevision: refs/heads/main",
        "    targetRevision: refs/heads/main\n    kustomize: {namePrefix: a}",
    ),
    "some files": (
        "    targetRevision: refs/heads/main",
        "    targetRevision: refs/heads/main\n    directory: {exclude: 'c*'}",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_read_in_another_way_is_told_to_be_unknown(repository: Repository, name: str) -> None:
    base = plain(repository, "apps/zz")
    file = "clusters/a30-bench/argocd/custom/zz.yaml"
    repository.git("checkout", "-q", base)
    repository.edit(*SOURCES[name], file)
    before = repository.commit()
    (repository.root / "apps/zz/claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    assert kinds(repository.diff(before, "HEAD")) == {("changed", "gen/Elsewhere", "apps/zz")}


def test_where_there_is_no_folder_argo_cd_keeps_what_it_has(repository: Repository) -> None:
    plain(repository, "apps/zz")
    shutil.rmtree(repository.root / "apps")
    repository.commit()
    assert kinds(repository.diff("HEAD~1", "HEAD")) == {("changed", "gen/Elsewhere", "apps/zz")}


def test_a_branch_may_be_named_in_short(repository: Repository) -> None:
    base = plain(repository, "apps/zz")
    repository.git("checkout", "-q", base)
    file = "clusters/a30-bench/argocd/custom/zz.yaml"
    repository.edit("targetRevision: refs/heads/main", "targetRevision: main", file)
    before = repository.commit()
    (repository.root / "apps/zz/claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    assert kinds(repository.diff(before, "HEAD", expect=3)) == {("changed", "/PersistentVolumeClaim", "data")}


def test_folders_below_are_read_where_the_application_says_so(repository: Repository) -> None:
    application(repository, "zz", "apps/zz")
    deep = repository.root / "apps/zz/deep/claim.yaml"
    deep.parent.mkdir(parents=True)
    deep.write_text(CLAIM.replace("SIZE", "2Gi"))
    base = repository.commit()
    deep.write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    assert kinds(repository.diff(base, "HEAD")) == set()
    file = "clusters/a30-bench/argocd/custom/zz.yaml"
    said = (
        "    targetRevision: refs/heads/main",
        "    targetRevision: refs/heads/main\n    directory: {recurse: true}",
    )
    repository.edit(*said, file)
    assert ("added", "/PersistentVolumeClaim", "data") in kinds(repository.diff("HEAD"))
    second = repository.commit()
    deep.write_text(CLAIM.replace("SIZE", "3Gi"))
    repository.commit()
    assert kinds(repository.diff(second, "HEAD")) == {("changed", "/PersistentVolumeClaim", "data")}


def test_what_an_application_holds_that_is_written_elsewhere_is_told(repository: Repository) -> None:
    application(repository, "zz", "apps/zz")
    custom = repository.root / "clusters/a30-bench/argocd/custom"
    for place in ("ours", "apps/zz"):
        (repository.root / place).mkdir(parents=True)
    (custom / "zz.yaml").rename(repository.root / "ours/zz.yaml")
    (repository.root / "ours/kustomization.yaml").write_text("resources: [zz.yaml]\n")
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [../../../../ours]\n"
    )
    (repository.root / "apps/zz/claim.yaml").write_text(CLAIM.replace("SIZE", "2Gi"))
    base = repository.commit()
    (repository.root / "apps/zz/claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    second = repository.commit()
    assert kinds(repository.diff(base, second, expect=3)) == {("changed", "/PersistentVolumeClaim", "data")}
    application(repository, "zz", "apps/yy")
    (custom / "zz.yaml").rename(repository.root / "ours/zz.yaml")
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [../../../../ours]\n"
    )
    third = repository.commit()
    assert ("changed", "Application", "zz") in {
        (on, kind.rpartition("/")[2], name) for on, kind, name in kinds(repository.diff(second, third))
    }


@pytest.mark.parametrize("folder", ["zz/lab", "shared"])
def test_a_users_own_folder_below_or_beside_another_is_compared(repository: Repository, folder: str) -> None:
    overlays = repository.root / "overlays/a30-bench"
    application(repository, "zz", "overlays/a30-bench/zz/lab")
    for place, listed in (("shared", "claim.yaml"), ("zz/lab", "claim.yaml" if "lab" in folder else "../../shared")):
        (overlays / place).mkdir(parents=True)
        (overlays / place / "kustomization.yaml").write_text(f"resources: [{listed}]\n")
    (overlays / folder / "claim.yaml").write_text(CLAIM.replace("SIZE", "2Gi"))
    if folder != "shared":
        (overlays / "shared/claim.yaml").write_text(CLAIM.replace("SIZE", "9Gi"))
    base = repository.commit()
    (overlays / folder / "claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    assert kinds(repository.diff(base, "HEAD", expect=3)) == {("changed", "/PersistentVolumeClaim", "data")}


def test_one_folder_up_is_elsewhere_too(repository: Repository) -> None:
    overlays = repository.root / "overlays/a30-bench"
    application(repository, "zz", "overlays/a30-bench/zz")
    for place, listed in (("shared", "claim.yaml"), ("zz", "../shared")):
        (overlays / place).mkdir(parents=True)
        (overlays / place / "kustomization.yaml").write_text(f"resources:\n- {listed}\n")
    (overlays / "shared/claim.yaml").write_text(CLAIM.replace("SIZE", "2Gi"))
    base = repository.commit()
    (overlays / "shared/claim.yaml").write_text(CLAIM.replace("SIZE", "1Gi"))
    repository.commit()
    assert kinds(repository.diff(base, "HEAD", expect=3)) == {("changed", "/PersistentVolumeClaim", "data")}


@pytest.mark.parametrize("target", ["claim.yaml", "../../../../our"])
def test_a_link_is_told_to_be_not_built(repository: Repository, target: str) -> None:
    """It is not taken for what it leads to, on whose machine ever."""
    claim(repository, "2Gi")
    base = repository.commit()
    (repository.root / "our").mkdir()
    for place in (f"{CUSTOM}/claim.yaml", "our/claim.yaml", "our/kustomization.yaml"):
        (repository.root / place).write_text(
            CLAIM.replace("SIZE", "1Gi") if "claim" in place else "resources: [claim.yaml]\n"
        )
    (repository.root / f"{CUSTOM}/linked").symlink_to(target)
    component(repository, "resources: [claim.yaml, linked]")
    repository.commit()
    said = repository.gen("diff", base, "HEAD", expect=1)
    assert "not built" in said
    assert "linked" in said


GRANT = (
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: on-call}\n"
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n"
    "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]\n"
)
EVE = '[{"op": "replace", "path": "/subjects/0/name", "value": "eve"}]'
PATCH = f"patches: [{{target: {{kind: ClusterRoleBinding}}, patch: '{EVE}'}}]"


@pytest.mark.parametrize("changed", ["ours", "overlays/a30-bench/zz", "overlays/a30-bench/scratch"])
def test_an_approval_ends_when_another_file_changes_the_object(repository: Repository, changed: str) -> None:
    folder = repository.root / (changed if "scratch" not in changed else "ours")
    folder.mkdir()
    (folder / "grant.yaml").write_text(GRANT)
    (folder / "kustomization.yaml").write_text("resources: [grant.yaml]\n")
    if "zz" in changed:
        application(repository, "yy", changed)
    else:
        component(repository, "resources: [../../../../ours]")
    base = repository.commit()
    (folder / "grant.yaml").write_text(GRANT.replace("ann", "bob"))
    needed = repository.diff(base, expect=3)["unapproved"][0]
    assert needed == "GEN-CHG-750:a30-bench/ClusterRoleBinding/on-call"
    repository.commit(f"Let Bob in\n\nGen-Allow: {needed} he is on call")
    assert not repository.diff(base, "HEAD")["unapproved"]
    with (repository.root / changed / "kustomization.yaml").open("a") as file:
        file.write(f"{PATCH}\n")
    repository.commit()
    assert repository.diff(base, "HEAD", expect=3)["outdatedApprovals"] == [needed]


@pytest.mark.parametrize("reason", ["\u200b", "...", "!"])
def test_what_says_nothing_is_no_reason(reason: str) -> None:
    assert reason_in(reason) == ""


def test_a_tree_that_leads_out_of_the_repository_is_refused(repository: Repository) -> None:
    inner = repository.root / "inner"
    inner.mkdir()
    for name in ("clusters", "overlays", "base", "schemas", "gen.lock"):
        repository.git("mv", name, f"inner/{name}")
    base = repository.commit()
    blob = repository.git("hash-object", "-w", f"inner/{FILE}")

    def tree(*rows: str) -> str:
        done = subprocess.run(
            ["git", "mktree"], cwd=repository.root, input="\n".join(rows), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    nested = tree(f"100644 blob {blob}\tescaped.yaml")
    for _ in range(6):
        nested = tree(f"040000 tree {nested}\t..")
    path = ["inner", "overlays", "a30-bench", "scratch"]
    rows = [repository.git("ls-tree", ":".join((base, "/".join(path[:depth])))) for depth in range(len(path) + 1)]
    made = tree(*rows[-1].splitlines(), f"040000 tree {nested}\tout")
    for depth in range(len(path) - 1, -1, -1):
        made = tree(*(row for row in rows[depth].splitlines() if not row.endswith(f"\t{path[depth]}")),
                    f"040000 tree {made}\t{path[depth]}")  # fmt: skip
    commit = repository.git("commit-tree", made, "-p", base, "-m", "out")
    code = run(["diff", "-C", str(inner), base, commit])
    assert code == 2
    assert not list(repository.root.parent.rglob("escaped.yaml"))


def test_what_argo_cd_asks_a_person_about_can_be_approved_and_stops_nothing(repository: Repository) -> None:
    """`gen sync` gives Argo CD the word that a commit approves (Prune=confirm)."""
    base = repository.commit()
    repository.edit("  gitops:\n", "  components:\n    volcano: {managed: false}\n\n  gitops:\n")
    repository.gen("render")
    (asked,) = repository.diff(base)["unconfirmed"]
    assert asked == "GEN-CHG-326:a30-bench/Application/argocd/volcano"
    said = repository.gen("diff", base)
    assert f"goes only with a person's word, which gen sync gives for `Gen-Allow: {asked} WHY` in a commit" in said
    for output in ("markdown", "html"):
        assert f"Gen-Allow: {asked} WHY" in repository.gen("diff", base, "--output", output)
    repository.commit(f"Away with it\n\nGen-Allow: {asked} nobody uses it")
    found = repository.diff(base, "HEAD")
    assert found["unconfirmed"] == found["unusedApprovals"] == []
    assert [one["approval"] for one in found["approved"]] == [asked]
    again = repository.diff(repository.commit("Deployed since"), "HEAD")
    assert again["unconfirmed"] == again["approved"] == []
