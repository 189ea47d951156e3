"""The one way into text files that are not YAML: nothing leaves its place."""

import ast
import configparser
import csv
import io
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty import NASTY, texts

from generator.components.node_text import Csv, Pem, Place, Quoted, Shell, Template, Text, Toml, Word, joined
from generator.errors import UsageError
from generator.layout.bootstrap import bootstrap
from generator.model.cluster import ClusterFile
from generator.model.resolve import resolve
from generator.spec.decode import hook
from generator.spec.reader import read

ROOT = Path(__file__).parent.parent.parent
LINE = texts(NASTY).filter(lambda text: text.isprintable())


@given(texts(NASTY))
def test_a_word_stays_one_word_or_is_refused(text: str) -> None:
    try:
        word = Word(text)
    except UsageError:
        return
    assert shlex.split(word) == [text]
    assert word.split() == [text]


@given(texts(NASTY))
def test_no_value_begins_another_line(text: str) -> None:
    for kind in (Word, Quoted, Toml, Shell, Csv):
        try:
            assert len(kind(text).splitlines()) <= 1
        except UsageError:
            assert len(f"{text}.".splitlines()) > 1 or not text.isprintable() or kind is Word


@given(LINE)
def test_quoted_values_come_out_as_they_went_in(text: str) -> None:
    assert shlex.split(f"x {Shell(text)} y") == ["x", text, "y"]
    assert tomllib.loads(f"a = {Toml(text)}")["a"] == text
    assert next(csv.reader(io.StringIO(f"g, {Csv(text)}, role:admin"), skipinitialspace=True))[1] == text
    # systemd: quotes and backslashes as in C, `%%` for `%`.
    inner = str(Quoted(text))
    assert shlex.split(f'"{inner.replace("$", "")}"'.replace("`", "")) == [
        text.replace("$", "").replace("`", "").replace("%", "%%")
    ]


@given(st.lists(texts(NASTY), min_size=1, max_size=4))
def test_a_place_stays_below_its_folder(steps: list[str]) -> None:
    try:
        path = Place(*steps)
    except UsageError:
        return
    assert path.split("/") == steps
    assert not {"", ".", ".."} & set(steps)


def test_a_template_takes_exactly_its_holes() -> None:
    assert Text(Template("a {x} {\n"), x=Word("b")) == "a b {\n"
    with pytest.raises(KeyError):
        Text(Template("a {x}"))
    with pytest.raises(KeyError):
        Text(Template("a"), x=Word("b"))
    # What a value brings is no hole.
    inner = Text(Template("{y}"), y=Toml("{x}"))
    assert Text(Template("{x}{z}"), x=inner, z=Word("c")) == '"{x}"c'
    assert joined((Word("a"), Word("b")), ", ") == "a, b"


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN CERTIFICATE-----\nA\n-----BEGIN PRIVATE KEY-----\nA\n"])
def test_what_is_no_certificate_is_refused_and_never_shown(text: str) -> None:
    with pytest.raises(UsageError, match="certificate") as caught:
        Pem(text)
    assert "PRIVATE" not in str(caught.value)


def calls(name: str) -> Iterator[ast.Call]:
    for file in (ROOT / "generator").rglob("*.py"):
        tree = ast.parse(file.read_text())
        if file.name != "node_text.py":
            found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
            yield from (node for node in found if isinstance(node.func, ast.Name) and node.func.id == name)


def test_templates_are_written_out_in_the_program() -> None:
    found = list(calls("Template"))
    assert len(found) > 20
    assert [ast.unparse(call) for call in found if not isinstance(call.args[0], ast.Constant)] == []


# Every text of the cluster files: a hostile one in each place is refused, or leaves lines and paths as they are.
def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))
    elif isinstance(value, str):
        yield at


def document() -> Any:
    value = deepcopy(read((ROOT / "tests/wrong/valid/bonds-and-vlans.yaml").read_bytes(), "x").value)
    spec = value["spec"]
    spec["site"] |= {
        "ntp": ["ntp.example.org"],
        "dns": ["10.0.0.1"],
        "proxy": {"http": "http://proxy:3128", "noProxy": ["a.example.org"]},
        "mirrors": [{"registry": "docker.io", "mirror": "m.example.org/hub"}],
        "images": "m.example.org/all",
        "oidc": {"issuer": "https://id.example.org", "client": "x"},
        "ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    }
    spec["kubernetes"]["etcd"] = {"dataDir": "/var/lib/etcd"}
    spec["storage"] = {"scratch": {"hostDir": "/mnt/scratch"}}
    spec["pools"]["cpu"] |= {"labels": {"a": "b"}, "taints": ["a=b:NoSchedule"]}
    disks = [{"use": "scratch", key: "name", "size": "1T"} for key in ("id", "path", "model")]
    spec["pools"]["cpu"]["hardware"] |= {"disks": disks, "hcas": ["mlx5_0"]}
    spec["nodes"][3]["rack"] = "r1"
    return value


def shape(value: Any) -> dict[str, int]:
    """Return how many lines each text file has; YAML has a writer of its own."""
    files = bootstrap(resolve(msgspec.convert(value, ClusterFile, dec_hook=hook)))
    return {path: len(text.decode().splitlines()) for path, text in files.items() if not path.endswith(".yaml")}


def put(value: Any, at: tuple[str | int, ...], text: str) -> Any:
    made = deepcopy(value)
    part = made
    for step in at[:-1]:
        part = part[step]
    part[at[-1]] = text
    return made


HOSTILE = (
    "a/../../x",
    "../x",
    "bond0\n[Link]",
    "x\r\ny",
    "a b",
    'a" "b',
    "$(reboot)",
    "`x`",
    "x;y",
    "a\u2028b",
    "%n",
)
PLACES = [at for at in places(document()) if at[0] == "spec"]


@pytest.mark.parametrize("at", PLACES, ids=lambda at: ".".join(map(str, at)))
def test_a_hostile_text_leaves_no_place(at: tuple[str | int, ...]) -> None:
    value = document()
    lines = shape(value)
    for text in HOSTILE:
        try:
            found = shape(put(value, at, text))
        except (msgspec.ValidationError, UsageError):
            continue
        assert found == lines, text


def test_some_hostile_texts_are_taken() -> None:
    value, taken = document(), set[str]()
    for at in PLACES:
        with suppress(msgspec.ValidationError, UsageError):
            shape(put(value, at, HOSTILE[-1]))
            taken.add(str(at[-2] if isinstance(at[-1], int) else at[-1]))
    assert taken == {"noProxy", "mirror", "client", "hcas"}


@settings(max_examples=30)
@given(LINE)
def test_a_proxy_of_any_text_is_one_variable(text: str) -> None:
    value = put(document(), ("spec", "site", "proxy", "noProxy", 0), text)
    files = bootstrap(resolve(msgspec.convert(value, ClusterFile, dec_hook=hook)))
    unit = files["clusters/lab/bootstrap/node/all/etc/systemd/system/kubelet.service.d/proxy.conf"].decode()
    assert unit.count("\nEnvironment=") == 3
    configparser.RawConfigParser(strict=False).read_string(unit)
