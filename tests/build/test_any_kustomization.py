"""A kustomization of no cluster: built where it stands, and never from the network."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Asked, Reply, serving
from manifests import line_of, manifest

from generator.build.any_kustomization import build_kustomization
from generator.errors import UsageError
from generator.rules.engine import unjudged
from tools import need_kustomize

MINE = manifest("ConfigMap", name="mine")
THEIRS = manifest("ConfigMap", name="theirs")
TARGET = {"kind": "ConfigMap"}
PLUGIN = {"apiVersion": "builtin", "kind": "PatchTransformer", "metadata": {"name": "t"}, "target": TARGET}


class Server:
    """Counts what is asked of it, and gives a ConfigMap every time."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked.path)
        return 200, {}, json.dumps(THEIRS).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    need_kustomize()
    found = Server()
    with serving(found.answer) as found.url:
        yield found


def put(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def folder(place: Path, **content: Any) -> Path:
    put(place / "mine.yaml", MINE)
    put(place / "kustomization.yaml", {"resources": ["mine.yaml"], **content})
    return place


FIELDS = [
    ("resources", ["mine.yaml", "URL"]),
    ("bases", ["URL"]),
    ("crds", ["URL"]),
    ("configurations", ["URL"]),
    ("openapi", {"path": "URL"}),
    ("generators", ["URL"]),
    ("transformers", ["URL"]),
    ("validators", ["URL"]),
    ("transformers", [json.dumps({**PLUGIN, "path": "URL"})]),
    ("transformers", ["plugin.yaml"]),
    ("patches", [{"path": "URL", "target": TARGET}]),
    ("patchesStrategicMerge", ["URL"]),
    ("patchesJson6902", [{"path": "URL", "target": {**TARGET, "version": "v1", "name": "mine"}}]),
    ("replacements", [{"path": "URL"}]),
    ("configMapGenerator", [{"name": "made", "files": ["key=URL"]}]),
    ("configMapGenerator", [{"name": "made", "files": ["URL"]}]),
    ("secretGenerator", [{"name": "made", "envs": ["URL"]}]),
]


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_no_field_of_a_kustomization_leads_to_the_network(
    tmp_path: Path, server: Server, field: str, value: object
) -> None:
    url = f"{server.url}/x.yaml"
    put(tmp_path / "plugin.yaml", {**PLUGIN, "path": url})
    built = build_kustomization(folder(tmp_path, **{field: json.loads(json.dumps(value).replace("URL", url))}))
    assert server.asked == []
    assert [one.full_name for one in built.objects] == ["ConfigMap tools/mine"]
    (note,) = built.notes
    assert f"{url} in {os.path.relpath(tmp_path)}/kustomization.yaml: not looked at; commit the file" in note
    assert note in list(unjudged(built))
    assert (built.findings, built.remote) == ((), ("",))


@pytest.mark.parametrize(
    "address",
    [
        "github.com/example/x//deploy?ref=v1",
        "git@git.example.org:x/y.git",
        "me@git.example.org:x/y.git",
        "git::https://git.example.org/x/y",
        "ssh://git.example.org/x/y.git",
        "GitHub.com:example/x",
        "file:///srv/git/x",
    ],
)
@pytest.mark.parametrize("field", ["resources", "components"])
def test_git_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, address: str) -> None:
    need_kustomize()
    programs, begun = tmp_path / "bin", tmp_path / "begun"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\ntouch {begun}\nexit 1\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    own = {"resources": ["mine.yaml"]}
    built = build_kustomization(folder(tmp_path / "x", **{field: [*own.get(field, []), address]}))
    assert not begun.exists()
    assert [one.full_name for one in built.objects] == ["ConfigMap tools/mine"]
    assert f"remote {field.removesuffix('s')} {address} in " in built.notes[0]


