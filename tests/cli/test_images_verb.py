"""`gen images` as a user calls it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference import ROOT

from generator.cli import run
from generator.components import compose
from generator.layout.files import document, kustomization, objects
from generator.layout.mirror import shared_images
from generator.layout.upstream import Found, brings, files, folder
from generator.repository.cluster_files import load
from generator.upstream.image_list import Image, Use, merged
from tools import need_kustomize

MIRROR = "mirror.example.org/k8s"
DIGEST = f"sha256:{'a' * 64}"
CLUSTER = "clusters/a30-bench/cluster.yaml"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The small reference cluster, rendered, nothing vendored."""
    need_kustomize()
    made = tmp_path / "clusters/a30-bench"
    shutil.copytree(ROOT / "clusters/a30-bench", made, ignore=lambda *_: {"argocd", "bootstrap"})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert run(["render", "-C", str(tmp_path)]) == 0
    return tmp_path


def edit(repository: Path, old: str, new: str) -> None:
    text = (repository / CLUSTER).read_text()
    assert old in text
    (repository / CLUSTER).write_text(text.replace(old, new, 1))


def vendor(repository: Path, image: str = "quay.io/a/b:1") -> None:
    """Vendor every component: each chart makes one pod."""
    (one,) = load(repository)
    assert one.cluster
    for component in compose(one.cluster):
        if not brings(component):
            continue
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": component.name, "namespace": "default"},
            "spec": {"containers": [{"name": "a", "image": image, "args": ["--x=quay.io/c/d:1"]}]},
        }
        place = folder(one.name, component.name)
        names, made = objects(place, [pod], "x")
        made |= files(one.cluster, component, Found(images=shared_images([pod])))
        made[f"{place}/kustomization.yaml"] = document(kustomization(names), "x")
        for path, content in made.items():
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_bytes(content)
    assert run(["render", "-C", str(repository)]) == 0


