"""The only place that starts a program."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from generator.errors import CommandError, UsageError

__all__ = ["run"]


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> str:
    """Run `command` and return its standard output; bytes that are not UTF-8 become U+FFFD.

    `timeout` is in seconds. Raises `CommandError` when the program ends with a status other than 0, and
    `UsageError` when it cannot be started or does not end in time.
    """
    argv = [str(word) for word in command]
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=env,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        if cwd and str(error.filename) == str(cwd):
            raise UsageError(f"`{argv[0]}` could not be started: there is no folder {cwd}") from None
        raise UsageError(f"`{argv[0]}` was not found; install it or put it on PATH") from None
    except OSError as error:
        raise UsageError(f"`{argv[0]}` could not be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"`{' '.join(argv)}` did not end within {timeout:g} seconds") from None
    if done.returncode:
        raise CommandError(argv, done.returncode, done.stderr or done.stdout)
    return done.stdout
