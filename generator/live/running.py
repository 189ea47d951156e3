"""A cluster that runs: what its API server holds, read and changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import urlencode

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.answers import objects
from generator.live.api import Answer, ApiConnection, Request
from generator.model.fields import dig

PAGE = 500
"""Objects that a list answers at once."""
ARGO_CD = "argocd-controller"
"""The field manager of Argo CD: what it shall take over is applied under its name, or keys that leave Git stay."""


class RefusedError(UsageError):
    """There is talking to the API server, and it does not do what is asked."""


class BehindError(RefusedError):
    """The API server answers, and who stands behind it does not, such as the kubelet of a node that is away."""


class ConflictError(RefusedError):
    """An object was changed by somebody else since it was read."""


class RunningCluster:
    """A cluster that runs. Every method raises UsageError, in one sentence, where there is no talking to its API server
    or where it refuses what is asked.
    """

    def __init__(self, api: ApiConnection) -> None:
        self.api = api

    @property
    def host(self) -> str:
        """The address of its API server."""
        return self.api.host

    def ready(self) -> bool:
        """Tell whether its API server calls itself ready; where it may not be asked, whether it answers."""
        try:
            answer = self.api.ask(Request(path="/readyz"))
        except UsageError:
            return False
        return answer.good or answer.status in {403, 404}

    def get(self, path: str) -> Manifest | None:
        """Return what lies at a path; None where there is no such object, or nothing of its kind is served."""
        answer = self.api.ask(Request(path=path))
        return None if answer.status == 404 else self._good(answer, f"read {path}")

    def text(self, path: str) -> str:
        """Return the text at a path, such as a container's log; empty where there is none (yet). Raises BehindError
        where nobody gives it now.
        """
        answer, text = self.api.text(path)
        if answer.status in {400, 404}:  # 400: the container did not begin yet
            return ""
        if answer.status >= 500:
            where = path.partition("?")[0]
            raise BehindError(f"{self.host} cannot read {where} now (status {answer.status}): {answer.message}")
        return text if answer.good else self._refused(answer, f"read {path.partition('?')[0]}")

    def serves(self, path: str) -> bool:
        """Tell whether there is a collection at a path: its definition may not be there (yet)."""
        return self.get(f"{path}?limit=1") is not None

    def items(self, path: str, **query: str) -> Iterator[Manifest]:
        """Yield the objects of a collection, in the order of their names; none where nothing of their kind is served.
        `query` selects (`labelSelector`, `fieldSelector`).
        """
        asked = f"{path}?{urlencode({'limit': str(PAGE), **query})}"
        first = self.api.ask(Request(path=asked))
        for page in () if first.status == 404 else self.pages(asked, first):
            yield from objects(page)

    def pages(self, path: str, first: Answer) -> Iterator[Manifest]:
        """Yield the pages of a collection of which the first was answered; `path` says the `limit` of a page."""
        page = self._good(first, f"list {path.partition('?')[0]}")
        yield page
        while more := str(dig(page, "metadata", "continue") or ""):
            following = Request(path=f"{path}&{urlencode({'continue': more})}")
            page = self._good(self.api.ask(following), f"list {path.partition('?')[0]}")
            yield page

    def merge(self, path: str, change: Mapping[str, Any]) -> Manifest:
        """Change an object as `kubectl patch --type merge` does, and return what it is then. A `resourceVersion` in its
        metadata lets nobody be overtaken: raises ConflictError.
        """
        request = Request(path=path, method="PATCH", body=change, merge=True)
        return self._good(self.api.ask(request), f"change {path}")

    def merge_unless_changed(self, path: str, change: Mapping[str, Any]) -> Manifest | None:
        """Do as `merge`; None where the object is no more at the `resourceVersion` that the change names."""
        answer = self.api.ask(Request(path=path, method="PATCH", body=change, merge=True))
        return None if answer.status == 409 else self._good(answer, f"change {path}")

    def apply(self, path: str, manifest: Manifest) -> Manifest:
        """Apply an object on the server's side as Argo CD does, taking over what others own of it."""
        asked = urlencode({"fieldManager": ARGO_CD, "force": "true"})
        return self._good(self.api.ask(Request(path=f"{path}?{asked}", method="PATCH", body=manifest)), f"apply {path}")

    def create(self, path: str, manifest: Manifest) -> Manifest | None:
        """Create an object in a collection; None where one of its name is there already."""
        answer = self.api.ask(Request(path=path, method="POST", body=manifest))
        return None if answer.status == 409 else self._good(answer, f"create in {path}")

    def tried(self, path: str, manifest: Manifest) -> str:
        """Return what the server says against making an object in a collection, "" where it would; it makes none."""
        answer = self.api.ask(Request(path=f"{path}?dryRun=All", method="POST", body=manifest))
        return "" if answer.good else answer.message

    def together(self, requests: Sequence[Request]) -> Iterator[Manifest | None]:
        """Yield what many requests at once are answered, in their order; None where there is no such object."""
        for request, answer in zip(requests, self.api.ask_all(requests), strict=True):
            verb = "read" if request.method == "GET" else "apply"
            path = request.path.partition("?")[0]
            yield None if answer.status == 404 else self._good(answer, f"{verb} {path}")

    def delete(self, path: str) -> None:
        """Delete an object, if it is there."""
        answer = self.api.ask(Request(path=path, method="DELETE"))
        if answer.status != 404:
            self._good(answer, f"delete {path}")

    def _good(self, answer: Answer, what: str) -> Manifest:
        return answer.body if answer.good else self._refused(answer, what)

    def _refused(self, answer: Answer, what: str) -> NoReturn:
        if answer.status == 403:
            raise RefusedError(f"{self.host} does not let you {what}: {answer.message}; ask for that right")
        if answer.status == 409:
            raise ConflictError(f"{self.host} refuses to {what}: somebody changed it meanwhile; run again")
        raise RefusedError(f"{self.host} refuses to {what} (status {answer.status}): {answer.message}")
