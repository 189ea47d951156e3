"""What a real API server with the real CRDs says to everything that is rendered."""

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from validation.build import Built, Object, told
from validation.pods import pods
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
        self.places: dict[tuple[str, str], Any] = {}
        kinds = {(one["apiVersion"].rpartition("/")[0], one["kind"]) for _, one in built.all()}
        found = [crd for kind in sorted(kinds) if kind[0] not in BUILT_IN for crd in crds(*kind, tuple(folders(built.cluster)))]
        for crd in found:
            api.apply(crd)
        for crd in found:
            api.wait(crd["metadata"]["name"], lambda crd=crd: api.established(crd))
        for _, one in built.of(*STORED):
            api.apply(one)

    def place(self, manifest: Object) -> str:
        """Return the address of an object's collection, by what the server says of its kinds."""
        version, kind = manifest["apiVersion"], manifest["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self.places:
            for one in self.api.request("GET", root)[1]["resources"]:
                if "/" not in one["name"]:
                    self.places[version, one["kind"]] = one
        served = self.places[version, kind]
        between = f"/namespaces/{manifest['metadata']['namespace']}" if served["namespaced"] else ""
        return f"{root}{between}/{served['name']}"

    def refuses(self, manifest: Object) -> str:
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
    told_why = [f"{told(application, one)}: {why}" for application, one in built.all() if (why := judge.refuses(one))]
    assert not told_why, "\n".join(told_why)


def test_every_pod_is_admitted_to_its_namespace(judge: Judge, built: Built) -> None:
    """Pod Security, and priority classes: the API server looks at them when the pod comes, not when its maker does."""
    made = [(application, one) for application, manifest in built.all() for one in pods(manifest)]
    assert made
    told_why = [f"{told(application, one)}: {why}" for application, one in made if (why := judge.refuses(one))]
    assert not told_why, "\n".join(told_why)


def test_a_broken_copy_of_each_kind_is_refused(judge: Judge, built: Built) -> None:
    kinds = {(one["apiVersion"], one["kind"]): one for _, one in built.all()}
    assert len(kinds) > 20
    accepted = [kind for kind, one in kinds.items() if "nonsense" not in judge.refuses(one | {"nonsense": 1})]
    assert not accepted
