"""Folders as others publish them: what their tools fill in later is no mistake, the mistake beside it is one."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from manifests import container, deployment, manifest, workload

from generator.build.folder import read_manifests
from generator.rules.engine import examine
from generator.rules.judging import _joined

FLUX = manifest("Kustomization", "kustomize.toolkit.fluxcd.io/v1", name="app", spec={"postBuild": {"substitute": {}}})
CLAIM = manifest("PersistentVolumeClaim", name="${APP}", spec={
    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
})  # fmt: skip
SCALER = manifest("HorizontalPodAutoscaler", "autoscaling/v2", name="${APP}", spec={
    "maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "${KIND:=Deployment}", "name": "${APP}"},
})  # fmt: skip
SCALED = workload(replicas="${REPLICAS}", containers=[container(image="${IMAGE}")])  # type: ignore[arg-type]
SCALED["spec"]["selector"] = {"matchLabels": {"app": "x"}}
SERVICE = manifest("Service", name="exporter", spec={"selector": {"app": "exporter"}, "ports": [{"port": 80}]})


def put(root: Path, **files: Any) -> Path:
    """Write files; a name says its folder before two underscores."""
    for name, content in files.items():
        file = root / f"{name.replace('__', '/')}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def codes(root: Path) -> list[str]:
    """Return what is found, without the kinds that nobody here knows."""
    built = read_manifests(root)
    return sorted(one.code for one in (*built.findings, *examine(built)) if one.code != "GEN-API-004")


def test_variables_are_for_flux_where_it_replaces_them(tmp_path: Path) -> None:
    own = put(tmp_path, app__claim=CLAIM, app__scaler=SCALER, app__web=SCALED)
    assert codes(own) == ["GEN-API-001", "GEN-API-006", "GEN-API-006", "GEN-HPA-001", "GEN-IMG-005"]
    assert codes(put(own, ks=FLUX)) == []
    assert codes(put(own, ks={**FLUX, "spec": {}})) != []


def test_variables_are_for_flux_in_one_file_and_in_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, web=SCALED, ks=FLUX)
    both = f"{(tmp_path / 'web.yaml').read_text()}\n---\n{(tmp_path / 'ks.yaml').read_text()}\n"
    assert codes(tmp_path / "web.yaml") != []
    (tmp_path / "both.yaml").write_text(both)
    assert codes(tmp_path / "both.yaml") == []
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(both.encode())))
    assert codes(Path("-")) == []
    (together,) = _joined([(read_manifests(tmp_path / f"{name}.yaml"), False) for name in ("web", "ks")])
    assert [one.code for one in examine(together) if one.code != "GEN-API-004"] == []


def test_a_kustomization_names_the_namespaces(tmp_path: Path) -> None:
    space = manifest("Namespace", name="_")
    del space["metadata"]["namespace"]
    assert codes(put(tmp_path, app__space=space)) == ["GEN-API-006"]
    assert codes(put(tmp_path, app__kustomization={"namespace": "network", "resources": ["space.yaml"]})) == []
    wrong = put(tmp_path, app__claim={**CLAIM, "metadata": {"name": "a_b", "namespace": "_"}},
                app__kustomization={"namespace": "network", "resources": ["space.yaml", "claim.yaml"]})  # fmt: skip
    assert codes(wrong) == ["GEN-API-006"]


def test_what_sops_writes_goes_when_it_is_decrypted(tmp_path: Path) -> None:
    secret = manifest("Secret", stringData={"password": "ENC[AES256_GCM,data:eA==]"})
    assert codes(put(tmp_path, one={**secret, "sops": {"version": "3.9.0"}})) == []
    assert codes(put(tmp_path, one={**secret, "sopps": {"version": "3.9.0"}})) == ["GEN-API-001"]


@pytest.mark.parametrize(("value", "path", "found"), [
    ("<path:kv/data/db#password>", "", []), ("<password>", "kv/data/db", []), ("<password>", "", ["GEN-SEC-001"]),
    ("x<password>", "kv/data/db", ["GEN-SEC-001"]),
])  # fmt: skip
def test_what_the_vault_plugin_fills_in_is_no_secret(tmp_path: Path, value: str, path: str, found: list[str]) -> None:
    one = manifest("Secret", stringData={"password": value})
    one["metadata"]["annotations"] = {"avp.kubernetes.io/path": path} if path else {}
    assert codes(put(tmp_path, one=one)) == found


def test_a_service_of_one_file_may_be_for_pods_of_somebody_else(tmp_path: Path) -> None:
    pods = deployment()
    pods["spec"]["selector"] = {"matchLabels": {"app": "x"}}
    assert codes(put(tmp_path, service=SERVICE, pods=pods)) == []
    for labels in ({"app": "exporters"}, {"name": "exporter"}):
        near = json.loads(json.dumps(pods))
        near["spec"] |= {"selector": {"matchLabels": labels}}
        near["spec"]["template"]["metadata"]["labels"] = labels
        assert codes(put(tmp_path, pods=near)) == ["GEN-SEL-001"]
    named = {**pods, "metadata": {**pods["metadata"], "name": "exporter"}}
    assert codes(put(tmp_path, pods=named)) == ["GEN-SEL-001"]
    assert codes(put(tmp_path, pods={"apiVersion": "v1", "kind": "List", "items": [pods, SERVICE]}, service="")) == [
        "GEN-SEL-001"
    ]


def test_what_a_kustomization_may_patch_is_not_held_against_a_level(tmp_path: Path) -> None:
    space = manifest("Namespace", name="tools")
    space["metadata"] = {"name": "tools", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    pods = deployment()
    pods["spec"]["selector"] = {"matchLabels": {"app": "x"}}
    assert set(codes(put(tmp_path, spaces__space=space, app__pods=pods))) == {"GEN-POD-002"}
    assert codes(put(tmp_path, app__kustomization={"resources": ["pods.yaml"]})) == []
    (tmp_path / "app/kustomization.yaml").unlink()
    assert codes(put(tmp_path, spaces__kustomization={"resources": ["space.yaml"]})) == []


def test_images_that_ko_builds_and_examples_for_people_are_left_out(tmp_path: Path) -> None:
    built = workload(containers=[container(image="ko://example.org/cmd/manager")])
    built["spec"]["selector"] = {"matchLabels": {"app": "x"}}
    config = manifest("ConfigMap", data={"_example": '{"image": "example.org/agent:latest"}'})
    assert codes(put(tmp_path, built=built, config=config)) == []
    built["spec"]["template"]["spec"]["containers"][0]["image"] = "http://example.org/cmd/manager"
    config["data"] = {"agent": config["data"]["_example"]}
    assert codes(put(tmp_path, built=built, config=config)) == ["GEN-IMG-001", "GEN-IMG-005"]


def test_data_in_json_is_no_manifest_that_cannot_be_read(tmp_path: Path) -> None:
    put(tmp_path, service=SERVICE)
    (tmp_path / "data.json").write_text('{"rating": 5}\n{"rating": 4}\n')
    assert codes(tmp_path) == []
    (tmp_path / "data.json").write_text('{"apiVersion": "v1"}\n{"rating": 4}\n')
    assert codes(tmp_path) == ["GEN-FILE-001"]


@pytest.mark.parametrize("line", ["image: {{image}}", "image: {user}/app:1"])
def test_a_template_that_nobody_filled_in_is_told_as_one(tmp_path: Path, line: str) -> None:
    (fault,) = read_manifests(put(tmp_path, one=f"apiVersion: v1\nkind: Pod\nspec:\n  {line}\n")).findings
    assert "begins a map here" in fault.message
    assert fault.fix == "quote the text, or fill the template in before it is judged"


def test_images_and_values_that_are_wrong_in_one_way_have_one_cause(tmp_path: Path) -> None:
    latest = workload(containers=[container(name=name, image="example.org/x") for name in ("a", "b")])
    secret = manifest("Secret", stringData={"user": "x", "password": "y"})
    found = examine(read_manifests(put(tmp_path, pods=latest, secret=secret)))
    causes = {(one.code, one.cause) for one in found if one.code in {"GEN-IMG-001", "GEN-SEC-001"}}
    assert causes == {
        ("GEN-IMG-001", "the image example.org/x has no tag"), ("GEN-SEC-001", "Secret tools/x has values"),
    }  # fmt: skip
