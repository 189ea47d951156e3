"""A rehearsal as a section of the page of `gen diff`."""

import re
from html import unescape

from rehearsed import eventful, rehearsal
from reviewed import WHEN, cluster, whole

from generator.rehearsal.html import rehearsed
from generator.rehearsal.rehearsal import Event, Happened
from generator.rehearsal.text import lines
from generator.review.html_diff import diff_page


def words(page: str) -> list[str]:
    return re.findall(r"[\w/]+", unescape(re.sub(r"<[^>]+>", " ", page)).lower())


def test_the_page_says_what_the_text_says() -> None:
    found = eventful("here")
    said = words(rehearsed(found))
    assert sorted({word for line in lines(found) for word in words(line)} - {*said}) == ["s"]  # seconds
    assert said.count("disagreed") == said.count("proven") - 1 == 1
    assert [said.count("seen"), said.count("told")] == [3 + 1, len(Event)]


def test_a_change_that_does_nothing_has_a_section_that_says_so() -> None:
    page = rehearsed(rehearsal())
    assert "<p>Nothing happened: no object was refused or deleted" in page
    assert "Promises" not in page
    assert "gen diff says otherwise" not in page


def test_what_is_loud_looks_loud() -> None:
    shades = {
        one: re.findall(r"badge (\w+)", rehearsed(rehearsal(Happened(event=one, what="x", why="")))) for one in Event
    }
    assert shades[Event.REFUSED] == ["loss"]
    assert shades[Event.DELETED] == ["quiet"]
    assert shades[Event.HUNG] == ["loud"]


def test_what_others_wrote_is_no_markup() -> None:
    page = rehearsed(eventful("<script>alert(1)</script>"))
    assert "<script" not in page


def test_it_stands_before_the_clusters_of_gen_diff() -> None:
    told = whole(cluster([], [], name="one"))
    page = diff_page(told, WHEN, [rehearsed(rehearsal())])
    assert page.index("one: what a rehearsal showed") < page.index("<h2>one: nothing that is applied differs")
    assert "rehearsal" not in diff_page(told, WHEN)
