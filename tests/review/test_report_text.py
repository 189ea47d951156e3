"""The first screen of `gen diff`."""

from typing import Any

from msgspec import structs
from reviewed import cluster, made, unbuilt, whole

from generator.review.text import ROOM, UNWRITTEN, brief, lines


def settings(value: str, many: int = 1, fields: int = 1) -> list[dict[str, Any]]:
    """Return ConfigMaps which differ each in their own way."""
    return [
        made("v1/ConfigMap", f"c{i}", "shop", data={f"k{i}-{each}": value for each in range(fields)})
        for i in range(many)
    ]


def claim() -> dict[str, Any]:
    return made("v1/PersistentVolumeClaim", "data", "shop")


def test_what_it_does_comes_first_and_what_must_be_approved_last() -> None:
    needed = "GEN-CHG-030:lab/PersistentVolumeClaim/shop/data"
    found = list(lines(whole(cluster([claim(), *settings("1")], settings("2")), unapproved=(needed,))))
    assert found == [
        "main (abc) to the working tree",
        "",
        "lab: 1 removed, 1 changed",
        "  data-loss    PersistentVolumeClaim shop/data",
        "               with it goes what is stored in it (GEN-CHG-030)",
        "  unknown      ConfigMap shop/c0",
        f"               {UNWRITTEN}",
        "  wave 3, app",
        "    data-loss    PersistentVolumeClaim shop/data removed",
        "    unknown      ConfigMap shop/c0 changed",
        "                   data.k0-0: 1 -> 2",
        "",
        "1 data-loss: PersistentVolumeClaim shop/data",
        "1 unknown",
        f"needs approval: {needed}",
        "approve it, with your reason for WHY:",
        f"  gen commit --allow '{needed} WHY'",
    ]


def test_a_command_that_approves_takes_no_orders_from_a_name() -> None:
    found = whole(cluster([claim()], []), unapproved=("GEN-CHG-030:lab/Kind/a'; rm -rf /;'",))
    assert [*lines(found)][-1] == """  gen commit --allow 'GEN-CHG-030:lab/Kind/a'"'"'; rm -rf /;'"'"' WHY'"""
    committed = [*lines(structs.replace(found, new="HEAD (def)"))][-1]
    assert """'Gen-Allow: GEN-CHG-030:lab/Kind/a'"'"'; rm -rf /;'"'"' WHY'""" in committed


def test_the_more_differs_the_less_is_shown_of_each() -> None:
    for many in (1, 3, 8, 20):
        found = list(lines(whole(cluster(settings("1", many, 9), settings("2", many, 9)))))
        assert len(found) <= ROOM + 8, many
        assert sum("c0 changed" in line for line in found) == 1
        assert "more fields" in "".join(found)


def test_what_has_no_room_is_counted() -> None:
    found = list(lines(whole(cluster(settings("1", 60), settings("2", 60)))))
    assert "    and 57 more objects: --output html shows all" in found
    assert found[-1] == "60 unknown"


def test_what_could_not_be_seen_is_told() -> None:
    found = list(lines(whole(cluster([], [], unseen=("rook",), findings=(unbuilt(),)))))
    assert "lab: what differs cannot be built" in found
    assert "  not seen: rook: not vendored, only values of charts are compared" in found
    assert "  not built: overlays/lab/app: nothing of it can be read" in found


def binding(name: str, *subjects: str) -> dict[str, Any]:
    return made("rbac.authorization.k8s.io/v1/RoleBinding", name, "shop", subjects=list(subjects))


def test_what_is_opened_is_told_before_what_is_felt_even_where_nothing_is() -> None:
    found = list(lines(whole(cluster([], [binding("all", "eve", "ann")]))))
    assert found[2:10] == [
        "lab: 1 added",
        "  opens: what somebody may do afterwards that they could not",
        "    rights       who is bound to it may do more (GEN-CHG-750)",
        "                   RoleBinding shop/all added: eve may do more; ann may do more",
        "                 instead: bind less",
        "  not felt     RoleBinding shop/all",
        "               nothing that runs feels it",
        "  wave 3, app",
    ]
    assert found[-2:] == ["1 not felt", "1 opens rights: RoleBinding shop/all"]


def test_of_what_gives_less_away_the_last_lines_count_the_objects() -> None:
    services = [made("v1/Service", f"s{i}", "shop", door=f"door {i}") for i in range(20)]
    found = list(lines(whole(cluster([], services))))
    assert found[-1] == "opens: 20 network"
    assert "                   and 12 more: --output html shows all" in found


def test_what_gives_the_same_away_is_told_once_and_behind_what_is_felt() -> None:
    services = [made("v1/Service", f"s{i}", "shop") for i in range(20)]
    found = list(lines(whole(cluster([claim()], [*services, binding("all", "eve")]))))
    (same,) = [line for line in found if "a door" in line]
    assert same.strip() == "Service shop/s0, Service shop/s1, Service shop/s10 and 17 more added: a door"
    rights, lost, network = (
        found.index(next(line for line in found if line.strip().startswith(word)))
        for word in ("rights ", "data-loss ", "network ")
    )
    assert rights < lost < network


def test_of_what_must_be_approved_every_object_is_told() -> None:
    found = list(lines(whole(cluster([], [binding(f"b{i}", "eve") for i in range(40)]))))
    assert sum("added: eve may do more" in line for line in found) == 40


def test_a_render_tells_what_it_opens() -> None:
    told = list(brief([cluster([], [binding("all", "eve")])]))
    assert told[-1] == "  opens rights: lab: RoleBinding shop/all added: eve may do more"
    services = [made("v1/Service", f"s{i}", "shop") for i in range(20)]
    told = list(brief([cluster([], [binding("all", "eve"), *services])] * 2))
    assert told[-3:] == ["  opens rights: lab: RoleBinding shop/all added: eve may do more"] * 2 + [
        "  opens: 40 network"
    ]


def test_words_of_effects_are_painted() -> None:
    found = list(lines(whole(cluster([claim()], [])), lambda effect, word: f"<{effect}>{word}"))
    assert sum("<data-loss>" in line for line in found) == 3
