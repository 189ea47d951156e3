"""Reading any folder, file or stream of manifests."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from manifests import line_of
from reference import ROOT

from generator.build.folder import read_manifests
from generator.errors import UsageError
from generator.rules.engine import examine, unjudged
from tools import need_kustomize

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: x}
spec: {ports: [{port: 80}]}
"""


def told(path: Path) -> list[str]:
    return [one.full_name for one in read_manifests(path).objects]


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.yaml").write_text(f"{SERVICE}---\n{SERVICE.replace('x', 'w')}---\n# nothing\n")
    (tmp_path / "below/b.yml").write_text(SERVICE.replace("x", "z"))
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [{"kind": "A", "apiVersion": "b"}]}))
    (tmp_path / "d.txt").write_text(SERVICE)
    built = read_manifests(tmp_path)
    assert [(one.full_name, Path(one.file).name) for one in built.objects] == [
        ("Service x", "a.yaml"),
        ("Service w", "a.yaml"),
        ("Service z", "b.yml"),
    ]
    assert (built.cluster, built.unseen) == (None, ())
    assert built.notes == (f"{tmp_path}/c.json: holds no Kubernetes object",)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("{{ if .Values.x }}\na: b\n", "is a template of a chart"),
        ('{{- include "labels" . | nindent 4 }}\n', "is a template of a chart"),
        ("a: 1\n", "holds no Kubernetes object"),
        (f"{SERVICE}---\na: 1\n", "1 of its documents are no Kubernetes objects"),
        ("# nothing\n", "is empty"),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n", "holds no"),
        ("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n", "holds no"),
        ("a: 0x" + 5000 * "1", "holds no"),
        ("a: \xff".encode("latin-1").decode("latin-1"), "holds no"),
    ],
)
def test_what_is_no_object_is_told_and_not_fatal(tmp_path: Path, content: str, note: str) -> None:
    (tmp_path / "a.yaml").write_text(content)
    (tmp_path / "b.yaml").write_text(SERVICE)
    built = read_manifests(tmp_path)
    assert "Service x" in [one.full_name for one in built.objects]
    assert note in built.notes[0]
    assert built.notes[0] in list(unjudged(built))
    assert built.findings == ()


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a: [", 1, "cannot be read: while parsing a flow node, did not find expected node content"),
        (b"a: 1\n<<<<<<< HEAD\n", 2, "cannot be read: "),
        (b"a: 1\nb: {{ $value }}\nc: }\n", 2, "cannot be read: a key is no scalar"),
        (b"a: &a [*a]\n", 1, "cannot be read: "),
        (b"[" * 100000, 1, "more than 200 levels deep"),
        (b"a: 1\nb: \x00\xfe\n", 2, "cannot be read: "),
        (b"a: b\nc: \xff\n", 2, "cannot be read: "),
        (b"a: 1\nb: {c: 1,\n  c: 2}\n", 3, "cannot be read: the key `c` is there twice"),
        (b"apiVersion: v1\nkind: Service\nmetadata: {name: 5}\n", 2, "a Service without a usable name"),
        (b"apiVersion: v1\nkind: Service\nmetadata: {name: y}\n", 2, "a Service without a usable name"),
        (b"apiVersion: v1\nkind: Service\nmetadata: [1]\n", 2, "a Service without a usable name"),
        (b"apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: ''}\n", 2, "a Widget without a usable name"),
        (b"apiVersion: apps/v1\nkind: Deployment\n", 2, "a Deployment without a usable name"),
        (
            b"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {labels: {a: b}}\nspec: {}\n",
            2,
            "a Workflow without",
        ),
    ],
)
def test_what_cannot_be_read_is_a_fault_at_its_line(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    (tmp_path / "a.YAML").write_bytes(content)
    (tmp_path / "b.yaml").write_text(SERVICE)
    built = read_manifests(tmp_path)
    assert told(tmp_path) == ["Service x"]
    (fault,) = built.findings
    assert (fault.code, fault.file, line_of(fault)) == ("GEN-FILE-001", str(tmp_path / "a.YAML"), line)
    assert message in fault.message


@pytest.mark.parametrize("content", ["", "# nothing\n", "a: 1\n", "{{ if .Values.x }}\n", None])
def test_a_path_without_any_object_is_a_fault(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "a.yaml").write_text(content)
    (fault,) = read_manifests(tmp_path).findings
    number = 0 if content is None else 1
    assert (fault.code, fault.file) == ("GEN-FILE-002", str(tmp_path))
    looked = f"looked for .yaml, .yml and .json, found {number} f"
    assert f"there is no Kubernetes object to judge: {looked}" in fault.message


def test_an_empty_stream_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `kustomize build absent | gen check --rendered -`."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    (fault,) = read_manifests(Path("-")).findings
    assert (fault.code, fault.file) == ("GEN-FILE-002", "-")


def test_a_kustomization_without_any_object_is_a_fault(tmp_path: Path) -> None:
    need_kustomize()
    (tmp_path / "kustomization.yaml").write_text("configMapGenerator: []\nnamePrefix: x-\n")
    (fault,) = read_manifests(tmp_path).findings
    assert fault.code in {"GEN-FILE-002", "GEN-BUILD-001"}


def test_aliases_that_stand_for_too_much_are_told(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{index}: &a{index} [{', '.join([f'*a{index - 1}'] * 10)}]" for index in range(1, 12)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    (fault,) = read_manifests(tmp_path / "bomb.yaml").findings
    assert "more than 3000000 values" in fault.message


def test_a_kustomization_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_kustomize()
    monkeypatch.chdir(ROOT)
    built = read_manifests(Path("overlays/ml50/minio"))
    files = {one.full_name: one.file for one in built.objects}
    assert files["StatefulSet minio/minio"] == "overlays/ml50/minio/statefulset-minio.yaml"
    assert all((ROOT / file).is_file() for file in files.values())
    (tmp_path / "kustomization.yaml").write_text("resources: [absent.yaml]")
    (fault,) = read_manifests(tmp_path).findings
    assert (fault.code, fault.file) == ("GEN-BUILD-001", f"{tmp_path}/kustomization.yaml")
    assert "absent" in fault.message


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SERVICE.encode())))
    built = read_manifests(Path("-"))
    assert [(one.full_name, one.file) for one in built.objects] == [("Service x", "-")]


