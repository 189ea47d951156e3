"""What `emit` writes is read alike by PyYAML (YAML 1.1), ruamel.yaml (YAML 1.2) and Kustomize (Go)."""

import math
import re
import subprocess
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from generator.layout.emit import emit
from tools import need_kustomize

WORDS = [
    *("y n yes no on off null ~ true false Y N Yes NO On OFF Null NULL TRUE False .inf -.Inf +.INF .nan .NaN").split(),
    *(
        "0777 0o777 0O7 0x1F 0b101 -0b1 0o+1 0b-1 +_0x1 -_0o7 1e3 12e03 1E3 1.e3 .5 5. +1 -1 08 09 0. -0 1_000 _1"
    ).split(),
    *(
        "-_2._69 0__x1 1__0 0x_1 1:30 190:20:30.15 -1:30 2001-12-14 2001-1-1 2001-12-14T21:59:43.10-05:00 0x1p-2"
    ).split(),
    *(
        "= << =: <<: - -- --- ---a ... ...a ? : # | > |- >+ & &a * *a ! !!str % %YAML @ ` [ ] { } , -. +. . .. _ +"
    ).split(),
    *(
        "--foo=bar -c a:b a: :a a# #a a#b http://x 10.0.0.1 1.35.3 {{x}} $(A) $A /x (a) ~/x e1 1e 1e+ 0x 0o 0b inf"
    ).split(),
    *(
        "Infinity nan NaN None undefined 12345678901234567890 it's 'a' \"a\" a\"b a\\b \\ \\n ' \" '' \"\" a,b a|b"
    ).split(),
    *(
        "",
        " ",
        "\t",
        "\n",
        "\n\n",
        " \n",
        "\n ",
        "\n\t",
        "\t\n",
        "a: b",
        "a #b",
        "a ",
        " a",
        "a\t",
        "- a",
        "? a",
        "a\n",
    ),
    *(
        "a\n\n",
        "a\n ",
        "a\n \n",
        "\na",
        "\n\n a",
        " a\nb",
        "\ta\nb",
        "a\n\tb",
        "a\nb",
        "#!/bin/sh\nset -e\n",
        "a\n---\nb\n",
    ),
    *(
        "a\n# b\n",
        "2001-12-14 21:59:43",
        "--- a",
        "a\r\nb",
        "x\u0085y",
        "x\u2028\ny",
        "\ufeffa",
        "한국어",
        "\U0001f600",
    ),
]
# Kustomize's own output stage fails on these, or folds them, however they were written.
NOT_IN_KUSTOMIZE = "\x7f-\x9f\ufffe\uffff"
NASTY = list(
    "0123456789exo_:-#'\"\\ \t\n\rab.+,[]{}|>&*!%@`~?=<^$();/\0\x1b\x7f\x80\x85\x9f\xa0\xad\u0660\u017f\u200b\u2028"
    "\u2029\u202e\u3000\ud55c\ud7ff\ue000\ufeff\ufffe\uffff\U0001f600\U0001fffe"
)


def texts(alphabet: list[str]) -> st.SearchStrategy[str]:
    word, nasty = st.sampled_from(WORDS), st.text(alphabet, max_size=12)
    return st.one_of(word, nasty, st.tuples(word, nasty).map("".join), st.tuples(nasty, word).map("".join))


