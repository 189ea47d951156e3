"""Many collections of a running cluster, read side by side."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.api import Answer, Request
from generator.live.running import PAGE, RunningCluster
from generator.model.fields import dig, sequence


class Listed(Struct, frozen=True):
    """The objects of a collection, none where nothing of their kind is served; why they may not be read, where that is
    so.
    """

    items: tuple[Manifest, ...] = ()
    refused: str = ""


def lists(running: RunningCluster, paths: Sequence[str]) -> list[Listed]:
    """Return what lies in collections, in their order; a path may select by a query. Raises UsageError where there is
    no talking to the server.
    """
    asked = [_page(path) for path in paths]
    answers = running.api.ask_all([Request(path=path) for path in asked])
    return [_whole(running, path, first) for path, first in zip(asked, answers, strict=True)]


def _page(path: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}limit={PAGE}"


def _whole(running: RunningCluster, path: str, first: Answer) -> Listed:
    if first.status in {404, 405}:  # 405: what is only asked, never stored
        return Listed()
    if first.status == 403:
        return Listed(refused=first.message)
    return Listed(tuple(one for page in _pages(running, path, first) for one in _items(page)))


def _pages(running: RunningCluster, path: str, answer: Answer) -> Iterator[Answer]:
    while True:
        if not answer.good:
            raise UsageError(f"{running.host} refuses to list {path} (status {answer.status}): {answer.message}")
        yield answer
        more = dig(answer.body, "metadata", "continue")
        if not more:
            return
        answer = running.api.ask(Request(path=f"{path}&continue={more}"))


def _items(page: Answer) -> Iterator[Manifest]:
    """Yield the objects of a page, each with its kind, which lists of Kubernetes' own kinds leave out."""
    version, kind = page.body.get("apiVersion"), str(page.body.get("kind")).removesuffix("List")
    for one in sequence(page.body.get("items")):
        yield {"apiVersion": version, "kind": kind, **one}
