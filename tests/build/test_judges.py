"""What judges the values that charts are given and the objects of operators' kinds: it sees what is wrong."""

from typing import Any

import pytest
from reference import load
from validation.clusters import CLUSTERS
from validation.schemas import folders, refused, shared
from validation.values import schema_errors, unknown_values

from generator.components import compose
from generator.components.component import Manifest

CSI_DRIVERS = "ceph-csi-operator/v1.0.4/values/ceph-csi-drivers.values.yaml"
PROVISIONER = "local-static-provisioner/v2.9.0/values/local-static-provisioner.values.yaml"


@pytest.mark.parametrize(
    ("file", "values", "told"),
    [
        ("cert-manager/v1.21.1/values.yaml", {"webhook": {"replicas": 3}}, "webhook.replicas"),
        ("cilium/1.20.0/values.yaml", {"bpf": {"masquerad": True}}, "bpf.masquerad"),
        ("node-feature-discovery/v0.19.0/values.yaml", {"worker": {"toleration": []}}, "worker.toleration"),
        (CSI_DRIVERS, {"drivers": {"rdb": {}}}, "drivers.rdb"),
        (PROVISIONER, {"hostDir": "/x"}, "hostDir"),
    ],
)
def test_a_misspelt_value_is_seen(file: str, values: Manifest, told: str) -> None:
    assert unknown_values(values, file) == [told]


@pytest.mark.parametrize(
    ("chart", "values"),
    [("cert-manager/v1.21.1", {"webhook": {"replicas": 3}}), ("cilium/1.20.0", {"MTU": "9000"})],
)
def test_a_value_of_another_type_is_seen(chart: str, values: Manifest) -> None:
    assert schema_errors(values, shared(chart) / "values.schema.json")


def put(manifest: Manifest, path: str, value: Any) -> Manifest:
    """Return an object with another value in a field of its `spec`; figures are places in lists."""
    *above, last = path.split(".")
    at: Any = manifest["spec"]
    for step in above:
        at = at[int(step)] if step.isdecimal() else at[step]
    at[last] = value
    return manifest


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ClusterQueue", "cohort", "teams"),
        ("Certificate", "keySize", 256),
        ("CiliumLoadBalancerIPPool", "cidrs", []),
        ("Installation", "calicoNetwork.ipPools.0.encapsulation", "Vxlan"),
        ("Installation", "calicoNetwork.ipPools.0.mode", "Always"),
        ("NicClusterPolicy", "rdmaSharedDevicePlugin.tag", "x"),
        ("WorkflowTemplate", "entrypont", "backup"),
    ],
)
def test_a_wrong_field_is_seen(kind: str, path: str, value: object) -> None:
    for cluster in map(load, CLUSTERS):
        for component in compose(cluster):
            found = [one for one in (*component.base, *component.objects) if one["kind"] == kind]
            if found:
                assert refused(found[0], folders(cluster)) == []
                assert len(refused(put(found[0], path, value), folders(cluster))) == 1
                return
    pytest.fail(f"no reference cluster has a {kind}")
