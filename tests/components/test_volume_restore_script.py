"""The step that brings a volume back as an operation: what it makes, when it goes on, and what it calls no success."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from test_volsync import OTHER, backed_up, of_kind
from validation.schemas import refused
from volumebackups import HOME as BACKUP

from generator.components import compose
from generator.components.volsync.names import RESTORE
from generator.components.volsync.restores import objects, plan
from generator.components.volsync.sources import granted
from generator.day2 import volume_restore
from generator.model.teams import Team

Object = dict[str, Any]
CLUSTER = backed_up(BACKUP, OTHER)
AT = "2026-11-20T00:00:00Z"
BEGAN = "1795132800"  # 2026-11-20T00:00:00Z
CLAIMS = "/api/v1/namespaces/vision/persistentvolumeclaims"
DESTINATIONS = "/apis/volsync.backube/v1alpha1/namespaces/vision/replicationdestinations"
JOBS = "/apis/batch/v1/namespaces/vision/jobs"
INTO = "home-restored-20261120"
FILLED: Object = {"lastManualSync": AT, "latestMoverStatus": {"result": "Successful", "logs": "restored"}}
LIVE: Object = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Ti"}}}}


@pytest.fixture(scope="module")
def restore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The script as a step imports it, with the plan of the backup."""
    folder = tmp_path_factory.mktemp("scripts")
    files = next(one for one in objects(CLUSTER) if "restore.py" in one.get("data", ()))["data"]
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "plan.json").write_text(json.dumps(plan(CLUSTER, BACKUP)))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        for name, value in {"PLAN": folder / "plan.json", "PATIENCE": 0, "MOMENT": 0, "SINCE": BEGAN}.items():
            patch.setenv(name, str(value))
        for name in ("AT", "INTO"):
            patch.setenv(name, "")
        yield import_module("restore")
        for name in ("restore", "api"):
            sys.modules.pop(name, None)


class Server:
    """Keeps what is made, and says of each kind what its controller would."""

    def __init__(self, job: Object | None = None, destination: Object = FILLED, **held: Object) -> None:
        self.said = {"Job": job or {"succeeded": 1}, "ReplicationDestination": destination}
        self.held: dict[str, Any] = {f"{CLAIMS}/home": LIVE} | held

    def get(self, path: str) -> Any:
        return self.held.get(path)

    def ask(self, method: str, path: str, body: Object) -> Object:
        assert method == "POST"
        place = f"{path}/{body['metadata']['name']}"
        assert place not in self.held
        metadata = {**body["metadata"], "uid": f"uid-{len(self.held)}"}
        made = {**body, "metadata": metadata, "status": self.said.get(body["kind"], {})}
        self.held[place] = made
        return made

    def patch(self, path: str, change: Object) -> None:
        self.held[path]["metadata"].setdefault("annotations", {}).update(change["metadata"]["annotations"])


def verdict(restore: Any, server: Server, *steps: str) -> str:
    """Run steps; return why they cannot go on, empty where all went well."""
    try:
        for step in steps or ("fill", "compare"):
            getattr(restore, step)(server)
    except restore.api.Verdict as error:
        return str(error)
    return ""