def documents(text: st.SearchStrategy[str], key: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    whole = st.integers(-(2**63), 2**63 - 1)
    fraction = st.floats(allow_nan=False, allow_infinity=False)
    leaf = st.one_of(text, text, text, st.none(), st.booleans(), whole, fraction)
    return st.recursive(
        leaf,
        lambda below: st.one_of(st.lists(below, max_size=5), st.dictionaries(key, below, max_size=5)),
        max_leaves=15,
    )


def alike(one: Any, other: Any) -> bool:
    """Equal in types and in the order of keys as well: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


def read_by_pyyaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def read_by_pyyaml_pure(text: str) -> Any:
    return yaml.safe_load(text)


def read_by_ruamel(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


READERS: list[Callable[[str], Any]] = [read_by_pyyaml, read_by_pyyaml_pure, read_by_ruamel]


@pytest.mark.parametrize("read", READERS)
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=documents(texts(NASTY), texts(NASTY)))
def test_every_reader_gets_the_value_back(read: Callable[[str], Any], value: Any) -> None:
    assert alike(read(emit(value)), value)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("word", WORDS)
def test_text_stays_text_as_value_key_and_item(read: Callable[[str], Any], word: str) -> None:
    value = {word: {word: word}, "a": [word, [word, {word: [word]}], word], "b": [[[word]]], "c": word}
    assert alike(read(emit(value)), value)
    assert alike(read(emit(word)), word)


@pytest.mark.parametrize(("word", "as_value"), [("yes", True), ("1:30", 90), ("0o7", 7), ("1_000", 1000)])
def test_the_readers_would_notice_a_missing_quote(word: str, as_value: object) -> None:
    assert as_value in [read(f"{word}\n") for read in READERS]


class CoreLoader(yaml.CSafeLoader):
    """YAML 1.2 core, narrowed to what Kustomize itself writes: its output leaves `=` and `<<` unquoted."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 # as PyYAML has it

    def construct_number(self, node: yaml.ScalarNode) -> float | str:
        number = float(self.construct_scalar(node))
        return str(node.value) if math.isinf(number) else number  # the text 1e999 comes without quotes


CoreLoader.add_constructor("tag:yaml.org,2002:float", CoreLoader.construct_number)
for tag, pattern in {
    "null": r"null|~|",
    "bool": r"true|false",
    "int": r"-?[0-9]+",
    "float": r"-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?",
}.items():
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), None)


def through_kustomize(folder: Path, documents: list[str]) -> dict[str, Any]:
    """Kustomize's view of each object, under its name."""
    for number, document in enumerate(documents):
        (folder / f"{number}.yaml").write_text(document, encoding="utf-8", newline="")
    files = [f"{number}.yaml" for number in range(len(documents))]
    (folder / "kustomization.yaml").write_text(emit({"resources": files}), encoding="utf-8")
    done = subprocess.run([*need_kustomize(), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {found["metadata"]["name"]: found for found in yaml.load_all(done.stdout, CoreLoader)}


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def thing(name: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"value": spec}}


def samples(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """As many random values at once, because a process for each would take minutes."""
    found: list[Any] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def test_kustomize_gets_the_values_back(tmp_path: Path) -> None:
    text = texts([character for character in NASTY if not re.match(f"[{NOT_IN_KUSTOMIZE}]", character)])
    text = text.filter(lambda value: not re.search(f"[{NOT_IN_KUSTOMIZE}]", value))
    key = text.filter(lambda value: value != "<<")  # Kustomize merges and drops this key even when it is quoted
    data = [{f"k{number}": word for number, word in enumerate(words)} for words in samples(st.lists(text), 400)]
    written = [config_map(f"data-{number}", found) for number, found in enumerate(data)]
    written += [thing(f"spec-{number}", found) for number, found in enumerate(samples(documents(text, key), 400))]
    read = through_kustomize(tmp_path, [emit(item) for item in written])
    assert [(item, read[item["metadata"]["name"]]) for item in written if item != read[item["metadata"]["name"]]] == []


def test_kustomize_reads_every_word_as_text(tmp_path: Path) -> None:
    words = [word for word in WORDS if not re.search(f"[{NOT_IN_KUSTOMIZE}]", word)]
    data = {f"k{number}": word for number, word in enumerate(words)}
    keys = {word: word for word in words if word != "<<"}
    read = through_kustomize(tmp_path, [emit(config_map("words", data)), emit(thing("keys", [keys, words]))])
    assert read["words"]["data"] == data
    assert read["keys"]["spec"]["value"] == [keys, words]


def test_kustomize_would_notice_a_missing_quote(tmp_path: Path) -> None:
    words = ["y", "1e3", "12e03", "0o777"]
    usual = yaml.safe_dump(thing("usual", words))
    assert through_kustomize(tmp_path, [usual])["usual"]["spec"]["value"] == [True, 1000, 12000, 511]


def test_a_manifest_looks_like_the_yaml_people_write() -> None:
    manifest = {
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {}, "annotations": {"app.kubernetes.io/version": "1.30"}},
        "spec": {
            "containers": [
                {"name": "web", "args": ["--port=80", "-v", "a: b"], "env": [], "resources": {"cpu": 0.5}},
                {"name": "sh", "command": ["sh", "-c", "set -e\n\nexec web\n"], "image": "example.org/web:v1"},
            ],
            "matrix": [[1, 2], [[3]], ({"a": None}, True)],
        },
    }
    assert emit(manifest) == (
        "apiVersion: apps/v1\n"
        "metadata:\n"
        "  name: web\n"
        "  labels: {}\n"
        "  annotations:\n"
        '    app.kubernetes.io/version: "1.30"\n'
        "spec:\n"
        "  containers:\n"
        "  - name: web\n"
        "    args:\n"
        "    - --port=80\n"
        "    - -v\n"
        '    - "a: b"\n'
        "    env: []\n"
        "    resources:\n"
        "      cpu: 0.5\n"
        "  - name: sh\n"
        "    command:\n"
        "    - sh\n"
        "    - -c\n"
        "    - |\n"
        "      set -e\n"
        "\n"
        "      exec web\n"
        "    image: example.org/web:v1\n"
        "  matrix:\n"
        "  - - 1\n"
        "    - 2\n"
        "  - - - 3\n"
        "  - - a: null\n"
        "    - true\n"
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        (" a\nb", "|2-\n   a\n  b"),
        ("\na\n", "|2\n\n  a"),
        ("\ta\nb", r'"\ta\nb"'),
        ("a\u0085\nb", r'"a\u0085\nb"'),
        ("a\r\nb", r'"a\r\nb"'),
        ("a\n  ", r'"a\n  "'),
        ("\n", r'"\n"'),
        ("a\tb", r'"a\tb"'),
        ("\ufeff\u2028\x7f", r'"\ufeff\u2028\u007f"'),
        ('{"a": "it\'s"}', """'{"a": "it''s"}'"""),
        ('a "b" c', 'a "b" c'),
        ("8f14e45", '"8f14e45"'),
        ("abc1234", "abc1234"),
        ("yes", '"yes"'),
        ("yesterday", "yesterday"),
        ("v1.35.3", "v1.35.3"),
        ("10.244.0.0/16", "10.244.0.0/16"),
        ("*/5 * * * *", '"*/5 * * * *"'),
        ("x " * 3000 + "x", "x " * 3000 + "x"),
    ],
)
def test_text_is_written_in_the_plainest_safe_way(text: str, written: str) -> None:
    assert emit({"k": text}) == f"k: {written}\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e16, "1.0e+16"),
        (1e-7, "1.0e-07"),
        (2.5e-10, "2.5e-10"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (2**63 - 1, f"{2**63 - 1}"),
    ],
)
def test_numbers_keep_their_type(value: float, written: str) -> None:
    assert emit(value) == f"{written}\n"


