"""`gpu-care` and `gpu-cleared`, step by step, on nodes in memory, whose exporters answer over HTTP: what is marked,
what is only told, what is let in again.
"""

import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest
from caredsite import CARE, SICK, SUSPECT, Care, Object, Site
from exporteroutputs import Device, exporters, output, uuid

from generator.components.gpu_care.templates import scripts


@pytest.fixture
def care(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Care]:
    """The steps, after a first look at nodes that are well."""
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in scripts()["data"].items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PERCENT_PER_DAY", "20")
    monkeypatch.syspath_prepend(str(folder))
    site = Site()
    for name in site.names:
        site.tells(name)
    with exporters(site.answers) as port:
        monkeypatch.setenv("EXPORTER_PORT", str(port))
        made = Care(site, monkeypatch)
        made.look("2026-11-23T11:00:00Z")
        yield made
    for name in scripts()["data"]:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_nodes_that_are_well_are_left(care: Care) -> None:
    before = deepcopy(care.site.nodes)
    care.look()
    assert care.site.nodes == before
    assert (care.site.tainted(), care.site.events) == ([], [])


def test_a_sick_node_is_tainted_told_and_left_after(care: Care, capsys: pytest.CaptureFixture[str]) -> None:
    care.site.tells("gpu-03", Device(0), Device(1, 79, pod="vision/train-0"))
    care.site.raced = True
    care.look()
    assert care.site.tainted() == ["gpu-03"]
    assert care.site.said("gpu-03") == f"{uuid(1)}: Xid 79 (GPU has fallen off the bus)"
    assert care.site.nodes["gpu-03"]["spec"]["taints"][0]["key"] == "nvidia.com/gpu", "the taint of the pool is kept"
    assert f"gpu-03 GpuSick: takes no new pods: {uuid(1)}: Xid 79" in care.site.events[-1]
    assert "sick: gpu-03" in capsys.readouterr().out
    before, events = deepcopy(care.site.nodes), len(care.site.events)
    care.look("2026-11-23T12:05:00Z")
    assert (care.site.nodes, len(care.site.events)) == (before, events)


def test_an_old_xid_taints_no_node_again(care: Care) -> None:
    care.site.tells("gpu-03", Device(0, 79))
    care.look()
    node = care.site.nodes["gpu-03"]
    node["spec"]["taints"].pop()
    del node["metadata"]["annotations"][SICK]
    care.look("2026-11-25T12:00:00Z")
    assert care.site.tainted() == []


def test_beyond_the_bound_nodes_are_only_reported(care: Care) -> None:
    for name in care.site.names:
        care.site.tells(name, Device(0, 119))
    care.look()
    assert care.site.tainted() == ["gpu-00", "gpu-01"], "20 percent of ten nodes"
    assert "no taint, for too many nodes of the pool got one today" in care.site.said("gpu-02", SUSPECT)
    care.look("2026-11-23T12:05:00Z")
    care.site.tells("gpu-05", Device(0, 79))
    care.look("2026-11-24T11:00:00Z")
    assert len(care.site.tainted()) == 2
    care.site.tells("gpu-06", Device(0, 79))
    care.look("2026-11-24T12:00:00Z")
    assert care.site.tainted() == ["gpu-00", "gpu-01", "gpu-06"]


def test_a_taint_of_a_person_counts_as_one_and_takes_no_room(care: Care, capsys: pytest.CaptureFixture[str]) -> None:
    node = care.site.nodes["gpu-03"]
    node["spec"]["taints"].append({"key": SICK, "effect": "NoSchedule"})
    care.look("2026-11-23T11:30:00Z")
    assert "sick: gpu-03\n" in capsys.readouterr().out
    care.site.tells("gpu-05", Device(0, 79))
    care.look("2026-11-23T12:00:00Z")
    assert care.site.tainted() == ["gpu-03", "gpu-05"], "the bound is for taints that nobody looked at"
    care.site.tells("gpu-03", Device(0, 79))
    care.look("2026-11-23T12:05:00Z")
    assert "Xid 79" in care.site.said("gpu-03"), "it is out already: why is told, whatever the bound"
    assert len([one for one in node["spec"]["taints"] if one["key"] == SICK]) == 1


def test_a_node_that_was_cleared_today_counts_still(care: Care) -> None:
    for name in ("gpu-00", "gpu-01"):
        care.site.tells(name, Device(0, 79))
    care.look()
    for name in ("gpu-00", "gpu-01"):
        care.site.tells(name)
        care.cleared(name)
    assert care.site.tainted() == []
    care.site.tells("gpu-00", Device(0, 79))
    care.look("2026-11-23T13:00:00Z")
    assert care.site.tainted() == []


