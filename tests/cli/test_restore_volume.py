"""`gen restore` of a volume: what it makes in the cluster, what it says, and how it ends."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import structs
from reference import load
from volumebackups import NIGHTLY as HOME

from generator.cli.restore_volume import asked_for, restore
from generator.components.volsync.restoring import comparison_name
from generator.day2.volume_restore import JOBS, begin, compare, compared
from generator.errors import UsageError

if TYPE_CHECKING:
    from generator.day2.volume_restore import VolumeRestore
    from generator.live.running import RunningCluster

Object = dict[str, Any]
ML50 = load("ml50")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

RESTORED = "/api/v1/namespaces/vision/persistentvolumeclaims/home-restored-20260601"
BROUGHT = {"lastManualSync": "2026-06-01T12:00:00Z", "latestMoverStatus": {"result": "Successful", "logs": ""}}


class Server:
    """Keeps what is created; says of each kind what its controller would."""

    def __init__(self, *, destination: Object, job: Object, live: Object | None = None) -> None:
        self.said = {"ReplicationDestination": destination, "Job": job, "PersistentVolumeClaim": {}}
        self.made = 0
        self.pods: list[Object] = []
        self.held: dict[str, Object] = {}
        if live:
            self.held["/api/v1/namespaces/vision/persistentvolumeclaims/home"] = live

    def get(self, path: str) -> Object | None:
        return self.held.get(path)

    def create(self, path: str, manifest: Object) -> Object | None:
        place = f"{path}/{manifest['metadata']['name']}"
        if place in self.held:
            return None
        self.made += 1
        metadata = {**manifest["metadata"], "uid": f"uid-{self.made}", "creationTimestamp": "2026-06-01T12:00:01Z"}
        self.held[place] = {**manifest, "metadata": metadata, "status": self.said[manifest["kind"]]}
        return self.held[place]

    def merge(self, path: str, change: Object) -> Object:
        self.held[path]["metadata"].setdefault("annotations", {}).update(change["metadata"]["annotations"])
        return self.held[path]

    def items(self, _path: str, **_query: str) -> list[Object]:
        return self.pods

    def kinds(self) -> list[str]:
        return [one["kind"] for one in self.held.values()]


def wanted() -> "VolumeRestore":
    return asked_for(ML50, HOME, NOW, at=None, into=None, switch="none")


def test_it_is_brought_back_beside_the_live_claim_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Ti"}}}
    live = {"kind": "PersistentVolumeClaim", "spec": spec}
    server = Server(destination=BROUGHT, job={"succeeded": 1, "completionTime": "2026-06-01T13:00:00Z"}, live=live)
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 0
    assert server.kinds() == ["PersistentVolumeClaim", "ReplicationDestination", "PersistentVolumeClaim", "Job"]
    claim = server.held[RESTORED]
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Ti"
    said = capsys.readouterr()
    assert "was at 2026-06-01T13:00:00Z as the backup has it, file by file" in said.out + said.err
    assert "name claim home-restored-20260601 instead of home" in said.out + said.err


def test_a_volume_that_is_gone_comes_back_as_large_as_the_file_says() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 0
    claim = server.held[RESTORED]
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Ti"
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


@pytest.mark.parametrize(
    ("destination", "job", "said"),
    [
        ({"latestMoverStatus": {"result": "Failed", "logs": "ERROR: no"}}, {}, "the mover failed: ERROR: no"),
        (BROUGHT, {"failed": 1}, "is not as the backup has it"),
        (
            {**BROUGHT, "latestMoverStatus": {"result": "Successful", "logs": "=== No data will be restored ==="}},
            {},
            "no backup had been made by 2026-06-01T12:00:00Z",
        ),
    ],
)
def test_what_went_wrong_is_said_and_is_no_success(
    capsys: pytest.CaptureFixture[str], destination: Object, job: Object, said: str
) -> None:
    server = Server(destination=destination, job=job)
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 1
    told = capsys.readouterr()
    assert said in told.out + told.err


def test_a_claim_that_was_made_again_is_compared_itself() -> None:
    """What was found of the claim that had the name before says nothing of this one, which may be empty."""
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 0
    server.held[RESTORED] = {**server.held[RESTORED], "metadata": {"name": "home-restored-20260601", "uid": "another"}}
    server.said["Job"] = {"failed": 1}
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 1


def test_the_comparison_goes_with_the_claim() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    restore(cast("RunningCluster", server), ML50, wanted())
    (job,) = [one for one in server.held.values() if one["kind"] == "Job"]
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("PersistentVolumeClaim", server.held[RESTORED]["metadata"]["uid"])
    assert job["metadata"]["name"] == f"compare-{owner['uid']}"


def test_a_claim_that_was_removed_after_it_was_filled_is_not_made_anew() -> None:
    """VolSync fills it once: the new one would stay empty."""
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    restore(cast("RunningCluster", server), ML50, wanted())
    del server.held[RESTORED]
    remedy = (
        "delete replicationdestination home-restored-20260601`, then `gen restore vision-home --cluster ml50 "
        "--at 2026-06-01T12:00:00Z --into home-restored-20260601`"
    )
    with pytest.raises(UsageError, match=remedy):
        restore(cast("RunningCluster", server), ML50, wanted())
    assert RESTORED not in server.held


def test_a_claim_that_goes_while_it_is_compared_is_not_proven() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    one, running = wanted(), cast("RunningCluster", server)
    begin(running, ML50, one)
    job = compare(running, ML50, one)
    server.held[RESTORED] = {**server.held[RESTORED], "metadata": {"name": "home-restored-20260601", "uid": "another"}}
    with pytest.raises(UsageError, match="was removed while it was compared"):
        compared(running, one, job)


def planted(server: Server, one: "VolumeRestore", name: str) -> None:
    """Put a Job of a member's own in the place of the one that compares: it compared nothing, and ended well."""
    path = JOBS.format(one.team)
    server.held.pop(f"{path}/{name}", None)
    server.create(path, {"kind": "Job", "metadata": {"name": name, "namespace": one.team}})


