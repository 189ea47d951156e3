"""Many collections of a running cluster, read side by side."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from generator.components.component import Manifest
from generator.live.answers import objects
from generator.live.api import BUSY, Answer, Request
from generator.live.running import PAGE, RunningCluster


class Listed(Struct, frozen=True):
    """The objects of a collection, none where nothing of their kind is served; why they may not be read, or are not
    answered, where that is so.
    """

    items: tuple[Manifest, ...] = ()
    refused: str = ""


def lists(running: RunningCluster, paths: Sequence[str]) -> list[Listed]:
    """Return what lies in collections, in their order; a path may select by a query. Raises UsageError where there is
    no talking to the server.
    """
    asked = [f"{path}{'&' if '?' in path else '?'}limit={PAGE}" for path in paths]
    answers = running.api.ask_all([Request(path=path) for path in asked], busy=True)
    return [_whole(running, path, first) for path, first in zip(asked, answers, strict=True)]


def _whole(running: RunningCluster, path: str, first: Answer) -> Listed:
    if first.status in {404, 405}:  # 405: what is only asked, never stored
        return Listed()
    if first.status == 403:
        return Listed(refused=first.message)
    if first.status in BUSY:
        return Listed(refused=f"{path.partition('?')[0]} does not answer (status {first.status}): {first.message}")
    return Listed(tuple(one for page in running.pages(path, first) for one in _items(page)))


def _items(page: Manifest) -> Iterator[Manifest]:
    """Yield the objects of a page, each with its kind, which lists of Kubernetes' own kinds leave out."""
    version, kind = page.get("apiVersion"), str(page.get("kind")).removesuffix("List")
    for one in objects(page):
        yield {"apiVersion": version, "kind": kind, **one}
