"""What stands vendored: kept, told when stale, gone with its component."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference import ROOT

from generator.cli import run
from generator.components import compose
from generator.errors import UsageError
from generator.layout.lock import Lock
from generator.layout.upstream import Found, Upstream, crds, files, folder
from generator.repository.project import load
from generator.repository.render import Fresh, Outcome, render
from generator.repository.standing import locked, on_disk, vendored

CLUSTER = "clusters/a30-bench/cluster.yaml"
OVERLAY = "overlays/a30-bench/volcano"
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "volcano-system"}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A committed repository with one cluster, rendered."""
    (tmp_path / "clusters/a30-bench").mkdir(parents=True)
    (tmp_path / CLUSTER).write_bytes((ROOT / CLUSTER).read_bytes())
    git(tmp_path, "init", "-q")
    rendered(tmp_path)
    commit(tmp_path)
    return tmp_path


def git(place: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True)


def commit(place: Path) -> None:
    git(place, "add", "-A")
    git(place, "commit", "-qm", "a step")
    # As in a fresh clone: nothing is known but what Git knows.
    (place / ".git/gen/written.json").unlink()


def rendered(place: Path, fresh: Fresh | None = None, *, dry_run: bool = False) -> Outcome:
    loaded = load(place)
    assert not any(one.wrong for one in loaded), loaded
    return render(place, loaded, dry_run=dry_run, waiting=print, fresh=fresh or Fresh())


def brought(place: Path, *names: str, found: Found | None = None) -> Fresh:
    """What a vendoring of these components would hand over."""
    cluster = load(place)[0].cluster
    assert cluster
    made: dict[str, bytes] = {}
    places = []
    for component in compose(cluster):
        if component.name in names:
            home = folder(cluster.name, component.name)
            made |= files(cluster, component, found or Found())
            made[f"{home}/configmap-made.yaml"] = yaml.safe_dump(OBJECT).encode()
            made[f"{home}/kustomization.yaml"] = b"resources: [configmap-made.yaml]\n"
            made[f"{crds(component.name, component.version)}/kustomization.yaml"] = b"resources: []\n"
            places += [home, crds(component.name, component.version)]
    return Fresh(files=made, folders=tuple(places), lock=Lock(charts={f"x/{name}:1": "sha256:1" for name in names}))


def settle(place: Path, volcano: str) -> None:
    """Say something of a component in the cluster file."""
    with (place / CLUSTER).open("a") as file:
        file.write(f"\n  components:\n    volcano: {volcano}\n")


def resources(place: Path, overlay: str = OVERLAY) -> Any:
    return yaml.safe_load((place / overlay / "kustomization.yaml").read_text())["resources"]


def states(outcome: Outcome) -> dict[str, str]:
    return {name: str(state) for name, state in outcome.states["a30-bench"].items()}


def test_nothing_is_vendored_at_first(place: Path) -> None:
    assert set(states(rendered(place)).values()) == {"not vendored"}
    assert "releases" in resources(place)


def test_what_is_vendored_takes_the_place_of_its_release(place: Path) -> None:
    assert not rendered(place, brought(place, "volcano")).refused
    assert "upstream" in resources(place)
    assert "releases" not in resources(place)
    assert not (place / OVERLAY / "releases").exists()
    outcome = rendered(place)
    assert states(outcome)["volcano"] == "vendored"
    assert states(outcome)["kueue"] == "not vendored"
    assert not outcome.plan.changes
    assert locked(on_disk(place)).charts == {"x/volcano:1": "sha256:1"}


def test_other_inputs_make_it_stale_and_keep_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    before = {path: path.read_bytes() for path in (place / OVERLAY / "upstream").iterdir()}
    settle(place, "{values: {custom: {enabled_admissions: none}}}")
    outcome = rendered(place)
    assert outcome.stale == ["a30-bench/volcano"]
    assert {path: path.read_bytes() for path in (place / OVERLAY / "upstream").iterdir()} == before
    assert run(["render", "--check", "-C", str(place)]) == 1
    assert "stale, kept as they were: a30-bench/volcano; `gen vendor` inflates them anew" in capsys.readouterr().err
    assert run(["render", "--check", "--output", "github", "-C", str(place)]) == 1
    assert f"::error file={OVERLAY}/upstream/inputs.yaml::stale" in capsys.readouterr().out


