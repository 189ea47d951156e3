"""A check asks components for facts: what makes their objects is imported by who renders, and by nobody else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

COMPONENTS = ROOT / "generator/components"
MOST = 240
"""Modules: a tenth more than there are. A rule or a component brings one or two, what makes objects dozens."""
PROGRAM = """
import json, sys
from generator.cli import run
assert run(["check"]) == 0
print(json.dumps({name: one.__file__ for name, one in sys.modules.items() if name.startswith("generator.")}))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the modules of `generator` that a check of ml50 imports, each with its file."""
    root = tmp_path_factory.mktemp("repository")
    (root / "clusters/ml50").mkdir(parents=True)
    shutil.copy(ROOT / "clusters/ml50/cluster.yaml", root / "clusters/ml50")
    words = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    return {name: Path(file) for name, file in found.items()}


def test_it_imports_nothing_that_makes_objects(imported: dict[str, Path]) -> None:
    """Of components in one module, and of what all share, what makes objects comes along."""
    folders = [file for file in imported.values() if COMPONENTS in file.parents and file.parent != COMPONENTS]
    assert len(folders) > 50
    makers = [file for file in folders if file.name == "install.py" or '"apiVersion":' in file.read_text()]
    assert [file.relative_to(COMPONENTS).as_posix() for file in makers] == []


def test_it_imports_few_modules(imported: dict[str, Path]) -> None:
    assert MOST - 50 < len(imported) < MOST
