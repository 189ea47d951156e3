"""What differs in the files that people bring to nodes."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from sides import side

from generator.model.change import ABSENT, ObjectChange
from generator.review.bootstrap import bootstrap_changes
from generator.review.standing import Standing

LABELS = "nodes/labels.list"
THREE = {LABELS: "".join(f"label gpu-{number} gen.internal/pool=gpu\n" for number in (1, 2, 3))}
KUBELET = "etc/kubernetes/patches/kubeletconfiguration0+merge.yaml"


def standing(files: Mapping[str, Any]) -> Standing:
    """Return a cluster whose folder bootstrap holds these files."""
    texts = {path: one if isinstance(one, str) else yaml.safe_dump(one) for path, one in files.items()}
    return Standing(side({f"clusters/one/bootstrap/{path}": text for path, text in texts.items()}), "one")


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[ObjectChange]:
    """Return what differs."""
    return bootstrap_changes(standing(old), standing(new))


def join(node: str, **arguments: str) -> dict[str, Any]:
    """Return what makes a node join, with arguments of its kubelet."""
    listed = [{"name": name.replace("_", "-"), "value": value} for name, value in arguments.items()]
    registration = {"name": node, "kubeletExtraArgs": listed}
    document = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration", "nodeRegistration": registration}
    return {f"kubeadm/join-{node}.yaml": document}


def test_equal_files_say_nothing() -> None:
    assert not changes(THREE, THREE)


def test_what_differs_alike_on_several_nodes_is_one_change() -> None:
    old: dict[str, Any] = {**THREE}
    new: dict[str, Any] = {**THREE}
    for node, address in (("gpu-1", "10.0.0.1"), ("gpu-2", "10.0.0.2"), ("gpu-3", "10.0.0.3")):
        old |= join(node, node_ip=address, node_labels="a=b")
        new |= join(node, node_ip=address, node_labels="a=b,c=d")
    (change,) = changes(old, new)
    assert change.name == "kubeadm/join-*.yaml:gpu-[1-3]"
    assert [(field.path[-1], field.old, field.new) for field in change.fields] == [("c", ABSENT, "d")]


def test_what_differs_otherwise_on_one_node_is_a_change_of_its_own() -> None:
    old = {**THREE, **join("gpu-1", v="1"), **join("gpu-2", v="1")}
    new = {**THREE, **join("gpu-1", v="2"), **join("gpu-2", v="3")}
    assert [change.name for change in changes(old, new)] == ["kubeadm/join-gpu-1.yaml", "kubeadm/join-gpu-2.yaml"]


def test_nodes_that_go_are_one_change_without_their_files() -> None:
    mine = {**join("gpu-2"), **join("gpu-3"), "node/disks/gpu-3.list": "xfs /a\n", "network/gpu-3/20-a.netdev": "a\n"}
    left = {LABELS: "label gpu-1 gen.internal/pool=gpu\n"}
    (gone,) = changes({**THREE, **mine, "node/disks/gpu-1.list": "b\n"}, {**left, "node/disks/gpu-1.list": "b\n"})
    assert (gone.on, gone.kind, gone.name) == ("removed", "gen/Node", "gpu-2,gpu-3")
    assert gone.old["nodes"] == ["gpu-2", "gpu-3"]
    (come,) = changes(left, {**THREE, **mine})
    assert (come.on, come.name, come.old) == ("added", "gpu-2,gpu-3", {})


def test_a_pool_that_comes_with_its_nodes_says_nothing_more() -> None:
    new = {LABELS: f"{THREE[LABELS]}label cpu-1 gen.internal/pool=cpu\n", f"node/pools/cpu/{KUBELET}": {"a": "b"}}
    assert [change.kind for change in changes(THREE, new)] == ["gen/Node"]


def test_a_file_for_a_pool_that_is_there_is_felt() -> None:
    path = f"node/pools/gpu/{KUBELET}"
    for old, new in (({}, {path: {"cpuManagerPolicy": "static"}}), ({path: {"cpuManagerPolicy": "static"}}, {})):
        (change,) = changes({**THREE, **old}, {**THREE, **new})
        assert (change.on, change.kind) == ("changed", "kubelet.config.k8s.io/KubeletConfiguration")
        assert [field.path for field in change.fields] == [("cpuManagerPolicy",)]


def test_the_same_file_of_two_pools_is_one_change() -> None:
    nodes = {LABELS: "label a-1 gen.internal/pool=a\nlabel b-1 gen.internal/pool=b\n"}
    old = {**nodes, "node/pools/a/etc/x.conf": "one\n", "node/pools/b/etc/x.conf": "one\n"}
    new = {**nodes, "node/pools/a/etc/x.conf": "two\n", "node/pools/b/etc/x.conf": "two\n"}
    (change,) = changes(old, new)
    assert change.name == "node/pools/*/etc/x.conf:a,b"
    assert [(field.path, field.old, field.new) for field in change.fields] == [
        (("node", "pools", "*", "etc", "x.conf"), "one", "two")
    ]


def test_a_file_that_goes_from_several_pools_is_one_change_and_is_called_so() -> None:
    nodes = {LABELS: "label a-1 gen.internal/pool=a\nlabel b-1 gen.internal/pool=b\n"}
    old = {**nodes, "node/pools/a/etc/x.conf": "one\nboth\n", "node/pools/b/etc/x.conf": "both\ntwo\n"}
    (change,) = changes(old, nodes)
    assert (change.on, change.happened, change.name) == ("changed", "removed", "node/pools/*/etc/x.conf:a,b")
    assert [field.old for field in change.fields] == ["one", "both", "two"]
    assert (change.old, change.new) == ({"a": "one\nboth\n", "b": "both\ntwo\n"}, {})
    assert [one.happened for one in changes(nodes, old)] == ["added", "added"]
    assert [one.happened for one in changes(nodes, {**nodes, LABELS: f"{nodes[LABELS]}label a-1 x=y\n"})] == ["changed"]


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", [("b", "B")]),
        ("a\nb\n", "a\nb\nc\n", [(ABSENT, "c")]),
        ("a\nb\nc\n", "c\n", [("a", ABSENT), ("b", ABSENT)]),
        ("# one\na\n", "# two\n\na\n", []),
        ("a = 1 # one\n", "a = 1 # two\n", [("a = 1 # one", "a = 1 # two")]),
    ],
)
def test_texts_differ_by_their_lines(old: str, new: str, fields: list[tuple[object, object]]) -> None:
    found = changes({"node/all/etc/a": old}, {"node/all/etc/a": new})
    assert [(field.old, field.new) for change in found for field in change.fields] == fields


def test_labels_and_taints_differ_by_key_for_all_nodes_alike() -> None:
    new = "".join(
        f"label gpu-{number} gen.internal/pool=gpu gen.internal/scratch=true gen.internal/ceph-\n"
        for number in (1, 2, 3)
    )
    (change,) = changes(THREE, {LABELS: f"{new}taint gpu-2 a=b:NoExecute c:NoSchedule\n"})
    assert [(field.path, field.new) for field in change.fields] == [
        (("[gpu-2]", "a:NoExecute"), "b"),
        (("[gpu-2]", "c:NoSchedule"), ""),
        (("[gpu-[1-3]]", "gen.internal/scratch"), "true"),
    ]


def test_declared_secrets_are_told_apart_by_namespace() -> None:
    one, other = ({"name": "a", "namespace": space, "keys": ["k"]} for space in ("b", "c"))
    (change,) = changes(
        {"secrets.yaml": {"secrets": [one, other]}}, {"secrets.yaml": {"secrets": [one, {**other, "keys": ["l"]}]}}
    )
    assert [(field.path, field.new) for field in change.fields] == [(("[c/a]", "keys"), ["l"])]


def test_objects_in_files_are_not_those_of_a_server() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kube-vip"}, "spec": {"a": 1}}
    (change,) = changes({"endpoint/a.yaml": pod}, {"endpoint/a.yaml": {**pod, "spec": {"a": 2}}})
    assert change.kind == "bootstrap/Pod"


def test_what_is_not_yaml_is_a_text() -> None:
    (change,) = changes({"kubeadm/init.yaml": "a: [\n"}, {"kubeadm/init.yaml": "a: {\n"})
    assert [(field.old, field.new) for field in change.fields] == [("a: [", "a: {")]


def test_which_program_reads_a_script_is_told() -> None:
    (change,) = changes({"node/a.sh": "#!/bin/sh -eu\nrun\n"}, {"node/a.sh": "#!/bin/sh\nrun\n"})
    assert [(field.old, field.new) for field in change.fields] == [("#!/bin/sh -eu", "#!/bin/sh")]


def manifest(name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}}


def test_of_several_documents_of_one_kind_each_is_compared() -> None:
    old = yaml.safe_dump_all([manifest("one", "1"), manifest("two", "1")])
    (change,) = changes({"x.yaml": old}, {"x.yaml": yaml.safe_dump_all([manifest("one", "2"), manifest("two", "1")])})
    assert (change.name, change.fields[0].new) == ("x.yaml", "2")
    (change,) = changes({"x.yaml": old}, {"x.yaml": yaml.safe_dump_all([manifest("one", "1"), manifest("two", "2")])})
    assert (change.name, change.fields[0].new) == ("x.yaml:two", "2")
    third = yaml.safe_dump_all([manifest("one", "1"), manifest("two", "1"), manifest("two", "3")])
    (change,) = changes({"x.yaml": old}, {"x.yaml": third})
    assert change.name == "x.yaml:3"


def test_what_stands_beside_documents_and_is_none_is_told() -> None:
    old = yaml.safe_dump(manifest("one", "1"))
    (change,) = changes({"x.yaml": old}, {"x.yaml": f"{old}---\nrun: this\n"})
    assert [field.new for field in change.fields] == ["---", "run: this"]
    (change,) = changes({"x.yaml": old}, {"x.yaml": f"{old}---\n{{\n"})
    assert "{" in [field.new for field in change.fields]


def test_secrets_of_every_document_are_compared() -> None:
    first = {"secrets": [{"namespace": "a", "name": "b", "keys": ["c"]}]}
    second = {"secrets": [{"namespace": "a", "name": "x", "keys": ["c"]}]}
    (change,) = changes({"secrets.yaml": first}, {"secrets.yaml": yaml.safe_dump_all([first, second])})
    assert change.fields[0].path == ("[a/x]",)