def test_a_path_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file or folder"):
        read_manifests(tmp_path / "absent")


def test_an_object_that_has_only_the_beginning_of_a_name_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n")
    assert told(tmp_path) == ["Job run-"]
    examine(read_manifests(tmp_path))


def test_a_folder_needs_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SERVICE.replace("port:", "prot:"))
    command = [sys.executable, "-m", "generator", "check", "--rendered", "a.yaml"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("a.yaml:4:16 error GEN-API-001: Service x: ")


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.org}
spec:
  group: example.org
  names: {kind: Rack, plural: racks}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {units: {type: integer}}}}
"""


def test_what_was_judged_before_is_judged_anew_when_its_schema_or_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "objects"
    folder.mkdir()

    def wrong(*, definition: str, units: str) -> list[str]:
        (folder / "crd.yaml").write_text(definition)
        rack = "apiVersion: example.org/v1\nkind: Rack\nmetadata: {name: r1}\nspec: {units: %s}\n"
        (folder / "rack.yaml").write_text(rack % units)
        return [one.code for one in examine(read_manifests(folder)) if one.code == "GEN-API-001"]

    in_words = DEFINITION.replace("integer", "string")
    assert wrong(definition=DEFINITION, units="42") == wrong(definition=DEFINITION, units="42") == []
    assert wrong(definition=in_words, units="42") == ["GEN-API-001"]
    assert wrong(definition=in_words, units="42") == ["GEN-API-001"], "remembered, and told in words again"
    assert wrong(definition=in_words, units="many") == []
    assert wrong(definition=DEFINITION, units="many") == ["GEN-API-001"]


@pytest.mark.parametrize("name", ["kustomization.yaml", "Kustomization"])
def test_a_kustomization_that_is_named_as_a_file_is_meant_as_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "a b").mkdir()
    file = tmp_path / "a b" / name
    for text in (
        "resources: [a.yaml]\n",
        "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n",
        "a: [\n",
    ):
        file.write_text(text)
        (fault,) = read_manifests(file).findings
        assert (fault.code, fault.file) == ("GEN-FILE-002", str(file))
        assert fault.fix == f"name the folder: gen check '{file.parent}'"
    file.write_text(SERVICE)
    assert [one.full_name for one in read_manifests(file).objects] == ["Service x"]
