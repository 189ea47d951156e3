"""The page of a change: whole, alone, and nothing in it but what was meant."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from reviewed import WHEN, cluster, made, unbuilt, whole

from generator import __version__
from generator.model.change import Effect
from generator.review import page
from generator.review.approvals import Approval
from generator.review.html_diff import diff_page
from generator.review.markup import Html, joined, prose, tag

NASTY = "</title></style></script><script>alert(1)</script>\"' onload=x <!-- & \x00\u202e"
VOID = {"meta", "br", "wbr"}


class Read(HTMLParser):
    """A page, as a browser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def report(text: str, **more: Any) -> str:
    old = [made("v1/ConfigMap", f"c{text}", f"n{text}", data={"a": "1", f"k{text}": "x"})]
    new = [made("v1/ConfigMap", f"c{text}", f"n{text}", data={"a": f"2{text}", f"k{text}": "y"})]
    gone = made("v1/PersistentVolumeClaim", f"p{text}", "shop")
    new.append(made("rbac.authorization.k8s.io/v1/RoleBinding", f"b{text}", "shop", subjects=[text]))
    one = cluster([*old, gone], new, name=f"lab{text}", application=f"app{text}", unseen=(text,), findings=(unbuilt(),))
    unused = Approval(text=f"GEN-CHG-030:{text}", reason=text, commit="0123456789", author=text)
    return diff_page(
        whole(one, unapproved=(f"GEN-CHG-030:lab/{text}",), unused=(unused,), approved=(unused,), **more), WHEN
    )


def test_nothing_in_a_change_becomes_markup() -> None:
    plain, nasty = Read(report("")), Read(report(NASTY))
    assert nasty.tags == plain.tags
    assert nasty.open == plain.open == []
    assert {name for _, name, _ in nasty.attributes} == {name for _, name, _ in plain.attributes}
    assert NASTY[:-2] in nasty.text
    assert not {"\x00", "\u202e"} & {*report(NASTY)}


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    found = Read(report("x"))
    assert not {"script", "link", "img", "iframe", "object"} & {*found.tags}
    assert not [each for each in found.attributes if each[1].startswith("on") or each[1] in {"src", "xlink:href"}]
    assert all(value.startswith("https://") for name, key, value in found.attributes if key == "href" and name == "a")
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in found.attributes
    assert not re.search(r"url\(|@import", report("x"))


def test_it_says_what_is_lost_and_how_to_approve_it() -> None:
    text = Read(report("")).text
    assert "with it goes what is stored in it (GEN-CHG-030)" in text
    assert "gen commit --allow 'GEN-CHG-030:lab/ WHY'" in text
    assert "not vendored, only values of charts" in text
    assert "nothing of it can be read" in text


def test_it_says_what_is_opened() -> None:
    text = Read(report("x")).text
    assert "Opens: what somebody may do afterwards that they could not" in text
    assert "rights needs an approvalRoleBinding shop/bx addedx may do more" in text
    assert "who is bound to it may do more (GEN-CHG-750).Instead: bind less." in text


def test_nothing_of_a_secret_is_on_the_page() -> None:
    sides = ([made("v1/Secret", "s", "shop", data={"token": value})] for value in ("b2xkb2xk", "bmV3bmV3"))
    found = diff_page(whole(cluster(*sides)), WHEN)
    assert "(hidden, another one)" in found
    assert "b2xkb2xk" not in found
    assert "bmV3bmV3" not in found


def test_no_difference_is_one_sentence() -> None:
    assert "Nothing differs in what is applied." in Read(diff_page(whole(), WHEN)).text


def test_an_attribute_is_escaped_and_left_out_where_it_is_none() -> None:
    assert tag("a", "x<", href='"><b', class_=None) == '<a href="&quot;&gt;&lt;b">x&lt;</a>'
    assert tag("p", [Html("<br/>"), "a\nb\x1b"]) == "<p><br/>a\nb\\x1b</p>"


def test_a_picture_alone_is_whole_xml() -> None:
    drawn = page.alone(tag("svg", tag("text", NASTY), viewBox="0 0 1 1"))
    root = ET.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")] == [NASTY[:-2] + "\\x00\\u202e"]


def colours() -> list[dict[str, str]]:
    """Return the colours of each scheme: light, dark, on paper."""
    text = Path(page.__file__).with_name("colours.css").read_text()
    return [dict(re.findall(r"--(\w+): (#\w{6})", found)) for found in re.findall(r":root \{(.*?)\}", text, re.DOTALL)]


def light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", range(3), ids=["light", "dark", "paper"])
def test_words_stand_out_from_their_ground(scheme: int) -> None:
    """At least 4.5 to 1: level AA of WCAG 2.2, 1.4.3."""
    found = colours()[scheme]
    badges = ("loss", "loud", "felt", "unknown", "mild", "quiet", "gpu")
    pairs = [(word, ground) for word in ("text", "soft", "mild") for ground in ("ground", "raised")]
    for word, ground in (*pairs, *(("on", one) for one in badges)):
        one, other = sorted((light(found[word]), light(found[ground])))
        assert (other + 0.05) / (one + 0.05) >= 4.5, (word, ground)


def test_what_stands_between_backticks_is_code_and_breaks_between_its_words() -> None:
    assert joined(prose("do `a <b`, then (GEN-CHG-010).")) == (
        'do <code><span class="word">a</span> <span class="word">&lt;b</span></code>, then '
        '<code><span class="word">(GEN-CHG-010)</span></code>.'
    )
    assert joined(prose("no `end & <i>")) == "no `end &amp; &lt;i&gt;"


def test_reasons_and_ways_out_show_no_backticks() -> None:
    service = {"serviceName": "a", "selector": {}, "template": {}}
    sides = ([made("apps/v1/StatefulSet", "s", "shop", spec={**service, "serviceName": name})] for name in ("a", "b"))
    found = diff_page(whole(cluster(*sides)), WHEN)
    assert "`" not in Read(found).text
    assert '<span class="word">--cascade=orphan</span></code>, then sync' in found
    assert "<code>spec<wbr/>.serviceName</code>" in found


def test_the_first_sentence_says_what_was_compared_when_and_by_what() -> None:
    said = "What Argo CD applies from main (abc), compared with the working tree on 2026-03-14 at 15:09 UTC by gen "
    said += f"{__version__}."
    assert said in Read(report("")).text
    assert said in Read(diff_page(whole(), WHEN)).text


def test_a_legend_says_what_every_effect_means() -> None:
    found = Read(report(""))
    (legend,) = re.findall(r"<dl.*?</dl>", report(""))
    assert re.findall(r'<dt><span class="badge \w+">(.*?)</span>', legend) == [effect.word for effect in Effect]
    for effect in Effect:
        assert effect.felt[1:] in found.text
        assert effect.advice[1:] in found.text.replace("instead;", "`instead`;")
    assert legend.count("It needs an approval.") == sum(effect.needs_approval for effect in Effect)
