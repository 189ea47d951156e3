"""The CRDs that a rendered cluster's own objects need, where charts that would bring them are left out."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import SHARED

Object = dict[str, Any]
_GROUP, _KIND = re.compile(r"^  group: (\S+)$", re.MULTILINE), re.compile(r"^    kind: (\S+)$", re.MULTILINE)


def wanted(folders: list[Path]) -> set[tuple[str, str]]:
    """Return groups and kinds of the objects in files of one object each, as gen writes them."""
    found = set()
    for file in (file for folder in folders for file in folder.rglob("*.yaml")):
        text = file.read_text()
        group = re.search(r"^apiVersion: ([^/\s]+)/", text, re.MULTILINE)
        kind = re.search(r"^kind: (\S+)$", text, re.MULTILINE)
        if group and kind:
            found.add((group[1], kind[1]))
    return found


def definitions(kinds: set[tuple[str, str]]) -> list[Object]:
    """Return the CRDs of these kinds below `../shared/upstream`, each once. Skips the test where there are none."""
    if not SHARED.exists():
        pytest.skip("../shared is absent")
    found: dict[str, Object] = {}
    for file in sorted(SHARED.glob("*/*/crds*/*.yaml")):
        text = file.read_text()
        if {(group, kind) for group in _GROUP.findall(text) for kind in _KIND.findall(text)} & kinds:
            for one in yaml.load_all(text, yaml.CSafeLoader):
                if one and (one["spec"]["group"], one["spec"]["names"]["kind"]) in kinds:
                    found[one["metadata"]["name"]] = one
    return list(found.values())
