"""`gen report` as a user calls it."""

import json
from pathlib import Path

import pytest

from generator.cli import run
from tools import need_kustomize

ROOT = Path(__file__).parents[2]


def gen(capsys: pytest.CaptureFixture[str], *words: str, expect: int = 0) -> str:
    need_kustomize()
    code = run(["report", "-C", str(ROOT), *words])
    said = "".join(capsys.readouterr())
    assert code == expect, said
    return said


def test_a_cluster_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    said = gen(capsys, "--cluster", "a30-bench")
    assert said.startswith("a30-bench: Kubernetes ")
    assert "  waves\n    0: namespaces\n" in said


def test_all_of_it_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(gen(capsys, "--output", "json"))
    assert [one["cluster"] for one in found["clusters"]] == ["a30-bench", "gpu-serving", "ml50"]
    assert found["clusters"][0]["images"]


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    said = gen(capsys, "--cluster", "a30-bench", "--output", "html")
    assert said.startswith("<!doctype html>\n")
    assert said.count("</html>") == 1


def test_a_page_is_of_one_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--cluster a30-bench" in gen(capsys, "--output", "html", expect=2)
