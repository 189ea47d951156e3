"""What the real containerd makes of the nodes' configuration, alone and with what NVIDIA's container toolkit adds."""

import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from validation.clusters import variation

from generator.layout.bootstrap import bootstrap

pytestmark = pytest.mark.real

CONFIG = "clusters/ml50/bootstrap/node/all/etc/containerd/config.toml"
VERSIONS = ("1.7", "2.2", "2.3")
# How each names the parts of its CRI plugin: by service and by purpose.
ALONE, SHARED = "io.containerd.grpc.v1.cri", ("io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")


def program(name: str) -> str:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "gen", "bin", name)
    if not home.exists():
        why = f"no {name}: run `python tools/containerd_loader.py`"
        pytest.skip(why)
    return str(home)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The rendered file, with a folder for drop-ins of its own."""
    text = bootstrap(variation("ml50", {}))[CONFIG].decode()
    assert "/etc/containerd/conf.d/" in text
    (tmp_path / "conf.d").mkdir()
    file = tmp_path / "config.toml"
    file.write_text(text.replace("/etc/containerd/conf.d/", f"{tmp_path}/conf.d/"))
    return file


def with_toolkit(config: Path, *source: str) -> None:
    drop_in = config.parent / "conf.d/99-nvidia.toml"
    subprocess.run([program("container-toolkit"), str(config), str(drop_in), *source], check=True, capture_output=True)


def effective(version: str, config: Path) -> dict[str, Any]:
    """Return the settings by which containerd would run, under one set of names."""
    done = subprocess.run(
        [program(f"containerd-{version}"), "--config", str(config), "config", "dump"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plugins = tomllib.loads(done.stdout)["plugins"]
    if version == "1.7":
        cri = plugins[ALONE]
        sandbox, registry = cri["sandbox_image"], cri["registry"]
    else:
        cri, images = (plugins[name] for name in SHARED)
        sandbox, registry = images["pinned_images"]["sandbox"], images["registry"]
    return {
        "sandbox": sandbox,
        "registries": registry["config_path"],
        "cdi": (cri["enable_cdi"], cri["cdi_spec_dirs"]),
        "runtimes": {name: one["options"].get("SystemdCgroup") for name, one in cri["containerd"]["runtimes"].items()},
    }


MEANT = {
    "sandbox": "registry.k8s.io/pause:3.10.1",
    "registries": "/etc/containerd/certs.d",
    "cdi": (True, ["/etc/cdi", "/var/run/cdi"]),
    "runtimes": {"runc": True},
}
NVIDIA = {"runc": True, "nvidia": True, "nvidia-cdi": True, "nvidia-legacy": True}


@pytest.mark.parametrize("version", VERSIONS)
def test_it_runs_by_what_the_file_says(config: Path, version: str) -> None:
    assert effective(version, config) == MEANT


@pytest.mark.parametrize("version", VERSIONS)
def test_the_toolkit_adds_its_runtimes_and_takes_nothing(config: Path, version: str) -> None:
    with_toolkit(config, "file")
    assert effective(version, config) == {**MEANT, "runtimes": NVIDIA}


def test_the_toolkits_own_default_would_lose_the_mirrors(config: Path) -> None:
    """Why the GPU Operator is told to read the file."""
    with_toolkit(config, "command", program("containerd-2.2"))
    assert effective("2.2", config)["registries"] != MEANT["registries"]
