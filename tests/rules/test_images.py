from typing import Any

import pytest
from manifests import built, container, deployment, found, manifest, ml50, reached, seen, workload
from msgspec import structs

from generator.rules import images

TAGGED, FIXED, MIRRORED, PINNED, LEGIBLE, VENDORED = images.RULES
DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    "image", ["nginx", "nginx:latest", "example.org:5000/nginx", "quay.io/a/b", "example.org/a:latest"]
)
def test_an_image_without_a_version_is_an_error(image: str) -> None:
    (problem,) = found(TAGGED, deployment(image=image))
    assert reached(problem) == image


@pytest.mark.parametrize("image", ["nginx:1.29.1", f"nginx{DIGEST}", f"nginx:latest{DIGEST}", "example.org:5000/a:1"])
def test_an_image_with_a_tag_or_digest_is_not(image: str) -> None:
    assert found(TAGGED, deployment(image=image)) == []


@pytest.mark.parametrize(
    "image",
    [
        "postgres:16", "docker.io/library/x:v2", "postgres:16-alpine", "python:3-alpine3.20", "quay.io/ceph/ceph:v20",
        *(f"example.org/a:{tag}" for tag in ("stable", "main", "stable-alpine", "lts", "release", "nightly")),
    ],
)  # fmt: skip
def test_a_tag_that_moves_is_a_warning(image: str) -> None:
    (problem,) = found(FIXED, deployment(image=image))
    assert problem.severity == "warning"
    assert found(FIXED, deployment(image=f"{image}{DIGEST}")) == []


@pytest.mark.parametrize("tag", ["16", "v1", "v2"])
def test_a_short_tag_of_which_nothing_is_known_is_not(tag: str) -> None:
    assert found(FIXED, deployment(image=f"example.org/a:{tag}")) == []


def test_a_configuration_may_say_the_tag_elsewhere() -> None:
    words = manifest("ConfigMap", data={"x": '{"image": "kserve/art-explainer", "defaultImageVersion": "1.2.3"}'})
    assert found(TAGGED, words) == []
    assert found(TAGGED, words, cluster=ml50())


@pytest.mark.parametrize(
    "tag",
    [
        "16.10", "v1.2.3", "1.2.3-alpine", "RELEASE.2025-09-07T16-13-09Z", "20250907", "main-1a2b3c4", "v2.26.4",
        "25.01-py3", "alpine-7.4.9", "stable-0.1.2", "570.124.06-ubuntu24.04", "3.10-bookworm",
    ],
)  # fmt: skip
def test_a_full_version_is_not(tag: str) -> None:
    assert found(FIXED, deployment(image=f"example.org/a:{tag}")) == []


def test_images_of_custom_objects_are_seen() -> None:
    ceph = manifest("CephCluster", "ceph.rook.io/v1", spec={"cephVersion": {"image": "quay.io/ceph/ceph:v19"}})
    (problem,) = found(FIXED, ceph)
    assert problem.at == ("spec", "cephVersion", "image")
    parts = {"repository": "nvcr.io/nvidia", "image": "driver", "version": "1.2.3"}
    policy = manifest("ClusterPolicy", "nvidia.com/v1", spec={"driver": parts})
    assert found(TAGGED, policy) == []
    parts["version"] = ""
    (problem,) = found(TAGGED, policy)
    assert problem.message == "the image nvcr.io/nvidia/driver has no tag"
    off = manifest("ClusterPolicy", "nvidia.com/v1", spec={"vgpu": {"enabled": False, "image": "vgpu"}})
    assert found(TAGGED, off) == []


def test_images_in_texts_are_seen() -> None:
    texts = manifest("ConfigMap", data={"config": "helper:\n  image: docker.io/busybox:latest\n"})
    arguments = deployment(args=["--reloader=quay.io/a/reloader:latest"])
    places = [problem.at for problem in found(TAGGED, texts, arguments)]
    assert places == [("data", "config"), ("spec", "template", "spec", "containers", 0, "args", 0)]


