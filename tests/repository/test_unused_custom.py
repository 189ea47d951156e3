"""Corners of the user's that nothing uses: their patches would not be missed by any program."""

from pathlib import Path

import pytest
from reference import ROOT
from toyworld import World

from generator.cli import run
from generator.repository.cluster_files import load
from generator.repository.render import render

CLUSTER = "clusters/a30-bench/cluster.yaml"
CORNER = "overlays/a30-bench/kueue/custom"


@pytest.fixture
def place(tmp_path: Path) -> World:
    """A repository with one cluster, rendered, and a patch of the user's for Kueue."""
    world = World(tmp_path)
    world.put(CLUSTER, (ROOT / CLUSTER).read_text())
    assert notes(world) == []
    world.put(f"{CORNER}/patch.yaml", "mine: true\n")
    return world


def notes(world: World, *clusters: str, dry_run: bool = False) -> list[str]:
    told = render(world.root, load(world.root, clusters), dry_run=dry_run, waiting=print, verify=dry_run).notes
    return [note for note in told if "nothing uses it" in note]


def renamed(world: World) -> None:
    (world.root / "clusters/a30-bench").rename(world.root / "clusters/prod")
    world.edit("clusters/prod/cluster.yaml", "name: a30-bench", "name: prod")


def test_a_corner_in_use_is_not_told(place: World) -> None:
    place.put("overlays/a30-bench/namespaces/custom/patch.yaml", "mine: true\n")
    place.put("clusters/a30-bench/argocd/custom/application.yaml", "mine: true\n")
    assert notes(place) == []


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_stays_behind_a_renamed_cluster_is_told(place: World, *, dry_run: bool) -> None:
    renamed(place)
    (note,) = notes(place, dry_run=dry_run)
    assert note == (
        f"{CORNER}: nothing uses it any more: no cluster is a30-bench; move what is in it to where it shall apply "
        f"(`git mv -f {CORNER}/* overlays/<cluster>/kueue/custom/`), or remove it (`git rm -r {CORNER}`)"
    )


def test_the_move_that_is_advised_ends_it(place: World) -> None:
    place.edit(f"{CORNER}/kustomization.yaml", "resources: []", "resources: [patch.yaml]")
    place.git("init", "-q")
    place.commit("first")
    renamed(place)
    (note,) = notes(place)
    advice = note.partition("`")[2].partition("`")[0].replace("<cluster>", "prod").removeprefix("git ")
    place.git("-c", f"alias.do=!git {advice}", "do")
    assert notes(place) == []
    corner = place.root / "overlays/prod/kueue/custom"
    assert sorted(path.name for path in corner.iterdir()) == ["kustomization.yaml", "patch.yaml"]
    assert "patch.yaml" in (corner / "kustomization.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "text"),
    [("patch.yaml", "mine: true\n"), ("deep/patch.yaml", ""), ("kustomization.yaml", "resources: [mine.yaml]\n")],
)
def test_anything_of_the_users_counts(place: World, path: str, text: str) -> None:
    (place.root / CORNER / "patch.yaml").unlink()
    place.put(f"{CORNER}/{path}", text)
    renamed(place)
    assert len(notes(place)) == 1


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_what_gen_made_is_nothing_of_the_users(place: World, ending: bytes) -> None:
    (place.root / CORNER / "patch.yaml").unlink()
    (place.root / "overlays/a30-bench/volcano/custom/kustomization.yaml").unlink()
    made = place.root / CORNER / "kustomization.yaml"
    made.write_bytes(made.read_bytes().replace(b"\n", ending))
    renamed(place)
    assert notes(place) == []


def test_the_corner_of_a_component_that_is_switched_off_is_told(place: World) -> None:
    with (place.root / CLUSTER).open("a") as file:
        file.write("\n  components:\n    metrics-server: {managed: false}\n")
    place.put("overlays/a30-bench/metrics-server/custom/patch.yaml", "mine: true\n")
    (note,) = notes(place)
    assert note.startswith(
        "overlays/a30-bench/metrics-server/custom: nothing uses it any more: a30-bench has no metrics"
    )


def test_a_cluster_that_is_not_rendered_is_not_judged(place: World) -> None:
    place.put("clusters/ml50/cluster.yaml", (ROOT / "clusters/ml50/cluster.yaml").read_text())
    place.put("overlays/ml50/nonsense/custom/patch.yaml", "mine: true\n")
    place.put("overlays/gone/kueue/custom/patch.yaml", "mine: true\n")
    assert [note.partition(":")[0] for note in notes(place, "a30-bench")] == ["overlays/gone/kueue/custom"]


def test_applications_of_a_cluster_that_is_gone_are_told(place: World) -> None:
    place.put("clusters/gone/argocd/custom/application.yaml", "mine: true\n")
    (note,) = notes(place)
    assert "`git mv -f clusters/gone/argocd/custom/* clusters/<cluster>/argocd/custom/`" in note


def test_every_way_to_look_tells_it(place: World, capsys: pytest.CaptureFixture[str]) -> None:
    renamed(place)
    root = str(place.root)
    for verb in (["render"], ["render", "--output", "github"], ["doctor"]):
        assert run([*verb, "-C", root]) == 0
        told = capsys.readouterr()
        assert f"{CORNER}: nothing uses it" in told.out + told.err, verb
    # It is no difference, though.
    assert run(["render", "--check", "-C", root]) == 0
    assert f"note: {CORNER}: nothing uses it" in capsys.readouterr().err


@pytest.mark.parametrize(("right", "wrong"), [("cni: calico", "cni: calicoo"), ("role: control-plane", "role: worker")])
def test_doctor_does_not_judge_the_corners_of_a_wrong_file(
    place: World, right: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place.edit(CLUSTER, right, wrong)
    assert run(["doctor", "-C", str(place.root)]) == 1
    assert "nothing uses it" not in capsys.readouterr().out
