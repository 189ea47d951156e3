"""Packages that only some commands need: what is told where they were left out."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from generator.cli import run
from generator.cli.extras import EXTRAS, NEEDED_BY
from generator.rules import schemas

ROOT = Path(__file__).parent.parent.parent
JUDGING = "what judges objects (`gen check PATH`, `gen check --rendered`)"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without what the extras bring, and that remembers nothing of them."""
    for remembered in (schemas.built_in, schemas.types_of, schemas.schemas_of, schemas.judges):
        remembered.cache_clear()
    imported = [name for name in sys.modules if name.partition(".")[0] in EXTRAS]
    for module in {*EXTRAS, *imported}:
        monkeypatch.setitem(sys.modules, module, None)


def test_every_extra_is_known() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {each.partition("==")[0].replace("-", "_") for extra in NEEDED_BY for each in extras[extra]}
    assert names == set(EXTRAS)
    assert set(extras) == {*NEEDED_BY, "dev"}


@pytest.mark.usefixtures("bare")
def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}\n")
    assert run(["check", "--rendered", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"gen: {JUDGING} needs packages that this installation left out: ")
    assert told.count("\n") == 1
    assert "jsonschema-rs" in told
    assert "kubernetes-validate" in told


@pytest.mark.usefixtures("bare")
def test_doctor_tells_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "-C", str(ROOT)]) == 0
    out = capsys.readouterr().out
    assert f"--  {JUDGING} needs packages" in out
    assert "--  what asks an API server (`gen check --server`, `gen status`, `gen workflow` ...) needs packages" in out


@pytest.mark.usefixtures("bare")
def test_a_verb_of_the_running_cluster_does_not_name_another_verb_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--cluster", "a30-bench", "-C", str(ROOT)]) == 2
    assert capsys.readouterr().err.startswith("gen: what asks an API server (`gen check --server`, `gen status`, ")


def test_another_missing_module_is_a_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "generator.cli.schema", None)
    assert run(["schema"]) == 70
    assert "this is a bug" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["check", "render"])
def test_checking_and_rendering_need_no_extra(verb: str) -> None:
    hidden = f"import sys; sys.modules.update(dict.fromkeys({[*EXTRAS]}))"
    script = f"{hidden}; sys.argv = ['gen', '{verb}', '-C', '{ROOT}']; from generator.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