@pytest.mark.parametrize("answer", ["", "<html></html>\n", output([Device(0, 79)])[:-1]])
def test_no_exporter_or_one_that_tells_something_else_is_no_reason(
    care: Care, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    care.site.answers["127.0.0.13"] = answer
    care.site.lose("nvidia-dcgm-exporter-gpu-04")
    care.look()
    assert (care.site.tainted(), care.site.events) == ([], [])
    out = capsys.readouterr().out
    assert "gpu-03: its DCGM exporter" in out
    assert "gpu-04: it has no DCGM exporter that is Ready" in out


def test_where_no_exporter_answers_the_run_fails(care: Care) -> None:
    care.site.answers.clear()
    with pytest.raises(care.verdict, match="none of 10 DCGM exporters could be read"):
        care.look()
    assert care.site.tainted() == []


@pytest.mark.parametrize("lie", ["bare", "other", "ending", "waiting"])
def test_only_a_pod_of_a_daemon_set_that_is_ready_is_believed(care: Care, lie: str) -> None:
    (pod,) = [one for one in care.site.pods if one["metadata"]["name"] == "nvidia-dcgm-exporter-gpu-03"]
    care.site.tells("gpu-03", Device(0, 79))
    if lie == "bare":
        del pod["metadata"]["ownerReferences"]
    elif lie == "other":
        pod["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet"
    elif lie == "ending":
        pod["metadata"]["deletionTimestamp"] = "2026-11-23T12:00:00Z"
    else:
        pod["status"]["conditions"][0]["status"] = "False"
    care.look()
    assert care.site.tainted() == []


def test_whose_address_changed_meanwhile_is_not_believed(care: Care) -> None:
    (pod,) = [one for one in care.site.pods if one["metadata"]["name"] == "nvidia-dcgm-exporter-gpu-03"]
    care.site.tells("gpu-03", Device(0, 79))
    plain = import_module("gpu_nodes").reading

    def replaced(one: Object) -> Any:
        told = plain(deepcopy(one))
        if one is pod:
            care.site.pods[care.site.pods.index(pod)] = {**pod, "metadata": {**pod["metadata"], "uid": "another"}}
        return told

    care.patch.setattr(import_module("gpu_nodes"), "reading", replaced)
    care.look()
    assert care.site.tainted() == []


def test_fewer_gpus_than_there_are_taint_after_a_while(care: Care) -> None:
    care.site.nodes["gpu-03"]["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    care.look("2026-11-23T12:00:00Z")
    care.look("2026-11-23T12:05:00Z")
    assert care.site.tainted() == []
    care.look("2026-11-23T12:10:00Z")
    assert care.site.tainted() == ["gpu-03"]
    assert care.site.said("gpu-03") == "nvidia.com/gpu: 7 of 8 are healthy since 2026-11-23T12:00:00Z"


@pytest.mark.parametrize("why", ["plugin", "cordoned", "not ready"])
def test_fewer_gpus_are_no_reason_while_something_is_done_to_the_node(care: Care, why: str) -> None:
    node = care.site.nodes["gpu-03"]
    node["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    if why == "plugin":
        care.site.lose("nvidia-device-plugin-daemonset-gpu-03")
    elif why == "cordoned":
        node["spec"]["unschedulable"] = True
    else:
        node["status"]["conditions"][0]["status"] = "Unknown"
    for hour in range(12, 16):
        care.look(f"2026-11-23T{hour}:00:00Z")
    assert care.site.tainted() == []


def test_a_node_is_cleared_only_when_it_is_whole(care: Care) -> None:
    site, node = care.site, care.site.nodes["gpu-03"]
    site.tells("gpu-03", Device(0, 79))
    node["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    care.look()
    with pytest.raises(care.verdict, match="7 of 8 are healthy") as refused:
        care.cleared("gpu-03")
    assert f"{uuid(0)} still tells Xid 79" in str(refused.value)
    assert "delete pod --selector app=nvidia-dcgm-exporter --field-selector spec.nodeName=gpu-03" in str(refused.value)
    node["status"]["capacity"]["nvidia.com/gpu"] = "7"
    site.tells("gpu-03")
    with pytest.raises(care.verdict, match=r"it has 7 of 8 nvidia\.com/gpu that the cluster file says"):
        care.cleared("gpu-03")
    assert site.tainted() == ["gpu-03"]
    node["status"]["capacity"]["nvidia.com/gpu"] = node["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    node["spec"]["taints"].insert(0, {"key": "site/own", "effect": "NoSchedule"})
    care.cleared("gpu-03")
    assert site.tainted() == []
    left = site.nodes["gpu-03"]
    assert [one["key"] for one in left["spec"]["taints"]] == ["site/own", "nvidia.com/gpu"]
    assert left["metadata"]["annotations"].keys() == {"site/own", CARE}
    site.tells("gpu-03", Device(0, 79))
    care.look("2026-11-25T12:00:00Z")
    assert site.tainted() == ["gpu-03"], "the same Xid again is another one, once the exporter had forgotten it"


def test_a_node_with_memory_that_cannot_be_repaired_stays_out(care: Care) -> None:
    care.site.tells("gpu-03", Device(0, failed=1))
    care.look()
    assert care.site.tainted() == ["gpu-03"]
    with pytest.raises(care.verdict, match="have it replaced"):
        care.cleared("gpu-03")


def test_marks_that_somebody_broke_hinder_nothing(care: Care) -> None:
    notes = care.site.nodes["gpu-03"]["metadata"]["annotations"]
    notes[CARE], notes[SICK] = "[1]", "{"
    care.site.tells("gpu-03", Device(0, failed=1))
    care.look()
    assert care.site.said("gpu-03") == f"{uuid(0)}: memory rows can no longer be remapped"


@pytest.mark.parametrize(
    "note",
    [
        '{"jobs": ["vision/train"]}',
        '{"jobs": {"vision/train": 5}}',
        '{"seen": []}',
        f'{{"seen": {{"{uuid(0)}": 79}}}}',
        f'{{"seen": {{"{uuid(0)}": [[]]}}}}',
        '{"failed": 1}',
        '{"tainted": "yesterday"}',
        '{"tainted": "2026-11-23T11:00:00"}',
    ],
)
def test_a_note_of_another_form_keeps_no_other_node_from_its_taint(care: Care, note: str) -> None:
    care.site.nodes["gpu-01"]["metadata"]["annotations"][CARE] = note
    care.site.tells("gpu-03", Device(0, failed=1))
    care.look()
    assert care.site.tainted() == ["gpu-03"]
