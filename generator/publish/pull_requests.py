"""Opening a pull request: at GitLab a merge request.

Published APIs: docs.github.com/en/rest/pulls/pulls ("Create a pull request"), docs.gitlab.com/api/merge_requests
("Create MR"), docs.gitea.com/api ("repoCreatePullRequest"). GitLab's CI_JOB_TOKEN reaches none of its merge requests
(gitlab-org/gitlab issue 545150): a token of its own is needed there.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from generator.publish.forge_api import ForgeApi, ForgeError
from generator.publish.message import Message

_ONE_IS_THERE = re.compile("already exists", re.IGNORECASE)


def open_request(api: ForgeApi, base: str, branch: str, message: Message) -> str:
    """Open a pull request for a branch and return its address; "" where one is open for it. Raises ForgeError."""
    path, data = _asked(api, base, branch, message)
    try:
        answer = api.send("POST", path, data)
    except ForgeError as error:
        if error.status in {409, 422} and _ONE_IS_THERE.search(str(error)):
            return ""
        raise
    key = "web_url" if api.place.kind == "gitlab" else "html_url"
    return str(answer.get(key) or "") if isinstance(answer, dict) else ""


def _asked(api: ForgeApi, base: str, branch: str, message: Message) -> tuple[str, Mapping[str, str]]:
    place, body = api.place, _readable(message.body)
    if place.kind == "gitlab":
        about = {"source_branch": branch, "target_branch": base, "title": message.subject, "description": body}
        return f"projects/{quote(place.path, safe='')}/merge_requests", about
    return f"repos/{quote(place.path)}/pulls", {"title": message.subject, "head": branch, "base": base, "body": body}


def _readable(body: str) -> str:
    """Return the text so that Markdown leaves its lines as they are."""
    fence = "`" * (3 + max((len(found) for found in re.findall("`+", body)), default=0))
    return f"{fence}text\n{body}\n{fence}" if body else ""
