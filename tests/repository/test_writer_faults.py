import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from toyworld import NODES, OWNED, TOTAL, World, files, generated, wanted

from generator.errors import UsageError
from generator.repository.plan import plan
from generator.repository.write_lock import exclusive
from generator.repository.writer import write

NEW = ("a", "b", "c", "t")


class Killed(BaseException):
    """Stands for the end of the process."""


REAL = {name: getattr(os, name) for name in ("open", "write", "mkdir", "fchmod", "replace", "unlink", "rmdir")}


@contextmanager
def fault(
    error: BaseException, step: int, *, dead: bool = False, after: bool = False, count: list[int] | None = None
) -> Iterator[None]:
    """Raise at one step (before or after it happens) and, when `dead`, at every later one; count the steps."""
    count = [0] if count is None else count

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **options: Any) -> Any:
            count[0] += 1
            if count[0] < step or (count[0] > step and not dead) or not step:
                return real(*words, **options)
            if after and count[0] == step:
                result = real(*words, **options)
                if real is REAL["open"]:
                    os.close(result)
            raise error

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, real in REAL.items():
            patch.setattr(os, name, wrap(real))
        yield


def each_step(world: World) -> Iterator[int]:
    """Count the steps of a whole write, then take each in turn, from the old state."""
    world.nodes(*NEW)
    count = [0]
    world.render(during=fault(Killed(), 0, count=count))
    assert count[0] > 20
    for step in range(1, count[0] + 1):
        world.git("checkout", "-q", "-f", "HEAD")
        world.git("clean", "-qfd")
        world.forget()
        world.nodes(*NEW)
        yield step


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_each_file_is_old_or_new_and_the_next_run_heals(world: World, *, after: bool) -> None:
    old, mixed = wanted(world), set[bool]()
    for step in each_step(world):
        new = wanted(world)
        with suppress(Killed):
            world.render(during=fault(Killed(), step, dead=True, after=after))
        standing = {path: content for path, content in generated(world.root).items() if ".gen-" not in path}
        assert all(standing.get(path) in (old.get(path), new.get(path)) for path in {*old, *new, *standing})
        mixed.add(standing not in (old, new))
        world.nodes("a", "z")
        assert world.render().edits == ()
        assert generated(world.root) == wanted(world)
        assert not list(world.root.rglob(".gen-*"))
    assert mixed == {False, True}


@pytest.mark.parametrize("after", [False, True])
def test_interrupted_at_any_step_the_tree_is_wholly_old_or_wholly_new(world: World, *, after: bool) -> None:
    old = wanted(world)
    for step in each_step(world):
        with suppress(KeyboardInterrupt):
            world.render(during=fault(KeyboardInterrupt(), step, after=after))
        assert generated(world.root) in (old, wanted(world)), step
        assert world.render().edits == ()
        assert generated(world.root) == wanted(world)


def failed_write(world: World, error: OSError, step: int) -> str:
    """Return what the user is told, nothing where the failure did no harm."""
    try:
        world.render(during=fault(error, step))
    except UsageError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_failure_at_any_step_changes_nothing_or_nothing_that_matters(world: World, code: int) -> None:
    old, outcomes = wanted(world), set[bool]()
    for step in each_step(world):
        said = failed_write(world, OSError(code, os.strerror(code)), step)
        outcomes.add(said == "")
        assert generated(world.root) == (old if said else wanted(world)), step
        assert (world.root / "overlays/toy/b").exists() == (not said)
        assert said == "" or (os.strerror(code) in said and "nothing was changed" in said) or "hand edits" in said
    assert outcomes == {False, True}


def test_when_not_all_can_be_put_back_the_next_run_heals(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = []

    def once(*words: Any, **options: Any) -> None:
        renamed.extend(["src_dir_fd"] if "src_dir_fd" in options else [])
        if len(renamed) > 1:
            raise OSError(errno.EIO, "broken")
        REAL["replace"](*words, **options)

    world.nodes(*NEW)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", once)
        with pytest.raises(UsageError, match="broken; some files are new and some old, the next run makes all new"):
            world.render()
    world.nodes("a", "z")
    assert world.render().edits == ()
    assert generated(world.root) == wanted(world)


def test_a_discard_that_failed_protects_the_edit_again(world: World) -> None:
    for step in each_step(world):
        world.edit(NODES, "gpus: 8", "gpus: 4")
        with suppress(UsageError):
            world.render(discard=[NODES], during=fault(OSError(errno.EIO, "broken"), step))
        edited = "gpus: 4" in world.text(NODES)
        assert [edit.path for edit in world.judge().edits] == ([NODES] if edited else [])


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a filesystem of 128 KiB in the folder's place."""
    options = ["-o", "size=128k", "none"]
    mounted = subprocess.run(["mount", "-t", "tmpfs", *options, str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a filesystem cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def small_files(_: Path) -> Iterator[None]:
    """Allow this process no file above 32 KiB."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 15, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize(
    ("limit", "words"),
    [(small_disk, "No space left on device; nothing was changed; free some"), (small_files, "too large")],
)
def test_a_full_disk_changes_nothing(tmp_path: Path, limit: Callable[[Path], "Any"], words: str) -> None:
    before = {"overlays/toy/a": b"a" * 20_000, "overlays/toy/b": b"old"}
    after = {"overlays/toy/a": b"x", "overlays/toy/c/d": b"c" * 40_000, "overlays/toy/e": b"e" * 120_000}
    with ExitStack() as stack:
        stack.enter_context(limit(tmp_path))
        with exclusive(tmp_path, print) as lock:
            write(lock, plan(tmp_path, before, {}, OWNED))
            with pytest.raises(UsageError, match=words):
                write(lock, plan(tmp_path, after, {}, OWNED))
        assert files(tmp_path) == before
        assert not (tmp_path / "overlays/toy/c").exists()


@contextmanager
def fixed(path: Path) -> Iterator[None]:
    """Make a file or folder unchangeable, for root as well."""
    commands = ("chattr +i", "chattr -i") if os.geteuid() == 0 else ("chmod a-w", "chmod u+w")
    fix, loosen = ([*command.split(), str(path)] for command in commands)
    if subprocess.run(fix, capture_output=True, check=False).returncode:
        pytest.skip("this filesystem has no immutable files")
    try:
        yield
    finally:
        subprocess.run(loosen, check=True)


@pytest.mark.parametrize("place", ["overlays/toy/app", "overlays/toy", "overlays/toy/t"])
def test_an_unwritable_folder_changes_nothing(world: World, place: str) -> None:
    old = wanted(world)
    world.nodes("a", "b", "m")
    with (
        fixed(world.root / place),
        pytest.raises(UsageError, match=r"cannot be written.*nothing was changed; check the owner"),
    ):
        world.render()
    assert generated(world.root) == old
    assert not world.render().edits
    assert generated(world.root) == wanted(world)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a single file unchangeable")
def test_an_unchangeable_file_puts_all_others_back(world: World) -> None:
    old = wanted(world)
    world.nodes("a", "b", "m")
    with fixed(world.root / TOTAL), fixed(world.root / NODES):
        world.nodes("a", "b")
        with pytest.raises(UsageError, match=f"{NODES}: cannot be written.*nothing was changed"):
            world.render()
    assert generated(world.root) == old


def test_a_read_only_git_folder_changes_nothing(world: World) -> None:
    old = wanted(world)
    world.nodes(*NEW)
    with fixed(world.root / ".git"), pytest.raises(UsageError, match="cannot tell hand edits later"):
        world.render()
    assert generated(world.root) == old
