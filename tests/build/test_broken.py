"""What stands vendored and is not true."""

from pathlib import Path

import pytest
from msgspec import structs

from generator.components import compose
from generator.layout.upstream import Found, files, folder, kustomized, seal
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.build.broken import check_vendored

NAME = "deployment-volcano-controllers.yaml"


@pytest.fixture
def place(tmp_path: Path, a30: Cluster) -> Path:
    """A repository in which Volcano is vendored, as `gen vendor` writes it."""
    objects = {NAME: b"kind: Deployment\n"}
    (volcano,) = (one for one in compose(a30) if one.name == "volcano")
    here = tmp_path / folder(a30.name, "volcano")
    here.mkdir(parents=True)
    for path, content in files(a30, volcano, Found(seal=seal(objects))).items():
        (tmp_path / path).write_bytes(content)
    (here / NAME).write_bytes(objects[NAME])
    (here / "kustomization.yaml").write_bytes(kustomized(objects))
    return here


def found(place: Path, cluster: Cluster) -> list[Finding]:
    return list(check_vendored(place.parents[3], cluster))


def test_what_is_as_it_was_vendored_is_no_fault(place: Path, a30: Cluster) -> None:
    assert found(place, a30) == []


@pytest.mark.parametrize(
    ("code", "file", "content"),
    [
        ("GEN-VEND-001", "inputs.yaml", b"helm: v3.18.0\n"),
        ("GEN-VEND-002", "inputs.yaml", None),
        ("GEN-VEND-002", "found.json", b"<<<<<<< HEAD\n"),
        ("GEN-VEND-002", "kustomization.yaml", b"resources: []\n"),
        ("GEN-VEND-002", NAME, None),
        ("GEN-VEND-002", NAME, b"kind: Edited\n"),
        ("GEN-VEND-002", "configmap-more.yaml", b"kind: ConfigMap\n"),
    ],
)
def test_stale_and_damaged_components_are_faults(
    place: Path, a30: Cluster, code: str, file: str, content: bytes | None
) -> None:
    if content is None:
        (place / file).unlink()
    else:
        (place / file).write_bytes(content)
    (fault,) = found(place, a30)
    assert (fault.code, fault.fix) == (code, "gen vendor volcano")
    assert fault.file == "overlays/a30-bench/volcano/upstream/inputs.yaml"


def test_a_component_that_gen_does_not_manage_is_not_looked_at(place: Path, a30: Cluster) -> None:
    (place / NAME).unlink()
    settings = structs.replace(a30.settings("volcano"), managed=False)
    unmanaged = structs.replace(a30, components={**a30.components, "volcano": settings})
    assert found(place, unmanaged) == []
