"""No cluster makes the checker raise: reference clusters with random parts taken out, doubled or exchanged."""

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from generator.checks import RULES, check, check_together
from generator.model.cluster import Cluster, ClusterFile
from generator.model.finding import Severity
from generator.model.resolve import resolve
from generator.spec.decode import hook
from generator.spec.reader import read

FILES = Path(__file__).parent.parent.parent
Step = str | int

# Odd but decodable values for keys, beside what the files themselves have.
ODD: dict[str, list[Any]] = {
    "address": ["0.0.0.0", "255.255.255.255", "10.10.0.10", "10.10.0.10:6443", "x:99", "..:00", "-:65535", "1.2:99999"],
    "addresses": [{}, {"storage": "10.10.0.11"}, {"ipoib": "0.0.0.0", "bmc": "10.40.0.11"}],
    "bond": [[], ["eno1"], ["eno1", "eno1"]],
    "by": ["kube-vip", "keepalived", "external"],
    "ca": ["", "x", "-----BEGIN CERTIFICATE-----"],
    "cidr": ["0.0.0.0/0", "255.255.255.255/32", "10.0.0.0/31", "10.244.0.0/16", "10.10.0.0/30"],
    "cni": ["cilium", "calico"],
    "components": [{}, {"x": {}}, {"cilium": {"version": "", "values": {"token": {"token": ["", "a"]}}}}],
    "count": [0, 1, 64],
    "cpu": [1, 2, 2**31 - 1],
    "fabric": [{}, {"mlx5_0": "x/1"}, {"": "ib-leaf-1/40"}, {"mlx5_0": "ib-leaf-1/99999"}],
    "gateway": ["0.0.0.0", "10.10.0.255"],
    "gpu": [
        {"model": "", "count": 0, "memory": "0", "mig": {"profile": ""}},
        {
            "model": "A30",
            "count": 1,
            "memory": "0",
            "timeSlices": 2,
            "mig": {"profile": "x", "instances": {"0g.": 1, "7g.+": 2}},
        },
        {"model": "H100", "count": 1, "memory": 0},
    ],
    "hcas": [[], ["mlx5_0", "mlx5_0"], [""]],
    "host": ["x", "a.example.org"],
    "interface": ["", "ib0", "eno1"],
    "labels": [{"": ""}, {"/": "x"}, {"a/b/c": ""}, {"kubernetes.io/x": "y"}],
    "maxPods": [16, 500],
    "memory": ["0", "1m", "64Pi"],
    "mtu": [1280, 65520],
    "name": ["a", "localhost"],
    "nodeMask": [16, 28],
    "nodes": [[]],
    "oversubscription": [1, 1e308],
    "podCIDR": ["0.0.0.0/0", "255.255.255.255/32", "10.10.0.0/22", "128.0.0.0/1"],
    "podCIDR6": ["::/0", "fd00::/64"],
    "pool": ["x", "system", "cpu"],
    "pools": [{}],
    "ports": [1, 2**31 - 1],
    "range": ["0.0.0.0/0", "10.0.0.9-10.0.0.1", "255.255.255.255/32"],
    "registry": ["", "://", "a"],
    "role": ["control-plane", "worker"],
    "serviceCIDR": ["0.0.0.0/0", "255.255.255.255/32", "10.244.0.0/17"],
    "serviceCIDR6": ["::/0", "fd00::/128"],
    "switches": [[]],
    "taints": [[], ["a=b:NoSchedule", "a:NoSchedule"], ["/:NoExecute"]],
    "timezone": ["", "/", "Asia/", "KST"],
    "uplinks": [0, 1, 2**40],
    "url": ["git@h:p", "ssh://h", "ssh://:@/", "http://a@b@c/", "file://x", "oci://x"],
    "version": ["1.0.0", "1." + "9" * 5000 + ".0"],
}


def whole(name: str) -> dict[str, Any]:
    """Return a reference cluster's file, with few nodes of each pool so that a round is quick."""
    value: dict[str, Any] = read((FILES / "clusters" / name / "cluster.yaml").read_bytes(), name).value
    kept: dict[str, list[Any]] = defaultdict(list)
    for node in value["spec"]["nodes"]:
        kept[node["pool"]].append(node)
    value["spec"]["nodes"] = [node for nodes in kept.values() for node in nodes[:4]]
    more = {"mirrors": [{"registry": "docker.io", "mirror": "m.example.org"}], "git": {"ca": "x", "knownHosts": ["x"]}}
    value["spec"]["site"].update(more, proxy={"http": "http://p:1", "noProxy": ["x y"]}, charts="http://c")
    return value


CLUSTERS = [whole("ml50"), whole("a30-bench"), whole("gpu-serving")]


def paths(value: Any, at: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        yield (*at, key)
        yield from paths(each, (*at, key))


def parent(value: Any, path: tuple[Step, ...]) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def alike(value: Any, key: Step) -> list[Any]:
    """Return what stands under the same key elsewhere in the file."""
    return [parent(value, each)[key] for each in paths(value) if each[-1] == key]


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = deepcopy(draw(st.sampled_from(CLUSTERS)))
    for _ in range(draw(st.integers(1, 6))):
        by_key: dict[str, list[tuple[Step, ...]]] = defaultdict(list)
        for each in paths(value["spec"], ("spec",)):
            by_key[each[-1] if isinstance(each[-1], str) else ""].append(each)
        path = draw(st.sampled_from(by_key[draw(st.sampled_from(sorted(by_key)))]))
        holder, key = parent(value, path), path[-1]
        kind = draw(st.sampled_from(["remove", "double", "odd", "add"]))
        if kind == "remove":
            del holder[key]
        elif kind == "double" and isinstance(holder, list):
            holder.append(deepcopy(holder[int(key)]))
        elif kind == "odd" and str(key) in ODD:
            holder[key] = deepcopy(draw(st.sampled_from(ODD[str(key)] + alike(value, key))))
        elif kind == "add" and isinstance(holder, dict):
            added = draw(st.sampled_from(sorted(ODD)))
            holder[added] = deepcopy(draw(st.sampled_from(ODD[added])))
    return value


def cluster_of(value: dict[str, Any]) -> Cluster | None:
    try:
        return resolve(msgspec.convert(value, ClusterFile, dec_hook=hook))
    except msgspec.ValidationError:
        return None


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(files(), files())
def test_the_checker_never_raises(one: dict[str, Any], two: dict[str, Any]) -> None:
    clusters = {str(index): cluster for index, each in enumerate((one, two)) if (cluster := cluster_of(each))}
    assume(clusters)
    for cluster in clusters.values():
        for finding in check(cluster):
            event(finding.code)
            assert finding.code in RULES
            assert finding.message
            assert finding.severity in Severity
    list(check_together(clusters))


def test_the_clusters_that_are_changed_are_read_whole() -> None:
    assert all(cluster_of(each) for each in CLUSTERS)
