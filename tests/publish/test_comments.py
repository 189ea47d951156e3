"""`gen comment`: one comment, updated in place, over the published APIs."""

import json
from pathlib import Path
from typing import Any

import pytest
from forgeworld import ME, TOKEN, Answer, Sent, Server, forge, note, whose
from gitworld import Said, plain_environment

from generator.cli import run

MARK = "<!-- gen diff -->"
KINDS = ("github", "gitlab", "gitea")


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Job":
    plain_environment(monkeypatch, tmp_path / "home")
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_EVENT_PATH", "GITHUB_REF", "CI_SERVER_TLS_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    return Job(tmp_path, monkeypatch, capsys)


class Job:
    """A CI job."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.patch = patch
        self.captured = captured

    def of(self, kind: str, server: Server) -> None:
        if kind == "gitlab":
            given = {"GITLAB_CI": "true", "CI_SERVER_URL": server.url, "CI_PROJECT_PATH": "lab/clusters"}
            given |= {"CI_MERGE_REQUEST_IID": "7", "GITLAB_TOKEN": TOKEN}
        else:
            given = {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": server.url, "GITHUB_REPOSITORY": "lab/clusters"}
            given |= {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_TOKEN": TOKEN}
            given |= {"GITEA_ACTIONS": "true"} if kind == "gitea" else {}
        for name, value in given.items():
            self.patch.setenv(name, value)

    def comment(self, text: str = f"{MARK}\nnew\n") -> Said:
        file = self.folder / "diff.md"
        file.write_text(text)
        self.captured.readouterr()
        code = run(["comment", str(file)])
        found = Said(code, *self.captured.readouterr())
        assert TOKEN not in found.out + found.err
        return found


def holding(kind: str, *bodies: str, mine: bool = True) -> Answer:
    """Return a server with comments, ours or somebody else's, numbered from 1, whose GitHub and GitLab kinds give them
    by pages.
    """

    def answer(sent: Sent) -> tuple[int, Any]:
        if found := whose(kind, sent):
            return found
        if sent.method != "GET":
            return 200 if sent.method != "POST" else 201, {"id": 1}
        rows = [note(kind, number, body, mine=mine) for number, body in enumerate(bodies, 1)]
        query = dict(pair.split("=") for pair in sent.path.partition("?")[2].split("&") if pair)
        if "per_page" not in query:
            return 200, rows
        size, page = int(query["per_page"]), int(query["page"])
        return 200, rows[size * (page - 1) : size * page]

    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_time_a_comment_is_added(said: Job, kind: str) -> None:
    with forge(kind, holding(kind, "hello")) as server:
        said.of(kind, server)
        done = said.comment()
    assert (done.code, done.out) == (0, "added the comment on lab/clusters 7\n"), done.err
    assert [one.method for one in server.sent] == ["GET", "GET", "POST"]
    assert server.sent[-1].body == {"body": f"{MARK}\nnew\n"}


@pytest.mark.parametrize("kind", KINDS)
def test_later_it_is_updated_in_place(said: Job, kind: str) -> None:
    with forge(kind, holding(kind, "hello", f"{MARK}\nold")) as server:
        said.of(kind, server)
        done = said.comment()
    assert done.out.startswith("updated"), done.err
    assert [one.method for one in server.sent] == ["GET", "GET", "PUT" if kind == "gitlab" else "PATCH"]
    assert "/2" in server.sent[-1].path


@pytest.mark.parametrize("kind", KINDS)
def test_what_somebody_else_wrote_so_is_not_taken_for_our_own(said: Job, kind: str) -> None:
    """They could change it later."""
    with forge(kind, holding(kind, "hello", f"{MARK}\nforged", mine=False)) as server:
        said.of(kind, server)
        done = said.comment()
    assert done.out.startswith("added"), done.err
    assert [one.method for one in server.sent] == ["GET", "GET", "POST"]


def test_a_person_on_github_is_told_from_others(said: Job) -> None:
    """With a token of a person's: the server says whose."""

    def answer(sent: Sent) -> tuple[int, Any]:
        if sent.path.endswith("/user"):
            return 200, {"id": ME + 1}
        return holding("github", "hello", f"{MARK}\nold", mine=False)(sent)

    with forge("github", answer) as server:
        said.of("github", server)
        assert said.comment().out.startswith("updated")


@pytest.mark.parametrize(
    ("kind", "status", "words"), [("gitlab", 404, "the role Reporter"), ("gitea", 403, "read:user")]
)
def test_a_token_that_may_not_enough_is_told_what_it_needs(said: Job, kind: str, status: int, words: str) -> None:
    with forge(kind, lambda _: (status, {"message": "no"})) as server:
        said.of(kind, server)
        done = said.comment()
    assert done.code == 1
    assert words in done.err


def test_an_address_of_the_server_that_is_none_is_no_job(said: Job) -> None:
    with forge("gitlab", holding("gitlab")) as server:
        said.of("gitlab", server)
        said.patch.setenv("CI_SERVER_URL", "https://[::1")
        done = said.comment()
    assert done.code == 2
    assert "this is no CI job of a pull request" in done.err


def test_a_comment_far_down_is_found(said: Job) -> None:
    """The stand-in refuses every other comment than 2, so only the second page may say so."""
    with forge("github", holding("github", *["hello"] * 150, f"{MARK}\nold")) as server:
        said.of("github", server)
        done = said.comment()
    assert [one.path.partition("?")[2] for one in server.sent if "comments?" in one.path] == [
        "per_page=100&page=1",
        "per_page=100&page=2",
    ]
    assert server.sent[3].path.endswith("/issues/comments/151")
    assert done.out.startswith("added"), "what may not be edited is somebody else's"


def test_a_job_knows_its_pull_request_from_the_event(said: Job, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    with forge("github", holding("github")) as server:
        said.of("github", server)
        said.patch.setenv("GITHUB_REF", "refs/heads/x")
        said.patch.setenv("GITHUB_EVENT_PATH", str(event))
        assert said.comment().code == 0


def test_a_text_without_a_mark_is_refused_before_anything_is_sent(said: Job) -> None:
    with forge("github", holding("github")) as server:
        said.of("github", server)
        for text in ("", "hello\n", f"hello {MARK}\n"):
            done = said.comment(text)
            assert done.code == 2
            assert "`gen diff --output markdown`" in done.err
    assert server.sent == []


def test_outside_of_a_job_there_is_nowhere_to_comment(said: Job) -> None:
    assert "this is no CI job of a pull request" in said.comment().err
    said.patch.setenv("GITHUB_ACTIONS", "true")
    assert "this is no CI job of a pull request" in said.comment().err


def test_a_job_without_a_token_says_which(said: Job) -> None:
    with forge("gitlab", holding("gitlab")) as server:
        said.of("gitlab", server)
        said.patch.delenv("GITLAB_TOKEN")
        said.patch.setenv("CI_JOB_TOKEN", TOKEN)
        done = said.comment()
    assert (done.code, server.sent) == (2, [])
    assert "give this job one in GITLAB_TOKEN" in done.err


def test_a_fork_may_not_comment_and_is_told(said: Job) -> None:
    with forge("github", lambda _: (403, {"message": "Resource not accessible by integration"})) as server:
        said.of("github", server)
        done = said.comment()
    assert done.code == 1
    assert "Resource not accessible by integration; check what the token in GH_TOKEN or GITHUB_TOKEN may do" in done.err
