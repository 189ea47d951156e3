"""Clusters as nobody would draw them: a file comes of each, it decodes, and what it does not know it says."""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from surveyed import GPU, KUBEADM, NODES, Held, begun, full, machines, node, small, unlisted

from generator.errors import UsageError
from generator.live.api import Answer
from generator.live.running import RefusedError
from generator.survey.survey import survey


def test_a_plain_cluster() -> None:
    cluster, found = begun(small(node("w-1", "10.0.0.21", labels=GPU, **{"nvidia.com/gpu": "8"})))
    assert [(one.name, one.pool, one.role, str(one.address)) for one in cluster.machines] == [
        ("cp-1", "system", "control-plane", "10.0.0.11"),
        ("w-1", "gpu-h100", "worker", "10.0.0.21"),
    ]
    gpu = cluster.machines[1].hardware.gpu
    assert gpu
    assert (gpu.model, gpu.count, str(gpu.memory)) == ("H100", 8, "80Gi")
    assert str(cluster.machines[0].hardware.memory) == "62Gi"
    assert unlisted(found) == []


def test_no_nodes() -> None:
    cluster, found = begun({**small(), NODES: []})
    assert cluster.machines == ()
    assert "nodes: which machines there are: none is seen that a file can name" in found.unknown
    assert unlisted(found) == []


def test_kinds_that_are_not_in_the_preferred_version() -> None:
    """As with Cilium's: pools are v2, announcements v2alpha1."""
    pool = {"metadata": {"name": "a"}, "spec": {"blocks": [{"start": "10.0.3.224", "stop": "10.0.3.254"}]}}
    policy = {"metadata": {"name": "a"}, "spec": {"interfaces": ["^eno1$"]}}
    versions = [{"groupVersion": f"cilium.io/{version}"} for version in ("v2", "v2alpha1")]
    objects = full() | {
        "/apis/cilium.io/v2/ciliumloadbalancerippools": [pool],
        "/apis/cilium.io/v2alpha1/ciliuml2announcementpolicies": [policy],
    }
    objects["/apis"]["groups"].append({"name": "cilium.io", "preferredVersion": versions[0], "versions": versions})
    cluster, _ = begun(objects)
    balancer = cluster.networks.load_balancer
    assert balancer
    assert (str(balancer.range), balancer.announce) == ("10.0.3.224-10.0.3.254", "l2")
    assert str(cluster.networks.node.cidr) == "10.0.0.0/22"


def test_nothing_at_all() -> None:
    _, found = begun({})
    assert unlisted(found) == []


def test_nodes_with_ipv6_alone_are_left_out_and_told() -> None:
    names, found = machines(node("six", "fd00::6"))
    assert "six" not in names
    assert "nodes: node six is left out: it has no internal IPv4 address" in found.unknown


def test_a_node_without_internal_address_is_left_out_and_told() -> None:
    bare = node("bare")
    bare["status"]["addresses"] = [
        {"type": "Hostname", "address": "bare"},
        {"type": "ExternalIP", "address": "1.2.3.4"},
    ]
    names, found = machines(bare)
    assert "bare" not in names
    assert "nodes: node bare is left out: it has no internal IPv4 address" in found.unknown


def test_both_families() -> None:
    objects = small(node("w-1", "10.0.0.21", "fd00::21"))
    text = "networking: {podSubnet: '10.244.0.0/16,fd00:1::/48', serviceSubnet: '10.96.0.0/12,fd00:2::/112'}"
    cluster, found = begun({**objects, KUBEADM: {"data": {"ClusterConfiguration": text}}})
    assert str(cluster.machines[1].address6) == "fd00::21"
    assert (str(cluster.kubernetes.pod_cidr6), str(cluster.kubernetes.service_cidr6)) == ("fd00:1::/48", "fd00:2::/112")
    assert unlisted(found) == []


@pytest.mark.parametrize(
    ("memory", "written"),
    [
        ("1.5Ti", "1536Gi"),
        ("129933228Ki", "123Gi"),
        ("137438953472", "128Gi"),
        ("1Ti", "1Ti"),
        ("1e3", "1Gi"),
        (5, "1Gi"),
    ],
)
def test_memory_is_whole_gibibytes_and_no_more_than_there_is(memory: object, written: str) -> None:
    names, _ = machines(node("w-1", "10.0.0.21", memory=memory))
    assert str(names["w-1"].hardware.memory) == written


