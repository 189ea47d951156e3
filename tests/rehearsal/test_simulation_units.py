"""What is brought to a twin of what runs: by what made it, and no more of it than decides where it runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.errors import UsageError
from generator.rehearsal.simulation.reading import LOADS, MAKERS, PODS, READ, State, read, save
from generator.rehearsal.simulation.reading import load as load_state
from generator.rehearsal.simulation.shape import template
from generator.rehearsal.simulation.units import UNIT, Unit, leaves, units

Object = dict[str, Any]
SECRET = "hunter2"


def pod(name: str, node: str, owner: tuple[str, str] = ("", ""), space: str = "default", **more: Any) -> Object:
    kind, uid = owner
    owners = [{"apiVersion": "v1", "kind": kind, "name": uid, "uid": uid, "controller": True}] if kind else []
    container = {"name": "main", "image": "any:1", "env": [{"name": "PASSWORD", "value": SECRET}], "args": [SECRET]}
    volumes = [{"name": "a", "secret": {"secretName": "s"}}, {"name": "b", "persistentVolumeClaim": {"claimName": "c"}}]
    metadata = {"name": name, "namespace": space, "uid": name, "ownerReferences": owners, "labels": {"app": "web"}}
    return {
        "metadata": metadata | more.get("metadata", {}),
        "spec": {"nodeName": node, "containers": [container], "volumes": volumes, "nodeSelector": {"a": "b"}},
        "status": {
            "phase": more.get("phase", "Running"),
            "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        },
    }


def maker(kind: str, name: str, owner: str = "") -> Object:
    owners = [{"kind": "Deployment", "name": owner, "uid": owner, "controller": True}] if owner else []
    spec = {"replicas": 5, "selector": {"matchLabels": {"app": "web"}}, "template": pod("x", "")}
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": owners, "labels": {}},
        "spec": spec,
    }


def load(name: str, owner: str, when: str = "", **more: Any) -> Object:
    states = [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": when}] if when else []
    template = {"spec": {"containers": [{"name": "main", "image": "any:1"}]}}
    sets = more.get("sets", [{"name": "main", "count": 2, "template": template}])
    priority = {"kind": "WorkloadPriorityClass", "name": "low"}
    kind, _, named = owner.partition(" ")
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": name,
            "ownerReferences": [{"kind": kind, "name": named, "uid": named}],
        },
        "spec": {"queueName": "team", "podSets": sets, "priorityClassRef": priority, **more.get("spec", {})},
        "status": {"conditions": states},
    }


def state(**found: list[Object]) -> State:
    paths = {"pods": PODS, "loads": LOADS, **MAKERS}
    return State(
        "it", "https://there", "now", {path: [] for path in READ} | {paths[name]: some for name, some in found.items()}
    )


def of(name: str, found: list[Unit]) -> Unit:
    (one,) = [one for one in found if one.named == name]
    return one


def admitted(load: str) -> Object:
    return {"annotations": {"kueue.x-k8s.io/workload": load}}


def test_pods_are_brought_by_what_made_them_with_those_that_wait_or_are_sick() -> None:
    found = units(
        state(
            pods=[
                pod("web-1", "n1", ("ReplicaSet", "web-abc")),
                pod("web-2", "n2", ("ReplicaSet", "web-abc"), ready="False"),
            ],
            ReplicaSet=[maker("ReplicaSet", "web-abc", "web")],
            Deployment=[maker("Deployment", "web")],
        )
    )
    one = of("Deployment default/web", found)
    assert one.places == {"web-1": "n1", "web-2": "n2"}
    assert one.sick == {"web-2"}, "budgets count it otherwise"
    assert one.manifest["spec"]["replicas"] == 5, "those that wait for a node are counted by budgets, too"
    assert one.manifest["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert UNIT in one.manifest["spec"]["template"]["metadata"]["labels"]


def test_what_pods_are_told_and_mount_stays_where_it_is() -> None:
    made = template(pod("web-1", "n1"), **{UNIT: "7"})
    assert SECRET not in json.dumps(made)
    assert made["spec"]["volumes"] == [{"name": "b", "persistentVolumeClaim": {"claimName": "c"}}]
    assert made["spec"]["nodeSelector"] == {"a": "b"}
    assert made["metadata"]["labels"] == {"app": "web", UNIT: "7"}


def test_what_stays_with_its_node_is_not_brought() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    stay = [pod("a", "n1", ("DaemonSet", "d")), pod("b", "n1", phase="Succeeded"), pod("c", "n1", metadata=mirror)]
    assert not any(map(leaves, [*stay, pod("d", "")]))
    assert leaves(pod("e", "n1"))


def test_gangs_come_in_the_order_in_which_they_were_let_in_and_what_waits_at_last() -> None:
    late = pod("late-1", "n2", space="team", metadata=admitted("late"))
    early = pod("early-1", "n1", space="team", metadata=admitted("early"))
    loads = [load("late", "Job late", "2026-02-02"), load("early", "Job early", "2026-01-01")]
    loads += [load("waits", "Job waits"), load("ended", "Job ended", spec={"active": False})]
    found = units(state(pods=[late, early, pod("bare", "n1")], loads=loads))
    assert [one.named for one in found] == ["Pod default/bare", "Job team/early", "Job team/late", "Job team/waits"]
    labels = found[1].manifest["metadata"]["labels"]
    assert labels == {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/priority-class": "low"}
    assert found[3].manifest["spec"]["parallelism"] == 2


def test_a_gang_of_another_kind_is_a_job_of_as_many_pods_and_that_is_told() -> None:
    small, large = ({"spec": {"containers": [{"name": name, "image": "any:1"}]}} for name in ("launcher", "worker"))
    sets = [{"name": "launcher", "count": 1, "template": small}, {"name": "worker", "count": 2, "template": large}]
    pods = [pod(f"mpi-{n}", f"n{n}", space="team", metadata=admitted("mpi")) for n in range(3)]
    one = of("MPIJob team/mpi", units(state(pods=pods, loads=[load("mpi", "MPIJob mpi", "2026-01-01", sets=sets)])))
    assert one.manifest["kind"] == "Job"
    assert one.manifest["spec"]["completions"] == 3
    assert one.manifest["spec"]["template"]["spec"]["containers"][0]["name"] == "worker"
    assert one.note == "MPIJob team/mpi: played as a Job of 3 pods, each like those of `worker`"


def test_pods_of_an_operator_are_played_as_those_of_a_deployment() -> None:
    one = of("Cache default/big", units(state(pods=[pod("big-0", "n1", ("Cache", "big"))])))
    assert one.manifest["kind"] == "Deployment"
    assert "played as those of a Deployment" in one.note


def test_the_pod_of_a_single_admission_goes_by_itself_and_needs_no_queue() -> None:
    own = {"labels": {"kueue.x-k8s.io/queue-name": "team"}, **admitted("single")}
    (one,) = units(
        state(pods=[pod("one", "n1", space="team", metadata=own)], loads=[load("single", "Pod one", "2026")])
    )
    assert (one.named, one.gang) == ("Pod team/one", False)
    assert one.manifest["spec"]["nodeName"] == "n1"
    assert one.manifest["metadata"]["labels"] == {UNIT: "0"}


def test_a_state_is_kept_in_a_file_without_what_pods_are_told(tmp_path: Path) -> None:
    told = maker("Deployment", "web")
    told["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "a": "b"}
    listed = {key: one for key, one in told.items() if key != "kind"}

    class Running:
        host = "https://there"

        def items(self, path: str) -> list[Object]:
            return {MAKERS["Deployment"]: [listed], PODS: [pod("web-1", "n1")]}.get(path, [])

    found = read(Running(), "it")  # type: ignore[arg-type]
    (one,) = found[MAKERS["Deployment"]]
    assert (one["apiVersion"], one["kind"], one["metadata"]["annotations"]) == ("apps/v1", "Deployment", {"a": "b"})
    save(found, tmp_path / "state")
    assert SECRET not in (tmp_path / "state").read_text()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
    assert load_state(tmp_path / "state", "it") == found
    (tmp_path / "state").write_text("{}")
    with pytest.raises(UsageError, match="it is no state that `--save` wrote"):
        load_state(tmp_path / "state", "it")
