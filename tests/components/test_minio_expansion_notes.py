"""When `minio-expansion` goes on with what a former run noted, and when it looks at all anew: the script, without a
cluster.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodeshelf import Object, Shelf, imported

OLD = ["https://minio-{0...3}.x/export{0...3}"]
NEW = [*OLD, "https://minio-b-{0...3}.x/export{0...3}"]
NOTE = "/api/v1/namespaces/node-operations/configmaps/minio-expansion-minio"
SERVERS = [f"{name}-{number}" for name in ("minio", "minio-b") for number in range(4)]


class Site(Shelf):
    """A MinIO that gets its second pool: the servers of the first one do not know it yet, and those of the second wait
    for them.
    """

    def __init__(self, *, file: list[str] = NEW) -> None:
        super().__init__()
        for name in ("minio", "minio-b"):
            path = f"/apis/apps/v1/namespaces/minio/statefulsets/{name}"
            self.put(path, {"metadata": {"name": name}, "spec": {"replicas": 4, "template": {"spec": of(file)}}})
        for name in SERVERS:
            self.server(name, "now", NEW if "-b-" in name else OLD)

    def server(self, name: str, when: str, pools: list[str], *, well: bool = True) -> None:
        """Let a server run, begun some time, which knows some pools."""
        metadata = {"name": name, "uid": f"{when}-{name}"}
        ready = {"type": "Ready", "status": str(well and pools == OLD)}
        status = {"conditions": [ready], "containerStatuses": [{"state": {"running": {}}}]}
        self.put(f"/api/v1/namespaces/minio/pods/{name}", {"metadata": metadata, "spec": of(pools), "status": status})

    def noted(self, when: str) -> None:
        """Let a run have noted the pods of some time."""
        servers = json.dumps({name: f"{when}-{name}" for name in SERVERS})
        self.put(
            NOTE,
            {
                "metadata": {"name": NOTE.rpartition("/")[2]},
                "data": {"begun": "2026-05-01T00:00:00Z", "servers": servers},
            },
        )

    @property
    def note(self) -> dict[str, str]:
        """Return which pods are noted."""
        found: dict[str, str] = json.loads(self.objects[NOTE]["data"]["servers"]) if NOTE in self.objects else {}
        return found

    def ask(self, method: str, path: str, body: Object | None = None, form: str = "") -> Object | None:
        if method == "POST" and path.endswith("/configmaps"):
            self.put(NOTE, body or {})
        if method == "DELETE":
            self.objects.pop(path, None)
        return super().ask(method, path, body, form)


def of(pools: list[str]) -> Object:
    """Return what a server is started with."""
    return {"containers": [{"name": "minio", "args": ["server", *pools]}]}


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for _ in imported(tmp_path, monkeypatch):
        import minio_expansion  # type: ignore[import-not-found]
        from drives import Drives  # type: ignore[import-not-found]

        monkeypatch.setattr(minio_expansion, "drives", lambda *_: Drives(16, 0, {}, {}))
        monkeypatch.setenv("STATUS", "Failed")
        yield minio_expansion


def test_a_note_of_long_ago_is_none_of_the_servers_of_today(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A run ended at `whole`, somebody mended it by hand, and half a year later the next pool comes."""
    site = Site()
    site.noted("then")
    script.preflight(site)
    assert "would start 8 servers anew at once: 4 do not know all pools" in capsys.readouterr().out
    assert site.note == {name: f"now-{name}" for name in SERVERS}
    script.restart(site)
    assert "8 of 8 servers of MinIO end at once" in capsys.readouterr().out


def test_what_is_refused_leaves_no_note_of_long_ago(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site()
    site.noted("then")
    site.server("minio-2", "now", OLD, well=False)
    with pytest.raises(script.Verdict, match="minio-2 of MinIO is not Ready"):
        script.preflight(site)
    script.report(site)
    assert "nothing was changed" in capsys.readouterr().out


def test_a_run_that_has_ended_no_server_yet_looks_at_all_again(script: Any) -> None:
    site = Site()
    site.noted("now")
    site.server("minio-2", "now", OLD, well=False)
    with pytest.raises(script.Verdict, match="minio-2 of MinIO is not Ready"):
        script.preflight(site)


@pytest.mark.parametrize("begun", [1, 4, 7, 8])
def test_a_run_that_was_killed_while_servers_ended_goes_on_whatever_they_look_like(
    script: Any, begun: int, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site()
    site.noted("now")
    for name in SERVERS[:begun]:
        site.server(name, "since", NEW)
    script.preflight(site)
    assert "going on with what began at 2026-05-01T00:00:00Z" in capsys.readouterr().out
    script.restart(site)
    assert f"{8 - begun} of 8 servers of MinIO end at once" in capsys.readouterr().out


def test_a_pool_that_was_taken_out_of_the_file_again_ends_no_server(
    script: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(file=OLD)
    del site.objects["/apis/apps/v1/namespaces/minio/statefulsets/minio-b"]
    site.noted("now")
    script.preflight(site)
    script.restart(site)
    said = capsys.readouterr().out
    assert "all 4 servers of MinIO were started with the pools of the file: nothing is to be done" in said
    assert (site.note, site.asked("DELETE")) == ({}, ["minio-expansion-minio"])


def test_all_is_whole_once_the_new_drives_were_looked_for(
    script: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MinIO finds out some seconds after its start that a drive of the new pool is to be healed."""
    import drives

    site = Site()
    site.noted("now")
    for name in SERVERS:
        site.server(name, "since", NEW)
        site.objects[f"/api/v1/namespaces/minio/pods/{name}"]["status"]["conditions"][0]["status"] = "True"
    good = drives.Drives(0, 0, {}, {})
    ill = good._replace(heals={"https://minio-b-0.x/export0": drives.Healing(ended=False, failed=0, done=1, name="a")})
    answers = [good, good, ill, ill, good, good]
    for one in (script, drives):
        monkeypatch.setattr(one, "drives", lambda *_: answers.pop(0))
    monkeypatch.setattr(drives, "PAUSE", 0.01)
    monkeypatch.setenv("READY_SECONDS", "60")
    script.whole(site)
    out = capsys.readouterr().out
    assert answers == []
    assert out.count("waiting for the drives of MinIO with all pools: https://minio-b-0.x/export0 is healed") == 2
    assert out.endswith("none is healed any more\n")
