"""Which changes are told as one."""

from typing import Any

from msgspec import structs
from reviewed import cluster, made

from generator.model.change import Effect
from generator.review.judging import JudgedChange, Meaning
from generator.review.rows import Felt, Row, by_place, counts, in_words, objects_in, rows, titles

POLICY = "networking.k8s.io/v1/NetworkPolicy"


def told(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    return [f"{row.effect} {row.title} {row.done}" for row in rows(cluster(old, new))]


def policies(port: int, *spaces: str, **other: int) -> list[dict[str, Any]]:
    ports = {**dict.fromkeys(spaces, port), **other}
    return [made(POLICY, "team", space, spec={"ports": [{"port": each}]}) for space, each in ports.items()]


def test_equal_changes_in_several_namespaces_are_one_row() -> None:
    assert told(policies(1, "a", "b", "c", "d"), policies(2, "a", "b", "c", "d")) == [
        "unknown NetworkPolicy team in 4 namespaces changed"
    ]


def test_other_values_are_another_row() -> None:
    assert told(policies(1, "a", "b", "c"), policies(2, "a", "b", c=3)) == [
        "unknown NetworkPolicy team in 2 namespaces changed",
        "unknown NetworkPolicy c/team changed",
    ]


def test_equal_changes_of_several_names_are_one_row_with_the_names() -> None:
    old, new = ([made("v1/ConfigMap", f"c{i}", "a", data={"x": value}) for i in range(5)] for value in "12")
    assert told(old, new) == ["unknown 5 of ConfigMap in a: c0, c1, c2 and 2 more changed"]


def deployment(mark: str, image: str = "web:1", name: str = "web") -> dict[str, Any]:
    template = {
        "metadata": {"annotations": {"checksum/settings": mark * 64}},
        "spec": {
            "containers": [{"name": "web", "image": image, "envFrom": [{"configMapRef": {"name": "settings"}}]}],
        },
    }
    return made("apps/v1/Deployment", name, "shop", spec={"template": template})


def settings(value: str, name: str = "settings", namespace: str = "shop") -> dict[str, Any]:
    return made("v1/ConfigMap", name, namespace, data={"level": value})


def only(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Row:
    (row,) = rows(cluster(old, new))
    return row


def test_a_restart_is_one_row_with_its_cause() -> None:
    row = only([deployment("a"), settings("1")], [deployment("b"), settings("2")])
    assert row.title == "Deployment shop/web"
    assert row.done == "changed, because ConfigMap shop/settings changed"
    assert [field.path for _, field in row.fields(row.first.meanings[0])] == [("data", "level")]


def test_restarts_of_one_cause_are_one_row() -> None:
    old, new = ([deployment(mark, name=name) for name in ("web", "api")] for mark in "ab")
    row = only([*old, settings("1")], [*new, settings("2")])
    assert row.title == "2 of Deployment in shop: api, web"


def test_another_image_is_shown_beside_the_cause() -> None:
    row = only([deployment("a"), settings("1")], [deployment("b", "web:2"), settings("2")])
    shown = [field.path[-1] for _, field in row.fields(row.first.meanings[0])]
    assert shown == ["image", "level"]


def test_a_checksum_without_its_cause_is_shown() -> None:
    row = only([deployment("a")], [deployment("b")])
    assert [field.path[-1] for _, field in row.fields(row.first.meanings[0])] == ["checksum/settings"]


def test_what_the_template_does_not_read_is_no_cause() -> None:
    for other in (settings("1", name="others"), settings("1", namespace="elsewhere")):
        after = {**other, "data": {"level": "2"}}
        assert len(told([deployment("a"), other], [deployment("b"), after])) == 2


def test_what_is_in_a_namespace_goes_with_it() -> None:
    space = made("v1/Namespace", "a")
    old = [space, settings("1", namespace="a"), *policies(1, "a", "b")]
    assert told(old, policies(1, "b")) == ["data-loss Namespace a removed, with 2 objects in it"]
    assert told(policies(1, "b"), old) == ["none Namespace a added, with 2 objects in it"]


def test_what_is_lost_with_a_namespace_has_a_row_of_its_own() -> None:
    claim = made("v1/PersistentVolumeClaim", "data", "a")
    assert len(told([made("v1/Namespace", "a"), claim], [])) == 2


def test_the_loudest_comes_first_and_places_follow_their_waves() -> None:
    found = cluster([settings("1"), made("v1/PersistentVolumeClaim", "data", "a")], [settings("2")])
    its = rows(found)
    assert [row.effect for row in its] == [Effect.DATA_LOSS, Effect.UNKNOWN]
    assert list(by_place(its)) == ["wave 3, app"]
    assert counts(its) == {Felt(Effect.DATA_LOSS): 1, Felt(Effect.UNKNOWN): 1}


def test_what_comes_later_is_less_than_what_comes_now_and_called_so() -> None:
    found = cluster([deployment("a"), deployment("a", name="web2")], [])
    now, later = found.judged
    (rule,) = {meaning.rule for meaning in later.meanings}
    assert rule
    armed = Meaning(rule.effect, structs.replace(rule, code="GEN-CHG-999", armed=True), later.meanings[0].fields)
    its = rows(structs.replace(found, judged=(JudgedChange(later.change, (armed,)), now)))
    assert [row.felt.word for row in its] == ["outage", "outage later"]
    assert in_words(its) == "1 outage, 1 outage later"
    both = Row(changes=(JudgedChange(later.change, (armed, *now.meanings)),))
    assert both.felt.word == "outage"


def test_rows_that_are_left_out_are_counted_by_their_objects() -> None:
    found = [rows(cluster(policies(1, *spaces), policies(2, *spaces)))[0] for spaces in ("a", "bc", "def", "ghij")]
    assert titles(found[:3]) == (
        "NetworkPolicy a/team, NetworkPolicy team in 2 namespaces, NetworkPolicy team in 3 namespaces"
    )
    assert titles(found, 2).endswith("in 2 namespaces and 7 more")
    assert objects_in(found) == 10
