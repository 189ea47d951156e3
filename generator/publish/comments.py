"""One comment on a pull request, updated in place.

Published APIs: docs.github.com/en/rest/issues/comments and /users/users ("Get the authenticated user", 403 for
installation tokens of apps), docs.gitlab.com/api/notes ("Merge requests") and /users, and docs.gitea.com/api
(issueGetComments, issueCreateComment, issueEditComment, userGetCurrent).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from generator.errors import UsageError
from generator.publish.forge_api import ForgeApi, ForgeError
from generator.publish.forges import Forge

_MARK = re.compile(r"<!-- .+? -->")
_PAGE = 100
_MOST = 50
"""Pages of comments that are looked through."""


class Review(Struct, frozen=True):
    """The pull request, or merge request, that a CI job runs for."""

    place: Forge
    number: int

    @property
    def comments(self) -> str:
        """The way to its comments in the API."""
        if self.place.kind == "gitlab":
            return f"projects/{quote(self.place.path, safe='')}/merge_requests/{self.number}/notes"
        return f"repos/{quote(self.place.path)}/issues/{self.number}/comments"

    def comment(self, name: int) -> str:
        """Return the way to one comment."""
        if self.place.kind == "gitlab":
            return f"{self.comments}/{name}"
        return f"repos/{quote(self.place.path)}/issues/comments/{name}"


def mark_of(text: str) -> str:
    """Return the hidden first line by which a comment is found again. Raises UsageError for a text without."""
    first = text.lstrip("\ufeff").partition("\n")[0].strip()
    if not _MARK.fullmatch(first):
        raise UsageError(
            "the text does not begin with a hidden line such as `<!-- gen diff -->`, by which the comment is found "
            "again; `gen diff --output markdown` writes one"
        )
    return first


def comment(api: ForgeApi, review: Review, text: str) -> str:
    """Make our own comment that begins as `text` does say `text`, or add one: `updated` or `added`. Raises ForgeError.

    Who writes one that begins so as well could change it later, in what then looks like gen's words.
    """
    method = "PUT" if review.place.kind == "gitlab" else "PATCH"
    for name in _names(api, review, mark_of(text), _own(api)):
        try:
            api.send(method, review.comment(name), {"body": text})
        except ForgeError as error:
            # Another program's, with a token like ours.
            if error.status not in {401, 403, 404}:
                raise
        else:
            return "updated"
    api.send("POST", review.comments, {"body": text})
    return "added"


def _own(api: ForgeApi) -> Callable[[Mapping[str, Any]], bool]:
    """Return what tells whether the author of a comment is who the token belongs to. Raises ForgeError."""
    try:
        me = api.send("GET", "user")
    except ForgeError as error:
        if api.place.kind == "github" and error.status == 403:
            # A job's token belongs to an app, which may not ask; people cannot comment as one.
            return lambda author: author.get("type") == "Bot"
        raise
    number = me.get("id") if isinstance(me, dict) else None
    return lambda author: number is not None and author.get("id") == number


def _names(api: ForgeApi, review: Review, mark: str, own: Callable[[Mapping[str, Any]], bool]) -> Iterator[int]:
    """Yield the numbers of our own comments that begin with the mark."""
    for page in range(1, _MOST + 1):
        # Gitea gives all at once and knows no pages here.
        words = "" if review.place.kind == "gitea" else f"?per_page={_PAGE}&page={page}"
        found: Any = api.send("GET", f"{review.comments}{words}")
        rows = found if isinstance(found, list) else []
        for each in rows:
            if isinstance(each, dict) and str(each.get("body", "")).startswith(mark) and own(_author(each)):
                yield int(each["id"])
        if len(rows) < _PAGE or not words:
            return


def _author(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return who wrote a comment; GitLab says `author`, the others `user`."""
    found = one.get("author") or one.get("user")
    return found if isinstance(found, dict) else {}
