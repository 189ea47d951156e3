"""What a real API server with the real CRDs says to everything that is rendered."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from validation.build import Built, Object, told
from validation.pods import workloads
from validation.schemas import BUILT_IN, crds, folders

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver", "validation.fixtures"]
pytestmark = pytest.mark.real

STORED = ("Namespace", "PriorityClass")
"""What other objects are admitted by: these are stored, everything else is only tried."""


class Judge:
    """A server with the CRDs, namespaces and priorities of one cluster."""

    def __init__(self, api: "ApiServer", built: Built) -> None:
        self.api = api
        self.served: dict[tuple[str, str], Any] = {}
        self.install(built)
        for _, one in built.of(*STORED):
            api.apply(one)

    def install(self, built: Built) -> None:
        """Store the CRDs of all kinds that are rendered and wait until they are served."""
        kinds = {(one["apiVersion"].rpartition("/")[0], one["kind"]) for _, one in built.all()}
        known = folders(built.cluster)
        found = [crd for kind in sorted(kinds) if kind[0] not in BUILT_IN for crd in crds(*kind, known)]
        for crd in found:
            self.api.apply(crd)
        for crd in found:
            self.api.wait(crd["metadata"]["name"], partial(self.api.established, crd))

    def place(self, manifest: Object) -> str:
        """Return the address of an object's collection, by what the server says of its kinds."""
        version, kind = manifest["apiVersion"], manifest["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self.served:
            found = self.api.request("GET", root)[1]["resources"]
            self.served |= {(version, one["kind"]): one for one in found if "/" not in one["name"]}
        served = self.served[version, kind]
        between = f"/namespaces/{manifest['metadata']['namespace']}" if served["namespaced"] else ""
        return f"{root}{between}/{served['name']}"

    def refusal(self, manifest: Object) -> str:
        """Return why the server refuses an object, or nothing."""
        path = f"{self.place(manifest)}?dryRun=All&fieldValidation=Strict"
        status, answer = self.api.request("POST", path, manifest)
        if status == 201 or (status == 409 and manifest["kind"] in STORED):
            return ""
        return f"{status} {answer.get('message', '') if isinstance(answer, dict) else answer}"


@pytest.fixture(scope="module")
def judge(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """A server of its own for each cluster: what other tests store must not be mixed in."""
    from apiserver import start

    with start(tmp_path_factory.mktemp("judge")) as api:
        yield Judge(api, built)


def test_every_object_is_accepted(judge: Judge, built: Built) -> None:
    refused = [f"{told(application, one)}: {why}" for application, one in built.all() if (why := judge.refusal(one))]
    assert not refused, "\n".join(refused)


def test_every_pod_is_admitted_to_its_namespace(judge: Judge, built: Built) -> None:
    """Pod Security and priorities: the API server looks at them when the pod comes, not when its maker does."""
    made = list(workloads(built))
    refused = [f"{told(application, maker)}: {why}" for application, maker, pod in made if (why := judge.refusal(pod))]
    assert made
    assert not refused, "\n".join(refused)


def test_a_broken_copy_of_each_kind_is_refused(judge: Judge, built: Built) -> None:
    kinds = {(one["apiVersion"], one["kind"]): one for _, one in built.all()}
    assert len(kinds) > 20
    answers = {kind: judge.refusal(one | {"nonsense": 1}) for kind, one in kinds.items() if kind[1] not in STORED}
    assert [kind for kind, answer in answers.items() if 'unknown field "nonsense"' not in answer] == []


def test_a_pod_is_refused_that_is_too_mighty_or_too_important(judge: Judge, built: Built) -> None:
    level = "pod-security.kubernetes.io/enforce"
    spaces = [one["metadata"] for _, one in built.of("Namespace")]
    space = next(one["name"] for one in spaces if one["labels"].get(level) in {"baseline", "restricted"})
    mighty = pod(space, hostNetwork=True)
    assert "violates PodSecurity" in judge.refusal(mighty)
    assert "no PriorityClass with name nonsense" in judge.refusal(pod(space, priorityClassName="nonsense"))


def pod(space: str, **spec: object) -> Object:
    container = {
        "name": "main",
        "image": "example.org/x:1",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    metadata = {"name": "x", "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
