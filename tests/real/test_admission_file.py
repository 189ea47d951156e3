"""What namespaces without a label may run on the real API server, by the admission file of the bootstrap folder."""

from typing import TYPE_CHECKING, Any

import pytest
from validation.clusters import variation

from generator.layout.bootstrap import bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

LEVEL = "pod-security.kubernetes.io/enforce"
CONTAINER = {"name": "one", "image": "any.example.org/one:1"}
PRIVILEGED = {"containers": [{**CONTAINER, "securityContext": {"privileged": True}}]}
PLAIN = {"containers": [CONTAINER]}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[ApiServer]":
    from apiserver import start

    folder = tmp_path_factory.mktemp("admission")
    file = folder / "admission.yaml"
    file.write_bytes(bootstrap(variation("ml50", {}))["clusters/ml50/bootstrap/kubeadm/admission.yaml"])
    with start(folder, f"--admission-control-config-file={file}") as server:
        yield server


def answer(api: "ApiServer", namespace: str, spec: dict[str, Any]) -> str:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": namespace}, "spec": spec}
    return api.create(pod)[1]


@pytest.mark.parametrize("namespace", ["default", "somebody-s"])
def test_a_namespace_without_a_label_takes_no_pod_below_the_level(api: "ApiServer", namespace: str) -> None:
    api.namespace(namespace)
    assert 'violates PodSecurity "baseline:latest": privileged' in answer(api, namespace, PRIVILEGED)
    assert answer(api, namespace, PLAIN) == ""


def test_a_label_says_more_or_less(api: "ApiServer") -> None:
    api.namespace("labelled", {LEVEL: "privileged"})
    assert answer(api, "labelled", PRIVILEGED) == ""
    api.namespace("closed", {LEVEL: "restricted"})
    assert 'violates PodSecurity "restricted:latest"' in answer(api, "closed", PLAIN)


def test_static_pods_of_the_control_plane_are_let_in(api: "ApiServer") -> None:
    assert answer(api, "kube-system", PRIVILEGED) == ""
