"""What shows that a component is there: every one says it, and nobody says another's."""

from itertools import combinations

import pytest

from generator.components import CATALOGUE
from generator.components.definition import Definition


@pytest.mark.parametrize("one", CATALOGUE.values(), ids=CATALOGUE)
def test_every_component_says_what_shows_it(one: Definition) -> None:
    shown = one.shown_by
    assert shown.images or shown.objects or shown.definitions


def test_nothing_shows_two_components() -> None:
    for one, other in combinations(CATALOGUE.values(), 2):
        assert not {*one.shown_by.images} & {*other.shown_by.images}, (one.name, other.name)
        assert not {*one.shown_by.objects} & {*other.shown_by.objects}, (one.name, other.name)


def test_definitions_that_show_a_component_are_its_own() -> None:
    for one in CATALOGUE.values():
        assert {*one.shown_by.definitions} <= {api.group for api in one.apis}, one.name


@pytest.mark.parametrize("name", ["snapshot-controller", "minio", "zabbix"])
def test_images_that_gen_itself_runs_show_their_component(name: str) -> None:
    """Of the others' programs the images are named by charts."""
    one = CATALOGUE[name]
    repositories = [image.partition("@")[0].rpartition(":")[0] for image in one.known[0].images.values()]
    assert any(each.endswith(ending) for each in repositories for ending in one.shown_by.images)
