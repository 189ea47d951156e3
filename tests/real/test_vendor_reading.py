"""Scalars of charts, judged by Helm's own reader (that of kubectl and the API server, too) and by Kustomize."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from chartworld import need

from generator.components.component import HELM
from generator.layout.emit import emit
from generator.upstream.documents import documents
from tools import need_kustomize

pytestmark = pytest.mark.real

SCALARS = (
    "~", "null", "Null", "y", "Y", "yes", "Yes", "YES", "n", "no", "No", "NO", "on", "On", "ON", "off", "OFF",
    "true", "True", "TRUE", "false", "none", "yEs", "0", "-0", "0777", "0o777", "0O7", "0x1F", "0X1f", "0b11",
    "0B11", "-0b11", "-0x1F", "-017", "+017", "1_000", "1__0", "_1", "1_", "+5", "08", "09", "-08", "018", "1e3",
    "1E3", "12e03", "1e+3", "1e-3", "1.0", "1.5", "1.50", ".5", "1.", "-.5e1", "+.5", "1e400",
    "18446744073709551615", "18446744073709551616", "-9223372036854775808", "-9223372036854775809",
    "9007199254740993", "1:30", "190:20:30", "1.2.3", "v1", "2001-12-14", "2001-1-1",
    "2001-12-14t21:59:43.10-05:00", "2001-13-45", "20011214", "=", "-", "+", ".", "..", "...", "0x", "0b", "0o",
    "1e", "e1", "0b2", "0o8", ".e1", "._1", "1_.5", "1.5_0", "0x_1", "0_7", "00", "000", "+0",
    "123456789012345678901234567890", "1e21", "123e18", "0.1", "1e-7", "0.00001", "<<x", "abc", "y1", "noo",
    "0xFFFFFFFFFFFFFFFFFF", "07777777777777777777777777",
    "-0b1111111111111111111111111111111111111111111111111111111111111111111",
)  # fmt: skip
# Kustomize reads these in its own way: as what stands there, or as a point in time.
APART = {"y", "Y", "yes", "Yes", "YES", "n", "no", "No", "NO", "on", "On", "ON", "off", "OFF"}


@pytest.fixture(scope="module")
def by_helm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What Helm makes of each scalar: `fromYaml` is its reader, `toJson` shows what it saw."""
    chart = tmp_path_factory.mktemp("chart")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    for index, text in enumerate(SCALARS):
        (chart / f"s-{index}.yaml").write_text(f"a: {text}\n")
    lines = "".join(
        f'  k{index}: {{{{ .Files.Get "s-{index}.yaml" | fromYaml | toJson | quote }}}}\n'
        for index in range(len(SCALARS))
    )
    (chart / "templates/m.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{lines}")
    out = subprocess.run(
        [need("helm", HELM), "template", "r", chart], check=True, capture_output=True, text=True
    ).stdout
    data = yaml.load(out, yaml.CSafeLoader)["data"]
    return {text: json.loads(data[f"k{index}"]) for index, text in enumerate(SCALARS)}


def read(text: str) -> dict[str, object]:
    try:
        found: dict[str, object] = documents(f"a: {text}\n")[0].value
    except ValueError as error:
        return {"Error": str(error)}
    return found


@pytest.mark.parametrize("text", SCALARS)
def test_a_scalar_is_what_helm_takes_it_for(by_helm: dict[str, object], text: str) -> None:
    ours, theirs = read(text), by_helm[text]
    assert isinstance(theirs, dict)
    assert ("Error" in ours) == ("Error" in theirs), (ours, theirs)
    if "Error" not in ours:
        # Numbers beyond 2**53 come back from Helm's own JSON as the nearest fraction.
        assert ours == theirs or float(ours["a"]) == float(theirs["a"]), (ours, theirs)  # type: ignore[arg-type]
        assert isinstance(ours["a"], str) == isinstance(theirs["a"], str), (ours, theirs)


def test_kustomize_reads_what_gen_writes_of_them_alike_and_most_of_the_originals(tmp_path: Path) -> None:
    good = [text for text in SCALARS if "Error" not in read(text)]
    for name, lines in (
        ("ours", emit({f"k{index}": read(text)["a"] for index, text in enumerate(good)})),
        ("theirs", "".join(f"k{index}: {text}\n" for index, text in enumerate(good))),
    ):
        folder = tmp_path / name
        folder.mkdir()
        body = "".join(f"  {line}\n" for line in lines.splitlines())
        (folder / "a.yaml").write_text(f"apiVersion: example.org/v1\nkind: Toy\nmetadata: {{name: a}}\nspec:\n{body}")
        (folder / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    built = {
        name: documents(
            subprocess.run([*need_kustomize(), str(tmp_path / name)], check=True, capture_output=True, text=True).stdout
        )[0].value["spec"]
        for name in ("ours", "theirs")
    }
    for index, text in enumerate(good):
        ours, theirs = built["ours"].get(f"k{index}"), built["theirs"].get(f"k{index}")
        value = read(text)["a"]
        assert ours == value or float(ours) == float(value), text  # type: ignore[arg-type]
        if text not in APART and not text.startswith("2001-"):
            assert ours == theirs, text