def test_a_component_that_goes_takes_its_upstream_along(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    settle(place, "{managed: false}")
    outcome = rendered(place)
    assert not outcome.edits
    assert not (place / OVERLAY / "upstream").exists()
    assert not list((place / "base").glob("volcano/*"))


def test_a_hand_edit_that_is_not_committed_is_not_removed_with_it(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    (place / OVERLAY / "upstream/configmap-made.yaml").write_text("mine\n")
    settle(place, "{managed: false}")
    assert [edit.path for edit in rendered(place).edits] == [f"{OVERLAY}/upstream/configmap-made.yaml"]
    assert (place / OVERLAY / "upstream/configmap-made.yaml").read_text() == "mine\n"


def test_new_definitions_and_objects_replace_the_folders_whole(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    (old := place / OVERLAY / "upstream/configmap-old.yaml").write_text("left of an older chart\n")
    commit_again = brought(place, "volcano")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "by an older gen")
    outcome = rendered(place, commit_again)
    assert not outcome.edits
    assert not old.exists()


def test_helm_is_asked_of_argo_cd_only_while_a_chart_is_missing(place: Path) -> None:
    patches = place / "overlays/a30-bench/argo-cd/generated/kustomization.yaml"
    assert "--enable-helm" in patches.read_text()
    cluster = load(place)[0].cluster
    assert cluster
    rendered(place, brought(place, *(one.name for one in compose(cluster) if one.releases)))
    assert "--enable-helm" not in patches.read_text()


def test_projects_allow_what_was_found(place: Path) -> None:
    project = place / "clusters/a30-bench/argocd/appproject-scheduling.yaml"
    assert "MutatingWebhookConfiguration" in project.read_text()
    found = Found(namespaces=("elsewhere",), kinds=("example.org/Wide",))
    rendered(place, brought(place, "volcano", "kueue", found=found))
    spec = yaml.safe_load(project.read_text())["spec"]
    assert "elsewhere" in {one["namespace"] for one in spec["destinations"]}
    assert {"group": "example.org", "kind": "Wide"} in spec["clusterResourceWhitelist"]
    assert "MutatingWebhookConfiguration" not in project.read_text()


@pytest.mark.parametrize("content", [b"<<<<<<< HEAD\n{}\n", b"", b'{"kinds": 3}'])
def test_what_cannot_be_read_counts_as_stale(place: Path, content: bytes) -> None:
    rendered(place, brought(place, "volcano"))
    (place / OVERLAY / "upstream/found.json").write_bytes(content)
    assert rendered(place, dry_run=True).stale == ["a30-bench/volcano"]


@pytest.mark.parametrize("content", ["<<<<<<< HEAD\ngen: 1\n", "charts: [a]\n", "charts: {a: 1}\n", "- a\n"])
def test_a_broken_lock_is_told_and_kept(place: Path, content: str) -> None:
    (place / "gen.lock").write_text(content)
    with pytest.raises(UsageError, match=r"gen.lock.*`gen vendor`"):
        rendered(place)
    assert (place / "gen.lock").read_text() == content


def test_another_cluster_keeps_what_is_vendored(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    text = (place / CLUSTER).read_text().replace("name: a30-bench", "name: other")
    (place / "clusters/other").mkdir()
    (place / "clusters/other/cluster.yaml").write_text(text)
    loaded = load(place, ["other"])
    outcome = render(place, loaded, dry_run=False, waiting=print)
    assert outcome.states["other"]["volcano"] == "not vendored"
    assert (place / OVERLAY / "upstream/inputs.yaml").exists()


def test_nothing_there_is_nothing_vendored(tmp_path: Path) -> None:
    assert vendored(on_disk(tmp_path), "a", ["b"]) == {}
    assert locked(on_disk(tmp_path)) == Lock()
    (tmp_path / "overlays/a/b/upstream/inputs.yaml").mkdir(parents=True)
    assert vendored(on_disk(tmp_path), "a", ["b"]) == {}


def test_a_folder_without_findings_is_stale(tmp_path: Path) -> None:
    (tmp_path / "overlays/a/b/upstream").mkdir(parents=True)
    (tmp_path / "overlays/a/b/upstream/inputs.yaml").write_bytes(b"x")
    assert vendored(on_disk(tmp_path), "a", ["b"]) == {"b": Upstream(b"", Found())}
