"""Which commit a sync goes to, what it has, and what commits say of what is to leave."""

import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gitworld import Person, clone, plain_environment, seed
from test_syncing import Cluster, application, stay

from generator.cli.live_options import only
from generator.errors import UsageError
from generator.live.applications import Application
from generator.live.applications import application as read
from generator.live.sync.going import UnapprovedError
from generator.live.sync.plan import Asked, asking, differing, meanings, steps, target
from generator.live.sync.wanted import wanted
from generator.model.cluster import Cluster as Model

Object = dict[str, Any]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seed(tmp_path_factory.mktemp("seed"))


@pytest.fixture
def ann(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    plain_environment(monkeypatch, tmp_path / "home")
    return clone(Path(shutil.copytree(seeded, tmp_path / "lab.git")), tmp_path / "ann", "Ann", capsys)


def model(person: Person) -> Model:
    found = only(person.root, ()).cluster
    assert found
    return found


def running(commit: str, *others: Object) -> Cluster:
    """Return a cluster whose root was just compared with a commit."""
    cluster = Cluster(application("root", automated=True), *others)
    cluster.plays["root"] = stay
    root = cluster.objects[next(iter(cluster.objects))]
    root["status"]["sync"]["revision"] = commit
    real = cluster.get

    def get(path: str) -> Object | None:
        found = real(path)
        if found:
            found["metadata"].get("annotations", {}).pop("argocd.argoproj.io/refresh", None)
        return found

    cluster.get = get  # type: ignore[method-assign]
    return cluster


def without_volcano(person: Person, message: str) -> str:
    person.edit("  gitops:\n", "  components:\n    volcano: {managed: false}\n\n  gitops:\n")
    assert person.gen("render").code == 0
    person.git("add", "-A")
    person.git("commit", "-q", "-m", message)
    return person.head()


def test_the_applications_of_a_commit_are_those_that_it_has_and_not_those_of_the_working_tree(ann: Person) -> None:
    first = ann.head()
    without_volcano(ann, "less")
    found = wanted(ann.root, first, model(ann))
    assert found["volcano"].wave == found["kueue"].wave < found["queues"].wave < found["tenants"].wave
    assert found["kueue"].automated
    assert found["kueue"].tier == "scheduling"
    assert "root" not in found
    assert "volcano" not in wanted(ann.root, "HEAD", model(ann))


def test_a_component_of_ones_own_is_synced_with_its_tier_whatever_its_project(ann: Person) -> None:
    ann.edit("  gitops:\n", "  extras:\n    tools: {namespace: tools, tier: gpu}\n\n  gitops:\n")
    assert ann.gen("render").code == 0
    ann.git("add", "-A")
    ann.git("commit", "-q", "-m", "tools")
    assert wanted(ann.root, "HEAD", model(ann))["tools"].tier == "gpu"


def test_argo_cds_look_takes_no_longer_than_all_of_it_may(ann: Person) -> None:
    silent = Cluster(application("root", automated=True))
    begun = time.monotonic()
    with pytest.raises(UsageError, match="Argo CD did not look at root within 1 s; do its pods run"):
        target(ann.root, silent, model(ann), Asked(patience=1.0))
    assert time.monotonic() - begun < 30


def test_the_newest_commit_is_the_one_that_argo_cd_sees(ann: Person) -> None:
    first = ann.head()
    without_volcano(ann, "not pushed")
    found = target(ann.root, running(first), model(ann), Asked())
    assert (found.commit, found.newest) == (first, True)
    assert {"root", "volcano", "kueue"} <= found.names


def test_a_commit_that_argo_cd_sees_and_the_clone_lacks_is_fetched(
    ann: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bob = clone(tmp_path / "lab.git", tmp_path / "bob", "Bob", capsys)
    newest = without_volcano(bob, "of somebody else")
    bob.git("push", "-q")
    assert ann.git("cat-file", "-t", newest, ok=False) == ""
    assert target(ann.root, running(newest), model(ann), Asked()).commit == newest
    with pytest.raises(UsageError, match="and this clone does not"):
        target(ann.root, running("d" * 40), model(ann), Asked())


def test_a_commit_that_is_not_on_the_branch_is_refused(ann: Person) -> None:
    first = ann.head()
    without_volcano(ann, "not pushed")
    with pytest.raises(UsageError, match=r"is not on the branch main as Argo CD sees it .*; push it first"):
        target(ann.root, running(first), model(ann), Asked(revision="HEAD"))
    ann.git("switch", "-q", "--orphan", "other")
    ann.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    other = ann.head()
    ann.git("switch", "-q", "main")
    with pytest.raises(UsageError, match="merge it into main, or name another"):
        target(ann.root, running(first), model(ann), Asked(revision=other))
    with pytest.raises(UsageError, match="Git knows no such commit here"):
        target(ann.root, running(first), model(ann), Asked(revision="nowhere"))


def test_an_older_commit_is_refused_to_what_syncs_by_itself(ann: Person) -> None:
    first, newest = ann.head(), without_volcano(ann, "less")
    ann.git("push", "-q")
    with pytest.raises(UsageError, match=f"kueue: syncs by itself to the newest commit of its branch, {newest[:9]}"):
        target(ann.root, running(newest), model(ann), Asked(names=("kueue",), revision=first))


def test_a_repository_that_argo_cd_cannot_read_is_told_with_its_words(ann: Person) -> None:
    cluster = running("")
    root = cluster.objects[next(iter(cluster.objects))]
    root["status"]["conditions"] = [{"type": "ComparisonError", "message": "authentication required"}]
    with pytest.raises(UsageError, match=r"cannot read the repository.*ComparisonError: authentication required"):
        target(ann.root, cluster, model(ann), Asked())


def test_a_dry_run_asks_argo_cd_for_nothing_and_tells_what_differs(ann: Person) -> None:
    first = ann.head()
    newest = without_volcano(ann, "less")
    ann.git("push", "-q")
    cluster = running(first)
    root = cluster.objects[next(iter(cluster.objects))]
    root["status"]["operationState"]["syncResult"]["revision"] = first
    found = target(ann.root, cluster, model(ann), Asked(), dry=True)
    assert found.commit == newest
    assert "argocd.argoproj.io/refresh" not in root["metadata"]["annotations"]
    moving = steps(cluster, found)
    assert (moving[0].name, moving[0].old) == ("root", first)
    (told,) = meanings(ann.root, model(ann), found, moving)
    assert differing([told]) == {"root"}
    assert told.unconfirmed == ("GEN-CHG-326:a30-bench/Application/argocd/volcano",)


def test_a_dry_run_without_a_remote_goes_by_what_argo_cd_saw_last(ann: Person) -> None:
    first = ann.head()
    ann.git("remote", "remove", "origin")
    cluster = running(first)
    assert target(ann.root, cluster, model(ann), Asked(), dry=True).commit == first
    (root,) = cluster.objects.values()
    assert "argocd.argoproj.io/refresh" not in root["metadata"]["annotations"]


def leaving(base: str, *names: str) -> Application:
    root = application("root")
    root["status"] |= {
        "sync": {"status": "OutOfSync", "revision": "x"},
        "history": [{"revision": "older"}, {"revision": base}],
        "resources": [
            {
                "kind": "Application",
                "namespace": "argocd",
                "name": name,
                "requiresPruning": True,
                "requiresDeletionConfirmation": True,
            }
            for name in names
        ],
    }
    return read(root)


def test_what_goes_needs_a_trailer_after_the_commit_that_is_deployed(ann: Person) -> None:
    base = ann.head()
    commit = without_volcano(ann, "less")
    ask = asking(ann.root, model(ann), commit)
    assert ask(leaving(base)) == ""
    needed = "Gen-Allow: GEN-CHG-326:a30-bench/Application/argocd/volcano"
    with pytest.raises(UnapprovedError, match=f"\n  {needed} WHY\n") as stopped:
        ask(leaving(base, "volcano"))
    assert stopped.value.exit_code == 3
    ann.git("commit", "-q", "--allow-empty", "-m", f"Say so\n\n{needed} nobody uses it")
    ask = asking(ann.root, model(ann), ann.head())
    assert ask(leaving(base, "volcano")).startswith("a30-bench/Application/argocd/volcano (commit ")
    assert "by Ann: nobody uses it" in ask(leaving(base, "volcano"))
    with pytest.raises(UnapprovedError, match="a30-bench/Application/argocd/other is to go and is in no commit"):
        ask(leaving(base, "volcano", "other"))
    # Argo CD begins the operation anew, which counts as applied by then: the word holds for this sync, and no other.
    assert ask(leaving(ann.head(), "volcano")).startswith("a30-bench/Application/argocd/volcano (commit ")
    another = asking(ann.root, model(ann), ann.head())
    with pytest.raises(UnapprovedError, match="is in no commit since"):
        another(leaving(ann.head(), "volcano"))


@pytest.mark.parametrize("dry", [True, False])
def test_a_cluster_without_root_is_refused_before_anything_is_foretold(ann: Person, dry: bool) -> None:  # noqa: FBT001
    cluster = running(ann.head())
    cluster.api = SimpleNamespace(host="https://192.0.2.1:6443")  # type: ignore[assignment]
    cluster.objects.clear()
    with pytest.raises(UsageError, match="has no Application root: it was not bootstrapped to its end"):
        target(ann.root, cluster, model(ann), Asked(), dry=dry)
