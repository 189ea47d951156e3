"""What was made of the same bytes is not made again; nothing else is ever taken for it."""

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from reference import load

from generator import process
from generator.build import applications, building, cache, kustomize, parts
from generator.build.applications import build
from generator.build.cache import KEPT
from generator.build.plain import plain_objects
from generator.build.stage import stage as stage_of_build
from generator.errors import UsageError
from generator.layout.tree import lay_out
from tools import need_kustomize


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder, empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/gen/built"


def remembered(of: Iterable[bytes], make: Callable[[], Any], kind: Any = object) -> Any:
    return cache.remembered(of, make, kind)


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


@pytest.mark.parametrize("other", [None, 5, {"a": 1}, [[1]], [["a", "b"]]])
def test_what_was_kept_in_another_form_is_made_anew(folder: Path, other: object) -> None:
    value = [({"kind": "A"}, "file")]
    remembered((b"a",), Maker(value))
    for file in folder.iterdir():
        file.write_text(json.dumps(other))
    assert remembered((b"a",), Maker(value), list[tuple[dict[str, Any], str]]) == value


def test_another_reader_makes_something_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered((b"a",), Maker(1))
    monkeypatch.setattr(cache, "_reader", lambda: b"another gen")
    assert remembered((b"a",), Maker(2)) == 2


SECRET = {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}}
OPEN = {"kind": "Secret", "stringData": {"password": "hunter2"}}
UNFILLED = {"kind": "Secret", "metadata": {"name": "a"}, "type": "kubernetes.io/service-account-token"}
APPLIED = {
    "kind": "Secret",
    "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(OPEN)}},
}


def test_a_secret_that_a_controller_fills_holds_none() -> None:
    make = Maker([UNFILLED])
    assert [remembered((b"a",), make), remembered((b"a",), make)] == [[UNFILLED], [UNFILLED]]
    assert make.made == 1


@pytest.mark.parametrize(
    "value", [[SECRET], [(SECRET, "file")], [{"kind": "List", "items": [SECRET]}], [UNFILLED, OPEN], [APPLIED]]
)
def test_no_secret_is_kept(folder: Path, value: object) -> None:
    assert remembered((b"a",), Maker(value)) == value
    assert list(folder.parent.rglob("*")) == []


def test_what_is_large_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 9)
    assert remembered((b"a",), Maker("123456789")) == "123456789"
    assert list(folder.parent.rglob("*")) == []


def test_a_full_disk_is_left_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path, __: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert remembered((b"a",), Maker(1)) == 1
    assert list(folder.iterdir()) == []


def test_a_user_without_a_home_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert remembered((b"a",), Maker(1)) == 1
    with pytest.raises(UsageError, match="this user has no home folder"):
        process.cache_home()


def homeless() -> Path:
    raise RuntimeError("Could not determine home directory.")


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
def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are built, by Kustomize or by reading them, and not remembered."""
    monkeypatch.delenv("XDG_CACHE_HOME")  # where Kustomize may be
    need_kustomize()
    command = kustomize.program()
    monkeypatch.setattr(parts, "program", lambda: command)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parents[1]))
    found: list[str] = []

    def counted(place: Path) -> list[tuple[dict[str, Any], str]] | None:
        found.append(place.name)
        return plain_objects(place)

    monkeypatch.setattr(building, "plain_objects", counted)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a30-bench, rendered and not vendored."""
    root = tmp_path / "repository"
    tree = lay_out(load("a30-bench"))
    for path, content in (tree.once | tree.files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def test_only_applications_that_differ_are_built_again(root: Path, made: list[str]) -> None:
    cluster = load("a30-bench")
    first = build(root, cluster)
    assert sorted(made) == sorted(["argocd", *(path.name for path in (root / "overlays/a30-bench").iterdir())])
    made.clear()
    assert build(root, cluster).objects == first.objects
    assert made == []
    file = min((root / "base/tenants/v1").glob("validatingadmissionpolicy-*.yaml"))
    file.write_text(file.read_text().replace("  name: ", "  name: other-", 1))
    assert build(root, cluster).objects != first.objects
    assert made == ["tenants"]
    made.clear()
    (root / "overlays/a30-bench/queues/custom/patch.yaml").write_text("[]\n")
    build(root, cluster)
    assert made == ["queues"]


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("when", ["before it is copied", "after it was copied"])
def test_a_file_that_is_saved_meanwhile_is_not_taken_for_what_was_built(
    root: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    cluster = load("a30-bench")
    file = min((root / "base/tenants/v1").glob("validatingadmissionpolicy-*.yaml"))
    text = file.read_text()

    def saved(name: str) -> None:
        file.write_text(text.replace("  name: ", f"  name: {name}-", 1))

    def found() -> list[str]:
        return [
            one.name.split("-")[0] for one in build(root, cluster).objects if one.file == str(file.relative_to(root))
        ]

    def stage(*given: Any) -> None:
        if when == "before it is copied":
            saved("second")
        copied(*given)
        if len(asked) == 0 and when == "after it was copied":
            saved("second")
        asked.append(when)

    asked: list[str] = []
    copied = stage_of_build
    if when == "before it is copied":  # else nothing is remembered
        build(root, cluster)
    saved("first")
    with monkeypatch.context() as patch:
        patch.setattr(applications, "stage", stage)
        build(root, cluster)
    assert asked
    assert found() == ["second"]
    saved("first")
    assert found() == ["first"]


@pytest.mark.usefixtures("made")
def test_a_crd_that_is_gone_is_a_finding_of_its_application_alone(root: Path) -> None:
    cluster = load("a30-bench")
    crd = root / "shared/customresourcedefinition-x.yaml"
    crd.parent.mkdir()
    crd.write_text("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example}\n")
    custom = root / "overlays/a30-bench/queues/custom/kustomization.yaml"
    custom.write_text(custom.read_text().replace("resources: []", f"resources: [../../../../shared/{crd.name}]"))
    whole = build(root, cluster, tolerant=True)
    assert whole.findings == ()
    assert [one.component for one in whole.objects if one.name == "x.example"] == ["queues"]
    crd.unlink()
    left = build(root, cluster, tolerant=True)
    assert len(left.findings) == 1
    assert {one.component for one in whole.objects} - {one.component for one in left.objects} == {"queues"}