def images(repository: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["images", "-C", str(repository), *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def data(repository: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(images(repository, capsys, "--output", "json", *arguments)[1])
    return found


def test_what_is_not_vendored_is_told_and_does_no_harm_without_a_mirror(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = images(repository, capsys)
    assert code == 0
    assert "registry.k8s.io/kube-apiserver:v1.35.3" in out
    assert "not vendored, their images are not in the list: argo-cd, argo-workflows, calico, cert-manager" in err


def test_every_image_is_listed_with_who_wants_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vendor(repository)
    found = data(repository, capsys)
    assert found["unseen"] == {"a30-bench": []}
    by_name = {image["name"]: image for image in found["images"]}
    assert {use["component"] for use in by_name["quay.io/c/d:1"]["uses"]} >= {"calico", "argo-cd", "volcano"}
    assert by_name["quay.io/c/d:1"]["uses"][0]["field"] == "spec.containers[0].args[0]"
    # What no object names: kubeadm's own, and what the Calico operator starts.
    etcd = [use["file"] for use in by_name["registry.k8s.io/etcd:3.6.6-0"]["uses"]]
    assert any(file.endswith("bootstrap/kubeadm/init.yaml") for file in etcd)
    assert by_name["quay.io/calico/node:v3.32.1"]["uses"][0]["object"] == "the operator of Installation default"


def test_a_patch_of_the_users_counts(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vendor(repository)
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "quay.io/mine/own:3"}]
    custom = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [{"target": {"kind": "Pod"}, "patch": json.dumps(change)}],
    }
    (repository / "overlays/a30-bench/volcano/custom/kustomization.yaml").write_text(yaml.safe_dump(custom))
    assert "quay.io/mine/own:3" in images(repository, capsys)[1]


def test_with_a_mirror_everything_comes_from_it_or_the_command_fails(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    assert run(["render", "-C", str(repository)]) == 0
    registry(repository, f"{MIRROR}/quay.io")
    code, _, err = images(repository, capsys, "--check")
    assert code == 1
    assert "is not from" not in err
    (told,) = [line for line in err.splitlines() if "argo-cd" in line]
    assert told.startswith(f"{CLUSTER}: warning GEN-IMG-006: site.images: the images of argo-cd, ")
    assert told.endswith("; fix: run `gen vendor`, and commit")
    (found,) = data(repository, capsys)["findings"]
    lines = (repository / CLUSTER).read_text().splitlines()
    assert (found["code"], lines[found["line"] - 1]) == ("GEN-IMG-006", f"    images: {MIRROR}")
    vendor(repository)
    found = data(repository, capsys)
    applied = {use["applied"] for image in found["images"] for use in image["uses"]}
    assert {one for one in applied if not one.startswith(f"{MIRROR}/")} == set()
    assert f"{MIRROR}/quay.io/calico/node:v3.32.1" in applied
    assert f"{MIRROR}/quay.io/c/d:1" in applied
    assert f"{MIRROR}/registry.k8s.io/pause:3.10.1" in applied
    assert images(repository, capsys, "--check")[0] == 0
    registry(repository, "quay.io")
    assert images(repository, capsys, "--check")[0] == 1
    # Upstream's names are what is to be copied.
    assert MIRROR not in images(repository, capsys, "--output", "plain")[1]


def test_the_sites_own_image_is_listed_and_not_among_what_is_to_be_copied(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    own = f"{MIRROR}/team/metrics:1.0.0"
    vendor(repository, own)
    registry(repository, f"{MIRROR}/quay.io")
    assert images(repository, capsys, "--check")[0] == 0
    overlays = (repository / "overlays").rglob("kustomization.yaml")
    assert [path for path in overlays if "docker.io/team" in path.read_text()] == []
    by_name = {image["name"]: image for image in data(repository, capsys)["images"]}
    assert by_name[own]["own"] is True
    assert "own" not in by_name["quay.io/c/d:1"]
    assert {use["applied"] for use in by_name[own]["uses"]} == {own}
    rows = {line.split()[0]: line for line in images(repository, capsys)[1].splitlines()}
    assert rows[own].endswith("volcano (on the mirror already)")
    assert "already" not in rows["quay.io/c/d:1"]
    for output in ("plain", "skopeo"):
        _, out, err = images(repository, capsys, "--output", output)
        assert "team/metrics" not in out
        assert "quay.io" in out
        assert f"left out, the site's own and on the mirror already: {own}\n" in err


def test_an_image_is_the_sites_own_where_it_is_on_the_mirror_of_every_cluster() -> None:
    use = Use(cluster="a", component="c", file="x", applied="a.example.org/x:1")
    own = Image(name=use.applied, uses=(use,), of_site=True)
    brought = Image(name=use.applied, uses=(use,))
    for both in ([own], [brought]), ([brought], [own]):
        (one,) = merged(both)
        assert (one.of_site, len(one.uses)) == (False, 2)
    assert merged([[own], [own]])[0].of_site


def test_what_calico_starts_is_named_by_where_it_comes_from(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vendor(repository)
    registry(repository, "evil.example.org/x")
    found = images(repository, capsys, "--output", "plain")[1]
    assert "evil.example.org/x/calico/node:v3.32.1\n" in found
    assert "quay.io/calico/node" not in found


def registry(repository: Path, value: str) -> None:
    change = [{"op": "add", "path": "/spec/registry", "value": value}]
    custom = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [{"target": {"kind": "Installation"}, "patch": json.dumps(change)}],
    }
    (repository / "overlays/a30-bench/calico/custom/kustomization.yaml").write_text(yaml.safe_dump(custom))


def test_an_image_from_elsewhere_is_named_with_object_field_and_fix(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    vendor(repository)
    registry(repository, f"{MIRROR}/quay.io")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "quay.io/mine/own:3"}]},
    }
    corner = bring(repository, pod)
    code, out, err = images(repository, capsys, "--check")
    assert (code, out) == (1, "")
    assert "Pod default/mine, spec.containers[0].image: quay.io/mine/own:3 is not from mirror.example.org/k8s" in err
    place = f"{corner.relative_to(repository)}/"
    assert f"fix: gen render; if that leaves it, in {place}: {MIRROR}/quay.io/mine/own:3" in err


def bring(repository: Path, *manifests: Any) -> Path:
    """Write objects of the user's and return the folder."""
    corner = repository / "overlays/a30-bench/volcano/custom"
    (corner / "pod.yaml").write_text(yaml.safe_dump_all(manifests))
    kustomization = yaml.load((corner / "kustomization.yaml").read_text(), yaml.CSafeLoader)
    (corner / "kustomization.yaml").write_text(yaml.safe_dump({**kustomization, "resources": ["pod.yaml"]}))
    return corner


def user_pod(image: str) -> Any:
    spec = {"containers": [{"name": "a", "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine", "namespace": "default"}, "spec": spec}


def user_workflow(image: str, **parameter: str) -> Any:
    template = {"name": "a", "inputs": {"parameters": [{"name": "x", **parameter}]}, "container": {"image": image}}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"templates": [template]},
    }


