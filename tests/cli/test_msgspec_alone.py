"""A command imports msgspec without `typing_extensions`, which is there for those who import it later."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from generator.cli import run
assert run(["check", sys.argv[1]]) == 0
print("msgspec" in sys.modules, "typing_extensions" in sys.modules)
import typing_extensions
"""
ROOT = Path(__file__).parent.parent.parent


def test_a_check_imports_no_typing_extensions() -> None:
    words = [sys.executable, "-c", PROGRAM, str(ROOT / "clusters/a30-bench/cluster.yaml")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "True False"
