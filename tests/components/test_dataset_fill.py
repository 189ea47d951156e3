"""What fills copies of datasets, run on folders: whole or not at all, and never more than there is room for."""

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from generator.components.dataset_cache.install import program

KIB = 2**10


class Site(NamedTuple):
    """A dataset, a node's folder for its copies, and what fills them."""

    source: Path
    cache: Path
    ready: Path
    fill: Any

    def version(self, name: str) -> None:
        (self.source / ".version").write_text(f"{name}\n")

    def look(self, size: int = 2**30, disk: int = 1) -> None:
        self.fill.look(self.source, self.cache, size, disk, self.ready)

    def refused(self, **more: int) -> str:
        with pytest.raises(self.fill.RefusedError) as raised:
            self.look(**more)
        return str(raised.value)

    @property
    def current(self) -> Path:
        return self.cache / "current"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    names: dict[str, Any] = {"__name__": "fill"}
    exec(compile(program()["data"]["fill.py"], "fill.py", "exec"), names)
    found = Site(tmp_path / "dataset", tmp_path / "cache", tmp_path / "ready", SimpleNamespace(**names))
    for folder in (found.source, found.cache):
        folder.mkdir()
    (found.source / "train").mkdir()
    (found.source / "train/a b\n.bin").write_bytes(os.urandom(100 * KIB))
    (found.source / "train/run").write_text("#!/bin/sh\n")
    (found.source / "train/run").chmod(0o700)
    (found.source / "empty").touch()
    (found.source / "latest").symlink_to("train")
    (found.source / os.fsdecode(b"\xff")).write_text("odd")
    return found


def contents(folder: Path) -> dict[str, Any]:
    return {
        str(one.relative_to(folder)): one.readlink() if one.is_symlink() else one.read_bytes()
        for one in folder.rglob("*")
        if one.is_symlink() or one.is_file()
    }


def test_nothing_is_copied_before_its_owner_names_a_version(site: Site) -> None:
    assert "no .version yet" in site.refused()
    assert list(site.cache.iterdir()) == []
    assert site.ready.exists(), "an alert would call its rollout stuck, for as long as the owner has nothing"


def test_the_copy_is_what_the_dataset_is_and_nobody_s_to_write(site: Site) -> None:
    site.version("1")
    site.look()
    assert contents(site.current) == contents(site.source)
    assert site.ready.exists()
    modes = {one.name: stat.S_IMODE(one.lstat().st_mode) for one in site.current.rglob("*") if not one.is_symlink()}
    assert modes["run"] == 0o555
    assert modes["train"] == 0o755
    assert {mode for name, mode in modes.items() if name not in {"run", "train"}} == {0o444}


def test_a_new_version_copies_what_changed_and_leaves_the_former_to_who_reads_it(site: Site) -> None:
    site.version("1")
    site.look()
    before, kept = contents(site.current), (site.current / "train/run").stat().st_ino
    (site.source / "train/a b\n.bin").write_text("new")
    (site.source / "empty").unlink()
    site.look()
    assert contents(site.current) == before, "no version was named"
    site.version("2")
    site.look()
    assert contents(site.current) == contents(site.source)
    assert contents(site.cache / "former") == before
    assert (site.current / "train/run").stat().st_ino == kept, "what did not change takes no more room"
    assert sorted(one.name for one in site.cache.iterdir()) == ["current", "former"]


def test_a_third_version_takes_the_place_of_the_first(site: Site) -> None:
    for name in ("1", "2", "3"):
        site.version(name)
        site.look()
    assert (site.cache / "former/.version").read_text() == "2\n"
    assert (site.current / ".version").read_text() == "3\n"


def test_what_is_larger_than_its_size_is_not_copied(site: Site) -> None:
    site.version("1")
    assert "and may take 16384, its `size`" in site.refused(size=16 * KIB)
    assert list(site.cache.iterdir()) == []
    many = site.source / "many"
    many.mkdir()
    for number in range(100):
        (many / str(number)).touch()
    assert "may take 204800" in site.refused(size=200 * KIB), "files without content take a disk's room as well"


