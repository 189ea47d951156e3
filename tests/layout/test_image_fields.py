"""Images are found wherever an object names them, and rewritten where they stand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.layout.image_fields import has_system_added, image_fields
from generator.layout.image_references import is_of_site, normalised, rewrite, upstream_name
from generator.layout.mirror import ImageRewriting

MIRROR = "mirror.example.org:5000/k8s"
A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
Object = dict[str, Any]


def images(spec: Object, kind: str = "Thing") -> dict[str, str]:
    """Return what is found in an object with that `spec` (or whole object), by where."""
    whole = spec if "kind" in spec else {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    return {"/".join(map(str, field.path)): field.image for field in image_fields(whole)}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("postgres", "docker.io/library/postgres:latest"),
        ("postgres:16", "docker.io/library/postgres:16"),
        ("docker.io/postgres:16", "docker.io/library/postgres:16"),
        ("index.docker.io/a/b:1", "docker.io/a/b:1"),
        ("a/b", "docker.io/a/b:latest"),
        ("quay.io/a/b:1", "quay.io/a/b:1"),
        ("localhost/a:1", "localhost/a:1"),
        ("host:5000/a:1", "host:5000/a:1"),
        (f"postgres@{A}", f"docker.io/library/postgres@{A}"),
        (f"quay.io/a/b:1@{A}", f"quay.io/a/b:1@{A}"),
    ],
)
def test_a_reference_is_completed_as_containerd_does(reference: str, expected: str) -> None:
    assert normalised(reference) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"cephVersion": {"image": "quay.io/ceph/ceph:v20"}}, {"spec/cephVersion/image": "quay.io/ceph/ceph:v20"}),
        (
            {"plugin": {"repository": "nvcr.io/nvidia", "image": "dp", "version": "v1"}},
            {"spec/plugin/repository": "nvcr.io/nvidia/dp:v1"},
        ),
        (
            {"plugin": {"repository": "nvcr.io/nvidia", "image": "dp", "version": A}},
            {"spec/plugin/repository": f"nvcr.io/nvidia/dp@{A}"},
        ),
        ({"x": {"repository": "host:5000/a", "tag": "1"}}, {"spec/x/repository": "host:5000/a:1"}),
        (
            {"x": {"registry": "docker.io", "repository": "busybox", "tag": "1"}},
            {"spec/x/registry": "docker.io/library/busybox:1"},
        ),
        ({"x": {"registry": "host:5000", "repository": "a/b", "tag": "1"}}, {"spec/x/registry": "host:5000/a/b:1"}),
        ({"templates": [{"container": {"image": "a/b:1"}}]}, {"spec/templates/0/container/image": "docker.io/a/b:1"}),
        ({"templates": [{"script": {"image": "a:1"}}]}, {"spec/templates/0/script/image": "docker.io/library/a:1"}),
        ({"image": "quay.io/p/p", "baseImage": "quay.io/b:1"},
         {"spec/image": "quay.io/p/p:latest", "spec/baseImage": "quay.io/b:1"}),
        ({"tasks": [{"template": {"spec": {"containers": [{"image": "v:1"}]}}}]},
         {"spec/tasks/0/template/spec/containers/0/image": "docker.io/library/v:1"}),
        ({"env": [{"name": "HELPER_IMAGE", "value": "rook/ceph:v1"}]}, {"spec/env/0/value": "docker.io/rook/ceph:v1"}),
        ({"env": [{"name": "X", "value": "quay.io/a/b:1"}]}, {"spec/env/0/value": "quay.io/a/b:1"}),
        ({"args": ["--acme-http01-solver-image=quay.io/a/s:v1"]}, {"spec/args/0": "quay.io/a/s:v1"}),
        ({"args": ["--image=busybox:1"]}, {"spec/args/0": "docker.io/library/busybox:1"}),
        ({"args": ["--helper-image", "busybox:1"]}, {"spec/args/1": "docker.io/library/busybox:1"}),
        ({"volumes": [{"image": {"reference": "models:1"}}]},
         {"spec/volumes/0/image/reference": "docker.io/library/models:1"}),
        ({"args": [f"quay.io/a/b@{A}"]}, {"spec/args/0": f"quay.io/a/b@{A}"}),
        ({"parameters": [{"name": "image", "value": "{{inputs.parameters.x}}"}]}, {}),
        # Without a tag, where the key tells.
        ({"env": [{"name": "SIDECAR_IMAGE", "value": "quay.io/e/e"}]}, {"spec/env/0/value": "quay.io/e/e:latest"}),
        ({"env": [{"name": "SIDECAR_IMAGE", "value": "e/e"}]}, {"spec/env/0/value": "docker.io/e/e:latest"}),
        ({"args": ["--helper-image=quay.io/b/b"]}, {"spec/args/0": "quay.io/b/b:latest"}),
        ({"args": ["run --image quay.io/b/b -it"]}, {"spec/args/0": "quay.io/b/b:latest"}),
        ({"args": ["--helper-image", "host:5000/b"]}, {"spec/args/1": "host:5000/b:latest"}),
        ({"data": {"HELPER_IMAGE": "quay.io/d/d"}}, {"spec/data/HELPER_IMAGE": "quay.io/d/d:latest"}),
    ],
)  # fmt: skip
def test_an_image_is_found(spec: Object, expected: dict[str, str]) -> None:
    assert images(spec) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("image: postgres:16\nother: x\n", ["docker.io/library/postgres:16"]),
        ('{"image": "quay.io/a/b:1", "repository": "https://example.org/x:1"}', ["quay.io/a/b:1"]),
        ("A=quay.io/a/b:1\nB=ghcr.io/c/d:2", ["quay.io/a/b:1", "ghcr.io/c/d:2"]),
        ("run registry.k8s.io/pause:3.10.1, then", ["registry.k8s.io/pause:3.10.1"]),
        ("image: quay.io/foo/bar\n", ["quay.io/foo/bar:latest"]),
        ('{"image":"quay.io/foo/bar","x":1}', ["quay.io/foo/bar:latest"]),
        (r'"{\"image\": \"foo/bar\"}"', ["docker.io/foo/bar:latest"]),
        (
            "kind: Pod\nspec:\n  containers:\n  - name: busybox\n    image: busybox\n",
            ["docker.io/library/busybox:latest"],
        ),
        ("X_IMAGE=quay.io/a/b\n", ["quay.io/a/b:latest"]),
    ],
)
def test_an_image_is_found_in_a_file_of_a_configmap(text: str, expected: list[str]) -> None:
    found = image_fields({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"config": text}})
    assert sorted(field.image for field in found) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "node-role.kubernetes.io/control-plane:NoSchedule",
        "dedicated.example.org/gpu:NoExecute",
        "nvidia.com/gpu:8",
        "rbac.authorization.k8s.io/v1:ClusterRole",
        "argoproj.example.io/v1alpha1:Workflow",
        "http://minio.minio.svc:9000/bucket:x",
        "https://example.org/a/b:1",
        "oci://quay.io/jetstack/charts:v1",
        "10.0.0.1:6443",
        "zabbix-server.zabbix.svc:10051",
        "$(REGISTRY)/a/b:1",
        "{{registry}}/a/b:1",
        "/var/lib/example.org/a:/data",
        "user@example.org/a:b",
        "imagePullPolicy: IfNotPresent",
        "image: busybox",
        "containers: [{image: true}]",
        "the image of foo/bar, an image and/or a picture",
        "--logo-image=static/logo.png",
        "--disk-image=/var/lib/disks/a",
        "image: /static/logo",
        "image: https://example.org/logo",
        "image: $(REG)/a/b",
        "image: a/b-$(X)",
        'rate(container_memory{job="kubelet", image="k8s/pause"}[5m])',
    ],
)
def test_what_looks_alike_is_no_image(text: str) -> None:
    assert images({"args": [text], "text": text}) == {}


def test_what_names_no_image_of_the_cluster_is_left_out() -> None:
    text = "as in quay.io/a/b:1"
    assert images({"apiVersion": "x/v1", "kind": "CustomResourceDefinition", "spec": {"description": text}}) == {}
    assert images({"apiVersion": "v1", "kind": "X", "metadata": {"annotations": {"x": text}}, "spec": {}}) == {}
    assert images({"vgpu": {"enabled": False, "repository": "", "image": "manager", "version": ""}}) == {}
    assert images({"gds": {"enabled": False, "repository": "nvcr.io/x", "image": "fs", "version": "1"}}) == {}
    assert images({"rbd": {"image": "volume-1"}}) == {}


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["a:1", "quay.io/a/b:1", "nvcr.io/x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["image", "repository", "registry", "tag", "version", "enabled", "name", "value"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), nested, max_size=4))
def test_no_object_makes_it_raise_and_what_is_rewritten_comes_from_the_mirror(content: Object) -> None:
    for field in image_fields({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, **content}):
        assert field.name in field.text
        new = ImageRewriting(MIRROR).text(field.text, [field])
        assert f"{MIRROR}/" in new or ":" in field.image.partition("/")[0]


@pytest.mark.parametrize(
    ("reference", "mirror", "digests", "expected"),
    [
        ("postgres:16", None, {}, "postgres:16"),
        ("postgres:16", MIRROR, {}, f"{MIRROR}/docker.io/library/postgres:16"),
        ("postgres:16", None, {"docker.io/library/postgres:16": A}, f"postgres:16@{A}"),
        ("postgres", None, {"docker.io/library/postgres:latest": A}, f"docker.io/library/postgres:latest@{A}"),
        ("quay.io/a/b:1", MIRROR, {"quay.io/a/b:1": A}, f"{MIRROR}/quay.io/a/b:1@{A}"),
        (f"quay.io/a/b:1@{B}", MIRROR, {"quay.io/a/b:1": A}, f"{MIRROR}/quay.io/a/b:1@{B}"),
        (f"{MIRROR}/quay.io/a/b:1", MIRROR, {}, f"{MIRROR}/quay.io/a/b:1"),
        (f"{MIRROR}/quay.io/a/b:1", MIRROR, {"quay.io/a/b:1": A}, f"{MIRROR}/quay.io/a/b:1@{A}"),
        ("quay.io/a/b:1", None, {"quay.io/a/b:2": A}, "quay.io/a/b:1"),
        # Whoever reads it may add a tag.
        ("quay.io/a/b", MIRROR, {}, f"{MIRROR}/quay.io/a/b"),
        ("quay.io/a/b", MIRROR, {"quay.io/a/b:latest": A}, f"{MIRROR}/quay.io/a/b:latest@{A}"),
        # The site's own has no other name.
        (f"{MIRROR}/team/a:1", MIRROR, {}, f"{MIRROR}/team/a:1"),
        (f"{MIRROR}/a", MIRROR, {}, f"{MIRROR}/a"),
        (f"{MIRROR}/team/a:1", MIRROR, {f"{MIRROR}/team/a:1": A, "docker.io/team/a:1": B}, f"{MIRROR}/team/a:1@{A}"),
        # A port cannot stand in a path.
        ("other.example.org:5000/a/b:1", MIRROR, {}, "other.example.org:5000/a/b:1"),
    ],
)
def test_a_reference_is_rewritten(reference: str, mirror: str | None, digests: dict[str, str], expected: str) -> None:
    assert rewrite(reference, mirror, digests) == expected
    assert rewrite(expected, mirror, digests) == expected
    assert normalised(upstream_name(expected, mirror).partition("@")[0]) == normalised(reference.partition("@")[0]) or (
        reference.startswith(MIRROR)
    )


@pytest.mark.parametrize("mirror", ["registry.example.org", MIRROR, "harbor.example.org/mirror"])
@pytest.mark.parametrize(
    ("rest", "own"),
    [
        ("team/metrics:1", True), ("platform/metrics/a", True), ("metrics:1.0", True), ("metrics.v2:1", True),
        ("quay.io/a/b:1", False), ("localhost/a:1", False), ("docker.io/library/a:1", False),
    ],
)  # fmt: skip
def test_the_sites_own_image_is_on_the_mirror_and_not_below_a_registry(mirror: str, rest: str, *, own: bool) -> None:
    reference = normalised(f"{mirror}/{rest}")
    assert is_of_site(reference, mirror) == own
    assert not is_of_site(reference, None)
    assert not is_of_site(reference, "other.example.org")
    assert not is_of_site(normalised(rest), mirror)
    assert upstream_name(reference, mirror) == (reference if own else normalised(rest))
    assert rewrite(reference, mirror, {}) == reference


@pytest.mark.parametrize(
    "parts",
    [
        {"registry": "mirror.example.org:5000", "repository": "k8s/team/a", "tag": "1"},
        {"registry": "mirror.example.org:5000", "repository": "k8s", "image": "a", "version": "1"},
        {"registry": MIRROR, "repository": "team/a", "tag": "1"},
        {"repository": f"{MIRROR}/team", "image": "a", "version": "1"},
    ],
)
def test_the_sites_own_image_stays_where_it_stands_in_parts(parts: dict[str, str]) -> None:
    (field,) = image_fields({"kind": "X", "spec": {"x": parts}})
    assert is_of_site(field.image, MIRROR)
    assert ImageRewriting(MIRROR).text(field.text, [field]) == field.text


def test_an_image_without_a_tag_is_replaced_only_behind_its_key() -> None:
    pod = "containers:\n- name: busybox\n  image: busybox\n  args: [busybox, --x-image=a/b]\n# as in a/b\n"
    fields = list(image_fields({"kind": "ConfigMap", "data": {"pod.yaml": pod}}))
    new = ImageRewriting(MIRROR).text(pod, fields)
    assert new == (
        f"containers:\n- name: busybox\n  image: {MIRROR}/docker.io/library/busybox\n"
        f"  args: [busybox, --x-image={MIRROR}/docker.io/a/b]\n# as in a/b\n"
    )


def test_only_the_image_itself_is_replaced_in_a_text() -> None:
    text = "a: quay.io/a/b:1\nb: quay.io/a/b:10\nc: x.quay.io/a/b:1\nd: quay.io/a/b:1"
    (field,) = [field for field in image_fields({"kind": "X", "data": {"x": text}}) if field.name == "quay.io/a/b:1"]
    new = ImageRewriting(MIRROR).text(text, [field])
    assert new == f"a: {MIRROR}/quay.io/a/b:1\nb: quay.io/a/b:10\nc: x.quay.io/a/b:1\nd: {MIRROR}/quay.io/a/b:1"


@pytest.mark.parametrize(
    ("version", "kind", "part", "pinnable"),
    [
        ("nvidia.com/v1", "ClusterPolicy", "toolkit", True),
        ("nvidia.com/v1", "ClusterPolicy", "driver", False),
        ("nvidia.com/v1", "ClusterPolicy", "gdrcopy", False),
        ("mellanox.com/v1alpha1", "NicClusterPolicy", "rdmaSharedDevicePlugin", True),
        ("mellanox.com/v1alpha1", "NicClusterPolicy", "ofedDriver", False),
        ("example.org/v1", "ClusterPolicy", "toolkit", False),
    ],
)
def test_only_an_operator_that_joins_the_parts_takes_a_digest(
    version: str, kind: str, part: str, *, pinnable: bool
) -> None:
    parts = {"repository": "nvcr.io/nvidia", "image": "x", "version": "v1"}
    spec = {part: parts, "whole": {"image": "quay.io/a/b:1"}}
    found = image_fields({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    assert [field.pinnable for field in found] == [pinnable, True]


@pytest.mark.parametrize(
    ("group", "kind", "part", "expected"),
    [
        ("nvidia.com", "ClusterPolicy", "driver", True),
        ("nvidia.com", "ClusterPolicy", "toolkit", False),
        ("mellanox.com", "NicClusterPolicy", "ofedDriver", True),
        ("example.org", "ClusterPolicy", "driver", False),
    ],
)
def test_no_registry_has_a_tag_that_an_operator_completes(group: str, kind: str, part: str, *, expected: bool) -> None:
    assert has_system_added(group, kind, ("spec", part, "repository")) == expected
