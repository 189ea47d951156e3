"""What operations on disks refuse, and those on machines for the sake of their disks, one reason after the other: real
scripts with the rights that are rendered, against a real API server and its controllers. Ceph and MinIO are played.
What test_twin_replacement.py and test_minio_replacement.py meet on their way is not tried again here.
"""

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cephplayed import IMAGE, Answer, Ceph, Osd, answering, played
from minioplayed import ASKING
from nodesite import control_plane
from nodesteps import OPERATIONS, Steps, cordoned, expects
from reference import load
from test_twin_refusals import changed
from test_twin_replacement import SERVERS, osds, record

from generator.components.minio.settings import setup_job
from generator.components.rook_ceph import NAMESPACE as ROOK

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

HOST, OTHER = "cpu-28", "cpu-27"
NAS, SERVER = "nas-2", "minio-1"
OPERATOR = "rook-ceph-operator"
SETUP = "/apis/batch/v1/namespaces/minio/jobs/minio-setup"


@pytest.fixture(scope="module")
def steps() -> Iterator[Steps]:
    with (
        tempfile.TemporaryDirectory(prefix="refusals-", ignore_cleanup_errors=True) as name,
        control_plane(load("ml50"), Path(name), HOST, OTHER, NAS) as made,
    ):
        for space, account in ((ROOK, "rook-ceph-default"), ("minio", "minio")):
            metadata = {"name": account, "namespace": space}
            made.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        made.deployment(ROOK, OPERATOR, app=OPERATOR, image=IMAGE)
        sets_up(made)
        expects(made, "cpu", HOST, osds=1)
        yield made


def sets_up(steps: Steps) -> None:
    """Let the Job be there that sets MinIO up, of which those that ask it take their pod."""
    cluster = load("ml50")
    assert cluster.storage.objects
    setup = setup_job(cluster, cluster.storage.objects)
    steps.api.apply({**setup, "spec": {**setup["spec"], "suspend": True}})


@pytest.fixture
def disk(steps: Steps) -> Iterator[str]:
    """A node with one OSD."""
    osds(steps, HOST, 3)
    yield HOST
    steps.undeploy(ROOK, "rook-ceph-osd-3")
    for operation in ("node", "osd"):
        steps.api.request("DELETE", record(f"{operation}-replacement-{HOST}"))


BEGINNING: dict[str, dict[str, str]] = {"replacement": {}, "osd_replacement": {"OSD": "3"}}
"""Operations that take OSDs out, and what they are told."""


@pytest.mark.parametrize("operation", BEGINNING)
def test_no_disk_of_ceph_goes_that_is_not_known_for_certain(steps: Steps, disk: str, operation: str) -> None:
    note, told = record(f"{OPERATIONS[operation]}-{disk}"), BEGINNING[operation]

    def stopped() -> str:
        said = steps.refused(operation, "preflight", disk, **told)
        assert not cordoned(steps, disk)
        assert steps.api.get(note) is None
        return said

    with answering(steps, Ceph({3: Osd("aaa", OTHER)})):
        assert f"OSD 3 is on {OTHER}, and not on {disk}: look at `ceph osd tree`" in stopped()
    steps.undeploy(ROOK, OPERATOR)
    assert f"there is no Deployment with app={OPERATOR} in {ROOK}: is Rook installed?" in stopped()
    steps.deployment(ROOK, OPERATOR, app=OPERATOR, image=IMAGE)
    with answering(steps, Mute({3: Osd("aaa", disk)})):
        code, said = steps.step(operation, "preflight", disk, **told)
    assert (code, "cannot be answered now" in said) == (1, True), "it may pass: Argo tries again"
    assert steps.api.get(note) is None


def test_a_machine_with_disks_of_ceph_stays_while_ceph_is_nearly_full(steps: Steps, disk: str) -> None:
    steps.ceph("HEALTH_WARN", OSD_NEARFULL="2 nearfull osd(s)")
    said = steps.refused("replacement", "preflight", disk)
    assert f"no room for what the OSDs of {disk} hold: OSD_NEARFULL: 2 nearfull osd(s)" in said
    assert not cordoned(steps, disk)
    assert steps.api.get(record(f"node-replacement-{disk}")) is None
    # One that has none, or none any more, gives Ceph nothing to move.
    steps.good("replacement", "preflight", OTHER)
    steps.api.request("DELETE", record(f"node-replacement-{OTHER}"))
    steps.ceph("HEALTH_OK")
    with answering(steps, Ceph({3: Osd("aaa", disk)})):
        steps.good("replacement", "preflight", disk)


