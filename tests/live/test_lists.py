"""Collections that a server answers in several pages."""

from pathlib import Path
from typing import Any

from livecluster import LiveCluster, living

from generator.live.lists import lists
from generator.live.running import PAGE

CONFIG = "/api/v1/namespaces/default/configmaps"
MANY = 2 * PAGE + 1


def config(number: int) -> dict[str, Any]:
    labels = {"odd": str(number % 2)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number:05}", "labels": labels}}


def fill(live: LiveCluster) -> list[str]:
    made = [live.add(config(number)) for number in range(MANY)]
    return [one["metadata"]["name"] for one in made]


def names(found: Any) -> list[str]:
    return [one["metadata"]["name"] for one in found]


def test_all_pages_are_read_whoever_asks(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        wanted = fill(live)
        assert names(running.items(CONFIG)) == wanted
        (found,) = lists(running, [CONFIG])
        assert names(found.items) == wanted
        assert {one["kind"] for one in found.items} == {"ConfigMap"}


def test_what_selects_holds_on_each_page(tmp_path: Path) -> None:
    with living(tmp_path) as (live, running):
        odd = fill(live)[1::2]
        assert names(running.items(CONFIG, labelSelector="odd=1")) == odd
        assert names(lists(running, [f"{CONFIG}?labelSelector=odd=1"])[0].items) == odd


def test_a_collection_that_is_not_served_is_empty(tmp_path: Path) -> None:
    with living(tmp_path) as (_, running):
        assert names(running.items("/apis/example.org/v1/things")) == []
        assert names(lists(running, ["/apis/example.org/v1/things"])[0].items) == []
