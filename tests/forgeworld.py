"""Stand-ins on loopback for the APIs of GitHub, GitLab and Gitea, which refuse what the published APIs do not know.

What is published:
- GitHub: docs.github.com/en/rest/pulls/pulls "Create a pull request", /rest/issues/comments "List", "Create", "Update";
  /rest/users/users "Get the authenticated user";
  a server of one's own has its API below /api/v3 (docs.github.com/en/enterprise-server, "Getting started").
- GitLab: docs.gitlab.com/api/merge_requests "Create MR"; docs.gitlab.com/api/notes, merge requests;
  docs.gitlab.com/api/users "Retrieve the current user".
- Gitea: docs.gitea.com/api, repoCreatePullRequest (CreatePullRequestOption of modules/structs/pull.go),
  issueGetComments, issueCreateComment, issueEditComment, userGetCurrent.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

TOKEN = "s3cret-of-nobody"


class Sent(NamedTuple):
    """A request as the server has seen it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Api(NamedTuple):
    """What an API takes: the prefix of its paths, the header with the token, and the JSON keys that each request may
    have, those it must have first.
    """

    prefix: str
    header: tuple[str, str]
    required: Mapping[tuple[str, str], tuple[set[str], set[str]]]


_GITHUB_PULL = {"maintainer_can_modify", "draft", "issue", "head_repo", "body"}
_GITEA_PULL = {"assignee", "assignees", "body", "due_date", "labels", "milestone"}
_GITLAB_MR = {
    "allow_collaboration", "approvals_before_merge", "assignee_id", "assignee_ids", "description", "labels",
    "milestone_id", "remove_source_branch", "reviewer_ids", "squash", "target_project_id",
}  # fmt: skip
APIS = {
    "github": Api(
        "/api/v3",
        ("authorization", f"Bearer {TOKEN}"),
        {
            ("POST", "/repos/lab/clusters/pulls"): ({"title", "head", "base"}, _GITHUB_PULL),
            ("POST", "/repos/lab/clusters/issues/7/comments"): ({"body"}, set()),
            ("PATCH", "/repos/lab/clusters/issues/comments/2"): ({"body"}, set()),
            ("GET", "/user"): (set(), set()),
            ("GET", "/repos/lab/clusters/issues/7/comments"): (set(), set()),
        },
    ),
    "gitea": Api(
        "/api/v1",
        ("authorization", f"token {TOKEN}"),
        {
            ("POST", "/repos/lab/clusters/pulls"): ({"title", "head", "base"}, _GITEA_PULL),
            ("POST", "/repos/lab/clusters/issues/7/comments"): ({"body"}, {"updated_at"}),
            ("PATCH", "/repos/lab/clusters/issues/comments/2"): ({"body"}, {"updated_at"}),
            ("GET", "/user"): (set(), set()),
            ("GET", "/repos/lab/clusters/issues/7/comments"): (set(), set()),
        },
    ),
    "gitlab": Api(
        "/api/v4",
        ("private-token", TOKEN),
        {
            ("POST", "/projects/lab%2Fclusters/merge_requests"): (
                {"title", "source_branch", "target_branch"}, _GITLAB_MR,
            ),
            ("POST", "/projects/lab%2Fclusters/merge_requests/7/notes"): ({"body"}, {"internal"}),
            ("PUT", "/projects/lab%2Fclusters/merge_requests/7/notes/2"): ({"body"}, set()),
            ("GET", "/user"): (set(), set()),
            ("GET", "/projects/lab%2Fclusters/merge_requests/7/notes"): (set(), set()),
        },
    ),
}  # fmt: skip

ME = 40
"""The number of the user whose the token is."""


def whose(kind: str, sent: Sent) -> tuple[int, Any] | None:
    """Say whose a token is, if that is asked; GitHub tells it to no job (403 for all tokens of apps)."""
    if not sent.path.endswith("/user"):
        return None
    return (403, {"message": "Resource not accessible by integration"}) if kind == "github" else (200, {"id": ME})


def note(kind: str, number: int, body: str, *, mine: bool = True) -> dict[str, Any]:
    """Return a comment as its server gives it."""
    author = {"id": ME if mine else ME + 1, **({"type": "Bot" if mine else "User"} if kind == "github" else {})}
    return {"id": number, "body": body, "author" if kind == "gitlab" else "user": author}


Answer = Callable[[Sent], tuple[int, Any]]


class Server(NamedTuple):
    """A server that runs: its address, and what was sent to it."""

    url: str
    sent: list[Sent]


def _judged(api: Api, sent: Sent) -> tuple[int, str] | None:
    """Return what such a server says to a request that its API does not know."""
    path = sent.path.partition("?")[0]
    if not path.startswith(api.prefix):
        return 404, f"no API at {path}"
    if sent.headers.get(api.header[0]) != api.header[1]:
        return 401, "Bad credentials"
    keys = api.required.get((sent.method, path.removeprefix(api.prefix)))
    if keys is None:
        return 404, f"Not Found: {sent.method} {path}"
    given = set(sent.body or {})
    if sent.method != "GET" and sent.headers.get("content-type") != "application/json":
        return 415, "send application/json"
    if not keys[0] <= given <= keys[0] | keys[1]:
        return 422, f"keys {sorted(given)}"
    return None


@contextmanager
def forge(kind: str, answer: Answer) -> Iterator[Server]:
    """Serve an API; `answer` says what comes after a request that it knows."""
    found: list[Sent] = []

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sent = Sent(self.command, self.path, headers, json.loads(text) if text else None)
            found.append(sent)
            wrong = _judged(APIS[kind], sent)
            status, body = (wrong[0], {"message": wrong[1]}) if wrong else answer(sent)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if status in {301, 302, 307}:
                self.send_header("Location", str(body["to"]))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def do_PATCH(self) -> None:
            self._serve()

        def do_PUT(self) -> None:
            self._serve()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{running.server_address[1]}", found)
        finally:
            running.shutdown()
            thread.join()
