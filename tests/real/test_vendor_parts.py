"""Two clusters vendored in parts, with the pinned Helm: together the same as one run."""

from pathlib import Path

import pytest
from chartshop import CONFIG_MAP, Shop
from chartworld import World, component, release
from vendoring import DEFINITION

from generator.repository.shards import Shard

pytestmark = pytest.mark.real

PARTS = ("1/3", "2/3", "3/3")


def in_parts(world: World, folder: Path) -> list[str]:
    return [world.gen("vendor", "--shard", part, "--to", str(folder)) for part in PARTS]


def test_the_parts_together_are_what_one_run_writes(two: World, shop: Shop, tmp_path: Path) -> None:
    assert [Shard.parse(part).mine(("one", "two")) for part in PARTS] == [["one"], [], ["two"]]
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "crds/toys.yaml": DEFINITION})
    shop.add("other")
    two.installs(component(release(shop.url)))
    two.installs(component(release(shop.url)), component(release(shop.url, "other"), name="other"), on=("two",))
    before = two.tree()
    said = in_parts(two, tmp_path / "parts")
    assert two.tree() == before
    assert "one/toy: 1 object, 1 CRDs" in said[0]
    assert "2-of-3.share: 0 clusters, 1 file to change" in said[1]
    assert "two/other: 1 object" in said[2]
    two.gen("render", "--from", str(tmp_path / "parts"))
    joined = two.tree()
    for path in joined.keys() - before.keys():
        (two.root / path).unlink()
    two.gen("vendor")
    assert two.tree() == joined
    assert len(two.lock()["charts"]) == 2
    assert "everything vendored is what the locked charts become" in two.gen("vendor", "--check")


def test_what_no_part_needs_any_more_leaves_the_lock(two: World, shop: Shop, tmp_path: Path) -> None:
    shop.add()
    shop.add(version="2.0.0")
    two.installs(component(release(shop.url)), on=("one", "two"))
    two.gen("vendor")
    two.commit()
    two.installs(component(release(shop.url, version="2.0.0"), version="2.0.0"), on=("one", "two"))
    in_parts(two, tmp_path / "parts")
    two.gen("render", "--from", str(tmp_path / "parts"))
    assert [*two.lock()["charts"]] == [f"{shop.url}/toy:2.0.0"]
    assert not list(two.root.glob("base/toy/1.0.0"))
    # A part renders as well, and knows less: what others need stays.
    for part in PARTS:
        two.gen("render", "--shard", part, "--to", str(tmp_path / "again"))
    assert "nothing to change" in two.gen("render", "--from", str(tmp_path / "again"))


def test_other_digests_in_two_parts_are_refused(two: World, shop: Shop, tmp_path: Path) -> None:
    shop.add()
    two.installs(component(release(shop.url)), on=("one", "two"))
    two.gen("vendor", "--shard", "1/3", "--to", str(tmp_path / "parts"))
    two.gen("vendor", "--shard", "2/3", "--to", str(tmp_path / "parts"))
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "crds/toys.yaml": DEFINITION})
    two.patch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    two.gen("vendor", "--shard", "3/3", "--to", str(tmp_path / "parts"))
    said = two.gen("render", "--from", str(tmp_path / "parts"), expect=2)
    assert "shards have locked different digests of it" in said or "would write it otherwise" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("toy", "--shard", "1/3", "--to", "x"), "--shard is for whatever is not vendored or stale"),
        (("--update", "--shard", "1/3", "--to", "x"), "a part writes no cluster file"),
        (("--shard", "1/3"), "a part alone cannot tell what no cluster uses any more"),
    ],
)
def test_options_that_say_two_things_are_refused(two: World, words: tuple[str, ...], told: str) -> None:
    assert told in two.gen("vendor", *words, expect=2)
