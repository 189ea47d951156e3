"""Rules of Prometheus, tried by its own program."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tools import program


def judge(folder: Path, rules: Any, *tests: Any, every: str = "1m") -> None:
    """Have promtool say that rules do what tests want of them, which are evaluated so often."""
    done = judged(folder, {"rule_files": ["rules.json"], "evaluation_interval": every, "tests": tests}, rules)
    assert done.returncode == 0, done.stdout + done.stderr


def judged(folder: Path, tests: Any, rules: Any = None) -> "subprocess.CompletedProcess[str]":
    """Return what promtool says of tests, and of the rules that they name."""
    for name, content in (("rules.json", rules), ("tests.json", tests)):
        (folder / name).write_text(json.dumps(content))
    command = [program("promtool"), "test", "rules", "tests.json"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=120)
