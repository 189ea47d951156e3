"""Operations on disks that are killed at each change that they make and at each question that they ask, and gone on
with: real scripts with the rights that are rendered, against a real API server and its controllers. Ceph and MinIO are
played. The steps of operations on nodes are in test_twin_nodes.py and test_twin_replacement.py.
"""

from collections.abc import Iterator

import pytest
from cephplayed import Ceph, Osd, answering
from minioplayed import Minio, minio_answering
from nodesteps import Steps
from reference import load
from test_twin_disks_refused import HOST, NAS, SERVER, Drives, drives, good, server, steps
from test_twin_replacement import SERVERS, osds, record

from generator.components.rook_ceph import NAMESPACE as ROOK

__all__ = ["drives", "steps"]  # fixtures

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin


def test_a_disk_of_ceph_is_changed_though_each_question_is_cut_short(steps: Steps) -> None:
    former, new = {"OSD": "3"}, {"OSD": "3", "DISK": "new"}
    osds(steps, HOST, 3)
    with answering(steps, Ceph({3: Osd("aaa", HOST, groups=24)})) as ceph:
        killed = {
            step: steps.killed("osd_replacement", step, HOST, ASKING="yes", **former)
            for step in ("preflight", "out", "purge", "report")
        }
        assert ceph.osds == {}
        # Which OSD it is, its disk, its identity and the room; the note. Of `out` and `purge` the last questions may
        # have been answered though nobody heard it.
        assert (killed["preflight"], killed["report"]) == (5, 0)
        assert killed["out"] >= 4, "which OSD, the room, out, whether it is safe"
        assert killed["purge"] >= 4, "which OSD, whether it is safe, its daemon, down"
        assert steps.api.get(record(f"osd-replacement-{HOST}"))["data"]["osd-3"]
        ceph.osds[3] = Osd("ddd", HOST)
        for step in ("preflight", "out", "purge"):
            steps.killed("osd_replacement", step, HOST, ASKING="yes", **new)
        assert ceph.osds[3].fsid == "ddd", "the new OSD was destroyed"
        count = 0
        for _ in steps.kills("osd_replacement", "storage", HOST, **new):
            osds(steps, HOST, 3)
            count += 1
        assert count == 2, "Rook's operator stopped; the note"
    assert "has all its OSDs again" in steps.good("osd_replacement", "report", HOST, **new)
    steps.undeploy(ROOK, "rook-ceph-osd-3")
    steps.api.request("DELETE", record(f"osd-replacement-{HOST}"))


def test_a_drive_of_minio_is_changed_though_each_question_is_cut_short(steps: Steps, drives: Drives) -> None:
    server(steps)
    drive = {"DRIVE": "0"}

    def killed(step: str) -> int:
        return steps.killed("drive_replacement", step, NAS, ASKING="yes", **drive)

    assert killed("preflight") == 2, "the drives; the note"
    former = steps.api.get(f"{SERVERS}/{SERVER}")["metadata"]["uid"]
    count = 0
    for _ in steps.kills("drive_replacement", "restart", NAS, ASKING="yes", **drive):
        count += 1
        if count == 2:  # it was evicted, and its StatefulSet makes it again
            steps.api.wait("it has gone", lambda: steps.api.get(f"{SERVERS}/{SERVER}") is None)
            server(steps)
    assert count == 2
    uid = steps.api.get(f"{SERVERS}/{SERVER}")["metadata"]["uid"]
    assert uid != former
    drives.lines = [f"heal http://{SERVER}.minio-hl.minio.svc:9000/export-0 finished 0 5 new"]
    assert (killed("heal"), killed("sample"), killed("report")) == (2, 1, 1)
    assert steps.api.get(f"{SERVERS}/{SERVER}")["metadata"]["uid"] == uid, "its server was stopped twice"
    assert steps.api.get(record(f"drive-replacement-{NAS}")) is None
    assert "nothing was changed" in good(steps, "report", STATUS="Failed")


@pytest.fixture
def minio(steps: Steps) -> Iterator[Minio]:
    with minio_answering(steps, load("ml50")) as made:
        yield made
    steps.api.request("DELETE", f"{SERVERS}/{SERVER}?gracePeriodSeconds=0")


def test_a_new_machine_s_drives_are_healed_though_the_run_is_killed_while_it_waits(steps: Steps, minio: Minio) -> None:
    waiting = steps.begin("replacement", "heal", NAS)
    assert f"waiting for MinIO's server on {NAS}" in waiting.line()
    waiting.kill()
    waiting.communicate()
    server(steps)
    minio.heals = [f"{SERVER}.minio-hl.minio.svc:9000/export-0"]
    waiting = steps.begin("replacement", "heal", NAS)
    assert f"waiting for the drives of MinIO with the new machine of {NAS}" in waiting.line()
    waiting.kill()
    waiting.communicate()
    minio.heals = []
    assert steps.killed("replacement", "heal", NAS, ASKING="yes") == 2, (
        "one look is not enough: MinIO looks now and then"
    )
    assert "none is healed any more" in steps.good("replacement", "heal", NAS)
