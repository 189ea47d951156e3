"""What must hold for every cluster file, however wrong."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from reference import ROOT

from generator.cli.explain import explanations
from generator.layout.emit import emit
from generator.layout.tree import lay_out
from generator.model.finding import Path
from generator.repository.cluster_files import examine
from generator.spec.reader import read
from generator.spec.scalars import inline
from generator.spec.schema import schema

HERE = "a place of its own"


def small() -> dict[str, Any]:
    """Return ml50 with two nodes of each pool, so that a round is quick."""
    value: dict[str, Any] = read((ROOT / "clusters/ml50/cluster.yaml").read_bytes(), "f").value
    kept: dict[str, list[Any]] = {}
    for node in value["spec"]["nodes"]:
        kept.setdefault(node["pool"], []).append(node)
    value["spec"]["nodes"] = [node for nodes in kept.values() for node in nodes[:2]]
    return value


SMALL = small()
SCHEMA = schema()
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["10.0.0.0/8", "::/0", "1Ti", "a=b:NoSchedule", "x" * 300, "* * * * *", "gpu-01", "cilium"])
)
KEYS = st.text(max_size=10) | st.sampled_from(["name", "pool", "cidr", "spec", "metadata", "kind", "hardware"])
ANYTHING = st.recursive(SCALARS, lambda of: st.lists(of, max_size=3) | st.dictionaries(KEYS, of, max_size=3))


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    for step, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, step)
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, step))


PLACES = list(places(SMALL))


def known_places(of: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Yield each place that the schema knows: each key, the first item of each list, a key of each map."""
    for each in of.get("anyOf", ()):
        yield from known_places(each, path)
    if "$ref" in of:
        yield from known_places(SCHEMA["$defs"][of["$ref"].rpartition("/")[2]], path)
    inside = {**of.get("properties", {}), 0: of.get("items"), "x": of.get("additionalProperties")}
    for step, each in inside.items():
        if isinstance(each, dict):
            yield (*path, step)
            yield from known_places(each, (*path, step))


def put(value: Any, path: Path, thing: Any) -> None:
    """Write `thing` at `path`, and what leads there where it is missing."""
    for step, following in zip(path, [*path[1:], None], strict=True):
        if isinstance(step, int):
            value.extend([None] * (not value))
        if following is None:
            value[step] = thing
            return
        wanted = list if isinstance(following, int) else dict
        if not isinstance(value[step] if isinstance(step, int) else value.get(step), wanted):
            value[step] = wanted()
        value = value[step]


@st.composite
def wrong_files(draw: st.DrawFn) -> str:
    """Write the file with anything at one place: in block style, null as nothing, or in flow style."""
    value, path, thing = deepcopy(SMALL), draw(st.sampled_from(PLACES)), draw(ANYTHING)
    holder: Any = value
    for step in path[:-1]:
        holder = holder[step]
    if draw(st.booleans()):
        holder[path[-1]] = thing
        return emit(value).replace(" null\n", "\n") if draw(st.booleans()) else emit(value)
    if isinstance(holder, dict) and draw(st.booleans()):
        holder[draw(KEYS)] = HERE
    else:
        holder[path[-1]] = HERE
    return emit(value).replace(HERE, inline(thing))


def test_nothing_at_any_place_that_the_schema_knows_makes_gen_raise() -> None:
    minimal = (ROOT / "tests/wrong/valid/minimal.yaml").read_bytes()
    known = list(known_places(SCHEMA))
    assert len(known) > 500  # what no reference cluster writes is among them
    for path in known:
        for thing in (None, True, 7, 1.5, "x", [None], {"x": 1}):
            value = read(minimal, "f").value
            put(value, path, thing)
            assert examine(emit(value).encode(), "f", "lab").findings is not None, path


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wrong_files())
def test_nothing_in_a_file_makes_gen_raise_and_every_finding_shows_its_text(text: str) -> None:
    loaded = examine(text.encode(), "f", "ml50")
    known = explanations()
    for finding in loaded.findings:
        event(finding.code)
        assert finding.code in known
        assert finding.message
        for place in filter(None, loaded.document.locate(finding)):
            line = loaded.document.line(place.line)
            assert 1 <= place.column < place.end <= len(line) + 1
            assert line[place.column - 1 : place.end - 1].strip()
    if loaded.cluster and not loaded.wrong:
        lay_out(loaded.cluster)
