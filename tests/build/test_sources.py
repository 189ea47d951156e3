"""What decides what becomes of an Application is told apart; nothing else is."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.build.sources import Sources

APPLICATION, OTHER, BASE = "overlays/a/one", "overlays/a/two", "base/one"
LISTS = "resources: [../../../base/one, own.yaml]\ncomponents: [custom]\n"
CRD = "customresourcedefinition-x.yaml"
PATCHING = "patches: [{target: {kind: CustomResourceDefinition}, patch: '[]'}]\n"
Change = Callable[[Path], object]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two Applications that share a base with a CRD."""
    for place in (APPLICATION, OTHER):
        put(tmp_path, f"{place}/kustomization.yaml", LISTS)
        put(tmp_path, f"{place}/own.yaml", "a: 1\n")
        put(tmp_path, f"{place}/custom/kustomization.yaml", "kind: Component\n")
    put(tmp_path, f"{BASE}/kustomization.yaml", f"resources: [{CRD}, a.yaml]\n")
    for name in (CRD, "a.yaml"):
        put(tmp_path, f"{BASE}/{name}", "b: 1\n")
    put(tmp_path, "base/two/a.yaml", "b: 1\n")
    put(tmp_path, "apps/behind.yaml", "b: 1\n")
    linked(tmp_path / BASE / "link.yaml", "../../apps/behind.yaml")
    return tmp_path


def put(root: Path, place: str, content: str) -> None:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(content)


def of(root: Path, component: str = "one", place: str = APPLICATION) -> list[bytes] | None:
    return sources(root).of(component, place, [APPLICATION, OTHER])


def sources(root: Path, program: str = sys.executable) -> Sources:
    return Sources(root, [program])


DECIDING: dict[str, Change] = {
    "a file of its own": lambda root: put(root, f"{APPLICATION}/own.yaml", "a: 2\n"),
    "a file of the base": lambda root: put(root, f"{BASE}/a.yaml", "b: 2\n"),
    "a file that comes": lambda root: put(root, f"{BASE}/c.yaml", ""),
    "a file that goes": lambda root: (root / BASE / "a.yaml").unlink(),
    "a file under another name": lambda root: (root / BASE / "a.yaml").rename(root / BASE / "b.yaml"),
    "a CRD that comes": lambda root: put(root, f"{BASE}/customresourcedefinition-y.yaml", "b: 1\n"),
    "a link in place of a file": lambda root: linked(root / BASE / "a.yaml", "../two/a.yaml"),
    "a patch of CRDs": lambda root: put(root, f"{APPLICATION}/custom/patch.yaml", PATCHING),
    "a file behind a link": lambda root: put(root, "apps/behind.yaml", "resources: []\n"),
}


def linked(file: Path, to: str) -> Path:
    file.unlink(missing_ok=True)
    file.symlink_to(to)
    return file


@pytest.mark.parametrize("change", DECIDING)
def test_what_is_built_of_something_else_is_another(root: Path, change: str) -> None:
    before = of(root)
    DECIDING[change](root)
    assert before is not None
    assert of(root) not in (None, before)


OTHERS: dict[str, Change] = {
    "nothing": lambda _: None,
    "a CRD, which is read where it is": lambda root: put(root, f"{BASE}/{CRD}", "b: 2\n"),
    "a base that it is not built of": lambda root: put(root, "base/two/a.yaml", "c: 2\n"),
    "another Application": lambda root: put(root, f"{OTHER}/own.yaml", "a: 2\n"),
}


@pytest.mark.parametrize("change", OTHERS)
def test_what_is_built_of_the_same_is_the_same(root: Path, change: str) -> None:
    before = of(root)
    OTHERS[change](root)
    assert of(root) == before


def test_a_crd_counts_where_something_may_patch_it(root: Path) -> None:
    put(root, f"{APPLICATION}/custom/patch.yaml", PATCHING)
    before = of(root)
    put(root, f"{BASE}/{CRD}", "b: 2\n")
    assert of(root) != before


def test_a_crd_behind_a_link_counts_as_one_in_its_place(root: Path) -> None:
    """In copies for Kustomize all CRDs are links."""
    put(root, "apps/crd.yaml", "b: 1\n")
    linked(root / BASE / CRD, "../../apps/crd.yaml")
    before = of(root)
    put(root, "apps/crd.yaml", "b: 2\n")
    assert of(root) == before
    put(root, f"{APPLICATION}/custom/patch.yaml", PATCHING)
    patched = of(root)
    put(root, "apps/crd.yaml", "b: 3\n")
    assert of(root) not in (None, patched)


def test_an_application_of_which_nothing_can_be_told_decides_of_crds_that_it_shares(root: Path) -> None:
    asked = sources(root)
    (root / "elsewhere").mkdir()
    put(root, f"{APPLICATION}/custom/kustomization.yaml", "kind: Component\ncomponents: [more]\n")
    (root / APPLICATION / "custom/more").symlink_to("../../../../elsewhere")
    assert asked.of("one", APPLICATION, []) is None
    assert asked.of("two", OTHER, []) is None
    (root / BASE / CRD).unlink()
    assert asked.of("two", OTHER, []) is not None


def test_its_name_and_place_count(root: Path) -> None:
    found = [of(root), of(root, "two"), of(root, "one", OTHER), of(root.rename(root.with_name("moved")))]
    assert [found.index(one) for one in found] == [0, 1, 2, 0]


def test_another_program_makes_something_of_its_own(root: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("")
    before = sources(root, str(program)).of("one", APPLICATION, [])
    program.write_text("#")
    assert sources(root, str(program)).of("one", APPLICATION, []) != before


def test_who_shares_a_base_and_comes_before_counts(root: Path) -> None:
    """It decides whether the base's CRDs are set aside."""

    def both() -> list[bytes] | None:
        asked = sources(root)
        asked.of("one", APPLICATION, [])
        return asked.of("two", OTHER, [])

    before = both()
    put(root, f"{APPLICATION}/custom/patch.yaml", PATCHING)
    assert both() != before


def test_a_folder_that_is_an_application_too_counts(root: Path) -> None:
    assert sources(root).of("one", APPLICATION, []) != sources(root).of("one", APPLICATION, [BASE])


UNTOLD: dict[str, Change] = {
    "a link on the way to a folder": lambda root: ((root / BASE).rename(root / "b"), linked(root / BASE, "../b")),
    "a link in its own place": lambda root: (
        (root / APPLICATION).rename(root / "b"),
        linked(root / APPLICATION, "../../b"),
    ),
    "a pipe": lambda root: os.mkfifo(root / BASE / "pipe"),
    "a kustomization that cannot be read": lambda root: put(root, f"{BASE}/kustomization.yaml", "[\n"),
    "an Application that is not there": lambda root: (root / APPLICATION).rename(root / "gone"),
}


@pytest.mark.parametrize("change", UNTOLD)
def test_what_nobody_can_tell_is_built_each_time(root: Path, change: str) -> None:
    UNTOLD[change](root)
    assert of(root) is None
