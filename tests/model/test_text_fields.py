"""Every text of the cluster file says what it may be: none takes line breaks that nobody thought of."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import ValidationError, convert, inspect

from generator.model.base import Folder, Interface, Line
from generator.model.cluster import ClusterFile

# Certificates; a rule holds that they are nothing else.
SEVERAL_LINES = {"Site.ca", "Git.ca", "Elsewhere.ca"}


def unbounded(kind: Any, where: str, seen: set[str]) -> Iterator[str]:
    if isinstance(kind, inspect.StrType) and not kind.pattern:
        yield where
    elif isinstance(kind, inspect.StructType) and kind.cls.__name__ not in seen:
        seen.add(kind.cls.__name__)
        for field in kind.fields:
            yield from unbounded(field.type, f"{kind.cls.__name__}.{field.encode_name}", seen)
    for part in ("type", "key_type", "value_type", "item_type"):
        if inner := getattr(kind, part, None):
            yield from unbounded(inner, where, seen)
    for inner in getattr(kind, "types", ()):
        yield from unbounded(inner, where, seen)


def test_every_text_has_a_pattern() -> None:
    # Chart values are the user's own YAML.
    own = {"ComponentSettings.values", "Extra.values"}
    assert set(unbounded(inspect.type_info(ClusterFile), "", set())) == SEVERAL_LINES | own


@pytest.mark.parametrize("name", ["eno1", "bond0.20", "enp0s31f6", "br-lan", "ibs1", "a" * 15])
def test_interfaces_that_the_kernel_has(name: str) -> None:
    assert convert(name, Interface) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../x", "a b", "eno1\n", "bond0\n[Link]", "a" * 16, "all", "1", "e:0"]
)
def test_names_that_no_interface_has(name: str) -> None:
    with pytest.raises(ValidationError):
        convert(name, Interface)


@pytest.mark.parametrize(
    "path", ["/", "/etc/", "//", "/a//b", "a", "../..", "/..", "/a/../b", "/a b", "/a\n", "/a\nb", ""]
)
def test_folders_lead_nowhere_else(path: str) -> None:
    with pytest.raises(ValidationError):
        convert(path, Folder)


@pytest.mark.parametrize("text", ["a\nb", "a\n", "\r", "\x00", "\x1b[1m", "\x85", "\u2028"])
def test_a_line_is_one(text: str) -> None:
    with pytest.raises(ValidationError):
        convert(text, Line)
