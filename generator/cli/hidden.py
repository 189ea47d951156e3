"""A value that a person types or pastes at a terminal, and that is not shown."""

import os
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from generator.cli.terminal import say

QUIET = 0.2
"""Seconds without a further character after which what was pasted has come whole."""
LONGEST = 4094
"""Bytes of a line that a terminal passes on; it drops the rest without a word (Linux, N_TTY)."""


def ask_hidden(prompt: str) -> str:
    """Return the line that a person answers on standard input, a terminal; "" for none. What a line cannot hold, as a
    pasted key of several lines, is refused, and asked for again. Raises KeyboardInterrupt; the terminal shows again
    what is typed in any case.
    """
    while True:
        say(f"{prompt}: ", err=True, nl=False)
        try:
            answer, why = _answer(sys.stdin.fileno())
        finally:
            say(err=True)
        if not why:
            return answer
        say(f"{why}, and none of it is taken: write it to a file, and answer @FILE", err=True)


def _answer(terminal: int) -> tuple[str, str]:
    """Return what was answered, and why it cannot be taken, if so."""
    with _unseen(terminal):
        _wait(terminal)
        line, rest = os.read(terminal, LONGEST + 2), _rest(terminal)
    if rest:
        return "", "that were several lines"
    if len(line.rstrip(b"\r\n")) >= LONGEST:
        return "", "that is longer than a terminal passes on"
    try:
        return line.rstrip(b"\r\n").decode(), ""
    except UnicodeDecodeError:
        return "", "that is no text in UTF-8"


def _wait(terminal: int) -> None:
    """Wait until something is typed. A Ctrl-C that comes just before a read would only be noticed after it: so one
    waits for a second at most, again and again.
    """
    while not select.select([terminal], [], [], 1.0)[0]:
        pass


def _rest(terminal: int) -> bytes:
    """Return what else was pasted: left there, it would answer the next question, or be run by the shell. A last line
    without an end is only seen where the terminal does not wait for that.
    """
    mode = termios.tcgetattr(terminal)
    termios.tcsetattr(terminal, termios.TCSANOW, [*mode[:3], mode[3] & ~termios.ICANON, *mode[4:]])
    found = b""
    while select.select([terminal], [], [], QUIET)[0]:
        more = os.read(terminal, LONGEST + 2)
        if not more:
            break
        found += more
    return found


@contextmanager
def _unseen(terminal: int) -> Iterator[None]:
    """Have the terminal not show what is typed, and forget what is left of it at the end."""
    before = termios.tcgetattr(terminal)
    silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