class Tier(StrEnum):
    ON = "on"


class Level(IntEnum):
    HIGH = 3


def test_enumerations_are_written_as_their_values() -> None:
    assert emit({Tier.ON: [Tier.ON, Level.HIGH]}) == '"on":\n- "on"\n- 3\n'


@given(documents(texts(NASTY), texts(NASTY)))
def test_equal_values_give_equal_bytes(value: Any) -> None:
    assert emit(value) == emit(deepcopy(value))


def test_keys_stay_in_the_order_given() -> None:
    assert emit({"b": 1, "a": {"d": 2, "c": 3}}) == "b: 1\na:\n  d: 2\n  c: 3\n"


def test_a_part_used_twice_is_written_twice() -> None:
    labels = {"app": "web"}
    assert emit([labels, labels]) == "- app: web\n- app: web\n"


@pytest.mark.parametrize("empty", [{}, [], ()])
def test_the_empty_collections(empty: object) -> None:
    written = "{}" if isinstance(empty, dict) else "[]"
    assert emit(empty) == f"{written}\n"
    assert emit({"a": empty, "b": [empty]}) == f"a: {written}\nb:\n- {written}\n"


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, math.nan, {1, 2}, b"a", object(), datetime(2026, 1, 1, tzinfo=UTC), Path("a"), 1j],
)
def test_what_yaml_cannot_hold_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="YAML cannot hold"):
        emit({"a": [value]})


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",)])
def test_a_key_that_is_not_text_is_a_type_error(key: object) -> None:
    with pytest.raises(TypeError, match="a key must be text"):
        emit({"a": {key: 1}})