@pytest.mark.parametrize(
    "image", ["${IMG}", "Docker.io/library/nginx:1.27.1", "evil.example.com/x@sha256:abc", "evil.example.com/x@sha512:"]
)
def test_an_image_that_cannot_be_read_is_listed_and_makes_the_check_fail(
    repository: Path, capsys: pytest.CaptureFixture[str], image: str
) -> None:
    vendor(repository)
    assert images(repository, capsys, "--check")[0] == 0
    corner = bring(repository, user_pod(image))
    code, _, err = images(repository, capsys, "--check")
    assert code == 1
    where = f"{corner.relative_to(repository)}/pod.yaml: error GEN-IMG-005: Pod default/mine, spec.containers[0].image"
    assert f"{where}: `{image}` is not readable as an image; fix: " in err
    assert "pinned by digest, 1 not readable" in err
    (one,) = (one for one in data(repository, capsys)["findings"] if one["severity"] == "error")
    assert (one["object"], one["path"]) == ("Pod default/mine", "spec.containers[0].image")
    assert one["code"] == "GEN-IMG-005"
    text = (repository / one["file"]).read_text().splitlines()[one["line"] - 1]
    assert yaml.load(text.strip().removeprefix("- "), yaml.CSafeLoader)["image"] == image


def test_an_open_parameter_of_a_workflow_is_told_and_fails_with_a_mirror(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "evil.example.com/{{inputs.parameters.x}}:1.0.0"
    vendor(repository)
    bring(repository, user_workflow(text))
    code, _, err = images(repository, capsys, "--check")
    assert code == 0
    assert f"note: WorkflowTemplate default/mine, spec.templates[0].container.image: `{text}` is not readable" in err
    found = data(repository, capsys)
    assert found["findings"] == []
    assert [(one["path"], one["code"]) for one in found["notes"]] == [("spec.templates[0].container.image", "")]
    bring(repository, user_workflow(text, default="tool"))
    assert "evil.example.com/tool:1.0.0\n" in images(repository, capsys, "--output", "plain")[1]
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    assert run(["render", "-C", str(repository)]) == 0
    registry(repository, f"{MIRROR}/quay.io")
    code, _, err = images(repository, capsys, "--check")
    assert code == 1
    assert f"evil.example.com/tool:1.0.0 is not from {MIRROR}" in err
    bring(repository, user_workflow(text))
    code, _, err = images(repository, capsys, "--check")
    assert code == 1
    assert f"error GEN-IMG-003: WorkflowTemplate default/mine, spec.templates[0].container.image: `{text}`" in err
    bring(repository, user_workflow(f"{MIRROR}/{text}"))
    assert images(repository, capsys, "--check")[0] == 0


def test_images_without_a_tag_and_with_variables_are_not_passed_over(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    vendor(repository)
    registry(repository, f"{MIRROR}/quay.io")
    corner = bring(repository, user_pod(f"{MIRROR}/quay.io/a/b:1"))
    assert images(repository, capsys, "--check")[0] == 0
    pod = user_pod(f"{MIRROR}/quay.io/a/b:1")
    pod["spec"]["containers"][0] |= {
        "args": ["--helper-image=quay.io/b/b"],
        "env": [
            {"name": "REG", "value": "evil.example.org"},
            {"name": "SIDECAR_IMAGE", "value": "quay.io/e8/e8"},
            {"name": "RUNNER_IMAGE", "value": "$(REG)/runner:1.0.0"},
        ],
    }
    helper = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "helper", "namespace": "default"}}
    text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: busybox\n  - image: quay.io/foo/bar\n"
    bring(repository, pod, {**helper, "data": {"helperPod.yaml": text}})
    code, _, err = images(repository, capsys, "--check")
    assert code == 1
    for name in ("quay.io/b/b", "quay.io/e8/e8", "docker.io/library/busybox", "quay.io/foo/bar"):
        assert f": {name}:latest is not from {MIRROR}; fix: " in err
    where = f"{corner.relative_to(repository)}/pod.yaml: error GEN-IMG-003: Pod default/mine, spec.containers[0].env[2]"
    told = "`$(REG)/runner:1.0.0` is not readable as an image; fix: write the image itself"
    assert f"{where}.value: {told}\n" in err


