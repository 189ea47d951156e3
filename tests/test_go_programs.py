"""The tools that build programs of Go for tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reference import ROOT

# Builds nothing: it says which program would be built, and by which Go.
SCRIPT = """
import runpy, sys
from pathlib import Path
sys.path.insert(0, "tools")
import kustomize, real
real.BIN = Path(sys.argv[2])
real.fetch_go = kustomize._fetch_go = lambda work: "a newer one"
real.build = lambda program, go: print(program.name, go)
name, sys.argv = sys.argv[1], ["x", *sys.argv[3:]]
runpy.run_path(f"tools/{name}.py", run_name="__main__")
"""


@pytest.mark.parametrize(("tool", "program"), [("containerd_loader", "containerd-2.3"), ("job_operators", "jobset")])
@pytest.mark.parametrize(("version", "used"), [("go1.20.1", "a newer one"), ("go1.26.0", "go")])
def test_a_go_that_is_too_old_builds_nothing(tmp_path: Path, tool: str, program: str, version: str, used: str) -> None:
    (tmp_path / "go").write_text(f"#!/bin/sh\necho {version}\n")
    (tmp_path / "go").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", SCRIPT, tool, str(tmp_path / "bin"), program]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    expected = str(tmp_path / used) if used == "go" else used
    assert done.stdout.splitlines()[0] == f"{program} {expected}"
    assert len(done.stdout.splitlines()) == 2


def test_a_source_is_fetched_once_and_whole(tmp_path: Path) -> None:
    module = tmp_path / "module" / "install" / "kubernetes" / "cilium"
    module.mkdir(parents=True)
    (module / "Chart.yaml").write_text("name: cilium\n")
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(
        f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; else echo \'{{"Dir": "{tmp_path}/module"}}\'; fi\n'
    )
    go.chmod(0o755)
    env = {**os.environ, "PATH": f"{go.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "tools/sources.py", "cilium"]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        go.write_text("#!/bin/sh\nexit 1\n")
    assert [path.name for path in Path(done.stdout.strip()).glob("*/*")] == ["Chart.yaml"]
    again = subprocess.run([*command[:-1], "rook"], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert not list(Path(done.stdout.strip()).glob("rook*"))
