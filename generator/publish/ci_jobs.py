"""What a CI job says of itself in its environment.

Documented: docs.github.com/en/actions/reference "Variables", docs.gitlab.com/ci/variables/predefined_variables,
docs.gitea.com/usage/actions ("compatible with GitHub Actions", GITEA_ACTIONS).
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from generator.errors import UsageError
from generator.publish.comments import Review
from generator.publish.forges import Forge, is_web, token
from generator.repository.forge_kinds import ForgeKind

_PULL = re.compile(r"refs/pull/(\d+)/")
NONE = (
    "this is no CI job of a pull request on GitHub, GitLab or Gitea: gen comment reads from the job's environment "
    "where to comment"
)


def review(env: Mapping[str, str]) -> Review:
    """Return the pull request that a job runs for. Raises UsageError where it runs for none."""
    kind: ForgeKind
    if env.get("GITLAB_CI"):
        path, number = env.get("CI_PROJECT_PATH", ""), env.get("CI_MERGE_REQUEST_IID", "")
        web, kind = env.get("CI_SERVER_URL", ""), "gitlab"
    elif env.get("GITHUB_ACTIONS"):
        path, number = env.get("GITHUB_REPOSITORY", ""), _number(env)
        web, kind = env.get("GITHUB_SERVER_URL", ""), "gitea" if env.get("GITEA_ACTIONS") else "github"
    else:
        raise UsageError(NONE)
    if not (is_web(web) and path and number.isdecimal()):
        raise UsageError(NONE)
    return Review(Forge(kind, web.rstrip("/"), path, trusted=True), int(number))


def _number(env: Mapping[str, str]) -> str:
    with suppress(OSError, ValueError, AttributeError):
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
        if number := event.get("pull_request", {}).get("number"):
            return str(number)
    found = _PULL.match(env.get("GITHUB_REF", ""))
    return found[1] if found else ""


def job_token(kind: ForgeKind, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the variable with a job's token, and the token; Gitea gives its jobs one as GitHub does."""
    found = token(kind, env)
    return token("github", env) if kind == "gitea" and not found[0] else found