def test_what_is_remote_may_be_far_below_and_its_patches_with_it(tmp_path: Path, server: Server) -> None:
    """As in real projects: the overlay patches what a base brings from a release."""
    put(tmp_path / "theirs/kustomization.yaml", {"resources": [f"{server.url}/release.yaml"]})
    put(tmp_path / "top/patch.yaml", {**THEIRS, "data": {"a": "b"}})
    patches = [{"path": "patch.yaml"}]
    built = build_kustomization(folder(tmp_path / "top", resources=["mine.yaml", "../theirs"], patches=patches))
    assert server.asked == []
    (one,) = built.objects
    assert (one.full_name, one.file) == ("ConfigMap tools/mine", os.path.relpath(tmp_path / "top/mine.yaml"))
    assert f"{tmp_path}/top: its patches are not judged: what they change is remote" in built.notes
    assert built.findings == ()


def test_what_fails_for_another_reason_is_a_fault_that_names_real_folders(tmp_path: Path, server: Server) -> None:
    place = folder(tmp_path / "top", resources=["absent.yaml", f"{server.url}/x.yaml"])
    built = build_kustomization(place)
    (fault,) = built.findings
    assert (fault.code, fault.file) == ("GEN-BUILD-001", f"{place}/kustomization.yaml")
    assert "absent.yaml" in fault.message
    assert "/gen-" not in fault.message
    assert "commit what is remote" in fault.fix
    assert len(built.notes) == 1


def test_a_component_is_built_by_itself_as_far_as_that_goes(tmp_path: Path) -> None:
    """As `custom/` of an overlay is one."""
    need_kustomize()
    built = build_kustomization(folder(tmp_path / "top", kind="Component", resources=["mine.yaml"]))
    assert ([one.full_name for one in built.objects], built.findings) == (["ConfigMap tools/mine"], ())
    put(tmp_path / "more/patch.yaml", THEIRS)
    built = build_kustomization(folder(tmp_path / "more", kind="Component", patches=[{"path": "patch.yaml"}]))
    (fault,) = built.findings
    assert fault.fix == "a Component may need what it is added to: check a kustomization that names it"


def test_a_folder_that_is_called_like_an_address_is_no_excuse(tmp_path: Path) -> None:
    """Only what Kustomize itself would fetch is set aside; anything else that is not there is a mistake."""
    need_kustomize()
    for name in ("v1.2/absent.yaml", "gitlab.com/absent"):
        (fault,) = build_kustomization(folder(tmp_path, resources=[name])).findings
        assert (fault.code, fault.fix) == ("GEN-BUILD-001", "mend the file that Kustomize names")


def test_nothing_is_written_where_it_stands(tmp_path: Path, server: Server) -> None:
    place = folder(tmp_path / "top", resources=["mine.yaml", f"{server.url}/x.yaml", "below"])
    put(place / "below/kustomization.yaml", {"namePrefix": "a-", "resources": [f"{server.url}/y.yaml"]})
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.yaml")}
    assert len(build_kustomization(place).notes) == 2
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.yaml")} == before
    assert server.asked == []


def test_pipes_beside_a_kustomization_are_left_where_they_are(tmp_path: Path, server: Server) -> None:
    place = folder(tmp_path / "top", resources=["mine.yaml", f"{server.url}/x.yaml"])
    os.mkfifo(place / "pipe")
    assert len(build_kustomization(place).objects) == 1
    (place / "link.yaml").symlink_to("loop.yaml")
    (place / "loop.yaml").symlink_to("link.yaml")
    assert len(build_kustomization(place).objects) == 1


def test_a_key_that_comes_twice_is_a_fault_at_its_line(tmp_path: Path) -> None:
    """Kustomize refuses it as well, and does not say where."""
    (tmp_path / "kustomization.yaml").write_text("resources: []\nnamePrefix: a-\nresources: [x.yaml]\n")
    (fault,) = build_kustomization(tmp_path).findings
    assert (fault.code, line_of(fault)) == ("GEN-FILE-001", 3)
    assert "the key `resources` is there twice" in fault.message


def test_a_disk_without_room_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(UsageError, match=r"where Kustomize builds: No space left on device$"):
        build_kustomization(folder(tmp_path, resources=[f"{server.url}/x.yaml"]))
