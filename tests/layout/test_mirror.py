"""All images of a cluster come from the mirror, and with their digests, once Kustomize has built them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs
from validation.build import Loader
from validation.clusters import variation

from generator.components.cert_manager import cert_manager
from generator.components.component import Patch
from generator.layout.files import document, kustomization, objects
from generator.layout.image_fields import image_fields
from generator.layout.image_references import split, upstream_name
from generator.layout.lock import LockFile
from generator.layout.mirror import ImageRewriting, rewritten, rewritten_patch, shared_images
from generator.layout.overlay import overlay
from generator.layout.tree import Known, lay_out
from generator.layout.upstream import Found, Upstream, inputs_file
from generator.model.cluster import Cluster
from tools import need_kustomize

MIRROR = "mirror.example.org:5000/k8s"
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
Object = dict[str, Any]


def test_parts_that_make_an_image_are_rewritten_in_the_first(ml50: Cluster) -> None:
    made = built_patch({"repository": "nvcr.io/nvidia", "image": "dp", "version": "v1"})
    assert made == {"repository": f"{MIRROR}/nvcr.io/nvidia", "image": "dp", "version": "v1"}
    made = built_patch({"registry": "docker.io", "repository": "busybox", "tag": "1"})
    assert made == {"registry": f"{MIRROR}/docker.io/library", "repository": "busybox", "tag": "1"}
    assert ml50.site.images is None


def built_patch(value: Any, path: str = "/spec/x") -> Any:
    operations = ({"op": "replace", "path": path, "value": value},)
    made = rewritten_patch(Patch(target={"kind": "X"}, operations=operations), ImageRewriting(MIRROR, {}))
    return made.operations[0]["value"]


def test_our_patches_are_rewritten_too() -> None:
    assert built_patch("a/b:1", "/spec/template/spec/containers/0/image") == f"{MIRROR}/docker.io/a/b:1"
    assert built_patch({"executor": '{"image": "quay.io/a/b:1"}'}) == {
        "executor": json.dumps({"image": f"{MIRROR}/quay.io/a/b:1"})
    }
    test = {"op": "test", "path": "/spec/image", "value": "a/b:1"}
    assert rewritten_patch(Patch(target={}, operations=(test,)), ImageRewriting(MIRROR)).operations == (test,)


WORKLOADS: list[Object] = [
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d.x", "namespace": "n"}, "spec": {
        "template": {"spec": {
            "initContainers": [{"name": "i", "image": "quay.io/a/b:1"}],
            "containers": [
                {"name": "c", "image": "quay.io/a/b:2", "args": ["--image=quay.io/c/d:1"],
                 "env": [{"name": "E", "value": "quay.io/e/f:1"}]},
                {"name": "p", "image": "postgres:16"},
            ],
        }}}},
    {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "j", "namespace": "n"}, "spec": {"jobTemplate": {
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": f"quay.io/g/h:1@{B}"}]}}}}}},
    {"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate", "metadata": {"name": "w", "namespace": "n"},
     "spec": {"templates": [
         {"name": "a", "container": {"image": "postgres:16"}, "sidecars": [{"name": "s", "image": "quay.io/s/s:1"}]},
         {"name": "b", "containerSet": {"containers": [{"name": "x", "image": "quay.io/i/j:1"}]}},
         {"name": "c", "script": {"image": "quay.io/k/l:1", "source": "echo"}},
     ]}},
    {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": {
        "toolkit": {"repository": "nvcr.io/nvidia/k8s", "image": "toolkit", "version": "v1"},
        "driver": {"repository": "nvcr.io/nvidia", "image": "driver", "version": "580"}}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {
        "plugin": "quay.io/cephcsi/cephcsi:v3", "values/a~1.yaml": "image: quay.io/m/n:1\nsidecar: quay.io/o/p:1\n"}},
]  # fmt: skip
"""What charts make: each way of naming an image once."""


def built(  # noqa: PLR0913 - what is in the tree
    cluster: Cluster,
    folder: Path,
    digests: dict[str, str],
    *,
    custom: Object | None = None,
    only: str = "*",
    brought: list[Object] = WORKLOADS,
) -> Iterator[Object]:
    """Write the tree with these workloads vendored in cert-manager, and yield all that Kustomize makes of it."""
    command = need_kustomize()
    component = "cert-manager"
    found = Upstream(b"", Found(images=shared_images(brought)))
    tree = lay_out(cluster, Known(upstream={component: found}, lock=LockFile(images=digests)))
    overlay = f"overlays/{cluster.name}/{component}"
    names, files = objects(f"{overlay}/upstream", brought, "x")
    top = document(kustomization(names), "x")
    files = {**tree.once, **tree.files, **files, f"{overlay}/upstream/kustomization.yaml": top}
    if custom:
        kept = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", **custom}
        files[f"{overlay}/custom/kustomization.yaml"] = document(kept, "x")
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    for part in sorted((folder / "overlays" / cluster.name).glob(only)):
        if not (part / "releases").exists():
            done = subprocess.run([*command, part], capture_output=True, text=True, check=False)
            assert not done.returncode, done.stderr
            yield from (one for one in yaml.load_all(done.stdout, Loader) if one)


def elsewhere(manifests: list[Object]) -> set[str]:
    return {field.image for one in manifests for field in image_fields(one) if not field.image.startswith(f"{MIRROR}/")}


@pytest.fixture
def mirrored() -> Cluster:
    return variation("ml50", {"site": {"images": MIRROR}})


def test_no_image_comes_from_elsewhere(mirrored: Cluster, tmp_path: Path) -> None:
    digests = {"quay.io/a/b:1": A, "docker.io/library/postgres:16": A, "quay.io/ceph/ceph:v20.2.4-20260818": B}
    found = list(built(mirrored, tmp_path, digests))
    names = {upstream_name(field.image, MIRROR) for one in found for field in image_fields(one)}
    assert elsewhere(found) == set()
    # Ours, those of workflows, and those of a chart, with digests where these are locked.
    assert {
        f"quay.io/a/b:1@{A}", "quay.io/a/b:2", "quay.io/c/d:1", "quay.io/e/f:1", f"docker.io/library/postgres:16@{A}",
        f"quay.io/g/h:1@{B}", "quay.io/s/s:1", "quay.io/i/j:1", "quay.io/k/l:1", "nvcr.io/nvidia/k8s/toolkit:v1",
        "quay.io/cephcsi/cephcsi:v3", "quay.io/m/n:1", "quay.io/o/p:1", f"quay.io/ceph/ceph:v20.2.4-20260818@{B}",
        "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1",
    } <= names  # fmt: skip
    assert any(name.startswith("docker.io/pgsty/mc:") for name in names)


def test_nothing_is_rewritten_without_a_mirror_and_locked_digests(ml50: Cluster, tmp_path: Path) -> None:
    found = list(built(ml50, tmp_path, {}, only="ce*"))
    assert [one for one in WORKLOADS if one not in found] == []
    assert "quay.io/ceph/ceph:v20.2.4-20260818" in elsewhere(found)
    plain, digests = lay_out(ml50), lay_out(ml50, Known(lock=LockFile(images={"quay.io/nobody/has:1": A})))
    assert plain.files == digests.files


def test_a_users_patch_wins_and_what_it_takes_from_elsewhere_is_seen(mirrored: Cluster, tmp_path: Path) -> None:
    target = {"kind": "Deployment", "name": "d.x"}
    path = "/spec/template/spec/containers/{}/image"
    operations = [
        {"op": "replace", "path": path.format(0), "value": "quay.io/other/one:1"},
        {"op": "replace", "path": path.format(1), "value": "postgres:17"},
    ]
    custom = {"patches": [{"target": target, "patch": json.dumps(operations)}]}
    found = list(built(mirrored, tmp_path, {"docker.io/library/postgres:16": A}, custom=custom, only="cert-manager"))
    (deployment,) = (one for one in found if one["metadata"]["name"] == "d.x")
    images = [container["image"] for container in deployment["spec"]["template"]["spec"]["containers"]]
    # Kustomize follows with the mirror where it knows the name, and never puts the old tag's digest on the new tag.
    assert images == ["quay.io/other/one:1", f"{MIRROR}/docker.io/library/postgres:17"]
    assert elsewhere(found) == {"quay.io/other/one:1"}


def test_digests_alone_pin_what_is_shared_and_what_is_ours(ml50: Cluster, tmp_path: Path) -> None:
    digests = {"quay.io/a/b:2": A, "quay.io/i/j:1": B, "docker.io/library/postgres:16.10": A}
    found = {field.image for one in built(ml50, tmp_path, digests, only="[cz]*") for field in image_fields(one)}
    wanted = {"quay.io/a/b:1", f"quay.io/a/b:2@{A}", f"quay.io/i/j:1@{B}", f"docker.io/library/postgres:16.10@{A}"}
    assert wanted <= found


def test_kustomize_sees_what_is_called_visible_and_nothing_else_is_left(tmp_path: Path) -> None:
    names, files = objects("", WORKLOADS, "x")
    fields = [field for one in WORKLOADS for field in image_fields(one)]
    spelt = {split(field.name)[0] for field in fields}
    new = [{"name": name, "newName": "seen.example.org/x"} for name in sorted(spelt)]
    for path, content in files.items():
        (tmp_path / path.strip("/")).write_bytes(content)
    (tmp_path / "kustomization.yaml").write_bytes(document({**kustomization(names), "images": new}, "x"))
    out = subprocess.run([*need_kustomize(), tmp_path], capture_output=True, text=True, check=True).stdout
    seen = [
        field.image
        for one in yaml.load_all(out, Loader)
        for field in image_fields(one)
        if "seen.example" in field.image
    ]
    assert len(seen) == sum(field.visible for field in fields) == 5


@pytest.mark.parametrize("mirror", ["registry.example.org", MIRROR])
def test_the_sites_own_images_stay_and_are_pinned_by_their_own_names(mirror: str, tmp_path: Path) -> None:
    cluster = variation("ml50", {"site": {"images": mirror}})
    own = f"{mirror}/team/metrics:1"
    spec = {
        "containers": [{"name": "c", "image": own, "args": [f"--x={own}"]}, {"name": "d", "image": "team/metrics:1"}]
    }
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec}
    digests = {own: A, "docker.io/team/metrics:1": B}
    (made,) = (
        one for one in built(cluster, tmp_path, digests, brought=[pod], only="cert-manager") if one["kind"] == "Pod"
    )
    pinned, copied = made["spec"]["containers"]
    assert (pinned["image"], pinned["args"]) == (f"{own}@{A}", [f"--x={own}@{A}"])
    assert copied["image"] == f"{mirror}/docker.io/team/metrics:1@{B}"


def test_images_without_a_tag_come_from_the_mirror_without_one(mirrored: Cluster, tmp_path: Path) -> None:
    env = [{"name": "SIDECAR_IMAGE", "value": "quay.io/e/e"}]
    spec = {"containers": [{"name": "c", "image": "quay.io/c/c", "args": ["--helper-image=quay.io/b/b"], "env": env}]}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec}
    helper = "kind: Pod\nspec:\n  containers:\n  - image: busybox\n  - image: quay.io/foo/bar\n"
    file: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    file["data"] = {"helperPod.yaml": helper}
    found = list(built(mirrored, tmp_path, {}, brought=[pod, file], only="cert-manager"))
    assert elsewhere(found) == set()
    (made,) = (one for one in found if one["kind"] == "Pod")
    assert made["spec"]["containers"][0]["args"] == [f"--helper-image={MIRROR}/quay.io/b/b"]
    (made,) = (one for one in found if one["metadata"]["name"] == "c")
    images = [line.partition("image: ")[2] for line in made["data"]["helperPod.yaml"].splitlines()[3:]]
    assert images == [f"{MIRROR}/docker.io/library/busybox", f"{MIRROR}/quay.io/foo/bar"]


@pytest.mark.parametrize("mirror", ["", MIRROR])
def test_an_image_in_parts_is_pinned_by_its_version(mirror: str, tmp_path: Path) -> None:
    cluster = variation("ml50", {"site": {"images": mirror}} if mirror else {})
    plugin = "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1"
    digests = {"nvcr.io/nvidia/k8s/toolkit:v1": A, "nvcr.io/nvidia/driver:580": A, plugin: B}
    found = [one for only in ("cert-manager", "rdma") for one in built(cluster, tmp_path, digests, only=only)]
    (policy,) = (one["spec"] for one in found if one["kind"] == "ClusterPolicy")
    before = f"{mirror}/" if mirror else ""
    nvcr = f"{before}nvcr.io/nvidia"
    assert policy["toolkit"] == {"repository": f"{nvcr}/k8s", "image": "toolkit", "version": f"v1@{A}"}
    # Whose tag is not whole has no digest.
    assert policy["driver"] == {"repository": nvcr, "image": "driver", "version": "580"}
    (ours,) = (one["spec"]["rdmaSharedDevicePlugin"] for one in found if one["kind"] == "NicClusterPolicy")
    assert (ours["repository"], ours["version"]) == (f"{nvcr}/mellanox", f"network-operator-v26.4.1@{B}")
    assert {field.image for one in found for field in image_fields(one)} >= {f"{before}{plugin}@{B}"}
    # What is pinned already stays, and so does what an operator of others is told.
    for group, version in (("nvidia.com", f"v1@{B}"), ("example.org", "v1")):
        parts = {"repository": "nvcr.io/nvidia/k8s", "image": "toolkit", "version": version}
        one = {"apiVersion": f"{group}/v1", "kind": "X", "metadata": {"name": "x"}, "spec": parts}
        assert rewritten(one, ImageRewriting(None, digests)) == one


def test_our_own_patches_come_from_the_mirror_and_after_those_on_images(mirrored: Cluster) -> None:
    component = cert_manager(mirrored)
    operations = ({"op": "replace", "path": "/spec/image", "value": "quay.io/ours/x:1"},)
    component = structs.replace(component, patches=(Patch(target={"kind": "Thing"}, operations=operations),))
    known = Upstream(inputs_file(mirrored, component), Found(images=shared_images(WORKLOADS)))
    files = overlay(mirrored, component, known)
    patches = yaml.load(files["overlays/ml50/cert-manager/generated/kustomization.yaml"], yaml.CSafeLoader)["patches"]
    assert [patch["target"]["kind"] for patch in patches[:-1]] == [
        "Deployment",
        "WorkflowTemplate",
        "ClusterPolicy",
        "ConfigMap",
    ]
    (last,) = yaml.load(patches[-1]["patch"], yaml.CSafeLoader)
    assert last["value"] == f"{MIRROR}/quay.io/ours/x:1"


def test_the_user_sees_in_the_overlay_where_images_come_from(mirrored: Cluster) -> None:
    component = cert_manager(mirrored)
    known = Upstream(inputs_file(mirrored, component), Found(images=shared_images(WORKLOADS)))
    top = yaml.load(
        overlay(mirrored, component, known)["overlays/ml50/cert-manager/kustomization.yaml"], yaml.CSafeLoader
    )
    assert {"name": "postgres", "newName": f"{MIRROR}/docker.io/library/postgres"} in top["images"]
    assert set(top) == {"apiVersion", "kind", "resources", "components", "images"}
