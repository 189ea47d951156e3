"""The cache of what was downloaded."""

import os
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generator.errors import UsageError
from generator.upstream.charts import cached, digest, store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gen" / "charts"


def test_what_is_stored_is_found_by_its_digest() -> None:
    assert cached(digest(b"a"), ".tgz") is None
    assert store(b"a", ".tgz") == cached(digest(b"a"), ".tgz")


def test_a_damaged_file_is_not_found_and_replaced() -> None:
    file = store(b"a", ".tgz")
    file.write_bytes(b"b")
    assert cached(digest(b"a"), ".tgz") is None
    store(b"a", ".tgz")
    assert cached(digest(b"a"), ".tgz") == file


def test_what_a_killed_run_left_goes_after_a_day(home: Path) -> None:
    store(b"a", ".tgz")
    old, new = home / ".part-old", home / ".part-new"
    for part in (old, new):
        part.write_bytes(b"")
    os.utime(old, (0, 0))
    store(b"b", ".tgz")
    assert (old.exists(), new.exists()) == (False, True)


def test_many_at_once_leave_one_whole_file(home: Path) -> None:
    content = os.urandom(200_000)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: store(content, ".tgz"), range(40)))
    assert [path.name for path in home.iterdir()] == [next(iter(found)).name]


def test_a_full_disk_leaves_nothing_behind(home: Path) -> None:
    store(b"a", ".tgz")
    # The kernel refuses what is longer, as on a full disk, and does not end the process for it.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UsageError, match=r"cannot be written: .*XDG_CACHE_HOME"):
            store(bytes(5000), ".tgz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert len(list(home.iterdir())) == 1


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "gen").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written: .*XDG_CACHE_HOME"):
        store(b"a", ".tgz")
