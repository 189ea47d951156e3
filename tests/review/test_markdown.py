"""The comment on a pull request, judged by the parser that GitHub uses."""

from html.parser import HTMLParser
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from msgspec import structs
from reviewed import WHEN, cluster, made, unbuilt, whole

from generator.review.approvals import Approval
from generator.review.capacity import CapacityRow
from generator.review.html_diff import diff_page
from generator.review.markdown import MARK, ROOM, code, markdown, prose
from generator.review.report import rules

NASTY = [
    "@everyone",
    "`@team`",
    "```\n@team",
    "a|b",
    "a\\|b",
    "</details><script>x</script>",
    "![x](https://example.org/x.png)",
    "https://example.org/x",
    "#123",
    "\n# head",
    "\n/close",
    "-->",
    "&lt;b&gt;",
    "**x** _y_ ~~z~~",
    "\\`x\\`",
    "` x `",
    " ",
    "",
    "\u202egnp.exe",
]
OURS = {
    *("h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "code", "br", "pre"),
    *("details", "summary"),
}
FOREIGN = {"code", "pre"}


class Seen(HTMLParser):
    """What a browser gets: tags, and the texts in code and outside of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.code: list[str] = []
        self.words = ""
        done = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
        self.feed(done)
        self.close()

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)
        if tag in FOREIGN:
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if FOREIGN & {*self.open}:
            self.code[-1] += data
        else:
            self.words += data


def settings(values: list[str], *, many: int = 1) -> list[dict[str, Any]]:
    return [
        made("v1/ConfigMap", f"c{i}", "shop", data={str(n): value for n, value in enumerate(values)}, number=i)
        for i in range(many)
    ]


@pytest.mark.parametrize("text", NASTY)
def test_code_shows_a_text_as_it_is(text: str) -> None:
    line = text.replace("\n", "\\n").replace("\u202e", "\\u202e")
    for around in ("{}", "| {} | b |\n|---|---|\n| {} | c |", "- x\n  - {}: {}"):
        seen = Seen(around.replace("{}", code(text)))
        assert seen.tags <= OURS
        assert [each.strip() for each in seen.code] == [line.strip()] * around.count("{}")


def approval(text: str) -> Approval:
    return Approval(text=f"GEN-CHG-030:{text}", reason=text, commit="0123456789", author=text)


@pytest.mark.parametrize("text", NASTY)
def test_nothing_in_a_change_becomes_markup(text: str) -> None:
    old = [made("v1/ConfigMap", f"c{text}", f"n{text}", data={"a": "1", f"k{text}": "x"})]
    new = [made("v1/ConfigMap", f"c{text}", f"n{text}", data={"a": f"2{text}", f"k{text}": "y"})]
    gone = made("v1/PersistentVolumeClaim", f"p{text}", "shop")
    new.append(made("rbac.authorization.k8s.io/v1/RoleBinding", f"b{text}", "shop", subjects=[text]))
    report = whole(
        cluster([*old, gone], new, name=f"lab{text}", application=f"app{text}", unseen=(text,), findings=(unbuilt(),)),
        unapproved=(f"GEN-CHG-030:lab/PersistentVolumeClaim/{text}",),
        unused=(approval(text),),
        approved=(approval(text), Approval(text=f"GEN-CHG-030:{text}")),
    )
    found = markdown(report)
    seen = Seen(found)
    assert seen.tags <= OURS
    assert seen.open == []
    assert not any(sign in seen.words for sign in ("@", "#", "http", "script", "](", "/close"))
    assert not any(line.lstrip().startswith("/") for line in found.splitlines())


def test_the_first_line_is_a_mark_that_no_value_can_be() -> None:
    found = markdown(whole(cluster(settings(["1"]), settings([MARK]))))
    assert found.startswith(f"{MARK}\n")
    assert found.count(MARK) == 1 or Seen(found).code.count(MARK) == found.count(MARK) - 1


def test_what_it_does_is_a_table_and_the_rest_is_folded() -> None:
    claim = made("v1/PersistentVolumeClaim", "data", "shop")
    found = markdown(whole(cluster([claim, *settings(["1"])], settings(["2"])), unapproved=("GEN-CHG-030:lab/x",)))
    head, _, rest = found.partition("<details>")
    assert "1 data-loss, 1 unknown. **1 change needs an approval.**" in head
    assert (
        "| data-loss | `lab` | `PersistentVolumeClaim shop/data` | with it goes what is stored in it (GEN-CHG-030) |"
        in head
    )
    assert head.index("data-loss |") < head.index("unknown |")
    assert "<code>lab</code> <code>wave 3, app</code>: 1 data-loss, 1 unknown" in rest
    assert "- **unknown** `ConfigMap shop/c0` changed\n  - `data.0`: `1` → `2`\n" in rest


def test_what_is_opened_stands_before_what_is_felt() -> None:
    binding = made("rbac.authorization.k8s.io/v1/RoleBinding", "all", "shop", subjects=["eve"])
    head, _, _ = markdown(whole(cluster(settings(["1"]), [binding, *settings(["2"])]))).partition("<details>")
    assert "**Opens**: what somebody may do afterwards that they could not." in head
    row = (
        "| **rights** | `lab` | `RoleBinding shop/all added`: `eve may do more` "
        "| who is bound to it may do more (GEN-CHG-750)<br>instead: bind less |"
    )
    assert row in head
    assert head.index(row) < head.index("| unknown |")


@pytest.mark.parametrize("room", [3000, 5000, 10_000, 20_000, ROOM])
def test_what_does_not_fit_is_counted_and_nothing_is_cut(room: int) -> None:
    claims = [made("v1/PersistentVolumeClaim", f"data-{i}", "shop") for i in range(3)]
    sides = [[f"{side}{i:02}{'x' * 500}" for i in range(20)] for side in "ab"]
    many = [
        cluster([*claims, *settings(sides[0], many=40)], settings(sides[1], many=40), name=f"c{i}") for i in range(40)
    ]
    needed = tuple(f"GEN-CHG-030:c{i}/PersistentVolumeClaim/shop/data" for i in range(400))
    given = tuple(approval(f"{i}{'y' * 100}") for i in range(200))
    found = markdown(whole(*many, unapproved=needed, approved=given), room)
    assert room // 2 < len(found) <= room
    seen = Seen(found)
    assert seen.tags <= OURS
    assert seen.open == []
    assert "data-loss" in found
    assert ("shows all" in found) or room == ROOM


def test_the_loud_ones_get_the_room() -> None:
    claim = made("v1/PersistentVolumeClaim", "zz-last", "zz")
    sides = [settings([f"{side}{'x' * 500}"] * 9, many=60) for side in "ab"]
    for side in sides:
        for number, one in enumerate(side):
            one["data"]["own"] = f"{number}{one['data']['0'][0]}"
    found = markdown(whole(cluster([*sides[0], claim], sides[1])), 6000)
    assert "- **data-loss** `PersistentVolumeClaim zz/zz-last` removed" in found
    assert "more changes: `gen diff` shows all." in found


def test_no_difference_is_one_sentence() -> None:
    assert markdown(whole()).endswith("`main (abc)` to `the working tree`: nothing differs in what is applied.\n")


def test_every_rule_is_written_as_it_is_meant() -> None:
    for rule in rules():
        seen = Seen(prose(f"{rule.reason}. {rule.instead}"))
        assert "".join([seen.words, *seen.code]).count("`") == 0
        assert seen.tags <= {"p", "code"}, rule


def test_what_there_is_room_for_is_told_where_it_differs() -> None:
    gpus = CapacityRow(name="GPUs H100", unit="", old=120, new=112)
    same = CapacityRow(name="MinIO usable", unit="bytes", old=2**40, new=2**40)
    one = structs.replace(cluster([], settings(["1"])), capacity=(gpus, same))
    found = markdown(whole(one))
    assert "| `GPUs H100` | `lab` | 120 | 112 |" in found
    assert "MinIO" not in found
    page = diff_page(whole(one), WHEN)
    assert "<strong>GPUs H100</strong> 120 to 112" in page
    assert "MinIO" not in page
