"""`gen restore` of a volume: what it makes in the cluster, what it says, and how it ends."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from reference import load

from generator.cli.restore_volume import asked_for, restore
from generator.model.backup import BackupTarget, VolumeBackup, VolumeSource
from generator.model.quantity import Quantity

if TYPE_CHECKING:
    from generator.day2.volume_restore import VolumeRestore
    from generator.live.running import RunningCluster

Object = dict[str, Any]
ML50 = load("ml50")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOME = VolumeBackup(
    name="vision-home",
    source=VolumeSource(team="vision", claim="home", storage_class="rbd-nvme"),
    target=BackupTarget(bucket="volumes"),
    schedule="0 0 * * *",
    size=Quantity.parse("2Ti"),
    daily_change=Quantity.parse("50Gi"),
    user=1000,
)
BROUGHT = {"lastManualSync": "2026-06-01T12:00:00Z", "latestMoverStatus": {"result": "Successful", "logs": ""}}


class Server:
    """Keeps what is created; says of each kind what its controller would."""

    def __init__(self, *, destination: Object, job: Object, live: Object | None = None) -> None:
        self.said = {"ReplicationDestination": destination, "Job": job, "PersistentVolumeClaim": {}}
        self.held: dict[str, Object] = {}
        if live:
            self.held["/api/v1/namespaces/vision/persistentvolumeclaims/home"] = live

    def get(self, path: str) -> Object | None:
        return self.held.get(path)

    def create(self, path: str, manifest: Object) -> Object:
        made = {**manifest, "status": self.said[manifest["kind"]]}
        self.held[f"{path}/{manifest['metadata']['name']}"] = made
        return made

    def kinds(self) -> list[str]:
        return [one["kind"] for one in self.held.values()]


def wanted() -> "VolumeRestore":
    return asked_for(ML50, HOME, NOW, at=None, into=None, switch="none")


def test_it_is_brought_back_beside_the_live_claim_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Ti"}}}
    live = {"kind": "PersistentVolumeClaim", "spec": spec}
    server = Server(destination=BROUGHT, job={"succeeded": 1}, live=live)
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 0
    assert server.kinds() == ["PersistentVolumeClaim", "ReplicationDestination", "PersistentVolumeClaim", "Job"]
    claim = server.held["/api/v1/namespaces/vision/persistentvolumeclaims/home-restored-20260601"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Ti"
    said = capsys.readouterr()
    assert "file by file" in said.out + said.err
    assert "name claim home-restored-20260601 instead of home" in said.out + said.err


def test_a_volume_that_is_gone_comes_back_as_large_as_the_file_says() -> None:
    server = Server(destination=BROUGHT, job={"succeeded": 1})
    assert restore(cast("RunningCluster", server), ML50, wanted()) == 0
    claim = server.held["/api/v1/namespaces/vision/persistentvolumeclaims/home-restored-20260601"]
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