def test_a_job_that_a_member_made_before_proves_nothing() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    one, running = wanted(), cast("RunningCluster", server)
    begin(running, ML50, one)
    name = comparison_name(server.held[RESTORED])
    planted(server, one, name)
    with pytest.raises(UsageError, match=f"proves nothing: `kubectl --namespace vision delete job {name}`, then"):
        restore(running, ML50, one)
    del server.held[f"{JOBS.format(one.team)}/{name}"]
    assert restore(running, ML50, one) == 0
    assert restore(running, ML50, one) == 0, "gen's own Job is gone on with"


def test_a_job_that_a_member_puts_in_its_place_proves_nothing() -> None:
    server = Server(destination=BROUGHT, job={})
    one, running = wanted(), cast("RunningCluster", server)
    begin(running, ML50, one)
    name = compare(running, ML50, one)
    assert compared(running, one, name) is None
    server.said["Job"] = {"succeeded": 1}
    planted(server, one, name)
    with pytest.raises(UsageError, match="proves nothing"):
        compared(running, one, name)


def test_the_restore_of_another_backup_is_not_gone_on_with() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    restore(cast("RunningCluster", server), ML50, wanted())
    other = structs.replace(HOME, name="vision-scratch")
    with pytest.raises(UsageError, match="is being restored from volume-backup-vision-home, which is another backup"):
        begin(cast("RunningCluster", server), ML50, structs.replace(wanted(), backup=other))


def test_how_to_compare_again_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(destination=BROUGHT, job={"failed": 1})
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 1
    told = capsys.readouterr()
    again = "gen restore vision-home --cluster ml50 --at 2026-06-01T12:00:00Z --into home-restored-20260601"
    uid = server.held[RESTORED]["metadata"]["uid"]
    assert f"kubectl --namespace vision delete job compare-{uid}, then {again}" in told.out + told.err
