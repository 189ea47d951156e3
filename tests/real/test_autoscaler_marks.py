"""What the API server lets the autoscaler's account write on nodes: all that a stolen token of it is good for."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from generator.components.cluster_autoscaler import cluster_autoscaler
from generator.components.cluster_autoscaler.names import NAME, NAMESPACE
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

if TYPE_CHECKING:
    from apiserver import ApiServer, Identity

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
FILE = Path(__file__).parents[1] / "wrong" / "valid" / "scaled-pool.yaml"
IT: "Identity" = (f"system:serviceaccount:{NAMESPACE}:{NAME}", ("system:authenticated",))
OURS = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
GOES = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1800000000", "effect": "NoSchedule"}
IDLES = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1800000000", "effect": "PreferNoSchedule"}
MACHINE, KEPT = "gpu-workers-1", "gpu-1"


@pytest.fixture(scope="module")
def site(api: "ApiServer") -> "ApiServer":
    """A machine of Cluster API and a node of the file, with the rights and the rule that are rendered."""
    cluster = decode(read(FILE.read_bytes(), FILE.name))
    assert isinstance(cluster, Cluster)
    made = cluster_autoscaler(cluster)
    api.namespace(NAMESPACE)
    for one in (*made.base, *made.objects):
        if one["apiVersion"].startswith(("rbac.", "admissionregistration.")):
            api.apply(one)
    for name, annotations in ((MACHINE, {"cluster.x-k8s.io/machine": MACHINE}), (KEPT, {})):
        metadata = {"name": name, "annotations": annotations}
        api.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [OURS]}})
        # The API server says of a new node that it is not ready.
        given(api, name, OURS)
    api.wait("the rule holds", lambda: turned(api, KEPT, {"spec": {"unschedulable": True}})[0] == 422)
    return api


def given(site: "ApiServer", name: str, *those: Object) -> None:
    """Let a node have these taints, as its administrator."""
    change = {"spec": {"taints": [*those]}}
    assert site.request("PATCH", f"/api/v1/nodes/{name}", change, patch="merge-patch+json")[0] == 200


def turned(site: "ApiServer", name: str, change: Object, by: "Identity | None" = IT) -> tuple[int, str]:
    """Replace a node by itself with a change of its metadata or its spec, as a dry run."""
    node = site.request("GET", f"/api/v1/nodes/{name}")[1]
    return site.update(node | {key: node[key] | said for key, said in change.items()}, by=by)


def taints(*those: Object) -> Object:
    return {"spec": {"taints": [*those]}}


OPEN = {"it idles": taints(OURS, IDLES), "it goes": taints(OURS, IDLES, GOES), "nothing": {}}


@pytest.mark.parametrize("name", OPEN)
def test_it_marks_machines_that_are_to_go(site: "ApiServer", name: str) -> None:
    assert turned(site, MACHINE, OPEN[name]) == (200, "")


def test_it_takes_its_marks_away_on_any_node(site: "ApiServer") -> None:
    given(site, KEPT, OURS, GOES, IDLES)
    assert turned(site, KEPT, taints(OURS)) == (200, "")
    given(site, KEPT, OURS)


ALONE, OTHERS, NOTHING = "marks machines of Cluster API alone", "leaves the taints of others", "writes nothing on nodes"
CLOSED = {
    "mark a node of the file": (KEPT, taints(OURS, GOES), ALONE),
    "empty a machine": (MACHINE, taints(OURS, GOES | {"effect": "NoExecute"}), ALONE),
    "take a taint away": (MACHINE, taints(), OTHERS),
    "put another one beside it": (MACHINE, taints(OURS, GOES | {"key": "mine"}), OTHERS),
    "turn another one": (MACHINE, taints(OURS | {"effect": "PreferNoSchedule"}), OTHERS),
    "cordon a machine": (MACHINE, {"spec": {"unschedulable": True}}, NOTHING),
    "label it": (MACHINE, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}, NOTHING),
    "call a node a machine": (KEPT, {"metadata": {"annotations": {"cluster.x-k8s.io/machine": "it"}}}, NOTHING),
    "keep it for ever": (MACHINE, {"metadata": {"finalizers": ["example.org/mine"]}}, NOTHING),
    "have it collected": (
        KEPT,
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "1"}]}},
        NOTHING,
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_it_may_not(site: "ApiServer", name: str) -> None:
    node, change, told = CLOSED[name]
    status, message = turned(site, node, change)
    assert (status, "gen-autoscaler" in message, told in message) == (422, True, True), message


def test_nobody_else_is_held(site: "ApiServer") -> None:
    assert turned(site, KEPT, {"spec": {"unschedulable": True}}, by=None) == (200, "")