def test_a_stale_component_is_told_and_fails_with_a_mirror(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vendor(repository)
    assert data(repository, capsys)["stale"] == {"a30-bench": []}
    assert "other inputs" not in images(repository, capsys, "--check")[2]
    told = "a30-bench: vendored from other inputs than today's, so that their images may become others: metrics-server"
    values = "  components:\n    metrics-server: {values: {image: {repository: evil.example.org/x}}}\n"
    edit(repository, "  site:\n", f"{values}  site:\n")
    assert run(["render", "-C", str(repository)]) == 0
    for output in ("plain", "skopeo", "table"):
        code, _, err = images(repository, capsys, "--output", output)
        assert (code, f"{told}; `gen vendor` brings them\n" in err) == (0, True)
    assert data(repository, capsys)["stale"] == {"a30-bench": ["metrics-server"]}
    edit(repository, "  site:\n", f"  site:\n    images: {MIRROR}\n")
    registry(repository, f"{MIRROR}/quay.io")
    assert run(["render", "-C", str(repository)]) == 0
    code, _, err = images(repository, capsys, "--check")
    assert (code, told in err) == (1, True)
    assert "is not from" not in err
    vendor(repository)
    assert images(repository, capsys, "--check")[0] == 0


def test_a_registry_out_of_reach_is_told_once_and_nothing_is_written(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    edit(repository, "  site:\n", "  site:\n    images: 127.0.0.1:1/k8s\n")
    assert run(["render", "-C", str(repository)]) == 0
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file() and ".git" not in path.parts}
    code, _, err = images(repository, capsys, "--lock")
    assert code == 1
    reached, written = err.splitlines()
    assert reached.startswith("127.0.0.1:1 cannot be asked: [Errno 111] Connection refused (")
    assert written == "gen.lock: nothing was written: not every registry could be asked; try again"
    assert all(path.read_bytes() == content for path, content in before.items())
    _, _, err = images(repository, capsys, "--sizes", "--check")
    assert err.count("Connection refused") == 1
    assert images(repository, capsys, "--lock", "--check")[0] == 2


def test_latest_is_an_error_and_a_mutable_tag_a_warning(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vendor(repository, "quay.io/a/b:latest")
    code, _, err = images(repository, capsys)
    assert code == 1
    assert "error GEN-IMG-001" in err
    vendor(repository, "quay.io/a/b:stable")
    code, _, err = images(repository, capsys)
    assert code == 0
    assert "warning GEN-IMG-002" in err


def test_locked_digests_are_known_and_pinned(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vendor(repository)
    lock = repository / "gen.lock"
    lock.write_text(f"{lock.read_text()}images:\n  quay.io/a/b:1: {DIGEST}\n  registry.k8s.io/pause:3.10.1: {DIGEST}\n")
    by_name = {image["name"]: image for image in data(repository, capsys)["images"]}
    assert by_name["quay.io/a/b:1"]["digest"] == DIGEST
    assert not by_name["quay.io/a/b:1"]["pinned"]
    assert run(["render", "-C", str(repository)]) == 0
    by_name = {image["name"]: image for image in data(repository, capsys)["images"]}
    assert by_name["quay.io/a/b:1"]["pinned"]
    assert by_name["registry.k8s.io/pause:3.10.1"]["digest"] == DIGEST
    assert "digest" not in by_name["quay.io/c/d:1"]
    _, out, _ = images(repository, capsys, "--output", "skopeo")
    wanted = yaml.load(out, yaml.CSafeLoader)
    assert wanted["quay.io"]["images"]["a/b"] == ["1", DIGEST]
    assert wanted["quay.io"]["images"]["c/d"] == ["1"]
    _, out, _ = images(repository, capsys, "--output", "plain")
    assert f"quay.io/a/b:1@{DIGEST}\n" in out


def test_what_cannot_be_pinned_is_told_with_the_reason(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vendor(repository)
    assert "by tag" not in "".join(images(repository, capsys)[1:])
    parts = {"repository": "nvcr.io/nvidia", "image": "x", "version": "v1"}
    policies = [
        {"apiVersion": f"{group}/v1", "kind": "ClusterPolicy", "metadata": {"name": group}, "spec": spec}
        for group, spec in {"nvidia.com": {"driver": parts}, "example.org": {"x": {**parts, "image": "y"}}}.items()
    ]
    bring(repository, *policies)
    lock = repository / "gen.lock"
    locked = ("quay.io/a/b:1", "quay.io/c/d:1", "quay.io/calico/node:v3.32.1", "registry.k8s.io/pause:3.10.1")
    lock.write_text(f"{lock.read_text()}images:\n{''.join(f'  {name}: {DIGEST}{chr(10)}' for name in locked)}")
    assert run(["render", "-C", str(repository)]) == 0
    _, out, err = images(repository, capsys)
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert DIGEST[7:19] in rows["quay.io/a/b:1"]
    assert "by tag" not in rows["quay.io/a/b:1"]
    assert f"{DIGEST[7:19]} by tag" in rows["quay.io/calico/node:v3.32.1"]
    assert "kube-vip" not in err
    assert "by tag: kubeadm wants the very name that it has itself: registry.k8s.io/pause:3.10.1\n" in err
    assert "by tag: kubeadm names it by its tag: registry.k8s.io/coredns/coredns:v1.13.1, registry.k8s.io/etcd" in err
    assert "by tag: the operator adds the node's system to the tag: nvcr.io/nvidia/x:v1\n" in err
    assert "by tag: the operator takes no digest: nvcr.io/nvidia/y:v1\n" in err
    uses = {image["name"]: image["uses"][0] for image in data(repository, capsys)["images"]}
    assert uses["nvcr.io/nvidia/y:v1"]["byTag"] == "the operator takes no digest"
    assert "byTag" not in uses["quay.io/a/b:1"]


def test_the_sbom_is_of_one_cluster_and_stays_the_same(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    one, two = (images(repository, capsys, "--output", "cyclonedx")[1] for _ in range(2))
    assert one == two
    assert json.loads(one)["metadata"]["component"]["name"] == "a30-bench"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    dated = json.loads(images(repository, capsys, "--output", "cyclonedx")[1])
    assert dated["metadata"]["timestamp"] == "1970-01-01T00:00:00+00:00"
    code, _, err = images(ROOT, capsys, "--output", "cyclonedx")
    assert code == 2
    assert "an SBOM is of one cluster: --cluster a30-bench" in err


def test_what_is_not_rendered_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(repository / "overlays")
    code, _, err = images(repository, capsys)
    assert code == 2
    assert "gen render" in err


def test_a_wrong_cluster_file_ends_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(repository, "cni: calico", "cni: nothing")
    code, out, _ = images(repository, capsys)
    assert code == 1
    assert "cluster.yaml" in out
