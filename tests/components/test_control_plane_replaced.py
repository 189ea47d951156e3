"""How `node-replacement` goes on with a control-plane machine that a person has taken out of etcd: the script, without
a cluster.
"""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodeshelf import Shelf, imported

from generator.components.node_operations.facts import config_maps
from generator.model.cluster import Cluster

NODE = "cp-2"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
PODS = "/api/v1/namespaces"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    told = {"NODE": NODE, "OFF": "no", "MEMBER": "no", "ROOM": "enough", "SILENT_SECONDS": "300", "ANSWER_PORT": "22"}
    for name, value in (told | {"TOLD": str(tmp_path), "HEAL_SECONDS": "1", "JOIN_SECONDS": "1"}).items():
        monkeypatch.setenv(name, value)
    for _ in imported(tmp_path, monkeypatch):
        import replacement  # type: ignore[import-not-found]

        yield replacement


@pytest.fixture
def shelf(ml50: Cluster) -> Shelf:
    """A cluster in which the machine of one of three control-plane nodes was reset, after `forget` had asked for it: an
    operator's pod had come back there, as it tolerates all.
    """
    made = Shelf()
    for one in config_maps(ml50):
        made.put(f"{PODS}/node-operations/configmaps/{one['metadata']['name']}", one)
    data = {"uid": "u-2", "osds": "{}", "machine": "s-2", "begun": "2026-11-23T12:00:00Z"}
    made.put(
        f"{PODS}/node-operations/configmaps/node-replacement-{NODE}",
        {"metadata": {"name": f"node-replacement-{NODE}"}, "data": data},
    )
    made.put("/apis/kueue.x-k8s.io/v1beta2", {})
    labels = {"node-role.kubernetes.io/control-plane": ""}
    status = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    metadata = {"name": NODE, "uid": "u-2", "labels": labels, "resourceVersion": "1"}
    made.put(f"/api/v1/nodes/{NODE}", {"metadata": metadata, "spec": {"unschedulable": True}, "status": status})
    for number in (1, 2, 3):
        ready = [{"type": "Ready", "status": str(number != 2)}]
        mirror = {"name": f"etcd-cp-{number}", "annotations": {"kubernetes.io/config.mirror": "x"}}
        pod = {"metadata": mirror | {"namespace": "kube-system"}, "spec": {"nodeName": f"cp-{number}"}}
        made.put(f"{PODS}/kube-system/pods/etcd-cp-{number}", {**pod, "status": {"conditions": ready}})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "x", "controller": True}
    back = {"name": "operator-1", "namespace": "cilium", "uid": "operator-1", "ownerReferences": [owner]}
    spec = {"nodeName": NODE, "tolerations": [{"operator": "Exists"}], "containers": []}
    made.put(f"{PODS}/cilium/pods/operator-1", {"metadata": back, "spec": spec, "status": {"phase": "Running"}})
    heard = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=20)
    made.put(LEASE, {"spec": {"renewTime": heard.isoformat()}})
    return made


def test_a_control_plane_machine_goes_on_the_way_that_is_told(
    script: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fencing  # type: ignore[import-not-found]

    with pytest.raises(script.Verdict) as told:
        script.forget(shelf)
    words = (
        "Then switch the machine off, and 300 s later `gen workflow retry kubernetes-upgrade-x7k2p -p member=removed"
    )
    assert str(told.value).endswith(f"{words} -p off=yes`")
    monkeypatch.setenv("MEMBER", "removed")
    with pytest.raises(script.Verdict, match=r"its pods would never end: .* make sure that it has no power"):
        script.preflight(shelf)
    monkeypatch.setenv("OFF", "yes")
    monkeypatch.setattr(fencing, "silent", lambda *_: None)
    with pytest.raises(script.Verdict, match="cp-2 is not off"):
        script.preflight(shelf)
    monkeypatch.setattr(fencing, "silent", lambda *_: OSError("nobody is there"))
    for step in ("preflight", "fence", "gangs", "osds", "evict", "forget"):
        script.STEPS[step](shelf)
    assert ("DELETE", f"/api/v1/nodes/{NODE}") in [(how, path) for how, path, _ in shelf.changes]


def test_a_machine_keeps_its_pods_while_a_drive_of_minio_is_healed_elsewhere(
    script: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days may pass between the first look and this one: Ceph moves data, and nodes have no lock meanwhile."""
    amiss = "of the drives of MinIO https://nas-2:9000/export-0 is healed: wait, or mend that, first"
    monkeypatch.setattr(script.stores, "hindering", lambda _api, _node: iter([amiss]))
    with pytest.raises(script.Verdict, match="is healed: wait"):
        script.STEPS["evict"](shelf)
    assert shelf.changes == []
    monkeypatch.setattr(script.stores, "hindering", lambda _api, _node: iter([]))
    script.STEPS["evict"](shelf)
    assert shelf.asked("POST") == ["operator-1"]
