"""The steps in the shells that people have, as they come and where they type."""

import shutil
import subprocess
from pathlib import Path

import pytest
from secretsstep import Admin
from stepblocks import blocks

from generator.model.cluster import Cluster

pytestmark = pytest.mark.real

SHELLS = {"bash": ("bash", "--norc", "-i"), "dash": ("dash", "-i"), "zsh": ("zsh", "-f", "-i")}


@pytest.fixture(params=sorted(SHELLS))
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """A shell that reads commands as somebody types them."""
    name: str = request.param
    if not shutil.which(name):
        pytest.skip(f"{name} is absent")
    return SHELLS[name]


def typed(shell: tuple[str, ...], text: str) -> str:
    """Return what a shell prints where a text is typed into it."""
    done = subprocess.run(shell, input=text, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout


def test_each_block_comes_to_its_end(shell: tuple[str, ...]) -> None:
    """An open text, bracket or loop would take the next command for its own."""
    for block in blocks():
        assert typed(shell, f"if false; then\n{block}fi\necho then\n").splitlines()[-1:] == ["then"], block


def test_a_command_gets_the_words_that_are_meant(shell: tuple[str, ...]) -> None:
    """Each command of one line, with nothing done but its words written down, wherever it pipes what it says."""
    plain = [line for block in blocks() for line in block.splitlines() if line.startswith(("sudo kubeadm", "kubectl "))]
    assert any("upgrade apply" in line for line in plain)
    for line in (one.partition(" | ")[0] for one in plain):
        found = typed(shell, f'sudo() {{ printf "<%s>" "$@"; echo; }}\nkubectl() {{ sudo "$@"; }}\n{line}\n')
        assert "<#>" not in found
        assert "<" in found, line


def test_the_secrets_are_made_and_kept(shell: tuple[str, ...], tmp_path: Path, ml50: Cluster) -> None:
    admin = Admin(tmp_path, ml50)
    assert admin.run(*shell).returncode == 0
    before = admin.values()
    assert before.keys() == admin.wanted()
    assert admin.run(*shell).returncode == 0
    (admin.folder / "minio/minio-root/rootPassword").write_text("another")
    assert admin.run(*shell).returncode == 1
    assert admin.values() == before
