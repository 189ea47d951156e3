"""What stands vendored: kept, told when stale, gone with its component."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs
from reference import ROOT

from generator.cli import run
from generator.components import compose
from generator.errors import UsageError
from generator.layout.lock import LockFile
from generator.layout.upstream import DEFINITION, Found, Upstream, brings, crds, files, folder, kustomized, seal
from generator.repository.cluster_files import load
from generator.repository.outcome import Outcome
from generator.repository.render import VendoredChange, render
from generator.repository.vendored import OvertakenError, locked, on_disk, standing, vendored

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


def rendered(place: Path, fresh: VendoredChange | None = None, *, dry_run: bool = False) -> Outcome:
    loaded = load(place)
    assert not any(one.wrong for one in loaded), loaded
    return render(place, loaded, dry_run=dry_run, waiting=print, fresh=fresh or VendoredChange())


def brought(place: Path, *names: str, found: Found | None = None) -> VendoredChange:
    """What a vendoring of these components would hand over."""
    cluster = load(place)[0].cluster
    assert cluster
    made: dict[str, bytes] = {}
    places = []
    for component in compose(cluster):
        if component.name in names:
            home, base = folder(cluster.name, component.name), crds(component.name, component.version)
            objects = {"configmap-made.yaml": yaml.safe_dump(OBJECT).encode()}
            definitions = {f"{DEFINITION}a.yaml": b"# a CRD\n"}
            whole = structs.replace(found or Found(), seal=seal({**objects, **definitions}))
            made |= files(cluster, component, whole)
            made |= {f"{home}/{name}": content for name, content in objects.items()}
            made |= {f"{base}/{name}": content for name, content in definitions.items()}
            made[f"{home}/kustomization.yaml"] = kustomized(objects, base)
            made[f"{base}/kustomization.yaml"] = kustomized(definitions)
            places += [home, base]
    return VendoredChange(
        files=made, folders=tuple(places), lock=LockFile(charts={f"x/{name}:1": "sha256:1" for name in names})
    )


def settle(place: Path, volcano: str) -> None:
    """Say something of a component in the cluster file."""
    with (place / CLUSTER).open("a") as file:
        file.write(f"\n  components:\n    volcano: {volcano}\n")


def resources(place: Path, overlay: str = OVERLAY) -> Any:
    return yaml.load((place / overlay / "kustomization.yaml").read_text(), yaml.CSafeLoader)["resources"]


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


def test_projects_allow_what_was_found_beside_what_is_stated(place: Path) -> None:
    project = place / "clusters/a30-bench/argocd/appproject-scheduling.yaml"
    before = yaml.load(project.read_text(), yaml.CSafeLoader)["spec"]["clusterResourceWhitelist"]
    found = Found(namespaces=("elsewhere",), kinds=("example.org/Wide",))
    rendered(place, brought(place, "volcano", "kueue", found=found))
    spec = yaml.load(project.read_text(), yaml.CSafeLoader)["spec"]
    assert "elsewhere" in {one.get("namespace") for one in spec["destinations"]}
    assert {"group": "example.org", "kind": "Wide"} in spec["clusterResourceWhitelist"]
    assert all(kind in spec["clusterResourceWhitelist"] for kind in before)


@pytest.mark.parametrize("content", [b"<<<<<<< HEAD\n{}\n", b"", b'{"kinds": 3}'])
def test_without_what_was_found_nothing_is_rendered(place: Path, content: bytes) -> None:
    rendered(place, brought(place, "volcano"))
    (place / OVERLAY / "upstream/found.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"upstream/found.json: cannot be read.*`gen vendor volcano`"):
        rendered(place)
    # Vendoring itself brings a new one.
    assert states(rendered(place, brought(place, "volcano")))["volcano"] == "vendored"


def test_every_conflict_of_a_cluster_is_told_and_is_no_wrong_usage(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered(place, brought(place, "volcano", "kueue"))
    for name in ("volcano", "kueue"):
        (place / f"overlays/a30-bench/{name}/upstream/found.json").write_text("<<<<<<< HEAD\n{}\n")
    before = (place / OVERLAY / "kustomization.yaml").read_bytes()
    for processes in (20, 1):
        monkeypatch.setattr("generator.repository.parallel.MANY", processes)
        for more in ([], ["--check"], ["--check", "--output", "json"]):
            assert run(["render", *more, "-C", str(place)]) == 1
            told = capsys.readouterr().err
            assert "overlays/a30-bench/kueue/upstream/found.json: cannot be read" in told
            assert "`gen vendor kueue volcano` makes" in told
    assert run(["render", "--check", "--output", "github", "-C", str(place)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("::error file=overlays/a30-bench/kueue/upstream/found.json::overlays/a30-bench/kueue/up")
    assert (place / OVERLAY / "kustomization.yaml").read_bytes() == before


def test_a_conflict_in_the_inputs_is_stale(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    (place / OVERLAY / "upstream/inputs.yaml").write_text("<<<<<<< HEAD\n")
    assert rendered(place).stale == ["a30-bench/volcano"]


@pytest.mark.parametrize("content", ["<<<<<<< HEAD\ngen: 0.0.1\n", "charts: [a]\n", "charts: {a: 1}\n", "- a\n"])
def test_a_broken_lock_is_told_and_kept(place: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "gen.lock").write_text(content)
    with pytest.raises(UsageError, match=r"gen.lock.*`gen vendor`"):
        rendered(place)
    assert (place / "gen.lock").read_text() == content
    assert run(["render", "--check", "-C", str(place)]) == 1
    assert run(["render", "--check", "--output", "github", "-C", str(place)]) == 1
    assert "::error file=gen.lock::gen.lock" in capsys.readouterr().out


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
    assert locked(on_disk(tmp_path)) == LockFile()
    (tmp_path / "overlays/a/b/upstream/inputs.yaml").mkdir(parents=True)
    assert vendored(on_disk(tmp_path), "a", ["b"]) == {}


def test_a_folder_without_findings_is_stale(tmp_path: Path) -> None:
    (tmp_path / "overlays/a/b/upstream").mkdir(parents=True)
    (tmp_path / "overlays/a/b/upstream/inputs.yaml").write_bytes(b"x")
    assert vendored(on_disk(tmp_path), "a", ["b"]) == {"b": Upstream(b"", Found())}


def converted(place: Path) -> None:
    """Do what Git does on checkout with core.autocrlf."""
    for path in place.rglob("*"):
        if path.is_file() and ".git/" not in str(path):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def test_converted_line_endings_are_named_and_nothing_vendored_is_damaged(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    converted(place)
    (place / ".gitattributes").unlink()
    assert run(["render", "--check", "-C", str(place)]) == 1
    err = capsys.readouterr().err
    assert "only the line endings differ, which Git converts (core.autocrlf)" in err
    assert "`git add --renormalize .`" in err
    assert "not as `gen vendor` wrote them" not in err
    assert "stale" not in err
    assert states(rendered(place))["volcano"] == "vendored"
    assert b"\r" not in (place / OVERLAY / "kustomization.yaml").read_bytes()
    assert b"eol=lf" in (place / ".gitattributes").read_bytes()
    assert run(["render", "--check", "-C", str(place)]) == 0
    assert "line endings" not in capsys.readouterr().err
    append(place / OVERLAY / "upstream/configmap-made.yaml")
    assert run(["render", "--check", "-C", str(place)]) == 1


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"# more\n")


def add(path: Path) -> None:
    path.with_name("configmap-more.yaml").write_bytes(b"# more\n")


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "an object is another": (f"{OVERLAY}/upstream/configmap-made.yaml", append),
    "an object is gone": (f"{OVERLAY}/upstream/configmap-made.yaml", Path.unlink),
    "there is one more": (f"{OVERLAY}/upstream/configmap-made.yaml", add),
    "the list is another": (f"{OVERLAY}/upstream/kustomization.yaml", append),
    "the list is gone": (f"{OVERLAY}/upstream/kustomization.yaml", Path.unlink),
    "a CRD is another": ("base/volcano/v1.14.1/crds/customresourcedefinition-a.yaml", append),
    "a CRD is gone": ("base/volcano/v1.14.1/crds/customresourcedefinition-a.yaml", Path.unlink),
    "the list of CRDs is gone": ("base/volcano/v1.14.1/crds/kustomization.yaml", Path.unlink),
}


@pytest.mark.parametrize("which", DAMAGES)
def test_a_check_finds_what_was_not_written_by_vendoring(
    place: Path, which: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    assert run(["render", "--check", "-C", str(place)]) == 0
    path, damage = DAMAGES[which]
    damage(place / path)
    assert run(["render", "--check", "-C", str(place)]) == 1
    assert "not as `gen vendor` wrote them: a30-bench/volcano" in capsys.readouterr().err


def test_another_version_leaves_the_definitions_of_what_stands(place: Path) -> None:
    fresh = brought(place, "volcano")
    old = "base/volcano/v0.0.1/crds"
    moved = {path.replace("base/volcano/v1.14.1/crds", old): content for path, content in fresh.files.items()}
    kustomization = f"{OVERLAY}/upstream/kustomization.yaml"
    moved[kustomization] = moved[kustomization].replace(b"v1.14.1", b"v0.0.1")
    rendered(place, structs.replace(fresh, files=moved, folders=(f"{OVERLAY}/upstream", old)))
    rendered(place)
    assert (place / old / "customresourcedefinition-a.yaml").exists()


def test_what_another_process_vendored_meanwhile_is_not_overwritten(place: Path) -> None:
    seen = standing(place)
    rendered(place, brought(place, "volcano"))
    other = LockFile(charts={"x/volcano:1": "sha256:2", "x/new:1": "sha256:3"})
    with pytest.raises(OvertakenError, match="another gen has vendored here meanwhile; run again"):
        rendered(place, VendoredChange(lock=other, seen=seen))
    rendered(place, VendoredChange(lock=other, seen=standing(place)))
    assert locked(on_disk(place)).charts == other.charts
    rendered(place, VendoredChange(unused=frozenset({"x/volcano:1"})))
    assert locked(on_disk(place)).charts == {"x/new:1": "sha256:3"}


def test_an_edited_digest_is_asked_about_until_it_is_committed(place: Path) -> None:
    rendered(place, brought(place, "volcano"))
    commit(place)
    lock = (place / "gen.lock").read_text()
    (place / "gen.lock").write_text(lock.replace("sha256:1", "sha256:7"))
    again = VendoredChange(lock=LockFile(charts={"x/volcano:1": "sha256:2"}))
    assert [(edit.path, edit.kind) for edit in rendered(place, again).edits] == [("gen.lock", "uncommitted")]
    git(place, "commit", "-qam", "another digest")
    assert not rendered(place, again).edits
    assert locked(on_disk(place)).charts == again.lock.charts


WATCHED = (
    "import sys, os; forbidden = {'subprocess.Popen', 'os.exec', 'os.posix_spawn', 'os.system', 'socket.connect'}\n"
    "sys.addaudithook(lambda event, args: os._exit(9) if event in forbidden else None)\n"
    "from generator.cli import run; raise SystemExit(run(sys.argv[1:]))"
)


@pytest.mark.parametrize(
    ("verb", "status"),
    # Without --since a check asks Git which cluster files are being edited.
    [(["render"], 0), (["render", "--check"], 0), (["check"], 9), (["doctor"], 9)],
)
def test_what_is_vendored_needs_no_program_and_no_network(place: Path, verb: list[str], status: int) -> None:
    cluster = load(place)[0].cluster
    assert cluster
    rendered(place, brought(place, *(one.name for one in compose(cluster) if brings(one))))
    command = [sys.executable, "-c", WATCHED, *verb, "-C", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
