"""Values that are asked for at a terminal: a real one, with gen as the program in its foreground."""

import os
import pty
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from livecluster import LiveCluster, living
from reference import ROOT

PATIENCE = 60.0
ASK = """
from generator.cli.hidden import ask_hidden
print(f"\\ngot {ask_hidden('first')!r}")
print(f"\\ngot {ask_hidden('second')!r}")
"""
BOOTSTRAP = """
import sys
from pathlib import Path
from msgspec import structs
from reference import load
from generator.cli.bootstrap import _ask, _perform
from generator.components.component import Secret
from generator.live.api import of_kubeconfig
from generator.live.bootstrap.bootstrap import Bootstrap
from generator.live.bootstrap.overlays import Overlays
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.running import RunningCluster

class Secrets(Bootstrap, frozen=True, kw_only=True):
    def _looks(self):
        yield lambda: secrets_step(self.running, self.cluster, self.secrets, self.keeping)

secret = Secret(
    name="login", namespace="default", keys=("user", "word"), source="given", loss="harmless", rotate="", readers=(),
)
made = Secrets(
    running=RunningCluster(of_kubeconfig(Path(sys.argv[1]), None)), cluster=load("a30-bench"),
    overlays=Overlays(objects={}, root=(), applications=frozenset()), secrets=(secret,),
    keeping=Keeping(values=Values(None, {}, _ask)), tell=print, definitions=list,
)
try:
    _perform(made, patience=0, output="text")
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(2)
"""


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, screen: int, process: int) -> None:
        self.screen, self.process, self.shown, self.all = screen, process, "", ""

    def see(self, words: str) -> None:
        """Wait until words are shown that were not asked for before."""
        end = time.monotonic() + PATIENCE
        while words not in self.shown:
            assert time.monotonic() < end, self.shown
            self._read()
        self.shown = self.shown.partition(words)[2]

    def type(self, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while self.shows():  # the question stands there just before, and what is typed until then is thrown away
            assert time.monotonic() < end, self.shown
            time.sleep(0.01)
        os.write(self.screen, text.encode())

    def shows(self) -> bool:
        """Tell whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.screen)[3] & termios.ECHO)

    def end(self) -> int:
        """Wait for the program, and return its exit code."""
        while self._read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _read(self) -> bool:
        if not select.select([self.screen], [], [], PATIENCE)[0]:
            pytest.fail(f"nothing for {PATIENCE:g} s after {self.shown!r}")
        try:
            more = os.read(self.screen, 65536).decode(errors="replace")
        except OSError:  # the program has ended
            return False
        self.shown, self.all = self.shown + more, self.all + more
        return True


@contextmanager
def terminal(script: str, *words: str) -> Iterator[Terminal]:
    process, screen = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs in the background may have been told to ignore it
        path = f"{ROOT}{os.pathsep}{ROOT / 'tests'}"
        command = [sys.executable, "-P", "-c", script, *words]
        os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"})
    try:
        yield Terminal(screen, process)
    finally:
        os.close(screen)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[LiveCluster]:
    with living(tmp_path) as (cluster, _):
        yield cluster


def test_what_is_typed_is_not_shown() -> None:
    with terminal(ASK) as one:
        one.see("first: ")
        one.type("hush\n")
        one.see("got 'hush'")
        one.see("second: ")
        one.type("\n")
        one.see("got ''")
        assert one.shows()
        assert one.end() == 0


def test_nothing_of_it_stands_on_the_screen() -> None:
    with terminal(ASK) as one:
        one.see("first: ")
        one.type("hu\x7fush\n")
        one.see("\n")
        before_result = one.shown
        one.see("got 'hush'")
        assert "hu" not in before_result.partition("got")[0]
        one.see("second: ")
        one.type("\x04")
        assert one.end() == 0


@pytest.mark.parametrize("pasted", ["-----BEGIN KEY-----\nabc\n-----END KEY-----\n", "one\ntwo", "a\n\n"])
def test_several_lines_are_refused_whole_and_answer_no_other_question(pasted: str) -> None:
    with terminal(ASK) as one:
        one.see("first: ")
        one.type(pasted)
        one.see("that were several lines, and none of it is taken: write it to a file, and answer @FILE")
        one.see("first: ")
        one.type("one line\n")
        one.see("got 'one line'")
        one.see("second: ")
        one.type("\n")
        one.see("got ''")
        assert one.end() == 0


def test_a_line_that_a_terminal_would_cut_is_refused() -> None:
    with terminal(ASK) as one:
        one.see("first: ")
        one.type("x" * 4500 + "\n")
        one.see("that is longer than a terminal passes on")
        one.see("first: ")
        one.type("\x03")
        one.see("KeyboardInterrupt")
        assert one.shows()


def test_ctrl_c_leaves_nothing_behind(there: LiveCluster, tmp_path: Path) -> None:
    with terminal(BOOTSTRAP, str(tmp_path / "kubeconfig")) as one:
        one.see("default/login user")
        one.type("ann\n")
        one.see("default/login word")
        one.type("\x03")
        one.see("stopped; what is done stays, and the same command goes on")
        one.end()
    assert there.get("Secret", "login") == {}
    assert there.get("Lease", "gen-bootstrap") == {}


def test_who_answers_nothing_is_asked_no_more_and_nothing_is_done(there: LiveCluster, tmp_path: Path) -> None:
    with terminal(BOOTSTRAP, str(tmp_path / "kubeconfig")) as one:
        one.see("default/login user")
        one.type("\n")
        one.see("nothing was done")
        assert one.end() == 2
        assert "default/login word" not in one.all
    assert there.get("Secret", "login") == {}


def test_what_is_answered_is_what_the_secret_holds(there: LiveCluster, tmp_path: Path) -> None:
    (tmp_path / "word").write_text("a\nb\n")
    with terminal(BOOTSTRAP, str(tmp_path / "kubeconfig")) as one:
        one.see("default/login user")
        one.type("ann\n")
        one.see("default/login word")
        one.type(f"@{tmp_path / 'word'}\n")
        assert one.end() == 0
    assert there.get("Secret", "login")["data"] == {"user": "YW5u", "word": "YQpiCg=="}
