"""Work on many clusters in several processes: what ends it early."""

import signal
import subprocess
import sys
import time

import pytest

from generator.errors import UsageError
from generator.repository.parallel import MANY, spread

SLOW = f"""
import time
from generator.repository.parallel import spread
if __name__ == "__main__":
    print("begun", flush=True)
    spread(time.sleep, [60] * {MANY})
"""


def test_whoever_stops_it_waits_for_nothing_that_was_begun() -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SLOW], **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "begun\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, said = process.communicate(timeout=50)
    assert time.monotonic() - begun < 20
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "InvalidStateError" not in said


def test_a_process_that_is_killed_is_told_and_the_next_work_is_done() -> None:
    with pytest.raises(UsageError, match="was killed, perhaps as memory ran out"):
        spread(signal.raise_signal, [signal.SIGKILL] * MANY)
    assert spread(abs, [-1] * MANY) == [1] * MANY
