"""The scripts that back buckets up into a folder, with a real gateway of Ceph at the live side, by TLS."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filedbackup import Filed

if TYPE_CHECKING:
    from cephgateway import Gateway
    from minioserver import Server

pytest_plugins = ["cephgateway"]
pytestmark = pytest.mark.real
NAMES = ("a", "a/b", "a/b/", "/led", "trail/", "x" * 1000, "한글 + &=?%41.txt", "..", "a//b", 'q"<&>\\', "~tilde'")


def test_names_that_no_file_has_come_back(ends: "tuple[Gateway, Server]", tmp_path: Path) -> None:
    site = Filed(ends[0], tmp_path, "filed-names")
    for key in NAMES:
        site.put(key, f"content of {key[:50]}\n")
    site.backup()
    assert site.records()[0]["objects"] == len(NAMES)
    assert f"{len(NAMES)} proven by checksum" in site.restore("copy", "verify")
    found = {one.key: one.size for one in site.client.list("filed-names-restored-1")}
    assert found == {key: len(f"content of {key[:50]}\n".encode()) for key in NAMES}
    said = site.restore("copy", "verify", "switch", SWITCH="all")
    assert f"0 missing objects are back, {len(NAMES)} were replaced" in said
    site.backup(later=1)
    assert site.records()[1]["objects"] == len(NAMES)
    site.client.forget()


def test_more_objects_than_one_answer_lists(ends: "tuple[Gateway, Server]", tmp_path: Path) -> None:
    site = Filed(ends[0], tmp_path, "filed-many")
    for number in range(1005):
        site.put(f"한 {number % 7}/{number}", f"{number}\n")
    site.backup()
    assert site.records()[0]["objects"] == 1005
    site.backup(later=1)
    assert site.records()[1]["read"] < 60  # of that run nothing is new
    site.client.forget()


def test_a_user_whose_keys_are_wrong_is_told_at_once(ends: "tuple[Gateway, Server]", tmp_path: Path) -> None:
    site = Filed(ends[0], tmp_path, "filed-keys")
    for more in ({"SOURCE_ACCESS_KEY": "nobody"}, {"SOURCE_SECRET_KEY": "wrong"}):
        assert "the keys of the backup's reader are not accepted" in site.step("backup.py", "precheck", code=2, **more)
    site.client.forget()
