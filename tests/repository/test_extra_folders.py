"""A folder that a cluster file names for a component of the user's own."""

import shutil
from pathlib import Path

import pytest

from generator.cli import run
from generator.layout.files import KUSTOMIZATION_NAMES

FILE = Path(__file__).parent.parent / "wrong/valid/extras.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    file = tmp_path / "clusters/lab/cluster.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(FILE.read_text().replace("dns-cache: {", "dns-cache: {folder: apps/dns, "))
    (tmp_path / "gen.lock").touch()
    return tmp_path


def checked(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["check", "-C", str(root)])
    return code, capsys.readouterr().out


def test_one_that_is_not_there_is_told_at_its_place(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = checked(root, capsys)
    assert code == 1
    assert "error GEN-EXT-006: apps/dns is not there" in out
    assert "dns-cache: {folder: apps/dns" in out


def test_one_that_kustomize_could_not_build_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "apps/dns").mkdir(parents=True)
    (root / "apps/dns/cache.yaml").touch()
    assert "GEN-EXT-006: apps/dns has no kustomization.yaml" in checked(root, capsys)[1]


@pytest.mark.parametrize("name", KUSTOMIZATION_NAMES)
def test_one_with_a_kustomization_is_fine(root: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (root / "apps/dns").mkdir(parents=True)
    (root / "apps/dns" / name).touch()
    assert "GEN-EXT" not in checked(root, capsys)[1]


def test_what_is_not_installed_needs_no_folder(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "clusters/lab/cluster.yaml"
    file.write_text(file.read_text().replace("folder: apps/dns", "folder: apps/dns, installed: false"))
    assert "GEN-EXT" not in checked(root, capsys)[1]


def build(root: Path, **files: str) -> None:
    for name, text in {"apps/dns/kustomization.yaml": "resources: []\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_what_it_is_built_of_lies_where_argo_cd_looks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside = {"apps/dns/kustomization.yaml": "resources: [../base]\n", "apps/base/kustomization.yaml": "{}\n"}
    build(root, **beside)
    assert "GEN-EXT" not in checked(root, capsys)[1]
    build(root, **beside | {"apps/base/kustomization.yaml": "resources: [../../shared/all.yaml]\n"})
    code, out = checked(root, capsys)
    assert code == 1
    assert "GEN-EXT-006: apps/dns is built of shared/all.yaml, and Argo CD looks for its changes only below apps" in out


@pytest.mark.parametrize("link", ["apps", "apps/dns"])
def test_a_link_does_not_lead_past_what_gen_writes(root: Path, capsys: pytest.CaptureFixture[str], link: str) -> None:
    build(root, **{"overlays/dns/kustomization.yaml": "{}\n", "overlays/kustomization.yaml": "{}\n"})
    shutil.rmtree(root / link)
    (root / link).symlink_to(root / "overlays", target_is_directory=True)
    assert f"GEN-EXT-006: {link} is a symbolic link" in checked(root, capsys)[1]


@pytest.mark.parametrize("link", ["apps/dns/all.yaml", "apps/base/all.yaml", "apps/base"])
def test_no_file_of_it_is_a_link(root: Path, capsys: pytest.CaptureFixture[str], link: str) -> None:
    base = {"apps/base/kustomization.yaml": "{}\n", "apps/base/all.yaml": ""}
    build(root, **{"apps/dns/kustomization.yaml": "resources: [../base]\n", "apps/dns/all.yaml": "", **base})
    assert "GEN-EXT" not in checked(root, capsys)[1]
    (root / link).rename(root / "moved")
    (root / link).symlink_to(root / "moved")
    assert f"GEN-EXT-006: {link} is a symbolic link, and apps/dns is built of it" in checked(root, capsys)[1]


def test_a_render_tells_of_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "gen.lock").unlink()
    build(root)
    assert run(["render", "-C", str(root)]) == 0
    (root / "apps/dns/kustomization.yaml").unlink()
    capsys.readouterr()
    assert run(["render", "-C", str(root)]) == 1
    assert "GEN-EXT-006: apps/dns has no kustomization.yaml" in capsys.readouterr().out
