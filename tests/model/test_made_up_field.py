"""A key by which a node overrides its pool is one line, its type; its words are the documentation's."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MACHINES = """
from pathlib import Path
from generator.repository.cluster_files import load
print(*(f"{one.name}={one.seats}" for one in load(Path(), ["a30-bench"])[0].cluster.machines))
"""


def edit(file: Path, pattern: str, more: str) -> None:
    """Put a line behind the first one that begins like this."""
    text, found = re.subn(rf"^({pattern}.*\n)", rf"\g<1>{more}\n", file.read_text(), count=1, flags=re.MULTILINE)
    assert found == 1, pattern
    file.write_text(text)


def python(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program that knows one more key, `seats`, and a cluster that uses it."""
    copy = tmp_path_factory.mktemp("copy")
    for folder in ("generator", "docs", "tools", "tests/wrong/valid"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("clusters/*/cluster.yaml"):
        (copy / file.relative_to(ROOT)).parent.mkdir(parents=True)
        shutil.copy(file, copy / file.relative_to(ROOT))
    edit(copy / "generator/model/nodes.py", "    kernel: Kernel", "    seats: Positive | None = None")
    words = copy / "docs/words.yaml"
    edit(words, "    kernel: oldest kernel on its nodes", "    seats: how many people share a node of it")
    edit(words, "    kernel: oldest kernel on this node", "    seats: how many people share this node")
    cluster = copy / "clusters/a30-bench/cluster.yaml"
    edit(cluster, "    bench:", "      seats: 3")
    cluster.write_text(cluster.read_text().replace("{name: jw3,", "{name: jw3, seats: 5,"))
    return copy


def test_the_schema_has_it_at_the_pool_and_at_the_node(place: Path) -> None:
    sections = json.loads(python(place, "-m", "generator", "schema"))["$defs"]
    assert [*sections["Pool"]["properties"]][-2:] == [*sections["Node"]["properties"]][-2:] == ["kernel", "seats"]
    assert sections["Pool"]["properties"]["seats"] == sections["Node"]["properties"]["seats"]
    assert sections["Node"]["properties"]["seats"]["type"] == "integer"


def test_a_nodes_own_value_overrides_its_pools(place: Path) -> None:
    assert python(place, "-c", MACHINES).split() == ["jw1=None", "jw2=3", "jw3=5"]


def test_the_page_lists_it(place: Path) -> None:
    python(place, "tools/docs.py")
    page = (place / "docs/cluster-file.md").read_text()
    rows = re.findall(r"^\| `seats` \|.*\|$", page, re.MULTILINE)
    assert rows == [
        "| `seats` | whole number from 1 | | how many people share a node of it | `3` |",
        "| `seats` | whole number from 1 | | how many people share this node | `5` |",
    ]


def test_a_path_to_it_is_explained(place: Path) -> None:
    told = python(place, "-m", "generator", "explain", "a30-bench", "nodes[2].seats")
    assert told.startswith("nodes[2].seats: 5\ngiven in clusters/a30-bench/cluster.yaml:")
    assert python(place, "-m", "generator", "explain", "a30-bench", "pools.bench.seats").startswith(
        "pools.bench.seats: 3"
    )
