"""What a shell offers behind a verb, and what must not be imported for it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from generator.cli import cli, run
from generator.cli.explain import explanations

ROOT = Path(__file__).parent.parent.parent


def offered(words: str, incomplete: str = "") -> list[str]:
    shell = BashComplete(cli, {}, "gen", "_GEN_COMPLETE")
    return [item.value for item in shell.get_completions(words.split(), incomplete)]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs")


@pytest.mark.parametrize("verb", ["check", "render", "vendor", "images"])
def test_clusters_are_offered(verb: str) -> None:
    assert offered(f"{verb} --cluster") == ["a30-bench", "gpu-serving", "ml50"]
    assert offered(f"{verb} --output json --cluster", "m") == ["ml50"]


def test_clusters_of_another_folder_are_offered(tmp_path: Path) -> None:
    (tmp_path / "clusters/lab").mkdir(parents=True)
    (tmp_path / "clusters/lab/cluster.yaml").touch()
    assert offered(f"check -C {tmp_path} --cluster") == ["lab"]


def test_every_code_is_offered() -> None:
    found = offered("explain")
    assert found[:3] == ["a30-bench", "gpu-serving", "ml50"]
    assert set(found[3:]) == set(explanations())
    assert offered("explain", "GEN-MON-00") == [f"GEN-MON-00{number}" for number in range(1, 10)]


def test_places_of_a_file_are_offered_step_by_step() -> None:
    assert "kubernetes" in offered("explain ml50")
    assert offered("explain ml50", "nodes.gpu-0") == [f"nodes.gpu-0{number}" for number in range(1, 10)]
    assert "nodes.gpu-01.address" in offered("explain ml50", "nodes.gpu-01.")
    assert offered("explain ml50", "nodes.none.") == []
    assert offered("explain none", "nodes") == []


def test_nodes_and_pools_are_offered() -> None:
    assert offered("node remove", "gpu-1") == [f"gpu-1{number}" for number in range(6)]
    assert offered("node add gpu-16 --like", "nas-") == ["nas-1", "nas-2", "nas-3", "nas-4"]
    assert offered("pool add gpu-2 --like", "gpu") == ["gpu-training", "gpu-inference"]
    assert offered("node", "re") == ["remove", "replace"]
    assert "--rack" in offered("node add gpu-16", "--")


def test_components_are_offered() -> None:
    assert offered("vendor", "roo") == ["rook-ceph"]
    assert offered("vendor kueue --offline", "roo") == ["rook-ceph"]


def test_options_are_still_offered() -> None:
    assert "--codes" in offered("explain", "--")
    assert "--strict" in offered("check", "--")
    assert set(offered("check --output")) == {"text", "json", "github", "gitlab"}


@pytest.mark.parametrize(("words", "incomplete"), [("check --cluster", ""), ("explain", "GEN"), ("explain ml50", "no")])
def test_nothing_heavy_is_imported(words: str, incomplete: str) -> None:
    script = f"""
import sys
from click.shell_completion import BashComplete
from generator.cli import cli, run
assert BashComplete(cli, {{}}, "gen", "_GEN_COMPLETE").get_completions({words.split()!r}, {incomplete!r})
heavy = ("generator.checks", "generator.rules", "generator.components", "generator.layout", "jsonschema", "git")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("way", ["-C {}", "-C{}", "--directory {}", "--directory={}"])
def test_another_folder_is_named_in_any_way(tmp_path: Path, way: str) -> None:
    (tmp_path / "clusters/lab").mkdir(parents=True)
    (tmp_path / "clusters/lab/cluster.yaml").symlink_to("nowhere")
    assert offered(f"check {way.format(tmp_path)} --cluster") == ["lab"]


def test_the_search_for_a_repository_is_that_of_every_verb(tmp_path: Path) -> None:
    (tmp_path / "clusters/lab").mkdir(parents=True)
    (tmp_path / "clusters/lab/cluster.yaml").touch()
    (tmp_path / "inner/.git").mkdir(parents=True)
    assert offered(f"check -C {tmp_path}/inner --cluster") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_help_shows_a_whole_command_for_each_shell(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["completion", "--help"]) == 0
    assert re.search(
        rf"^  {shell} +gen completion {shell} > ~/\S+/_?gen\S*(  .*)?$", capsys.readouterr().out, re.MULTILINE
    )


def test_a_folder_before_the_verb_counts(tmp_path: Path) -> None:
    (tmp_path / "clusters/lab").mkdir(parents=True)
    (tmp_path / "clusters/lab/cluster.yaml").touch()
    assert offered(f"-C {tmp_path} check --cluster") == ["lab"]
