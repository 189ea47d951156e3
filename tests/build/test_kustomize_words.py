"""What Kustomize answers, told by a program in its place."""

from pathlib import Path

import pytest

from generator.build.broken import BrokenError
from generator.build.kustomize import run_kustomize

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def answering(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "answer").write_text(text)
    (tmp_path / "program").write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    (tmp_path / "program").chmod(0o755)
    return [str(tmp_path / "program")]


def test_objects_are_read_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    found = run_kustomize(answering(tmp_path, f"{MAP}---\na: 1\n---\n"), tmp_path, "overlays/x")
    assert [one["metadata"]["name"] for one, _ in found] == ["a"]


def test_what_cannot_be_read_is_a_fault_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(BrokenError, match=r"overlays/x/kustomization.yaml: .* cannot be read: line 4: .inf: JSON"):
        run_kustomize(answering(tmp_path, f"{MAP}data: .inf\n"), tmp_path, "overlays/x")