def test_who_cannot_clear_away_what_asked_last_asks_nothing(steps: Steps, disk: str) -> None:
    metadata = {"name": f"ask-ceph-{disk}", "namespace": ROOK, "finalizers": ["twin.test/hold"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    container = {"name": "main", "image": "registry.example.org/any:1"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    steps.api.apply({**job, "spec": {"suspend": True, "template": template}})
    with (
        answering(steps, Ceph({3: Osd("aaa", disk)})) as ceph,
        changed(steps, "ANSWER = 180.0", "ANSWER = 2.0", "asking.py"),
    ):
        said = steps.refused("osd_replacement", "preflight", disk, OSD="3")
    assert f"ask-ceph-{disk} does not go: look at its pods" in said
    assert ceph.asked == []
    steps.patch(f"/apis/batch/v1/namespaces/{ROOK}/jobs/ask-ceph-{disk}", {"metadata": {"finalizers": None}})


class Mute(Ceph):
    """Ceph without a quorum: each command ends at the time that it has."""

    def answer(self, words: list[str]) -> Answer:
        assert words
        return errno.ETIMEDOUT, "Error connecting to cluster: TimedOut"


def test_who_empties_a_node_with_disks_of_ceph_is_refused_also_while_ceph_is_silent(steps: Steps, disk: str) -> None:
    with answering(steps, Mute({})):
        said = steps.refused("removal", "preflight", disk)
    assert "Ceph does not tell whether it could do without them: `room 3` cannot be answered now" in said
    assert f"{disk} holds 1 OSDs (rook-ceph-osd-3)" in said


class Clinging(Ceph):
    """Ceph that says that it has forgotten an OSD, and has it still."""

    def purge(self, numbers: list[int]) -> Answer:
        assert numbers
        return 0, ""


def test_an_osd_is_forgotten_only_when_its_daemon_has_ended_and_ceph_says_so(steps: Steps, disk: str) -> None:
    osd = {"OSD": "3"}
    (pod,) = steps.api.items(f"/api/v1/namespaces/{ROOK}/pods?labelSelector=one%3Drook-ceph-osd-3")
    stuck = f"/api/v1/namespaces/{ROOK}/pods/{pod['metadata']['name']}"
    steps.patch(stuck, {"metadata": {"annotations": {"twin.test/stuck": "1"}}})
    with answering(steps, Clinging({3: Osd("aaa", disk)})) as ceph:
        steps.good("osd_replacement", "preflight", disk, **osd)
        with changed(steps, "ANSWER = 180.0", "ANSWER = 15.0", "asking.py"):
            said = steps.refused("osd_replacement", "purge", disk, **osd)
        assert "the pod of OSD 3 does not end" in said
        assert not [one for one in ceph.asked if one.startswith(("down", "purge"))], "it may still be written to"
        steps.api.request("DELETE", f"{stuck}?gracePeriodSeconds=0")
        said = steps.refused("osd_replacement", "purge", disk, **osd)
        assert "Ceph still knows OSD 3 after its purge: look at `ceph osd tree`" in said


def test_notes_of_another_disk_are_no_notes_of_this_one(steps: Steps, disk: str) -> None:
    with answering(steps, Ceph({3: Osd("aaa", disk)})) as ceph:
        for step in ("out", "purge"):
            said = steps.refused("osd_replacement", step, disk, OSD="3")
            assert f"there is no ConfigMap osd-replacement-{disk}: begin the run from its first step" in said
        steps.good("osd_replacement", "preflight", disk, OSD="3")
        for step in ("out", "purge"):
            said = steps.refused("osd_replacement", step, disk, OSD="9")
            assert f"ConfigMap osd-replacement-{disk} says nothing of OSD 9: begin the run from its first" in said
        assert not [one for one in ceph.asked if one.startswith(("out", "down", "purge"))]


@pytest.mark.parametrize("operation", BEGINNING)
def test_new_disks_are_waited_for_until_ceph_is_whole_with_them(steps: Steps, operation: str) -> None:
    told = BEGINNING[operation]
    with answering(steps, Ceph({3: Osd("aaa", HOST)})):
        steps.good("osd_replacement", "preflight", HOST, OSD="3")
        held = {"minAvailable": 1, "selector": {"matchLabels": {"app": OPERATOR}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": held}
        steps.api.apply({**budget, "metadata": {"name": "held", "namespace": ROOK}})
        at = f"/apis/policy/v1/namespaces/{ROOK}/poddisruptionbudgets/held"
        steps.api.wait("it has counted", lambda: steps.api.get(at).get("status", {}).get("currentHealthy"))
        said = steps.refused(operation, "storage", HOST, **told)
        assert "Rook's operator cannot be started anew: " in said
        steps.api.request("DELETE", at)
        said = steps.refused(operation, "storage", HOST, STORAGE_SECONDS="1", **told)
        assert f"0 of 1 OSDs run on {HOST} after 1 s: look at the log of the Job rook-ceph-osd-prepare-{HOST}" in said
        osds(steps, HOST, 3)
        steps.ceph("HEALTH_WARN", PG_DEGRADED="Degraded data redundancy: 7 pgs undersized")
        said = steps.refused(operation, "storage", HOST, STORAGE_SECONDS="1", **told)
        steps.ceph("HEALTH_OK")
        assert f"Ceph is not whole after {HOST} joined it: PG_DEGRADED: Degraded data redundancy" in said
        steps.good(operation, "storage", HOST, **told)
    steps.undeploy(ROOK, "rook-ceph-osd-3")
    steps.api.request("DELETE", record(f"osd-replacement-{HOST}"))


class Drives:
    """What MinIO says, line by line, or with which code it says none."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.code = 0

    def answer(self, words: list[str]) -> Answer:
        assert words[0] in ("drives", "sample")
        return self.code, "\n".join([*self.lines, "offline 0", "drives 16"])


@pytest.fixture
def drives(steps: Steps) -> Iterator[Drives]:
    made = Drives()
    with played(steps, ASKING, made.answer):
        yield made
    for name in ("minio-1", "minio-2"):
        steps.api.request("DELETE", f"{SERVERS}/{name}?gracePeriodSeconds=0")
        steps.api.wait("it has gone", lambda name=name: steps.api.get(f"{SERVERS}/{name}") is None)  # type: ignore[misc]
    steps.api.request("DELETE", record(f"drive-replacement-{NAS}"))


def server(steps: Steps) -> None:
    """Let the server of MinIO run on the node, with one drive; nobody makes it again."""
    labels = {"app.kubernetes.io/name": "minio"}
    container = {"name": "minio", "image": "registry.example.org/any:1"}
    spec = {"nodeName": NAS, "containers": [container], "volumes": [{"name": "export-0", "emptyDir": {}}]}
    metadata = {"name": SERVER, "namespace": "minio", "labels": labels}
    assert (
        steps.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, dry=False)[0] == 201
    )
    steps.api.wait("it runs", lambda: steps.api.get(f"{SERVERS}/{SERVER}")["status"].get("phase") == "Running")


def refused(steps: Steps, step: str, **told: str) -> str:
    return steps.refused("drive_replacement", step, NAS, DRIVE="0", **told)


def good(steps: Steps, step: str, **told: str) -> str:
    return steps.good("drive_replacement", step, NAS, DRIVE="0", **told)


def test_no_drive_is_changed_without_its_server_and_a_word_of_minio(steps: Steps, drives: Drives) -> None:
    assert f"no server of MinIO is on {NAS}: `kubectl" in refused(steps, "preflight", RESTART_SECONDS="1")
    server(steps)
    drives.code, drives.lines = 75, ["MinIO does not answer its administrator"]
    code, said = steps.step("drive_replacement", "preflight", NAS, DRIVE="0")
    assert (code, "MinIO was asked for drives: MinIO does not answer" in said) == (1, True), said
    steps.api.request("DELETE", f"{SETUP}?propagationPolicy=Background")
    steps.api.wait("it has gone", lambda: steps.api.get(SETUP) is None)
    code, said = steps.step("drive_replacement", "preflight", NAS, DRIVE="0")
    assert (code, "there is no Job minio-setup: let Argo CD sync `minio`" in said) == (1, True), said
    assert steps.api.get(record(f"drive-replacement-{NAS}")) is None
    sets_up(steps)


def test_a_server_is_stopped_only_while_all_other_drives_are_good_and_its_budget_allows_it(
    steps: Steps, drives: Drives
) -> None:
    for step in ("restart", "heal"):
        said = refused(steps, step)
        assert f"there is no ConfigMap drive-replacement-{NAS}: begin the run from its first step" in said
    server(steps)
    good(steps, "preflight")
    drives.lines = ["bad http://minio-2.minio-hl.minio.svc:9000/export-1 offline"]
    said = refused(steps, "restart")
    assert "of 16 drives http://minio-2.minio-hl.minio.svc:9000/export-1 is offline: wait, or mend that, first" in said
    drives.lines = []
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": "minio"}}}
    metadata = {"name": "minio", "namespace": "minio"}
    steps.api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})
    at = "/apis/policy/v1/namespaces/minio/poddisruptionbudgets/minio"
    steps.api.wait("it has counted", lambda: steps.api.get(at).get("status", {}).get("currentHealthy"))
    said = refused(steps, "restart")
    assert f"{SERVER} may not be stopped now: " in said
    assert "disruption budget" in said
    assert "deletionTimestamp" not in steps.api.get(f"{SERVERS}/{SERVER}")["metadata"]
    steps.api.request("DELETE", at)
    assert f"{SERVER} is not Ready: `kubectl" in refused(steps, "restart", RESTART_SECONDS="2")


def test_a_drive_that_does_not_heal_or_reads_wrong_is_told(steps: Steps, drives: Drives) -> None:
    server(steps)
    good(steps, "preflight")

    def heals(how: str, failed: int) -> None:
        drives.lines = [f"heal http://{SERVER}.minio-hl.minio.svc:9000/export-0 {how} {failed} 5 new"]

    heals("running", 0)
    said = refused(steps, "heal", HEAL_SECONDS="0")
    assert "healing: 5 bytes so far" in said
    assert "the drive is not healed after 0 s: `mc admin heal` tells how it goes" in said
    heals("finished", 2)
    said = refused(steps, "heal")
    assert "2 parts could not be healed: `mc admin heal --recursive` names them" in said
    assert f"delete configmap drive-replacement-{NAS}" in said
    heals("finished", 0)
    assert "healed: 5 bytes" in good(steps, "heal")
    drives.code, drives.lines = 1, ["cannot be read: site/data/object-1"]
    assert "MinIO was asked for sample: cannot be read: site/data/object-1" in refused(steps, "sample")
    drives.code = 0
