"""Files and folders that somebody may not read: one message or a finding, never a traceback, and never in silence."""

import shutil
from pathlib import Path

import pytest
from reference import ROOT

from tools import need_kustomize, without_rights

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80}]}\n"
CUSTOM = "overlays/a30-bench/queues/custom"


def check(folder: Path, *words: str) -> tuple[int, str]:
    """Run the check in a folder; return its status and words."""
    return without_rights(folder, "check", "--rendered", *words)


@pytest.mark.parametrize("name", ["overlays", "overlays/a30-bench", CUSTOM, f"{CUSTOM}/kustomization.yaml", "base"])
def test_a_part_of_the_repository_is_one_message(tmp_path: Path, name: str) -> None:
    need_kustomize()
    for each in ("base", "clusters", "overlays", "workflows"):
        shutil.copytree(ROOT / each, tmp_path / each)
    mode = (tmp_path / name).stat().st_mode
    (tmp_path / name).chmod(0)
    status, words = check(tmp_path, "--cluster", "a30-bench")
    (tmp_path / name).chmod(mode)
    assert (status, words.count("\n")) == (2, 1), words
    assert name in words
    assert "Permission denied" in words


def test_a_file_and_a_folder_below_are_findings(tmp_path: Path) -> None:
    """What nobody looked at must not pass as free of errors."""
    for name in ("a.yaml", "b.yaml", "below/c.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SERVICE)
    assert check(tmp_path, "a.yaml")[0] == 0
    (tmp_path / "b.yaml").chmod(0)
    (tmp_path / "below").chmod(0)
    status, words = check(tmp_path, ".")
    (tmp_path / "below").chmod(0o755)
    assert status == 1
    for name in ("b.yaml", "below"):
        assert f"{name}:1:1 error GEN-FILE-001: cannot be read: Permission denied; nothing in it was judged" in words
    assert ".: 1 object, 2 errors" in words


@pytest.mark.parametrize("words", [["closed/x.yaml"], ["closed/below"], ["--schemas", "closed/below", "a.yaml"]])
def test_what_lies_behind_a_closed_folder_is_one_message(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "closed/below").mkdir(parents=True)
    for name in ("a.yaml", "closed/x.yaml"):
        (tmp_path / name).write_text(SERVICE)
    (tmp_path / "closed").chmod(0)
    status, told = check(tmp_path, *words)
    (tmp_path / "closed").chmod(0o755)
    assert (status, told.count("\n")) == (2, 1), told
    assert "cannot be read: Permission denied" in told


@pytest.mark.parametrize(
    ("mode", "words"),
    [(0, ["closed/x.yaml"]), (0, ["closed/none.yaml"]), (0o600, ["closed"]), (0, ["-C", "closed"])],
)
def test_what_may_not_be_entered_is_told_by_the_check_of_files(tmp_path: Path, mode: int, words: list[str]) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/x.yaml").write_text(SERVICE)
    (tmp_path / "closed").chmod(mode)
    status, told = without_rights(tmp_path, "check", *words)
    (tmp_path / "closed").chmod(0o755)
    assert status == 2, told
    assert "closed" in told
    assert "Traceback" not in told
