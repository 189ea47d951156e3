"""What lies beside the code as files: every reader reads it alike, every linter is content, and nobody changes it."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference import ROOT
from ruamel.yaml import YAML

from generator.components.static import read_folder, read_objects, read_text
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from tools import program

PACKAGE = ROOT / "generator"
FILES = sorted(
    path
    for path in (PACKAGE / "components").rglob("*")
    if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
)
NAMES = [path.relative_to(PACKAGE / "components").as_posix() for path in FILES]


def ending(*endings: str) -> list[str]:
    found = [name for name in NAMES if name.endswith(endings)]
    assert found
    return found


def independent(name: str) -> tuple[Any, ...]:
    """Read as YAML 1.2, with another library. A key that comes twice is an error."""
    return tuple(YAML(typ="safe", pure=True).load_all(read_text(name)))


@pytest.mark.parametrize("name", ending(".yaml"))
def test_yaml_means_the_same_to_every_reader(name: str) -> None:
    assert read_objects(name) == independent(name) == tuple(yaml.load_all(read_text(name), yaml.CSafeLoader))
    assert None not in read_objects(name)


@pytest.mark.parametrize("text", ["a: &b 1\nc: *b\n", "a: &b {}\nc: [*b]\n", "a: {b: *c}\n"])
def test_yaml_with_aliases_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"line [12]: write it out"):
        read_objects(str(tmp_path / "wrong.yaml"))


@pytest.mark.parametrize("name", ending(".yaml"))
def test_bindings_lead_from_an_account_to_a_role_beside_them(name: str) -> None:
    objects = [one for one in read_objects(name) if "metadata" in one]
    known = {(one["kind"], one["metadata"]["name"], one["metadata"].get("namespace")) for one in objects}
    for one in objects:
        if one["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            role = one["roleRef"]
            assert (role["kind"], role["name"], one["metadata"].get("namespace")) in known
            assert {(subject["kind"], subject["name"], subject["namespace"]) for subject in one["subjects"]} <= known


@pytest.mark.parametrize("name", ending(".lua"))
def test_lua_compiles(name: str) -> None:
    lupa = pytest.importorskip("lupa.lua51", reason="lupa is not installed")
    lupa.LuaRuntime().compile(read_text(name))


@pytest.mark.parametrize("name", ending(".sh"))
def test_scripts_are_clean(name: str) -> None:
    # What a pod gets as environment is assigned nowhere.
    command = [program("shellcheck"), "--external-sources", "--exclude=SC2153", str(PACKAGE / "components" / name)]
    subprocess.run(command, check=True)


def test_programs_of_pods_are_clean(tmp_path: Path) -> None:
    """All at once, as they import each other: what is not of Python itself is one of them, or of the pod's image."""
    for name in ending(".py.txt"):
        file = tmp_path / name.removesuffix(".txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(read_text(name))
    folders = json.dumps(sorted({Path(name).parent.as_posix() for name in ending(".py.txt")}))
    told = ["--config", str(ROOT / "pyproject.toml"), "--config", f"src = {folders}", "--no-cache", "."]
    for words in (["check", "--ignore", "INP001,T201"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, *told]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_text_ends_with_a_line_and_no_line_with_blanks(name: str) -> None:
    text = read_text(name)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("name", ending(".md"))
def test_prose_closes_its_blocks_of_code(name: str) -> None:
    # A hole at the beginning of a line is filled with whole lines.
    lines = (re.sub(r"^(\{\w+\})+", "", line) for line in read_text(name).splitlines())
    fences = [line for line in lines if line.startswith("```")]
    assert fences[::2] == ["```sh"] * (len(fences) // 2)
    assert fences[1::2] == ["```"] * (len(fences) // 2)


def test_a_wheel_holds_every_file() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["generator"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    # Code and py.typed are packed by themselves.
    itself = (".py", ".pyc", ".typed")
    present = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in itself}
    assert present - packed == set()


def test_every_file_is_read_by_somebody() -> None:
    code = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))

    def named(name: str) -> bool:
        """Some scripts and all prose are named without their folder."""
        path = Path(name)
        short = path.stem if path.suffix in (".md", ".txt") else path.name if path.suffix in (".sh", ".conf") else name
        return (
            f'"{name}"' in code
            or f'read_folder("{path.parent}")' in code
            or f'"{short}"' in code
            or f'"{path.name}"' in code
            or f'f"{path.parent}/{{name}}{path.suffix}"' in code
        )

    # That folder is read whole.
    assert [name for name in NAMES if not name.startswith("kubeadm/nodes/") and not named(name)] == []


def test_rendering_changes_nothing_that_was_read(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30, ml50):
        lay_out(cluster)
    for name in ending(".yaml"):
        assert read_objects(name) == independent(name)


def test_a_folder_is_read_whole() -> None:
    found = read_folder("kubeadm/nodes/infiniband")
    assert list(found) == ["etc/modprobe.d/rdma.conf", "etc/modules-load.d/infiniband.conf"]
    assert found["etc/modprobe.d/rdma.conf"] == "options ib_core netns_mode=1\n"