def test_machines_of_one_kind_are_one_pool_whatever_firmware_keeps() -> None:
    names, found = machines(
        node("w-1", "10.0.0.21", memory="129933228Ki"),
        node("w-2", "10.0.0.22", memory="131072000Ki"),
        node("w-3", "10.0.0.23", memory="64Gi"),
    )
    assert [names[name].pool for name in ("w-1", "w-2", "w-3")] == ["cpu", "cpu", "cpu-2"]
    assert [str(names[name].hardware.memory) for name in ("w-1", "w-2", "w-3")] == ["123Gi", "123Gi", "64Gi"]
    assert found.pools == 3


def test_a_pool_that_gen_labelled_keeps_what_differs_on_a_node() -> None:
    labels = {"gen.internal/pool": "bench", **GPU}
    other = {**labels, "nvidia.com/gpu.product": "NVIDIA-A30", "nvidia.com/gpu.memory": "24576"}
    names, found = machines(
        node("w-1", "10.0.0.21", labels=labels, **{"nvidia.com/gpu": "8"}),
        node("w-2", "10.0.0.22", labels=other, **{"nvidia.com/gpu": "8"}),
        node("w-3", "10.0.0.23", labels={"gen.internal/pool": "bench"}, cpu="8"),
    )
    assert {one.pool for one in names.values()} == {"system", "bench"}
    assert [one.hardware.gpu and one.hardware.gpu.model for one in names.values()] == [None, "H100", "A30", "H100"]
    assert [one.gpus for one in names.values()] == [0, 8, 8, 0]
    assert names["w-3"].hardware.cpu == 8
    assert "GPUs of several models: A30, H100" in found.text


def test_two_models_in_one_machine_are_told() -> None:
    _, found = machines(
        node("w-1", "10.0.0.21", labels={**GPU, "nvidia.com/gpu.count": "2"}, **{"nvidia.com/gpu": "4"})
    )
    assert "nodes: w-1: whether its GPUs are alike: pods find 4, and nvidia.com/gpu.count counts 2 of this model" in (
        found.unknown
    )


def test_instances_of_one_kind_are_counted_as_gpus() -> None:
    """As GPU feature discovery's README has it for the strategy `single`."""
    labels = {
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "nvidia.com/gpu.count": "56",
        "nvidia.com/gpu.memory": "5120",
        "nvidia.com/mig.config": "all-1g.5gb",
    }
    names, _ = machines(node("w-1", "10.0.0.21", labels=labels, **{"nvidia.com/gpu": "56"}))
    gpu = names["w-1"].hardware.gpu
    assert gpu
    assert gpu.mig
    assert (gpu.model, gpu.count, str(gpu.memory), gpu.mig.profile) == ("A100", 8, "40Gi", "all-1g.5gb")