def test_what_does_not_fit_on_the_disk_leaves_the_copy_as_it_is(site: Site) -> None:
    site.version("1")
    site.look()
    before = contents(site.current)
    with (site.source / "large").open("wb") as file:
        file.truncate(2**40)
    site.version("2")
    assert "bytes are to be copied, and" in site.refused(size=2**41)
    assert contents(site.current) == before
    assert not site.ready.exists(), "it is not up to date"


def test_the_node_s_own_filesystem_is_no_disk_for_copies(site: Site) -> None:
    site.version("1")
    there = os.statvfs(site.cache)
    assert "is mounted here" in site.refused(disk=2 * there.f_blocks * there.f_frsize)
    assert list(site.cache.iterdir()) == []


@pytest.mark.parametrize(("top", "refused"), [("/scans", False), ("/mnt/gen-cache/scans", True)])
def test_a_folder_deep_in_a_large_filesystem_is_no_disk_for_copies(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, top: str, refused: bool
) -> None:
    mounts = site.ready.with_name("mounts")
    mounts.write_text(
        f"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 8:16 {top} {site.cache} rw shared:7 - xfs /dev/sdb rw\n"
    )
    monkeypatch.setitem(site.fill.look.__globals__, "MOUNTS", str(mounts))
    site.version("1")
    if refused:
        assert "is mounted here" in site.refused()
    else:
        site.look()
    assert site.current.exists() is not refused


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        ("NoDiskError", True),
        (OSError(errno.EIO, "Input/output error"), True),
        ("RefusedError", False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
    ],
)
def test_it_ends_where_the_disk_is_away_so_that_it_starts_with_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, error: str | OSError, ends: bool
) -> None:
    """A container goes on with what was mounted when it started."""
    raised = getattr(site.fill, error)("why") if isinstance(error, str) else error
    for name, value in (("SIZE", "1"), ("DISK", "1"), ("SECONDS", "1"), ("READY", str(site.ready))):
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(site.fill.main.__globals__, "look", lambda *_: fail(raised))
    monkeypatch.setattr(time, "sleep", lambda _: fail(InterruptedError(errno.EINTR, "the next look")))
    site.ready.touch()
    with pytest.raises(SystemExit if ends else InterruptedError):
        site.fill.main()
    assert site.ready.exists() is not ends


@pytest.mark.parametrize("left", ["coming", "former"])
def test_what_was_killed_begins_anew(site: Site, left: str) -> None:
    site.version("1")
    site.look()
    before = contents(site.current)
    if left == "coming":
        (site.cache / "coming").mkdir()
        (site.cache / "coming/half").write_text("x")
    else:
        site.current.rename(site.cache / "former")
    site.look()
    assert contents(site.current) == before
    assert [one.name for one in site.cache.iterdir()] == ["current"]


def failing(site: Site, name: str, instead: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """Have one function of the program do something else."""
    monkeypatch.setitem(site.fill.look.__globals__, name, instead)
    return site.refused()


def test_a_copy_that_reads_otherwise_is_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.version("1")
    told = failing(site, "digest", lambda _file: b"", monkeypatch)
    assert "was read otherwise than it was written" in told
    assert not site.current.exists()


def test_a_version_that_is_named_meanwhile_is_copied_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.version("1")
    copy = site.fill.copy

    def slow(*words: Any) -> None:
        copy(*words)
        site.version("2")

    assert "another version was named" in failing(site, "copy", slow, monkeypatch)
    assert not site.current.exists()
    monkeypatch.setitem(site.fill.look.__globals__, "copy", copy)
    site.look()
    assert (site.current / ".version").read_text() == "2\n"


def test_a_link_that_takes_a_file_s_place_leads_nowhere(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a look and the copy an owner could put a link there to what only the node's root reads."""
    site.version("1")
    copy = site.fill.copy_file

    def swapped(source: Path, target: Path, is_what: Any) -> None:
        if source.name == "run":
            source.unlink()
            source.symlink_to("/etc/hostname")
        copy(source, target, is_what)

    monkeypatch.setitem(site.fill.look.__globals__, "copy_file", swapped)
    with pytest.raises(OSError, match="symbolic links"):
        site.look()
    assert not site.current.exists()


def test_pipes_and_devices_are_told(site: Site) -> None:
    os.mkfifo(site.source / "pipe")
    site.version("1")
    assert "'pipe' is neither a file, a folder nor a link" in site.refused()
