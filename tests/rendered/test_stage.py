"""Building in a copy: whatever a kustomization leads to, nothing of the user's is changed."""

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from reference import ROOT, load

from generator.rendered.build import build
from tools import need_kustomize

REMOTE = "resources:\n- cm.yaml\n- https://charts.example.org/remote.yaml\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: argocd}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    need_kustomize()
    for name in ("base", "clusters", "overlays", "workflows"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def digest(root: Path) -> dict[str, str]:
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()}


def lead(place: Path, to: str) -> None:
    file = place / "overlays/a30-bench/queues/custom/kustomization.yaml"
    file.write_text(file.read_text().replace("resources: []", f"resources: [{to}]"))


def folder_of_the_users(place: Path) -> None:
    (place / "apps/more").mkdir(parents=True)
    (place / "apps/cm.yaml").write_text(CONFIG)
    (place / "apps/kustomization.yaml").write_text(REMOTE)
    lead(place, "../../../../apps")


def folder_behind_a_link(place: Path) -> None:
    folder_of_the_users(place)
    (place / "apps").rename(place / "elsewhere")
    (place / "apps").symlink_to("elsewhere")


def corner_that_is_a_link(place: Path) -> None:
    folder_of_the_users(place)
    corner = place / "overlays/a30-bench/queues/custom"
    corner.rename(place / "corner")
    corner.symlink_to("../../../corner")
    (place / "corner/kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "resources: [cm.yaml, 'https://charts.example.org/remote.yaml']\n"
    )
    (place / "corner/cm.yaml").write_text(CONFIG)


@pytest.mark.parametrize("make", [folder_of_the_users, folder_behind_a_link, corner_that_is_a_link])
def test_nothing_is_written_through_links(place: Path, make: Callable[[Path], None]) -> None:
    make(place)
    before = digest(place)
    built = build(place, load("a30-bench"))
    assert digest(place) == before
    assert any(one.told == "ConfigMap argocd/mine" for one in built.objects)
