"""CONTRIBUTING's picture of the packages is what the import rules say and what is there."""

import re
import tomllib
from itertools import takewhile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PURE = "What is computed touches nothing"


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {one["name"]: one for one in settings["tool"]["importlinter"]["contracts"]}


def pictured() -> list[tuple[str, str]]:
    """Return the mark at the left of each row of the picture, and the package in the row, from the top."""
    picture = (ROOT / "CONTRIBUTING.md").read_text().partition("<!-- layers -->")[2].partition("<!-- /layers -->")[0]
    return re.findall(r"^( .{11}) *\| (\S+)", picture, re.MULTILINE)


def test_the_picture_shows_the_layers_in_the_order_of_the_import_rules() -> None:
    layers = [re.findall(r"\w+", layer) for layer in contracts()["Imports point one way"]["layers"]]
    there = [[name for name in layer if (ROOT / "generator" / name).is_dir()] for layer in layers]
    assert [name for _, name in pictured() if "." not in name] == [name for layer in there for name in layer]


def test_the_picture_shows_all_there_is() -> None:
    names = {path.name for path in (ROOT / "generator").iterdir() if path.name != "__pycache__"}
    assert {name for _, name in pictured()} == names - {"__init__.py", "__main__.py", "py.typed"}


def test_what_the_picture_calls_pure_is_what_the_import_rules_do() -> None:
    rows = pictured()
    first = next(index for index, (mark, _) in enumerate(rows) if mark.strip() == "pure")
    pure = takewhile(lambda row: row[0].strip() in {"pure", ""}, rows[first:])
    assert {f"generator.{name}" for _, name in pure} == set(contracts()[PURE]["source_modules"])
