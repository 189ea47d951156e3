"""How the newest driver of GPUs comes to nodes: the script, on nodes whose DaemonSets do what the GPU Operator's do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nodeshelf import Object, Shelf, imported

from generator.components.node_operations.facts import OF_POOL, config_maps
from generator.components.node_operations.names import DRIVER_UPGRADE
from generator.components.node_operations.templates import scripts
from generator.model.cluster import Cluster

NODES = "/api/v1/nodes"
GPU_PODS = "/api/v1/namespaces/gpu-operator/pods"
APPS = "/apis/apps/v1/namespaces/gpu-operator"
JOBS = "/apis/batch/v1/namespaces/node-operations/jobs"
DRIVER = {"app.kubernetes.io/component": "nvidia-driver"}
OLD, NEW = "5d9f", "7c4b"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, value in {
        "DRAIN_ONLY": "nvidia.com/",
        "BURN_IN_SECONDS": "1",
        "STEADY_SECONDS": "0",
        "AT_ONCE": "1",
        "POD": "step",
        "STATUS": "Failed",
    }.items():
        monkeypatch.setenv(name, value)
    for _ in imported(tmp_path, monkeypatch):
        for name in ("burn-in.json", "burn-in-nccl.json"):
            (tmp_path / name).write_text(scripts()["data"][name])
        import driver_upgrade  # type: ignore[import-not-found]

        monkeypatch.setenv("NODE_SECONDS", "0.2")
        yield driver_upgrade


def ready(*, well: bool = True) -> Object:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": str(well)}]}


class Site(Shelf):
    """The nodes of `ml50`. An evicted driver pod comes again, of its newest revision; a burn-in ends at once."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.broken: set[str] = set()
        self.sick: set[str] = set()
        self.order: list[tuple[str, str]] = []
        self.together: list[str] = []
        for one in config_maps(cluster):
            self.put(f"/api/v1/namespaces/node-operations/configmaps/{one['metadata']['name']}", one)
            for name, line in one["data"].items():
                if name != OF_POOL:
                    self.node(name, json.loads(one["data"][OF_POOL]) | json.loads(line))
        self.put("/apis/kueue.x-k8s.io/v1beta2", {})
        self.put("/api/v1/namespaces/node-operations/pods/step", step())
        self.driver_set()
        self.revision(1, OLD)
        self.revision(2, NEW)
        for machine in cluster.gpu_nodes:
            self.pod(machine.name, "driver", OLD, DRIVER)
            self.pod(machine.name, "validator", "1", {"app": "nvidia-operator-validator"})

    def node(self, name: str, wanted: Object) -> None:
        offers = {key: str(count) for key, count in wanted["resources"].items()}
        metadata = {
            "name": name,
            "resourceVersion": "1",
            "annotations": {},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        status = {**ready(), "allocatable": offers}
        self.put(f"{NODES}/{name}", {"metadata": metadata, "spec": {}, "status": status})
        drivers = [{"name": one} for one in wanted["drivers"]]
        self.put(f"/apis/storage.k8s.io/v1/csinodes/{name}", {"spec": {"drivers": drivers}})

    def driver_set(self, **spec: Any) -> Object:
        pod = {**manager()["spec"], "containers": [{"image": "nvcr.io/nvidia/driver:595.91.07"}]}
        made = {"updateStrategy": {"type": "OnDelete"}, "template": {"spec": pod}} | spec
        metadata = {"name": "nvidia-driver-daemonset", "labels": DRIVER, "uid": "set", "generation": 2}
        one = {"metadata": metadata, "spec": made, "status": {"observedGeneration": 2}}
        return self.put(f"{APPS}/daemonsets/nvidia-driver-daemonset", one)

    def revision(self, number: int, name: str) -> None:
        metadata = {"ownerReferences": [owner("DaemonSet")], "labels": {"controller-revision-hash": name}}
        self.put(f"{APPS}/controllerrevisions/{name}", {"metadata": metadata, "revision": number})

    def pod(self, node: str, what: str, revision: str, labels: Object) -> Object:
        name = f"{what}-{node}"
        metadata = {
            "name": name,
            "namespace": "gpu-operator",
            "uid": f"{name}-{revision}",
            "labels": {**labels, "controller-revision-hash": revision},
            "ownerReferences": [owner("DaemonSet")],
        }
        status = ready(well=node not in self.broken)
        return self.put(
            f"{GPU_PODS}/{name}", {"metadata": metadata, "spec": {"nodeName": node, "containers": []}, "status": status}
        )

    def job(self, name: str, node: str, *, gpus: int = 1, alone: bool = False) -> Object:
        """Let somebody's pod run on a node."""
        limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
        made_by = [] if alone else [owner("ReplicaSet")]
        metadata = {"name": name, "namespace": "vision", "uid": name, "ownerReferences": made_by}
        spec = {"nodeName": node, "containers": [{"resources": limits}]}
        return self.put(f"/api/v1/namespaces/vision/pods/{name}", {"metadata": metadata, "spec": spec, "status": {}})

    def items(self, path: str, **query: str) -> list[Object]:
        found = super().items(path, **{key: one for key, one in query.items() if "metadata.name" not in one})
        key, _, value = query.get("labelSelector", "").partition("=")
        return [one for one in found if not key or (one["metadata"].get("labels") or {}).get(key) == value]

    def ask(self, method: str, path: str, body: Object | None = None, form: str = "") -> Object | None:
        pod = self.objects.get(path.removesuffix("/eviction"))
        done = super().ask(method, path, body, form)
        if pod and method == "POST":
            self.order.append(("goes", pod["metadata"]["name"]))
            if pod["metadata"]["name"].startswith("driver-"):
                self.pod(pod["spec"]["nodeName"], "driver", NEW, DRIVER)
        if method == "POST" and path == JOBS and body:
            self.tried(body)
        if method == "DELETE":
            self.objects.pop(path, None)
        return done

    def tried(self, job: Object) -> None:
        """Let a burn-in end."""
        node = job["metadata"]["name"].removeprefix("burn-in-")
        if node.startswith("nccl-"):
            node = node.removeprefix("nccl-1-")
            self.together.append(node)
        else:
            self.order.append(("tried", node))
        state = {"type": "Failed" if node in self.sick else "Complete", "status": "True"}
        metadata = {**job["metadata"], "creationTimestamp": "2026-02-01T00:00:00Z"}
        self.put(f"{JOBS}/{job['metadata']['name']}", {**job, "metadata": metadata, "status": {"conditions": [state]}})

    def notes(self, node: str) -> Object:
        return dict(self.objects[f"{NODES}/{node}"]["metadata"]["annotations"])

    def cordoned(self) -> list[str]:
        nodes = [one for path, one in self.objects.items() if path.startswith(f"{NODES}/")]
        return sorted(one["metadata"]["name"] for one in nodes if one["spec"].get("unschedulable"))

    def old(self) -> list[str]:
        pods = [one for path, one in self.objects.items() if path.startswith(f"{GPU_PODS}/driver-")]
        return [one["spec"]["nodeName"] for one in pods if one["metadata"]["labels"]["controller-revision-hash"] != NEW]


def step() -> Object:
    """Return the pod of the step itself, whose image the burn-in has, too."""
    spec = {"containers": [{"name": "main", "image": "docker.io/library/python:3"}]}
    return {
        "metadata": {"name": "step", "namespace": "node-operations", "ownerReferences": []},
        "spec": spec,
        "status": {},
    }


def owner(kind: str) -> Object:
    return {"kind": kind, "uid": "set", "controller": True, "name": "any"}


@pytest.fixture
def site(ml50: Cluster) -> Site:
    return Site(ml50)


def test_every_node_gets_the_newest_driver_one_after_the_other(script: ModuleType, site: Site) -> None:
    site.job("train", "gpu-01")
    site.job("reads", "gpu-01", gpus=0)
    script.gate(site)
    script.nodes(site)
    assert site.old() == site.cordoned() == []
    begun = site.order.index(("goes", "train"))
    assert site.order[begun : begun + 3] == [("goes", "train"), ("goes", "driver-gpu-01"), ("tried", "gpu-01")]
    assert ("goes", "reads") not in site.order, "it holds no GPU"
    names = [name for what, name in site.order if what == "tried"]
    assert names == [f"gpu-{number:02}" for number in (13, 14, 15, *range(1, 13))], "by pools and racks"
    assert site.together == names, "NCCL over the GPUs of each"
    assert site.notes("gpu-01").keys() == {"gen.internal/burned-in"}
    (asked,) = [body for how, path, body in site.changes if (how, path) == ("POST", JOBS)][:1]
    (container,) = asked["spec"]["template"]["spec"]["containers"]
    assert (container["resources"]["limits"]["nvidia.com/gpu"], len(container["volumeMounts"])) == ("8", 1)
    before = len(site.changes)
    script.nodes(site)
    assert len(site.changes) == before, "all is done"


def test_it_stops_at_the_first_node_that_fails_and_goes_on_there(
    script: ModuleType, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.broken = {"gpu-02"}
    with pytest.raises(
        script.Verdict, match=r"^gpu-02: not as it must be after 0\.2 s .* its driver pod is not Ready$"
    ):
        script.nodes(site)
    assert site.cordoned() == ["gpu-02"]
    assert "gpu-03" in site.old()
    script.report(site)
    said = capsys.readouterr().out
    assert "gpu-02 is held, and takes no pods: its driver pod is not Ready" in said
    assert f"`gen workflow submit {DRIVER_UPGRADE}` goes on there" in said
    site.broken = set()
    site.pod("gpu-02", "driver", NEW, DRIVER)
    evicted = site.asked("POST").count("driver-gpu-02")
    script.nodes(site)
    assert (site.asked("POST").count("driver-gpu-02"), evicted) == (1, 1), "it has the new one"
    assert site.cordoned() == site.old() == []


def test_a_node_whose_devices_are_not_good_stays_cordoned_and_is_tried_again(script: ModuleType, site: Site) -> None:
    site.sick = {"gpu-13"}
    with pytest.raises(script.Verdict, match="burn-in-gpu-13 did not pass"):
        script.nodes(site)
    assert site.cordoned() == ["gpu-13"]
    assert "gen.internal/driver-upgrade" in site.notes("gpu-13")
    site.sick = set()
    script.nodes(site)
    assert [name for what, name in site.order if what == "tried"][:3] == ["gpu-13", "gpu-13", "gpu-14"]
    assert site.cordoned() == []


def test_a_node_that_somebody_had_cordoned_is_tried_anew_and_stays_cordoned(script: ModuleType, site: Site) -> None:
    node = site.objects[f"{NODES}/gpu-04"]
    node["spec"]["unschedulable"] = True
    node["metadata"]["annotations"]["gen.internal/burned-in"] = "of its first day"
    script.nodes(site)
    assert ("tried", "gpu-04") in site.order
    assert site.cordoned() == ["gpu-04"]
    assert "gen.internal/cordoned-by" not in site.notes("gpu-04")


@pytest.mark.parametrize(
    ("annotation", "cordon"),
    [({"gen.internal/driver-upgrade": "since"}, "somebody's"), ({"gen.internal/cordoned-by": DRIVER_UPGRADE}, "ours")],
)
def test_a_node_that_was_begun_is_gone_on_with_though_it_has_the_driver(
    script: ModuleType, site: Site, annotation: Object, cordon: str
) -> None:
    node = site.objects[f"{NODES}/gpu-13"]
    node["spec"]["unschedulable"] = True
    node["metadata"]["annotations"] |= annotation
    del site.objects[f"{GPU_PODS}/driver-gpu-13"]
    script.gate(site)
    site.pod("gpu-13", "driver", NEW, DRIVER)
    script.nodes(site)
    assert site.order[0] == ("tried", "gpu-13")
    assert site.cordoned() == ([] if cordon == "ours" else ["gpu-13"])


def test_a_node_that_cannot_be_emptied_takes_pods_again(
    script: ModuleType, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(_api: Any, _name: str) -> None:
        raise script.Verdict("after 0.2 s there are still: vision/train")

    monkeypatch.setattr(script, "evict", stuck)
    with pytest.raises(script.Verdict, match="there are still"):
        script.nodes(site)
    assert site.cordoned() == []
    assert len(site.old()) == 15


def test_racks_go_one_after_the_other_and_at_once_bounds_a_rack(
    script: ModuleType, site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AT_ONCE", "3")
    monkeypatch.setenv("LEAVE", "gpu-02")
    script.plan(site)
    said = capsys.readouterr().out
    assert "nvidia-driver-daemonset: nvcr.io/nvidia/driver:595.91.07" in said
    assert "pool gpu-training, rack r1: gpu-01, gpu-03, gpu-04" in said
    assert "14 of 14 nodes with GPUs are to get it" in said
    assert "refused" not in said
    assert site.changes == []


def spoil(key: str, value: Any) -> Callable[[Site], None]:
    def change(site: Site) -> None:
        site.driver_set(**{key: value})

    return change


def manager(**acts: str) -> Object:
    """Return what runs drivers whose manager does this."""
    told = {"ENABLE_GPU_POD_EVICTION": "false", "ENABLE_AUTO_DRAIN": "false"} | acts
    variables = [{"name": name, "value": value} for name, value in told.items() if value]
    return {"spec": {"initContainers": [{"env": variables}], "containers": []}}


def by_itself(site: Site) -> None:
    site.objects[f"{NODES}/gpu-01"]["metadata"]["annotations"]["nvidia.com/gpu-driver-upgrade-enabled"] = "true"


def no_driver(site: Site) -> None:
    del site.objects[f"{APPS}/daemonsets/nvidia-driver-daemonset"]


def own_driver(site: Site) -> None:
    del site.objects[f"{GPU_PODS}/driver-gpu-01"]


def changed_now(site: Site) -> None:
    site.driver_set()["metadata"]["generation"] = 3


def away(site: Site) -> None:
    site.objects[f"{NODES}/gpu-01"]["status"]["conditions"] = []


def alone(site: Site) -> None:
    site.job("notebook", "gpu-01", alone=True)


def of_another(site: Site) -> None:
    node = site.objects[f"{NODES}/gpu-01"]
    node["spec"]["unschedulable"] = True
    node["metadata"]["annotations"]["gen.internal/cordoned-by"] = "kubernetes-upgrade"


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (by_itself, "the GPU Operator upgrades drivers by itself on 1 nodes, as gpu-01"),
        (no_driver, "the GPU Operator runs no driver"),
        (own_driver, "gpu-01: the GPU Operator runs no driver there, so that they would be emptied in vain"),
        (changed_now, "nvidia-driver-daemonset has just changed"),
        (spoil("updateStrategy", {"type": "RollingUpdate"}), "nvidia-driver-daemonset replaces its pods by itself"),
        (
            spoil("template", {"spec": {"containers": []}}),
            "set ENABLE_GPU_POD_EVICTION and ENABLE_AUTO_DRAIN to 'false'",
        ),
        (spoil("template", manager(ENABLE_AUTO_DRAIN="")), "set ENABLE_AUTO_DRAIN to 'false'"),
        (spoil("template", manager(ENABLE_AUTO_DRAIN="true")), "set ENABLE_AUTO_DRAIN to 'false'"),
        (
            spoil("template", manager(ENABLE_GPU_POD_EVICTION="true")),
            "would evict pods one by one, and uncordon a node",
        ),
        (away, "gpu-01 is not Ready"),
        (alone, "nobody makes vision/notebook again"),
        (of_another, "gpu-01 is held by kubernetes-upgrade"),
    ],
)
def test_what_would_do_harm_is_refused(
    script: ModuleType, site: Site, spoiled: Callable[[Site], None], words: str
) -> None:
    spoiled(site)
    with pytest.raises(script.Verdict) as refused:
        script.gate(site)
    assert words in str(refused.value)
    assert "; " not in str(refused.value), "and nothing else is"


def test_an_unknown_pool_is_refused(script: ModuleType, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLS", "gpu-trainnig")
    with pytest.raises(script.Verdict, match="no pool has the name gpu-trainnig"):
        script.gate(site)


def test_a_node_is_good_once_all_pods_of_the_operator_and_all_gpus_are_there(script: ModuleType, site: Site) -> None:
    import drivers  # type: ignore[import-not-found]

    (one, *_) = script.fleet(site).machines
    site.pod(one.name, "driver", NEW, DRIVER)
    assert drivers.lacking(site, one) == []
    site.pod(one.name, "plugin", "1", {})["status"] = {
        "conditions": [],
        "initContainerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
    }
    assert drivers.lacking(site, one) == [f"plugin-{one.name} is not Ready (PodInitializing)"]
    del site.objects[f"{GPU_PODS}/plugin-{one.name}"], site.objects[f"{GPU_PODS}/validator-{one.name}"]
    site.objects[f"{NODES}/{one.name}"]["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    assert drivers.lacking(site, one) == ["nvidia-operator-validator is not there", "nvidia.com/gpu: 7 of 8"]
    del site.objects[f"{GPU_PODS}/driver-{one.name}"]
    assert drivers.lacking(site, one) == ["it has no driver pod"]
