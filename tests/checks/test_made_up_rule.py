"""A rule is one function: added in a copy of the program, it is run, explained and tested without another word."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

OVER_CLUSTERS = '''

@rule("GEN-NODE-999", "no node is called tortoise")
def no_tortoise(cluster: Cluster) -> Iterator[Finding]:
    """Whoever waits for it waits long.

    Wrong:
        nodes:
          - {name: tortoise}
    Right:
        nodes:
          - {name: hare}
    """
    for index, node in enumerate(cluster.nodes):
        if node.name == "tortoise":
            yield Finding(at=("nodes", index, "name"), message="a tortoise", fix="call it hare")
'''
OVER_OBJECTS = '''

@rule("GEN-QUEUE-999", "no object is called tortoise")
def no_tortoise(built: Built) -> Iterator[Finding]:
    """Whoever waits for it waits long.

    Wrong:
        metadata: {name: tortoise}
    Right:
        metadata: {name: hare}
    """
    for one in built.objects:
        if one.name == "tortoise":
            yield one.finding("a tortoise", "metadata", "name", fix="call it hare")
'''


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The program, the test of its rules over clusters, and that test's files."""
    for part in ("generator", "tests/wrong"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests/checks").mkdir()
    shutil.copy(ROOT / "tests/checks/test_fixtures.py", tmp_path / "tests/checks")
    return tmp_path


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


def test_a_rule_over_clusters_is_one_function_and_one_file(copy: Path) -> None:
    append(copy / "generator/checks/nodes.py", OVER_CLUSTERS)
    right = (copy / "tests/wrong/valid/minimal.yaml").read_text()
    wrong = right.replace("name: cpu-1,", "name: tortoise,")
    line = next(number for number, text in enumerate(wrong.splitlines(), 2) if "tortoise" in text)
    place = f"{line}:{wrong.splitlines()[line - 2].index('tortoise') + 1}"
    file = copy / "tests/wrong/rules/GEN-NODE-999.yaml"
    file.write_text(f"# expect: GEN-NODE-999 {place}\n{wrong}")

    tested = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/checks", "-k", "GEN-NODE-999 or every_rule")
    assert (tested.returncode, "4 passed" in tested.stdout) == (0, True), tested.stdout
    (copy / "clusters/lab").mkdir(parents=True)
    shutil.copy(file, copy / "clusters/lab/cluster.yaml")
    checked = run(copy, "generator", "check")
    assert f"clusters/lab/cluster.yaml:{place} error GEN-NODE-999: a tortoise\n" in checked.stdout
    explained = run(copy, "generator", "explain", "GEN-NODE-999").stdout
    assert explained.startswith("GEN-NODE-999: no node is called tortoise\n\nWhoever waits for it waits long.\n")


def test_a_rule_over_objects_is_one_function(copy: Path) -> None:
    append(copy / "generator/rules/queues.py", OVER_OBJECTS)
    (copy / "mine.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tortoise, namespace: a}\n")
    checked = run(copy, "generator", "check", "--rendered", "mine.yaml")
    assert "mine.yaml:3:18 error GEN-QUEUE-999: ConfigMap a/tortoise: a tortoise\n" in checked.stdout
    explained = run(copy, "generator", "explain", "GEN-QUEUE-999").stdout
    assert explained.startswith("GEN-QUEUE-999: no object is called tortoise\n\nWhoever waits for it waits long.\n")
