"""No section of the cluster file without a wrong file that is told of something within it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.model.finding import Path as Place
from generator.repository.cluster_files import examine
from generator.spec.schema import schema

WRONG = Path(__file__).parent.parent / "wrong"
SECTIONS: dict[str, Any] = schema()["$defs"]
ENVELOPE = SECTIONS["ClusterFile"]["properties"].keys()


def whole(at: Place) -> str:
    """Return the section that a finding's place begins in: what stands below `spec` may leave that out."""
    return "ClusterFile" if at and at[0] in ENVELOPE else "Spec"


def within(at: Place, of: dict[str, Any]) -> Iterator[str]:
    """Yield the sections that a place is in, from the outermost on."""
    for each in of.get("anyOf", ()):
        yield from within(at, each)
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        if at:
            yield name
        yield from within(at, SECTIONS[name])
    elif at:
        more = of.get("items") if isinstance(at[0], int) else of.get("properties", {}).get(at[0])
        yield from within(at[1:], more or of.get("additionalProperties") or {})


def test_each_section_has_a_wrong_file() -> None:
    files = [*(WRONG / "rules").glob("*.yaml"), *(WRONG / "schema").glob("*.yaml")]
    places = {each.at for file in files for each in examine(file.read_bytes(), file.name, "lab").findings}
    told = {name for at in places for name in within(at, {"$ref": f"#/$defs/{whole(at)}"})}
    assert sorted({*SECTIONS} - told) == []
