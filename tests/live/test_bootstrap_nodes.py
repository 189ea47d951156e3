"""Labels, taints and annotations of nodes: what they lack, and what of theirs stays."""

from pathlib import Path
from typing import Any

import pytest
from joinednodes import joined
from livecluster import LiveCluster, living
from loopback import Asked

from generator.components.kubeadm.labels import MONITOR, marks
from generator.errors import UsageError
from generator.live.bootstrap.nodes import PATH, node_marks
from generator.live.bootstrap.step import State, Step
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster


def look(running: RunningCluster, cluster: Cluster) -> Step:
    return node_marks(running, cluster, list(running.items(PATH)))


def found(live: LiveCluster, name: str) -> dict[str, Any]:
    return live.get("Node", name)


def test_nodes_that_just_joined_lack_nothing(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30)) as (live, running):
        step = look(running, a30)
        assert [item.state for item in step.items] == [State.DONE]
        assert list(step.act()) == []
        assert live.writes == []


def test_a_label_that_changed_is_set_and_ours_that_left_goes(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30)) as (live, running):
        labels = found(live, "jw2")["metadata"]["labels"]
        labels |= {"gen.internal/pool": "former", "gen.internal/ceph": "true", "mine": "x"}
        assert next(item.what for item in look(running, a30).items) == (
            "jw2: label gen.internal/pool=bench, without label gen.internal/ceph"
        )
        list(look(running, a30).act())
        labels = found(live, "jw2")["metadata"]["labels"]
        assert (labels["gen.internal/pool"], labels["mine"]) == ("bench", "x")
        assert "gen.internal/ceph" not in labels
        assert not look(running, a30).pending


def test_a_taint_is_set_beside_those_of_others(tmp_path: Path, a30: Cluster) -> None:
    theirs = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
    former = {"key": "nvidia.com/gpu", "value": "former", "effect": "NoSchedule"}
    with living(tmp_path, *joined(a30)) as (live, running):
        wanted = found(live, "jw2")["spec"]["taints"]
        found(live, "jw2")["spec"]["taints"] = [theirs, former]
        list(look(running, a30).act())
        assert found(live, "jw2")["spec"]["taints"] == [theirs, *wanted]


def test_monitors_of_the_storage_network_are_annotated(tmp_path: Path, ml50: Cluster) -> None:
    with living(tmp_path, *joined(ml50)) as (live, running):
        wanted = {one.node: one.annotations for one in marks(ml50) if one.annotations}
        assert wanted
        list(look(running, ml50).act())
        name, annotations = next(iter(wanted.items()))
        assert found(live, name)["metadata"]["annotations"][MONITOR] == annotations[MONITOR]


def test_who_has_not_joined_comes_later(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30)[:2]) as (_, running):
        (later, done) = look(running, a30).items
        assert (later.state, done.state) == (State.LATER, State.DONE)
        assert later.what.startswith("jw3: not joined yet")


def test_a_node_that_its_kubelet_changes_meanwhile_is_read_again(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30)) as (live, running):
        del found(live, "jw2")["metadata"]["labels"]["gen.internal/pool"]
        step, times = look(running, a30), [3]
        answer = live._answer

        def busy(asked: Asked) -> tuple[int, Any]:
            if asked.method == "PATCH" and times[0]:
                times[0] -= 1
                live.store(f"{PATH}/jw2", found(live, "jw2"))
            return answer(asked)

        live._answer = busy  # type: ignore[method-assign]
        assert list(step.act()) == ["jw2: label gen.internal/pool=bench"]
        del found(live, "jw2")["metadata"]["labels"]["gen.internal/pool"]
        times[0] = 99
        with pytest.raises(UsageError, match="node jw2 changes all the time"):
            list(look(running, a30).act())
