"""Building in a copy: whatever a kustomization leads to, nothing of the user's is changed."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from loopback import Asked, Reply, serving
from reference import ROOT, load

from generator.build import cache
from generator.build.applications import build
from generator.errors import UsageError
from generator.rules.engine import unjudged
from tools import need_kustomize

REMOTE = "resources:\n- cm.yaml\n- https://charts.example.org/remote.yaml\n"
CUSTOM = "overlays/a30-bench/queues/custom/kustomization.yaml"
COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
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


def file_that_is_a_link(place: Path) -> None:
    file = place / "overlays/a30-bench/queues/custom/kustomization.yaml"
    (file.parent / "cm.yaml").write_text(CONFIG)
    (place / "mine.yaml").write_text(json.dumps({**COMPONENT, "resources": ["cm.yaml", "https://example.org/x.yaml"]}))
    file.unlink()
    file.symlink_to(place / "mine.yaml")


@pytest.mark.parametrize(
    "make", [folder_of_the_users, folder_behind_a_link, corner_that_is_a_link, file_that_is_a_link]
)
def test_nothing_is_written_through_links(place: Path, make: Callable[[Path], None]) -> None:
    make(place)
    before = digest(place)
    built = build(place, load("a30-bench"))
    assert digest(place) == before
    assert any(one.full_name == "ConfigMap argocd/mine" for one in built.objects)


def put(file: Path, **content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**COMPONENT, **content}))


@pytest.mark.parametrize("field", ["resources", "components", "crds", "configurations", "transformers"])
def test_nothing_of_the_users_leads_to_the_network(place: Path, field: str) -> None:
    asked: list[str] = []

    def answer(request: Asked) -> Reply:
        asked.append(request.path)
        return 200, {}, CONFIG.encode()

    with serving(answer) as url:
        put(place / CUSTOM, **{field: [f"{url}/x.yaml"]})
        built = build(place, load("a30-bench"))
    assert asked == []
    nouns = {"resources": "resource", "components": "component"}
    told = f"remote {nouns.get(field, 'file')} {url}/x.yaml in {CUSTOM}: not looked at; commit the file"
    assert told in list(unjudged(built))
    assert "queues" in built.unseen
    assert (built.remote, "queues" in built.unvendored) == (("queues",), False)


def test_what_vendoring_does_not_bring_is_not_said_to_be_vendored(place: Path) -> None:
    put(place / CUSTOM, resources=["https://example.org/x.yaml"], helmCharts=[{"name": "their-chart"}])
    lines = list(unjudged(build(place, load("a30-bench"))))
    (vendored,) = [line for line in lines if line.startswith("not vendored")]
    assert "queues" not in vendored
    assert f"Helm chart their-chart in {CUSTOM}: not looked at; commit what Helm makes of it" in lines


def test_a_component_that_is_not_vendored_stays_so_beside_what_is_remote(place: Path) -> None:
    put(place / "overlays/a30-bench/calico/custom/kustomization.yaml", resources=["https://example.org/x.yaml"])
    built = build(place, load("a30-bench"))
    assert "calico" in built.unvendored
    assert any(
        note.startswith("remote resource https://example.org/x.yaml in overlays/a30-bench/calico/custom/")
        for note in built.notes
    )


def test_a_patch_for_what_is_remote_is_set_aside_and_told(place: Path) -> None:
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "theirs", "namespace": "mlperf"}}
    put(place / CUSTOM, resources=["https://example.org/x.yaml"], patches=[{"patch": json.dumps(patch)}])
    notes = build(place, load("a30-bench")).notes
    assert "overlays/a30-bench/queues/custom: its patches are not judged: what they change is remote" in notes


def test_a_folder_that_two_applications_share_is_told_for_both(place: Path) -> None:
    folder_of_the_users(place)
    lead(place, "../../../../apps")
    put(place / "overlays/a30-bench/tenants/custom/kustomization.yaml", resources=["../../../../apps"])
    assert set(build(place, load("a30-bench")).remote) == {"queues", "tenants"}


def test_a_folder_that_is_called_like_an_address_is_no_excuse(place: Path) -> None:
    lead(place, "v1.2/absent.yaml")
    with pytest.raises(UsageError, match=r"v1\.2/absent\.yaml"):
        build(place, load("a30-bench"))


@pytest.mark.parametrize("name", ["pipe", "customresourcedefinition-pipe.yaml"])
def test_a_pipe_among_the_overlays_is_one_message(place: Path, name: str) -> None:
    os.mkfifo(place / "overlays/a30-bench/queues/custom" / name)
    with pytest.raises(UsageError, match=f"queues/custom/{name}: cannot be read, .*: is a named pipe$"):
        build(place, load("a30-bench"))


def test_a_disk_without_room_is_one_message(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device", source, None, target)

    monkeypatch.setattr("shutil.copyfile", full)
    monkeypatch.setattr(cache, "place", lambda _: None)
    with pytest.raises(UsageError, match=r"where Kustomize builds: No space left on device$") as caught:
        build(place, load("a30-bench"))
    assert len(str(caught.value)) < 400
