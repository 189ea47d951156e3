"""What is told while a volume is brought back: what is waited for, and since when."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from reference import load
from volumebackups import NIGHTLY as HOME

from generator.cli.restore_volume import restore
from generator.components.volsync.restoring import comparison_name
from generator.day2 import volume_progress
from generator.day2.volume_progress import Standing, comparing, filling, waited
from generator.day2.volume_restore import asked
from generator.live.api import AwayError

if TYPE_CHECKING:
    from generator.live.running import RunningCluster

Object = dict[str, Any]
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

ONE = asked(HOME, NOW, at=None, into="again")
DESTINATION = "/apis/volsync.backube/v1alpha1/namespaces/vision/replicationdestinations/again"
CLAIM = "/api/v1/namespaces/vision/persistentvolumeclaims/again"
JOBS = "/apis/batch/v1/namespaces/vision/jobs"
MOVER = f"{JOBS}/volsync-dst-again"
MADE = {"creationTimestamp": "2026-06-01T12:00:01Z"}


class Server:
    """Answers with what it was given; each look at the ReplicationDestination brings the next state."""

    def __init__(self, held: dict[str, Object], pods: tuple[Object, ...] = ()) -> None:
        self.held, self.pods, self.host = held, pods, "https://api"

    def get(self, path: str) -> Object | None:
        return self.held.get(path)

    def items(self, path: str, labelSelector: str) -> tuple[Object, ...]:  # noqa: N803 - as the API server calls it
        assert (path, labelSelector.partition("=")[0]) == (volume_progress.PODS.format("vision"), JOB_LABEL)
        return self.pods

    def ready(self) -> bool:
        return True


JOB_LABEL = "batch.kubernetes.io/job-name"
UNPLACED = {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/9 nodes: no memory"}]}}
UNPULLED = {"status": {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}}


@pytest.mark.parametrize(
    ("held", "pods", "told"),
    [
        ({DESTINATION: {"metadata": MADE}}, (), Standing("VolSync has not begun its mover", "2026-06-01T12:00:01Z")),
        (
            {DESTINATION: {"status": {"conditions": [{"reason": "Error", "message": "no Secret"}]}}},
            (),
            Standing("VolSync says: no Secret", ""),
        ),
        (
            {CLAIM: {"metadata": MADE, "status": {"phase": "Pending"}}},
            (),
            Standing("claim again waits for its volume", "2026-06-01T12:00:01Z"),
        ),
        (
            {MOVER: {"metadata": MADE, "spec": {"suspend": True}}},
            (),
            Standing("the mover waits in the queue of team vision", "2026-06-01T12:00:01Z"),
        ),
        (
            {MOVER: {"metadata": MADE, "status": {"startTime": "2026-06-01T12:05:00Z"}}},
            (UNPLACED,),
            Standing("the mover has no pod that runs: 0/9 nodes: no memory", "2026-06-01T12:05:00Z"),
        ),
        (
            {MOVER: {"metadata": MADE, "status": {"startTime": "2026-06-01T12:05:00Z"}}},
            (UNPULLED,),
            Standing("the mover has no pod that runs: ImagePullBackOff", "2026-06-01T12:05:00Z"),
        ),
        (
            {MOVER: {"metadata": MADE, "status": {"startTime": "2026-06-01T12:05:00Z", "ready": 1}}},
            (),
            Standing("the mover runs", "2026-06-01T12:05:00Z"),
        ),
    ],
)
def test_what_the_way_back_waits_for(held: dict[str, Object], pods: tuple[Object, ...], told: Standing) -> None:
    assert filling(cast("RunningCluster", Server(held, pods)), ONE) == told


def test_what_the_comparison_waits_for() -> None:
    held = {f"{JOBS}/compare-1": {"metadata": MADE, "spec": {"suspend": True}}}
    found = comparing(cast("RunningCluster", Server(held)), ONE, "compare-1")
    assert found.line(datetime(2026, 6, 1, 12, 20, 1, tzinfo=UTC)) == (
        "the comparison waits in the queue of team vision, since 2026-06-01T12:00:01Z (20 min)"
    )


def test_it_is_told_when_it_changes_and_now_and_then() -> None:
    states = iter([Standing("a", ""), Standing("a", ""), Standing("b", "")])
    seen = iter([None, None, None, "done"])
    told: list[str] = []
    running = cast("RunningCluster", Server({}))
    assert waited(running, lambda: next(seen), lambda: next(states), told.append, pause=0) == "done"
    assert told == ["a", "b"]


def test_what_does_not_change_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_progress, "STILL", 0.0)
    seen, told = iter([None, None, "done"]), list[str]()
    waited(cast("RunningCluster", Server({})), lambda: next(seen), lambda: Standing("a", ""), told.append, pause=0)
    assert told == ["a", "a"]


def test_a_server_that_is_away_ends_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.live.away.POLL", 0.0)
    answers, told = iter([AwayError("https://api does not answer"), None]), list[str]()

    def look() -> str:
        if wrong := next(answers):
            raise wrong
        return "done"

    assert waited(cast("RunningCluster", Server({})), look, lambda: Standing("a", ""), told.append, pause=0) == "done"
    assert "looking again until it answers" in told[0]


class Late(Server):
    """Fills the claim, and compares it, after some looks at each."""

    def __init__(self) -> None:
        super().__init__({})
        self.looks = 0

    def create(self, path: str, manifest: Object) -> Object:
        place = f"{path}/{manifest['metadata']['name']}"
        self.held[place] = {**manifest, "metadata": {**manifest["metadata"], **MADE, "uid": "1"}}
        return self.held[place]

    def merge(self, path: str, change: Object) -> Object:
        self.held[path]["metadata"] |= change["metadata"]
        return self.held[path]

    def get(self, path: str) -> Object | None:
        self.looks += 1
        if self.looks == 8:
            self.held[DESTINATION]["status"] = {"lastManualSync": "2026-06-01T12:00:00Z"}
        if self.looks == 16:
            self.held[f"{JOBS}/{comparison_name(self.held[CLAIM])}"]["status"] = {"succeeded": 1}
        return super().get(path)


def test_a_restore_is_never_silent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generator.day2.volume_progress.time.sleep", lambda _seconds: None)
    assert restore(cast("RunningCluster", Late()), load("ml50"), ONE) == 0
    told = "".join(capsys.readouterr())
    assert "VolSync has not begun its mover, since 2026-06-01T12:00:01Z" in told
    assert "the comparison has no pod that runs, since 2026-06-01T12:00:01Z" in told
