"""Requests to the API of GitHub, GitLab or Gitea, with a token that is shown to nobody else."""

import http.client
import json
import time
import urllib.error
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request

from generator.errors import UsageError
from generator.publish.forges import Forge, token_names
from generator.repository.forge_kinds import ForgeKind
from generator.upstream.web import opener, through, whole

SECONDS = 30
LARGEST = 8 << 20
WORDS = 300
NEEDED: dict[ForgeKind, str] = {
    "gitlab": "needs the scope api, and the role Reporter to comment or Developer to open a merge request; a new "
    "project access token has the role Guest",
    "gitea": "needs the scopes write:issue, write:repository and read:user",
}
"""What a token must be allowed; GitHub's own words say it (docs.gitlab.com/user/permissions, docs.gitea.com
"Token scopes").
"""
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class ForgeError(UsageError):
    """The server refused, or nobody answered."""

    exit_code = 1

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class _Stay(HTTPRedirectHandler):
    """Asks no other server instead: a token belongs to the one that it was given for."""

    def redirect_request(self, *_given: Any) -> None:
        """Have the answer that leads elsewhere count as an error."""
        return


class ForgeApi:
    """The API of one server. `ca` is a file of CA certificates beside the system's, "" for none."""

    def __init__(self, place: Forge, token: str, ca: str = "") -> None:
        self.place = place
        self._token = token
        self._ca = ca

    def send(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return the JSON of the answer. Raises ForgeError."""
        url = f"{self.place.api}/{path}"
        self._refuse_plain(url)
        body = None if data is None else json.dumps(data).encode()
        request = Request(url, data=body, method=method, headers=self._headers(has_body=body is not None))  # noqa: S310
        for name, value in self._credentials().items():
            request.add_unredirected_header(name, value)
        end = time.monotonic() + SECONDS
        try:
            with opener(self._ca or None, _Stay()).open(request, timeout=SECONDS) as response:
                return json.loads(whole(response, LARGEST, end))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error, end) from None
        except ValueError:
            raise ForgeError(f"{self._host()} did not answer in JSON; is it {self.place.kind}?") from None
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from None

    def _headers(self, *, has_body: bool) -> dict[str, str]:
        github = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        accepted = github if self.place.kind == "github" else {"Accept": "application/json"}
        return {**accepted, "User-Agent": "gen", **({"Content-Type": "application/json"} if has_body else {})}

    def _credentials(self) -> dict[str, str]:
        return {
            "github": {"Authorization": f"Bearer {self._token}"},
            "gitlab": {"Private-token": self._token},
            "gitea": {"Authorization": f"token {self._token}"},
        }[self.place.kind]

    def _refuse_plain(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ForgeError(f"{self._host()}: no token is sent over plain http, where everybody between can read it")

    def _refused(self, error: urllib.error.HTTPError, end: float) -> ForgeError:
        try:
            said = _words(json.loads(whole(error, LARGEST, end)))
        except (ValueError, OSError, http.client.HTTPException):
            said = ""
        said = said.replace(self._token, "***")[:WORDS]
        names = token_names(self.place.kind)
        needs = f": it {NEEDED[self.place.kind]}" if self.place.kind in NEEDED else ""
        fix = {
            401: f"; the token in {names} is not valid there",
            403: f"; check what the token in {names} may do{needs}",
            404: f"; check the address, and whether the token in {names} may see {self.place.path}{needs}",
        }.get(error.code, "")
        return ForgeError(f"{self._host()}: {error.code} {error.reason}{said and f': {said}'}{fix}", error.code)

    def _silent(self, error: Exception) -> ForgeError:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        parts = urlsplit(self.place.api)
        via = through(parts.scheme, parts.hostname or "")
        return ForgeError(f"{self._host()}{via and f' ({via})'} cannot be asked: {why}".replace(self._token, "***"))

    def _host(self) -> str:
        return urlsplit(self.place.api).netloc.rpartition("@")[2]


def _words(answer: Any) -> str:
    """Return what a server says of an error: GitHub and Gitea a `message`, GitHub `errors` as well, GitLab a list."""
    if not isinstance(answer, dict):
        return ""
    listed = answer.get("errors") if isinstance(answer.get("errors"), list) else []
    more = [str(each.get("message", "")) for each in listed or () if isinstance(each, dict)]
    told = answer.get("message") or answer.get("error") or ""
    texts = [str(each) for each in told] if isinstance(told, list) else [str(told)]
    return " ".join("; ".join(filter(None, (*texts, *more))).split())
