"""The only place that starts a program: to its end, or beside `gen` for a while."""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import environ
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from generator.errors import CommandError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Program: TypeAlias = "subprocess.Popen[bytes]"

PATIENCE = 30.0
"""Seconds a program has to end before it is killed."""
_MOMENT = 2.0

_running: "set[subprocess.Popen[str]]" = set()
_halted: list[bool] = []


def cache_home() -> Path:
    """Return gen's folder in the user's cache: programs are in `bin`, charts in `charts`, what was built in `built`,
    and what twins begin with in `twins`. Raises UsageError for a user without a home, as in some containers.
    """
    try:
        return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gen"
    except RuntimeError:
        raise UsageError("this user has no home folder; set HOME, or XDG_CACHE_HOME") from None


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    stdin: str = "",
) -> str:
    """Run `command` and return its standard output; bytes that are not UTF-8 become U+FFFD.

    It reads `stdin` and then its end; `timeout` is in seconds. Raises `CommandError` when the program ends with a
    status other than 0, and `UsageError` when it cannot be started or does not end in time.
    """
    argv = [str(word) for word in command]
    try:
        done = _done(argv, cwd, env, timeout, stdin)
    except OSError as error:
        raise _unstarted(argv[0], cwd, error) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"`{' '.join(argv)}` did not end within {timeout:g} seconds") from None
    if done.returncode:
        raise CommandError(argv, done.returncode, done.stderr or done.stdout)
    return done.stdout


def _unstarted(program: str, cwd: Path | None, error: OSError) -> UsageError:
    if not isinstance(error, FileNotFoundError):
        return UsageError(f"`{program}` could not be started: {error.strerror}")
    if cwd and str(error.filename) == str(cwd):
        return UsageError(f"`{program}` could not be started: there is no folder {cwd}")
    return UsageError(f"`{program}` was not found; install it or put it on PATH")


@contextlib.contextmanager
def piped(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Program]:
    """Run a program beside the block, which speaks with it in bytes; it ends with the block, at the end of its input.
    Raises UsageError when it cannot be started.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise _unstarted(command[0], cwd, error) from None
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _done(
    argv: list[str], cwd: Path | None, env: Mapping[str, str] | None, timeout: float, stdin: str
) -> "subprocess.CompletedProcess[str]":
    """Do as `subprocess.run`, for a program that `halt` can end."""
    if _halted:
        raise UsageError(f"`{argv[0]}` was not started: gen is asked to end")
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:
        _running.add(process)
        try:
            if _halted:
                process.terminate()
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def halt() -> None:
    """End every program that `run` waits for, in whichever thread, and start none any more: this process ends, and
    nothing of theirs may outlive it.
    """
    _halted.append(True)
    for process in [*_running]:
        process.terminate()


@contextlib.contextmanager
def threads(most: int | None = None) -> "Iterator[ThreadPoolExecutor]":
    """Yield threads that begin nothing more when the block is left early. After `halt` they are not waited for: one
    may hear a server that never answers; `leave` sees to them.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few need it

    pool = ThreadPoolExecutor(most)
    try:
        yield pool
    finally:
        pool.shutdown(wait=not _halted, cancel_futures=True)


def leave(code: int) -> NoReturn:
    """End this process after `halt`: its threads have a moment to tidy up, and those that wait longer are left."""
    until = monotonic() + _MOMENT
    ours = [one for one in threading.enumerate() if not one.daemon and one is not threading.current_thread()]
    for one in ours:
        one.join(max(0.0, until - monotonic()))
    if any(one.is_alive() for one in ours):
        atexit._run_exitfuncs()  # noqa: SLF001 - the interpreter would wait for the threads before it calls these
        os._exit(code)
    sys.exit(code)


def start(folder: Path, command: list[str]) -> Program:
    """Start a program in `folder`, where its words go to `<program>.log`. On Linux it ends with this process, however
    that ends; elsewhere `stop` must be called. Raises UsageError when it cannot be started.
    """
    die = _with_parent() if sys.platform == "linux" else None
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        try:
            return subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is ours: we end programs in their order
                preexec_fn=die,  # noqa: PLW1509 - nothing else runs in this process yet
            )
        except OSError as error:
            raise UsageError(f"`{command[0]}` could not be started: {error.strerror}") from None


def _with_parent() -> Callable[[], object]:
    """Return what a child calls first, so that Linux ends it when its parent is gone. Nothing is imported after the
    fork.
    """
    from ctypes import CDLL  # noqa: PLC0415 - only here

    libc = CDLL(None)
    return lambda: libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def stop(process: Program) -> None:
    """End a program, kindly at first."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def background(folder: Path, command: list[str]) -> Iterator[Program]:
    """Run a program as long as the block; raises as `start`."""
    process = start(folder, command)
    try:
        yield process
    finally:
        stop(process)
