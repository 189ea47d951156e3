"""Disks of Ceph that go for good: of a whole host in one run, with nothing left behind."""

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from nodeshelf import Object, Shelf, imported

from generator.components.node_operations import admission
from generator.components.node_operations.names import OSD_REPLACEMENT

NODE = "cpu-27"
HERE = "/api/v1/namespaces/node-operations/configmaps"
NOTE = f"{HERE}/osd-replacement-{NODE}"
DAEMONS = "/apis/apps/v1/namespaces/rook-ceph/deployments"


class Host(Shelf):
    """A host of Ceph with some OSDs, which a manager knows as well: what it was asked."""

    def __init__(self, *numbers: int) -> None:
        super().__init__()
        self.known = {number: f"fsid-{number}" for number in numbers}
        self.said: list[str] = []
        whole = json.dumps({"osds": len(numbers)})
        data = {"_pool": json.dumps({"ceph": True, "queues": False}), NODE: whole}
        self.put(f"{HERE}/nodes-cpu", {"metadata": {"name": "nodes-cpu"}, "data": data})
        for number in numbers:
            template = {"spec": {"nodeSelector": {"kubernetes.io/hostname": NODE}}}
            metadata = {"name": f"rook-ceph-osd-{number}", "labels": {"ceph-osd-id": str(number)}}
            self.put(f"{DAEMONS}/rook-ceph-osd-{number}", {"metadata": metadata, "spec": {"template": template}})

    def ask(self, method: str, path: str, body: Object | None = None, form: str = "") -> Object | None:
        if method == "POST" and path == HERE:
            assert body
            return self.put(f"{HERE}/{body['metadata']['name']}", body)
        if method == "DELETE":
            self.objects.pop(path, None)
        return super().ask(method, path, body, form)

    def answered(self, _api: object, *words: str) -> str:
        """Return what Ceph says."""
        if words[0] == "room":
            return "[]"
        self.said.append(" ".join(word for word in words[2:] if word not in ("--format", "json")))
        numbers = [int(word.removeprefix("osd.")) for word in words[3:] if word.removeprefix("osd.").isdigit()]
        if words[2] == "purge":
            del self.known[numbers[0]]
        found = {"safe_to_destroy": numbers, "osd_fsid": self.known.get(numbers[0]), "crush_location": {"host": NODE}}
        return json.dumps(found)

    def find(self, _api: object, number: int) -> Object | None:
        """Return what Ceph knows of an OSD."""
        if number not in self.known:
            return None
        return {"osd_fsid": self.known[number], "crush_location": {"host": NODE}}


@pytest.fixture(autouse=True)
def _scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from imported(tmp_path, monkeypatch)


def script(host: Host, monkeypatch: pytest.MonkeyPatch, **told: str) -> ModuleType:
    """Return the script, told which OSD and what becomes of it, with Ceph's answers."""
    for name, value in {"NODE": NODE, "ROOM": "enough", "DISK": "former", "STATUS": "Succeeded", **told}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "osd_replacement", raising=False)
    osds = import_module("osds")
    monkeypatch.setattr(osds, "answered", host.answered)
    monkeypatch.setattr(osds, "find", host.find)
    monkeypatch.setattr(osds, "crowded", lambda _api: [])
    return import_module("osd_replacement")


def run(host: Host, made: ModuleType, *steps: str) -> None:
    for step in steps:
        made.STEPS[step](host)


def test_all_osds_of_a_host_leave_by_one_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are marked out and judged together, and nothing is noted afterwards."""
    host = Host(4, 5, 12)
    made = script(host, monkeypatch, OSD="all", DISK="none")
    run(host, made, "preflight", "out")
    assert set(host.objects[NOTE]["data"]) == {"begun", "osd-all"}
    assert "out 4 5 12" in host.said
    assert "safe-to-destroy 4 5 12" in host.said
    run(host, made, "purge")
    assert [one for one in host.said if one.startswith("purge")] == ["purge osd.4", "purge osd.5", "purge osd.12"]
    assert host.known == {}
    assert not [path for path in host.objects if path.startswith(DAEMONS)]
    run(host, made, "report", "report")
    assert NOTE not in host.objects
    said = capsys.readouterr().out
    assert f"gone for good: all OSDs on {NODE}" in said
    assert f"`gen workflow submit node-removal -p node={NODE}`" in said


def test_a_change_whose_disk_never_comes_is_ended_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the note of another disk of the node stays, until that is ended as well."""
    host = Host(4, 5)
    for osd in ("4", "5"):
        run(host, script(host, monkeypatch, OSD=osd), "preflight", "out", "purge", "report")
    assert set(host.objects[NOTE]["data"]) == {"begun", "osd-4", "osd-5"}
    for osd, left in (("4", {"begun", "osd-5"}), ("5", None)):
        run(host, script(host, monkeypatch, OSD=osd, DISK="none"), "preflight", "out", "purge", "report")
        assert (set(host.objects[NOTE]["data"]) if NOTE in host.objects else None) == left
    assert [one for one in host.said if one.startswith("purge")] == ["purge osd.4", "purge osd.5"]


def test_a_run_that_failed_tells_what_to_undo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(4, 5)
    made = script(host, monkeypatch, OSD="all", DISK="none", STATUS="Failed")
    run(host, made, "preflight", "report")
    assert "until they are forgotten, `ceph osd in 4 5`" in capsys.readouterr().out
    assert NOTE in host.objects


@pytest.mark.parametrize(
    ("numbers", "osd", "disk", "said"),
    [
        ((), "all", "none", "gives Ceph no disks"),
        ((4,), "every", "none", "every is no number of an OSD, nor all"),
        ((4,), "all", "new", f"no change of all OSDs on {NODE} has begun"),
        ((4,), "7", "none", "Ceph has no OSD 7"),
    ],
)
def test_what_cannot_go_is_refused(
    monkeypatch: pytest.MonkeyPatch, numbers: tuple[int, ...], osd: str, disk: str, said: str
) -> None:
    host = Host(*numbers)
    made = script(host, monkeypatch, OSD=osd, DISK=disk)
    with pytest.raises(import_module("api").Verdict, match=said):
        run(host, made, "preflight")
    assert NOTE not in host.objects


def test_the_api_server_lets_the_note_of_a_whole_host_be_written() -> None:
    assert re.fullmatch(admission.NOTES[OSD_REPLACEMENT], "osd-all")
    assert not re.fullmatch(admission.NOTES[OSD_REPLACEMENT], "osd-any")
