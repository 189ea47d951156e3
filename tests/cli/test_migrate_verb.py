"""A repository that an older gen wrote, brought to this one: as a user does it."""

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from generator import __version__
from generator.cli import run
from generator.edits.migrate import migrate
from generator.repository import own_code

OLD = (Path(__file__).parent.parent / "migrations/mig-strategy.yaml").read_text()
FILE = "clusters/lab/cluster.yaml"
ORPHANS = ("clusters/lab/bootstrap/application-old.yaml", "overlays/lab/gone/kustomization.yaml", "base/gone/v1/a.yaml")
OWNER = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, *OWNER, "commit", "-q", "-m", "x")
    # What gen knows of its own writing is another machine's.
    for file in (root / ".git/gen").glob("*"):
        file.unlink()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A repository as an older gen left it: its cluster file, files that no gen writes any more, its version."""
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text(migrate(OLD).text)
    git(tmp_path, "init", "-q")
    assert run(["render", "-C", str(tmp_path)]) == 0
    file.write_text(OLD)
    for path in ORPHANS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("kind: List\n")
    lock = tmp_path / "gen.lock"
    lock.write_text(lock.read_text().replace(__version__, "0.0.9"))
    commit(tmp_path)
    return tmp_path


def gen(root: Path, *words: str) -> int:
    return run([words[0], "-C", str(root), *words[1:]])


def test_an_old_repository_is_brought_to_this_gen(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen(old, "render") == 1
    assert "`gen migrate` does both" in capsys.readouterr().out
    assert gen(old, "migrate") == 0
    out = capsys.readouterr().out
    assert f"{FILE}\n   28   `strategy` is one for the whole cluster now: `gpus.migStrategy`\n" in out
    assert "what it does: " in out
    assert (old / FILE).read_bytes() == migrate(OLD).text.encode()
    assert not any((old / path).exists() for path in ORPHANS)
    assert f'gen: "{__version__}"' in (old / "gen.lock").read_text()
    assert gen(old, "check") == gen(old, "render", "--check") == 0


def test_a_second_time_changes_nothing(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen(old, "migrate") == 0
    before = git(old, "status", "--porcelain", "-uall")
    capsys.readouterr()
    assert gen(old, "migrate") == gen(old, "migrate", "--check") == 0
    assert capsys.readouterr().out.startswith("nothing to migrate: ")
    assert git(old, "status", "--porcelain", "-uall") == before


@pytest.mark.parametrize(("option", "code"), [("--check", 1), ("--dry-run", 0)])
def test_telling_writes_nothing(old: Path, option: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen(old, "migrate", option) == code
    assert "would change: 2 changed, 3 removed; `gen migrate` writes it" in capsys.readouterr().out
    assert git(old, "status", "--porcelain", "-uall") == ""


def test_a_file_that_is_wrong_after_it_keeps_all_from_being_written(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old / FILE).write_text(OLD.replace("podCIDR: 10.244.0.0/16", "podCIDR: 10.10.0.0/16"))
    commit(old)
    assert gen(old, "migrate") == 1
    told = capsys.readouterr()
    assert "GEN-NET-004" in told.out
    assert "GEN-SCHEMA-010" not in told.out
    assert "nothing was written; mend these first" in told.err
    assert git(old, "status", "--porcelain", "-uall") == ""


def test_more_than_is_compared_is_said(
    old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("generator.cli.migrate.MOST", 3)
    assert gen(old, "migrate", "--dry-run") == 0
    assert "what it does: `gen diff` tells it; 4 files are more than are compared here" in capsys.readouterr().out


def test_a_line_for_hands_is_named_with_its_file(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (old / FILE).write_text(OLD.replace("            profile: all-1g.6gb\n", ""))
    assert gen(old, "migrate") == 2
    assert f"gen: {FILE}: line 28: spec.pools.inference" in capsys.readouterr().err


def test_nothing_is_half_written(
    old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    replace = os.replace

    def full(source: str, target: str, **more: Any) -> None:
        done.append(target)
        if len(done) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target, **more)

    monkeypatch.setattr(os, "replace", full)
    assert gen(old, "migrate") == 2
    assert "nothing was changed" in capsys.readouterr().err
    assert git(old, "status", "--porcelain", "-uall") == ""


def test_another_build_of_the_same_version_is_told_apart(
    old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it wrote otherwise is not taken for an edit by hand."""
    lock, labels = old / "gen.lock", old / "overlays/lab/namespaces/kustomization.yaml"
    assert gen(old, "migrate") == 0
    lock.write_text(f'{lock.read_text()}code: "sha256:{"a" * 64}"\n')
    labels.write_text(f"{labels.read_text()}# as that build ended files\n")
    commit(old)
    monkeypatch.setattr(own_code, "code", lambda _: f"sha256:{'b' * 64}")
    assert gen(old, "doctor") == 0
    assert f"another build of gen {__version__} wrote this repository" in capsys.readouterr().out
    assert gen(old, "migrate") == 0
    assert "because another gen wrote it" in capsys.readouterr().err
    assert f"code: sha256:{'b' * 64}\n" in lock.read_text()
    assert "that build" not in labels.read_text()
    # By the same build it is one.
    commit(old)
    labels.write_text(f"{labels.read_text()}# by hand\n")
    commit(old)
    assert gen(old, "migrate") == 1
    assert "was changed by hand in commit" in capsys.readouterr().err
    assert gen(old, "migrate", "--discard", "overlays/lab/namespaces") == 0


@pytest.mark.parametrize("newer", ["0.1.1", "0.2.0", "0.10.0", "1.0.0rc1"])
def test_what_a_newer_gen_wrote_is_left_alone(old: Path, newer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen(old, "migrate") == 0
    lock = old / "gen.lock"
    lock.write_text(lock.read_text().replace(__version__, newer))
    (old / ORPHANS[1]).parent.mkdir()
    (old / ORPHANS[1]).write_text("kind: List\n")
    commit(old)
    for verb in (["render"], ["render", "--check"], ["migrate"], ["commit"]):
        assert gen(old, *verb) == 1
        assert f"gen.lock: gen {newer} wrote this repository, and this is gen {__version__}" in capsys.readouterr().err
    assert git(old, "status", "--porcelain", "-uall") == ""
    assert gen(old, "doctor") == 1
    assert "this one is older" in capsys.readouterr().out
    assert gen(old, "render", "--discard", "gen.lock") == 0
    assert f'gen: "{__version__}"' in lock.read_text()
    assert not (old / ORPHANS[1]).exists()
