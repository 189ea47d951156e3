"""What was made of the same bytes is not made again; nothing else is ever taken for it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from reference import load

from generator import process
from generator.build import applications, kustomize
from generator.build.applications import build
from generator.build.cache import KEPT, remembered
from generator.layout.tree import lay_out
from tools import need_kustomize


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder, empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/gen/built"


class Maker:
    """Makes a value and counts how often."""

    def __init__(self, value: Any) -> None:
        self.value, self.made = value, 0

    def __call__(self) -> Any:
        self.made += 1
        return self.value


def test_the_same_bytes_are_made_once() -> None:
    value = [{"kind": "A", "n": [1, 1.5, 2**70, None, True, "ä"]}, ""]
    make = Maker(value)
    assert [remembered((b"a", b"b"), make), remembered((b"a", b"b"), make)] == [value, value]
    assert make.made == 1


@pytest.mark.parametrize("others", [(b"a", b"c"), (b"ab",), (b"", b"ab"), (b"a",), (b"b", b"a"), (b"a", b"b", b"")])
def test_other_bytes_are_another_thing(others: tuple[bytes, ...]) -> None:
    assert remembered((b"a", b"b"), Maker(1)) == 1
    assert remembered(others, Maker(2)) == 2


def test_what_is_damaged_is_made_anew(folder: Path) -> None:
    remembered((b"a",), Maker([1]))
    (file,) = (path for path in folder.iterdir() if path.stat().st_size)
    file.write_bytes(file.read_bytes()[:-1])
    assert remembered((b"a",), Maker([2])) == [2]
    assert remembered((b"a",), Maker([3])) == [2]


def test_a_cache_that_cannot_be_written_costs_time_only(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"")
    assert [remembered((b"a",), Maker(1)), remembered((b"a",), Maker(2))] == [1, 2]


def test_what_json_cannot_hold_is_not_kept() -> None:
    assert [remembered((b"a",), Maker("\ud800")), remembered((b"a",), Maker(1))] == ["\ud800", 1]


def test_errors_are_not_kept() -> None:
    def fail() -> Any:
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError, match=r"^$"):
            remembered((b"a",), fail)


def test_what_nobody_asks_for_goes(folder: Path) -> None:
    remembered((b"old",), Maker(1))
    remembered((b"used",), Maker(1))
    old = time.time() - KEPT - 60
    for file in folder.iterdir():
        os.utime(file, (old, old))
    assert remembered((b"used",), Maker(2)) == 1
    assert remembered((b"new",), Maker(3)) == 3
    assert remembered((b"used",), Maker(4)) == 1
    assert remembered((b"old",), Maker(5)) == 5


@pytest.fixture
def started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that Kustomize is started for."""
    monkeypatch.delenv("XDG_CACHE_HOME")  # where Kustomize may be
    need_kustomize()
    command = kustomize.program()
    monkeypatch.setattr(applications, "program", lambda: command)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parents[1]))
    found: list[str] = []
    run = process.run

    def counted(command: list[str]) -> str:
        found.append(Path(command[-1]).name)
        return run(command)

    monkeypatch.setattr(kustomize, "run", counted)
    return found


def test_only_applications_that_differ_are_built_again(tmp_path: Path, started: list[str]) -> None:
    root, cluster = tmp_path / "repository", load("a30-bench")
    tree = lay_out(cluster)
    for path, content in (tree.once | tree.files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    first = build(root, cluster)
    assert len(started) > 10
    started.clear()
    assert build(root, cluster).objects == first.objects
    assert started == []
    file = min((root / "base/tenants/v1").glob("validatingadmissionpolicy-*.yaml"))
    file.write_text(file.read_text().replace("  name: ", "  name: other-", 1))
    assert build(root, cluster).objects != first.objects
    assert started == ["tenants"]
    started.clear()
    (root / "overlays/a30-bench/queues/custom/patch.yaml").write_text("[]\n")
    build(root, cluster)
    assert started == ["queues"]
