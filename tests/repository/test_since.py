"""Which clusters a commit reaches, in a repository of several that are rendered."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from generator.cli import run
from generator.errors import UsageError
from generator.repository.scaffold import starter
from generator.repository.since import affected

CLUSTERS = {"one": 11, "two": 12, "three": 13}


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "more")
    return git(root, "rev-parse", "HEAD")


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("since")
    for name, second in CLUSTERS.items():
        file = root / "clusters" / name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(starter(name).decode().replace("10.10.", f"10.{second}."))
    git(root, "init", "-q", "-b", "main")
    assert run(["render", "-C", str(root)]) == 0
    commit(root)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    subprocess.run(["cp", "-a", f"{made}/.", tmp_path], check=True)
    return tmp_path


def test_a_commit_that_changes_nothing_reaches_nobody(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = git(root, "rev-parse", "HEAD")
    (root / "README.md").write_text("a remark\n")
    commit(root)
    assert affected(root, base) == ()
    for words in (["check"], ["render", "--check"]):
        assert run([*words, "-C", str(root), "--since", base]) == 0
        assert f"no cluster differs since {base}" in capsys.readouterr().out


def test_a_cluster_file_reaches_its_cluster(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = git(root, "rev-parse", "HEAD")
    edit(root, "clusters/two/cluster.yaml", "gpus: 8", "gpus: 4")
    commit(root)
    assert affected(root, base) == ("two",)
    assert run(["render", "--check", "-C", str(root), "--since", base]) == 1
    assert "three: " not in capsys.readouterr().out
    assert run(["render", "-C", str(root)]) == 0
    commit(root)
    assert run(["render", "--check", "-C", str(root), "--since", base]) == 0
    assert run(["check", "-C", str(root), "--since", base]) == 0


@pytest.mark.parametrize("words", [["check"], ["render", "--check"], ["diff"]], ids=" ".join)
def test_what_other_clusters_are_rendered_as_is_not_even_listed(
    root: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cost follows the change: a repository may hold a thousand."""
    base = git(root, "rev-parse", "HEAD")
    edit(root, "clusters/two/cluster.yaml", "gpus: 8", "gpus: 4")
    assert run(["render", "-C", str(root)]) == 0
    commit(root)
    listed: list[str] = []
    scan = os.scandir

    def listing(path: Any = ".") -> "os._ScandirIterator[Any]":
        listed.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", listing)
    given = [base, "HEAD"] if words == ["diff"] else ["--since", base]
    assert run([*words, "-C", str(root), *given]) == 0, capsys.readouterr()
    others = {f"{top}/{name}" for top in ("overlays", "clusters") for name in ("one", "three")}
    assert not [path for path in listed if any(f"{path}/".find(f"/{other}/") >= 0 for other in others)]


def test_a_branch_that_others_went_on_from_reaches_only_its_own(root: Path) -> None:
    git(root, "checkout", "-qb", "mine")
    edit(root, "clusters/two/cluster.yaml", "gpus: 8", "gpus: 4")
    commit(root)
    git(root, "checkout", "-q", "main")
    edit(root, "clusters/one/cluster.yaml", "gpus: 8", "gpus: 6")
    commit(root)
    git(root, "checkout", "-q", "mine")
    assert affected(root, "main") == ("two",)


def test_a_shared_file_reaches_one_that_uses_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = git(root, "rev-parse", "HEAD")
    file = next(path for path in sorted((root / "base").glob("*/*/*.yaml")) if path.name != "kustomization.yaml")
    file.write_text(file.read_text() + "# by hand\n")
    commit(root)
    assert affected(root, base) == ("one",)
    assert run(["render", "--check", "-C", str(root), "--since", base]) == 1
    assert file.name in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "path", ["base/absent/v1/kustomization.yaml", "overlays/gone/kueue/a.yaml", "clusters/gone/argocd/a.yaml"]
)
def test_what_belongs_to_no_cluster_reaches_all(root: Path, path: str) -> None:
    base = git(root, "rev-parse", "HEAD")
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("a: 1\n")
    commit(root)
    assert affected(root, base) is None
    assert run(["render", "--check", "-C", str(root), "--since", base]) == 1, "a render removes it"


def test_a_cluster_that_is_gone_whole_reaches_nobody_else(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD")
    git(root, "rm", "-rq", "clusters/two", "overlays/two")
    commit(root)
    assert affected(root, base) == ()


LOCKS = {
    "another gen": ("gen: ", "gen: 0", None),
    "a chart that is another": ("charts: {}", "charts: {x/a:1: sha256:2}", None),
    "a chart that is new": ("manifests: {}", "manifests: {x/b:1: sha256:2}", ()),
}


@pytest.mark.parametrize("name", LOCKS)
def test_another_gen_and_other_charts_reach_all(root: Path, name: str) -> None:
    old, new, expected = LOCKS[name]
    lock = root / "gen.lock"
    text = lock.read_text()
    first = next(line for line in text.splitlines() if line.startswith("gen:"))
    body = "charts: {x/a:1: sha256:1}\nmanifests: {}\nimages: {}\n"
    lock.write_text(f"{first}\n{body}")
    base = commit(root)
    lock.write_text(
        f"{first}\n{body}".replace(first if name == "another gen" else old.replace("{}", "{x/a:1: sha256:1}"), new)
        if name != "a chart that is new"
        else f"{first}\n{body}".replace(old, new)
    )
    commit(root)
    assert affected(root, base) == expected


def test_a_repository_without_history_says_so(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    with pytest.raises(UsageError, match="not a Git repository, and --since compares commits; leave it out"):
        affected(tmp_path, "main")
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="nothing was committed yet"):
        affected(tmp_path, "main")


def test_since_is_refused_where_it_says_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "-C", str(root), "--since", "HEAD"]) == 2
    assert run(["check", "-C", str(root), "--since", "HEAD", "clusters/one/cluster.yaml"]) == 2
    assert run(["diff", "-C", str(root), "--since", "HEAD", "HEAD"]) == 2
    assert "--since is for --check" in capsys.readouterr().err