def test_definitions_and_images_that_are_not_known_yet_are_left_out() -> None:
    template = manifest(
        "WorkflowTemplate",
        "argoproj.io/v1alpha1",
        spec={"templates": [{"container": {"image": "{{inputs.parameters.image}}"}}]},
    )
    crd = manifest("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec={"image": "nginx"})
    assert found(TAGGED, template, crd) == []


def test_with_a_registry_of_the_site_images_come_from_nowhere_else() -> None:
    site = structs.replace(ml50(), site=structs.replace(ml50().site, images="mirror.example.org/k8s"))
    own = deployment(image="mirror.example.org/k8s/quay.io/a/b:1.0.0")
    assert found(MIRRORED, own, deployment(image="mirror.example.org/k8s/team/a:1.0.0"), cluster=site) == []
    problems = found(MIRRORED, *map(foreign, FULL), cluster=site)
    assert [problem.fix for problem in problems] == [f"mirror.example.org/k8s/{full}" for full in FULL.values()]
    assert found(MIRRORED, *map(foreign, FULL), cluster=ml50()) == []


def test_what_cannot_be_read_is_an_error_wherever_images_come_from() -> None:
    (problem,) = found(LEGIBLE, deployment(image="${IMG}"))
    assert (reached(problem), problem.severity) == ("${IMG}", "error")
    assert found(LEGIBLE, deployment(image="example.org/x:1"), open_workflow("{{inputs.parameters.x}}")) == []


def test_with_a_registry_of_the_site_an_open_parameter_is_an_error() -> None:
    site = structs.replace(ml50(), site=structs.replace(ml50().site, images="mirror.example.org/k8s"))
    one = open_workflow("evil.example.org/{{inputs.parameters.x}}:1")
    (problem,) = found(MIRRORED, one, cluster=site)
    assert reached(problem) == "evil.example.org/{{inputs.parameters.x}}:1"
    assert found(MIRRORED, one, cluster=ml50()) == []
    assert found(MIRRORED, open_workflow("mirror.example.org/k8s/{{inputs.parameters.x}}:1"), cluster=site) == []


def test_with_a_registry_of_the_site_variables_and_names_without_a_tag_are_errors() -> None:
    site = structs.replace(ml50(), site=structs.replace(ml50().site, images="mirror.example.org/k8s"))
    env = [{"name": "A_IMAGE", "value": "quay.io/e/e"}, {"name": "B_IMAGE", "value": "$(REG)/runner:1.0.0"}]
    file = manifest("ConfigMap", data={"pod.yaml": "containers:\n- image: busybox\n- image: quay.io/foo/bar\n"})
    image = "mirror.example.org/k8s/a:1.0.0"
    told = found(MIRRORED, deployment(image=image, env=env), file, cluster=site)
    assert sorted(one.message.partition(" does not")[0].partition(" cannot")[0] for one in told) == [
        "`$(REG)/runner:1.0.0`",
        "the image docker.io/library/busybox:latest",
        "the image quay.io/e/e:latest",
        "the image quay.io/foo/bar:latest",
    ]
    env = [{"name": "B_IMAGE", "value": "mirror.example.org/k8s/$(NAME):1.0.0"}]
    assert found(MIRRORED, deployment(image=image, env=env), cluster=site) == []


def open_workflow(image: str) -> Any:
    return manifest("WorkflowTemplate", "argoproj.io/v1alpha1", spec={"templates": [{"container": {"image": image}}]})


FULL = {
    "nginx:1.0.0": "docker.io/library/nginx:1.0.0",
    "a/b:1.0.0": "docker.io/a/b:1.0.0",
    "quay.io/a/b:1.0.0": "quay.io/a/b:1.0.0",
    "localhost/a:1.0.0": "localhost/a:1.0.0",
    f"a/b:1.0.0{DIGEST}": f"docker.io/a/b:1.0.0{DIGEST}",
    "mirror.example.org/k8s-other/a:1.0.0": "mirror.example.org/k8s-other/a:1.0.0",
}


def foreign(image: str) -> Any:
    return deployment(image=image)


def test_digests_are_wanted_only_where_some_are_locked() -> None:
    names = ("a:1.0.0", f"a:1.0.0{DIGEST}", "b:1.0.0")
    parts = {"repository": "nvcr.io/nvidia", "image": "driver", "version": "1.2.3"}
    whole = built(
        workload(containers=[container(image=f"example.org/{name}") for name in names]),
        manifest("ClusterPolicy", "nvidia.com/v1", spec={"driver": parts, "toolkit": {**parts, "image": "toolkit"}}),
        manifest("Other", "example.org/v1", spec={"x": parts}),
    )
    assert list(PINNED.findings(whole)) == []
    locked = structs.replace(whole, digests={"example.org/b:1.0.0": DIGEST[1:]})
    problems = seen(PINNED, locked)
    assert [(reached(problem), problem.fix) for problem in problems] == [
        ("example.org/a:1.0.0", "gen images --lock"),
        ("example.org/b:1.0.0", "gen render"),
        # Its operator puts the parts together; to the driver's tag it adds the node's system.
        ("nvcr.io/nvidia", "gen images --lock"),
    ]
    assert {problem.severity for problem in problems} == {"warning"}


def test_charts_that_are_not_vendored_miss_the_mirror() -> None:
    cluster = structs.replace(ml50(), site=structs.replace(ml50().site, images="mirror.example.org"))
    whole = structs.replace(built(cluster=cluster), unseen=("cilium", "minio"), remote=("minio",))
    (problem,) = VENDORED.findings(whole)
    assert problem.message == "the images of cilium do not come from mirror.example.org yet"
    assert (problem.file, problem.at) == ("clusters/ml50/cluster.yaml", ("site", "images"))
    assert list(VENDORED.findings(structs.replace(whole, unseen=()))) == []
    assert list(VENDORED.findings(structs.replace(whole, cluster=ml50()))) == []
