"""Writing a plan whole or not at all."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from generator.errors import UsageError
from generator.repository.plan import Change, Plan, runs
from generator.repository.record import Record
from generator.repository.write_lock import WriteLock

_HELP = {
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some space and run again",
    errno.EACCES: "check the owner and the permissions of its folder",
    errno.EPERM: "check the owner, the permissions and the attributes of it and of its folder",
    errno.EROFS: "make the filesystem writable",
}


def write(lock: WriteLock, plan: Plan) -> None:
    """Make the files below the lock's root what `plan` says.

    First every new content goes to a temporary sibling, then all are renamed, then stale files and empty folders
    go. When a step fails, all is put back and `UsageError` is raised. A process killed half-way leaves each file
    old or new, and the next plan and write do the rest.
    """
    work = _Work(lock.folder)
    work.unlink_any(plan.temporaries)
    if not plan.changes:
        work.remove_empty(plan)
        return
    record = Record.load(lock.root)
    try:
        work.stage(plan.changes)
        record.expect(plan.changes)
        work.apply(plan.changes)
    except BaseException as error:
        at, undone = work.at, work.undo()
        if undone:
            with suppress(OSError, UsageError):
                record.restore()
        if isinstance(error, OSError):
            raise _refusal(at, error, undone=undone) from None
        raise
    # A record that still names the replaced contents is only a little more than true.
    with suppress(UsageError):
        record.settle()
    work.remove_empty(plan)


class _Work:
    """One write under way, its paths relative to the open folder `root`.

    Nothing is flushed to the disk (fsync): what a power cut takes, Git or the next render brings back, and flushing
    thousands of files would take seconds.
    """

    def __init__(self, root: int) -> None:
        self.at = "."
        self._root = root
        self._known: set[str] = set()
        self._made: list[str] = []
        self._staged: dict[str, str] = {}
        self._applied: list[Change] = []
        self._count = 0

    def stage(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            if change.new is not None:
                self._stage(change.path, change.new, replaces=change.old is not None)

    def apply(self, changes: tuple[Change, ...]) -> None:
        for change in sorted(changes, key=lambda change: change.new is None):
            self.at = change.path
            self._applied.append(change)
            if change.new is None:
                self._unlink(change.path)
            else:
                self._put(change.path)

    def undo(self) -> bool:
        """Put back what stood before; whether that went well."""
        well = [self._revert(change) for change in reversed(self._applied)]
        self.unlink_any(self._staged.values())
        for folder in reversed(self._made):
            with suppress(OSError):
                os.rmdir(folder, dir_fd=self._root)
        return all(well)

    def unlink_any(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(OSError):
                self._unlink(path)

    def remove_empty(self, plan: Plan) -> None:
        deleted = (change.path.rpartition("/")[0] for change in plan.changes if change.new is None)
        for folder in {*deleted, *plan.empty}:
            self._remove_upwards(folder)

    def _remove_upwards(self, folder: str) -> None:
        """Remove `folder` and those above it, as far as they are empty."""
        with suppress(OSError):
            while folder:
                os.rmdir(folder, dir_fd=self._root)
                folder = folder.rpartition("/")[0]

    def _revert(self, change: Change) -> bool:
        """Put one file back; whether that went well. What an interrupt kept from happening needs nothing."""
        if self._stands(change.path if change.new is None else self._staged[change.path]):
            return True
        try:
            if change.old is None:
                self._unlink(change.path)
            else:
                self._stage(change.path, change.old, replaces=change.new is not None)
                self._put(change.path)
        except OSError:
            return False
        return True

    def _stage(self, path: str, content: bytes, *, replaces: bool) -> None:
        """Write `content` to a temporary sibling of `path`, with the permissions of what it replaces."""
        self.at = path
        folder, slash, _ = path.rpartition("/")
        self._make(folder)
        temporary = f"{folder}{slash}.gen-{self._count}~"
        self._count += 1
        self._staged[path] = temporary
        script = runs(content)
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666, dir_fd=self._root)
        try:
            while content:
                content = content[os.write(file, content) :]
            if replaces or script:
                standing = os.stat(path, dir_fd=self._root) if replaces else os.fstat(file)
                mode = stat.S_IMODE(standing.st_mode)
                # Whoever may read a script may run it.
                os.fchmod(file, mode | (mode & 0o444) >> 2 if script else mode)
        finally:
            os.close(file)

    def _put(self, path: str) -> None:
        os.replace(self._staged[path], path, src_dir_fd=self._root, dst_dir_fd=self._root)

    def _unlink(self, path: str) -> None:
        os.unlink(path, dir_fd=self._root)

    def _make(self, folder: str) -> None:
        """Make `folder` and those above it, and remember which."""
        if not folder or folder in self._known:
            return
        self._known.add(folder)
        if not self._stands(folder):
            self._make(folder.rpartition("/")[0])
            os.mkdir(folder, dir_fd=self._root)
            self._made.append(folder)

    def _stands(self, path: str) -> bool:
        try:
            os.stat(path, dir_fd=self._root, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True


def _refusal(path: str, error: OSError, *, undone: bool) -> UsageError:
    state = "nothing was changed" if undone else "some files are new and some old, the next run makes all new"
    helpful = _HELP.get(error.errno or 0, "mend that and run again")
    return UsageError(f"{path}: cannot be written: {error.strerror}; {state}; {helpful}")