def test_a_new_claim_is_made_filled_and_compared(restore: Any, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server()
    assert verdict(restore, server) == ""
    claim, asked = server.held[f"{CLAIMS}/{INTO}"], server.held[f"{DESTINATIONS}/{INTO}"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "3Ti"}
    assert (asked["spec"]["trigger"]["manual"], asked["spec"]["restic"]["restoreAsOf"]) == (AT, AT)
    assert not refused(asked, ("volsync/v0.16.0",))
    (job,) = [one for path, one in server.held.items() if path.startswith(JOBS)]
    assert job["metadata"]["name"] == f"compare-{claim['metadata']['uid']}"
    assert job["metadata"]["ownerReferences"][0]["name"] == INTO
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"][-2:] == ["/data", AT]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == INTO
    assert "@" not in json.dumps([claim, asked]).replace("@sha256", "")
    assert f"claim {INTO} is as the backup has it, file by file" in capsys.readouterr().out


def test_the_same_run_again_makes_nothing_more(restore: Any) -> None:
    server = Server()
    assert verdict(restore, server) == ""
    before = {*server.held}
    assert verdict(restore, server) == ""
    assert {*server.held} == before


def test_a_run_that_was_killed_before_the_claim_was_made_goes_on(restore: Any) -> None:
    server = Server(destination={})
    assert "was not filled in 0 s" in verdict(restore, server, "fill")
    del server.held[f"{CLAIMS}/{INTO}"]
    server.held[f"{DESTINATIONS}/{INTO}"]["status"] = {}
    assert "was not filled" in verdict(restore, server, "fill")
    server.held[f"{DESTINATIONS}/{INTO}"]["status"] = FILLED
    assert verdict(restore, server) == ""


def test_a_volume_that_is_gone_comes_back_as_large_as_the_file_says(restore: Any) -> None:
    server = Server()
    del server.held[f"{CLAIMS}/home"]
    assert verdict(restore, server) == ""
    assert server.held[f"{CLAIMS}/{INTO}"]["spec"]["resources"]["requests"]["storage"] == "2Ti"


@pytest.mark.parametrize(
    ("destination", "job", "why"),
    [
        ({"latestMoverStatus": {"result": "Failed", "logs": "ERROR: no"}}, {}, "the mover failed: ERROR: no"),
        (
            {**FILLED, "latestMoverStatus": {"logs": "No data will be restored"}},
            {},
            "no backup had been made by 2026-11-20T00:00:00Z",
        ),
        ({"conditions": [{"reason": "Error", "message": "no such class"}]}, {}, "no such class"),
        (FILLED, {"failed": 1}, "is not as the backup has it"),
        (FILLED, {"active": 1}, "had no verdict after 0 s"),
    ],
)
def test_what_went_wrong_is_a_verdict(restore: Any, destination: Object, job: Object, why: str) -> None:
    assert why in verdict(restore, Server(job, destination))


def test_a_claim_of_somebody_else_is_left(restore: Any) -> None:
    server = Server(**{f"{CLAIMS}/{INTO}": {"metadata": {}}})
    assert "is there already, and not of a restore" in verdict(restore, server)
    assert len(server.held) == 2


def test_a_claim_that_was_filled_and_removed_is_not_called_filled(restore: Any) -> None:
    server = Server()
    assert verdict(restore, server) == ""
    del server.held[f"{CLAIMS}/{INTO}"]
    assert "was removed after VolSync had filled it" in verdict(restore, server, "fill")


def test_a_job_of_a_member_of_the_team_proves_nothing(restore: Any) -> None:
    server = Server()
    assert verdict(restore, server, "fill") == ""
    name = f"compare-{server.held[f'{CLAIMS}/{INTO}']['metadata']['uid']}"
    server.held[f"{JOBS}/{name}"] = {"metadata": {"name": name, "uid": "theirs"}, "status": {"succeeded": 1}}
    assert "is not one of a restore's" in verdict(restore, server, "compare")


def test_another_time_into_the_same_claim_is_refused(restore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    assert verdict(restore, server) == ""
    monkeypatch.setenv("AT", "2026-11-19T00:00:00Z")
    monkeypatch.setenv("INTO", INTO)
    assert f"is being restored as of {AT}" in verdict(restore, server)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("AT", "2026-11-20", "say a time that has passed"),
        ("AT", "2026-11-21T00:00:00Z", "say a time that has passed"),
        ("INTO", "Home", "cannot be the name of a claim"),
        ("INTO", "home", "is the live claim"),
    ],
)
def test_what_cannot_be_asked_makes_nothing(
    restore: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv(name, value)
    server = Server()
    assert why in verdict(restore, server)
    assert len(server.held) == 1


def test_each_backup_has_its_way_back_with_rights_where_its_team_is() -> None:
    made = {one.name: one for one in compose(CLUSTER)}
    templates = of_kind(made["volsync"], "WorkflowTemplate")
    assert [one["metadata"]["name"] for one in templates] == ["restore-vision-home", "restore-language-models"]
    bound = [one for one in of_kind(made["tenants"], "RoleBinding") if one["metadata"]["name"] == RESTORE]
    assert [one["metadata"]["namespace"] for one in bound] == ["vision", "language"]
    assert bound[0]["subjects"] == granted(Team(name="vision", quotas={}))["subjects"]
    assert not [one for one in of_kind(made["volsync"], "ClusterRoleBinding") if RESTORE in json.dumps(one)]


def test_the_plan_holds_no_hole_but_those_that_a_run_fills() -> None:
    text = json.dumps(plan(CLUSTER, BACKUP))
    script = Path("generator/components/volsync/restore.py.txt").read_text()
    for hole in ("@INTO@", "@AT@", "@UID@"):
        assert hole in text
        assert f'"{hole}"' in script


def test_both_ways_back_know_each_other_by_the_same_words(restore: Any) -> None:
    assert (restore.NOTHING, restore.COMPARED_BY) == (volume_restore.NOTHING, volume_restore.COMPARED_BY)