def test_instances_by_their_names_and_turns() -> None:
    mixed = {"nvidia.com/gpu.product": "NVIDIA-A30", "nvidia.com/gpu.memory": "24576"}
    capacity = {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.6gb": "4", "nvidia.com/mig-2g.12gb": "2"}
    turns = {
        "nvidia.com/gpu.product": "NVIDIA-L40S-SHARED",
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.count": "2",
    }
    names, found = machines(
        node("w-1", "10.0.0.21", labels=mixed, **capacity),
        node("w-2", "10.0.0.22", labels=turns, **{"nvidia.com/gpu": "8"}),
    )
    split, shared = names["w-1"].hardware.gpu, names["w-2"].hardware.gpu
    assert split
    assert split.mig
    assert (split.count, split.mig.profile) == (2, "all-balanced")
    assert shared
    assert (shared.model, shared.count, shared.time_slices) == ("L40S", 2, 4)
    assert found.loaded.cluster
    assert found.loaded.cluster.gpus.mig_strategy == "mixed"


def test_instances_that_nobody_knows_are_written_down() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-B300", "nvidia.com/mig.config": "our own"}
    names, found = machines(node("w-1", "10.0.0.21", labels=labels, **{"nvidia.com/mig-1g.34gb": "7"}))
    gpu = names["w-1"].hardware.gpu
    assert gpu
    assert gpu.mig
    assert gpu.mig.instances == {"1g.34gb": 7}
    assert any("split in a way that is not known here" in line for line in found.unknown)


def test_labels_of_programs_are_left_out_and_those_of_people_kept() -> None:
    labels = {
        "example.org/owner": "vision",
        "kubernetes.io/hostname": "w-1",
        "beta.kubernetes.io/arch": "amd64",
        "feature.node.kubernetes.io/cpu-model.id": "1",
        "nvidia.com/gpu.deploy.driver": "true",
        "topology.rook.io/rack": "r1",
        "topology.kubernetes.io/zone": "east",
        "p2p.k3s.cattle.io/enabled": "true",
        "node-role.kubernetes.io/storage": "",
    }
    names, _ = machines(node("w-1", "10.0.0.21", labels=labels))
    assert names["w-1"].labels == {"example.org/owner": "vision", "topology.kubernetes.io/zone": "east"}
    assert (names["w-1"].rack, names["w-1"].pool) == ("r1", "storage")


def test_labels_that_no_kubelet_takes_are_told() -> None:
    names, found = machines(node("w-1", "10.0.0.21", labels={"owner": "Bücher", "farbe✓": "rot", "rack": "R 1"}))
    assert names["w-1"].labels == {}
    assert names["w-1"].rack is None
    told = " ".join(found.unknown)
    assert "its label `owner=Bücher` is left out" in told
    assert "its label `farbe✓=rot` is left out" in told
    assert "its rack is called `R 1`" in told


def test_taints_that_tell_of_a_node_are_not_copied() -> None:
    ill = node("w-1", "10.0.0.21")
    ill["spec"]["taints"] = [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        {"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"},
        {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule", "value": "1"},
        {"key": "gen.internal/gpu-sick", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "wrong", "value": "a b", "effect": "NoSchedule"},
    ]
    names, found = machines(ill)
    assert [str(taint) for taint in names["w-1"].taints] == ["nvidia.com/gpu=present:NoSchedule"]
    assert any("a taint is left out: `wrong=a b:NoSchedule`" in line for line in found.unknown)


def test_names_that_a_file_cannot_have_are_told() -> None:
    odd = node("w-2\n# not: yours", "10.0.0.22"), node("w-3\u2028- a: b", "10.0.0.23"), node("w-4\x85c", "10.0.0.24")
    names, found = machines(node("w1.example.org", "10.0.0.21"), *odd)
    assert list(names) == ["cp-1"]
    assert all(line.isprintable() for line in (*found.text.split("\n"), *found.unknown))
    assert any("node `w1.example.org` is left out" in line for line in found.unknown)
    assert not any(line.startswith("# not: yours") for line in found.text.splitlines())


@pytest.mark.parametrize("version", ["v1.33.4+k3s1", "v1.34.2+rke2r1", "v1.33.5-eks-113cf36", ""])
def test_distributions_are_told_and_break_nothing(version: str) -> None:
    worker = node("ip-10-0-3-7", "10.0.3.7", labels={"eks.amazonaws.com/nodegroup": "trainers"})
    objects: dict[str, Any] = {"/version": {"gitVersion": version}, "/apis": {"groups": []}, NODES: [worker]}
    objects["/api/v1/namespaces/default/services/kubernetes"] = {"spec": {"clusterIP": "10.43.0.1"}}
    worker["spec"]["podCIDR"] = "10.42.3.0/24"
    cluster, found = begun(objects)
    assert "no ConfigMap kubeadm-config: not made by kubeadm" in found.text
    assert str(cluster.kubernetes.service_cidr) == "10.43.0.0/16"
    assert (str(cluster.kubernetes.pod_cidr), cluster.kubernetes.endpoint.address) == ("10.42.3.0/24", "10.0.0.10:6443")
    assert cluster.machines[0].pool == "trainers"
    assert unlisted(found) == []


def test_everything_that_is_read() -> None:
    cluster, found = begun(full())
    assert cluster.components["cilium"].managed is False
    assert "cilium v1.20.0, Helm release net in kube-system; gen would take it over with" in " ".join(
        found.text.split()
    )
    assert "cert-manager v1.14.0, not installed by Helm; gen knows v1.21.1" in " ".join(found.text.split())
    assert [(team.name, {pool: quota.gpus for pool, quota in team.quotas.items()}) for team in cluster.teams] == [
        ("vision", {"gpu-h100": 8})
    ]
    assert cluster.networks.node.interface == "eno1"
    assert (cluster.kubernetes.max_pods, cluster.kubernetes.encryption) == (200, "none")
    assert (str(cluster.kubernetes.reserved.cpu), str(cluster.kubernetes.reserved.memory)) == ("1", "2Gi")
    assert cluster.site.ingress_class == "nginx"
    assert "rook-ceph" not in cluster.components
    assert "blockPools: [{name: rbd, deviceClass: nvme, replicas: 3}]" in " ".join(found.text.split())
    assert unlisted(found) == []


def asked() -> list[str]:
    running = Held(full())
    survey(running, "copy")
    return sorted(set(running.asked))


@pytest.mark.parametrize("path", asked())
def test_what_may_not_be_read_is_told_and_left_out(path: str) -> None:
    _, found = begun(full(), path)
    (told,) = (line for line in found.unknown if line.startswith("rights: you lack the right to get or list "))
    words = path.removeprefix("/api/v1/").split("/")
    assert (words[2] if words[0] == "namespaces" and words[1:] else words[-1]) in told
    assert unlisted(found) == []


def test_everything_may_be_refused() -> None:
    cluster, found = begun(full(), "/")
    assert cluster.machines == ()
    assert unlisted(found) == []
    assert sum(line.startswith("rights: ") for line in found.unknown) == 1


def test_nobody_says_what_is_not_there_who_may_not_look() -> None:
    _, found = begun(full(), "/apis/apps/v1/daemonsets", KUBEADM)
    assert "components: what is installed: you may not list Deployments, DaemonSets and StatefulSets" in found.unknown
    assert any("networks: cni: " in line and "you may not list what runs" in line for line in found.unknown)
    assert "would install" not in found.text
    assert "not made by kubeadm" not in found.text


def test_other_refusals_are_told_in_the_servers_words() -> None:
    class Broken(Held):
        def _allowed(self, path: str) -> None:
            super()._allowed(path)
            if path == "/apis/apps/v1/deployments":
                self._refused(Answer(500, {"message": "etcd is slow"}), f"list {path}")

    found = survey(Broken(full()), "copy")
    assert any(
        line.endswith("refuses to list /apis/apps/v1/deployments (status 500): etcd is slow") for line in found.unknown
    )


def test_a_server_that_is_away_ends_it() -> None:
    class Away(Held):
        def _allowed(self, path: str) -> None:
            raise UsageError(f"the connection failed at {path}")

    with pytest.raises(UsageError, match="the connection failed"):
        survey(Away({}), "copy")
    assert issubclass(RefusedError, UsageError)


ODD: tuple[Any, ...] = (None, "", 0, -1, 1.5, True, [], {}, [None], {"a": None}, "x" * 300, "\u2028\n- a: b", "1" * 40)


def places(part: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inside:
        yield from places(value, (*at, key))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_stands_in_objects_a_file_comes_of_it(seed: int) -> None:
    """A server of another making, or an object that nobody checked, is no reason to end in a traceback."""
    chosen = random.Random(seed)
    original = full()
    spots = [at for at in places(original) if len(at) > 1 and at[-1] != "/apis"]
    for _ in range(12):
        objects = deepcopy(original)
        for at in chosen.sample(spots, 3):
            target: Any = objects
            for step in at[:-1]:
                target = target[step] if isinstance(target, dict | list) and _has(target, step) else None
            if isinstance(target, dict | list) and _has(target, at[-1]):
                target[at[-1]] = chosen.choice(ODD)
        _, found = begun(objects)
        assert unlisted(found) == []


def _has(part: Any, key: Any) -> bool:
    return key in part if isinstance(part, dict) else isinstance(key, int) and key < len(part)


def operator(name: str, image: str) -> dict[str, Any]:
    """Return an operator as somebody installed it."""
    pod = {"containers": [{"image": image}]}
    return {"metadata": {"name": name, "namespace": name}, "spec": {"template": {"spec": pod}}}


def test_operators_of_jobs_are_frameworks_of_the_file_and_stay_whose_they_are() -> None:
    objects = full()
    objects["/apis/apps/v1/deployments"] += [
        operator("mpi-operator", "docker.io/mpioperator/mpi-operator:0.7.0"),
        operator("kuberay-operator", "quay.io/kuberay/operator:v1.6.2"),
    ]
    cluster, found = begun(objects)
    assert cluster.teams
    assert cluster.frameworks == ("mpi-operator", "kuberay")
    assert {cluster.components[name].managed for name in cluster.frameworks} == {False}
    assert unlisted(found) == []


def test_operators_of_jobs_where_nobody_is_known_to_have_any_are_told() -> None:
    objects = small() | {
        "/apis/apps/v1/deployments": [operator("mpi-operator", "docker.io/mpioperator/mpi-operator:0.7.0")]
    }
    cluster, found = begun(objects)
    assert cluster.frameworks == ()
    assert "mpi-operator: there, and no team that has jobs; name them with the teams" in found.text
    assert unlisted(found) == []
