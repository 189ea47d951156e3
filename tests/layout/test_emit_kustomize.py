"""Kustomize, and so the Go libraries of Kubernetes, reads what `emit` writes."""

import math
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from nasty import NASTY, WORDS, documents, texts

from generator.layout.emit import emit
from tools import need_kustomize

# Kustomize's own output stage fails on these, or folds them, however they were written.
NOT_IN_KUSTOMIZE = "\x7f-\x9f\ufffe\uffff"


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
    done = subprocess.run([*need_kustomize(), str(folder)], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {found["metadata"]["name"]: found for found in yaml.load_all(done.stdout, CoreLoader)}


def kept(want: Any, got: Any) -> bool:
    """Equal, but for the order of keys and for whole fractions, which Go writes without a point."""
    if isinstance(want, dict):
        return isinstance(got, dict) and want.keys() == got.keys() and all(kept(want[key], got[key]) for key in want)
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(kept, want, got))
    if isinstance(want, float):
        return type(got) in {int, float} and float(got) == want
    return type(got) is type(want) and bool(got == want)


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
    pairs = [(item, read[item["metadata"]["name"]]) for item in written]
    assert [pair for pair in pairs if not kept(*pair)] == []


def test_kustomize_reads_every_word_as_text(tmp_path: Path) -> None:
    words = [word for word in WORDS if not re.search(f"[{NOT_IN_KUSTOMIZE}]", word)]
    data = {f"k{number}": word for number, word in enumerate(words)}
    keys = {word: word for word in words if word != "<<"}
    read = through_kustomize(tmp_path, [emit(config_map("words", data)), emit(thing("keys", [keys, words]))])
    assert read["words"]["data"] == data
    assert read["keys"]["spec"]["value"] == [keys, words]


def test_kustomize_would_notice_a_missing_quote(tmp_path: Path) -> None:
    words = ["1e3", "12e03", "0o777"]
    usual = yaml.safe_dump(thing("usual", words))
    assert through_kustomize(tmp_path, [usual])["usual"]["spec"]["value"] == [1000, 12000, 511]
