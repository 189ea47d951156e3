"""Cluster-like files in many styles of writing, for properties that must hold in all of them."""

import json
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ["gpu-01", "r1", "10.10.0.1", "ib-leaf-1/1", "mlx5_0", "a b", "ü", "x#y", "it's", "😀 wide"]
HARD = ["yes", "1.30", "0777", "1e3", "null", "", "- x", "a: b", "#c", " s ", "*/5 * * * *", '"', "\\n", "{x}", "~"]
SCALARS = st.one_of(
    st.sampled_from(WORDS + HARD),
    st.integers(-9999, 9999),
    st.sampled_from([True, False, None, 1.5, -0.25]),
)
NAMES = st.sampled_from(["name", "pool", "address", "rack", "fabric", "on", "k" * 130])
ITEMS = st.dictionaries(
    NAMES,
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, SCALARS, max_size=2),
    min_size=1,
    max_size=4,
)


class Styled(NamedTuple):
    """A text that holds a list of `size` items at `spec.nodes`."""

    text: str
    size: int


def scalar(draw: st.DrawFn) -> str:
    value = draw(SCALARS)
    if not isinstance(value, str) or (value in WORDS and draw(st.booleans())):
        return draw(st.sampled_from(["~", "null"])) if value is None else str(value).lower()
    return "'" + value.replace("'", "''") + "'" if draw(st.booleans()) else json.dumps(value, ensure_ascii=False)


def flow(draw: st.DrawFn, indent: str) -> str:
    keys = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    pairs = [f"{key}: {scalar(draw)}" for key in keys]
    if draw(st.integers(0, 5)) == 0:
        return "{\n" + ",\n".join(f"{indent}    {pair}" for pair in pairs) + f"\n{indent}  }}"
    pad = draw(st.sampled_from(["", " "]))
    return "{" + pad + ", ".join(pairs) + pad + "}"


def comment(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", "", "", "  # c: [", " # - {x", "  "]))


def between(draw: st.DrawFn, indent: str) -> list[str]:
    return draw(st.lists(st.sampled_from(["", f"{indent}# - name: x", "# {", f"{indent}    # deeper"]), max_size=2))


def nested(draw: st.DrawFn, indent: str) -> str:
    """What may stand behind a key: something on its line or on the deeper lines that follow."""
    kinds: list[Callable[[], str]] = [
        lambda: " " + scalar(draw) + comment(draw),
        lambda: " " + scalar(draw),
        lambda: " " + flow(draw, indent),
        lambda: comment(draw),
        lambda: f"\n{indent}  - {scalar(draw)}\n{indent}  -   {scalar(draw)}",
        lambda: f"\n{indent}   deep: {scalar(draw)}{comment(draw)}",
        lambda: " " + draw(st.sampled_from(["|", ">", "|-", "|+", "| # c"])) + f"\n{indent}  text\n\n{indent}  # more",
        lambda: f" plain\n{indent}  goes on",
        lambda: " []",
    ]
    return draw(st.sampled_from(kinds))()


def block(draw: st.DrawFn, indent: str) -> str:
    keys = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    return f"\n{indent}".join(f"{key}:{nested(draw, indent)}" for key in keys)


def item(draw: st.DrawFn, indent: str, gap: str) -> str:
    inner = indent + " " + " " * len(gap)
    kind = draw(st.integers(0, 9))
    if kind < 4:
        return f"{indent}-{gap}{flow(draw, indent)}{comment(draw)}"
    if kind < 8:
        return f"{indent}-{gap}{block(draw, inner)}"
    if kind == 8:
        return f"{indent}-{comment(draw)}\n{inner}{block(draw, inner)}"
    return f"{indent}-{gap}{scalar(draw)}{comment(draw)}"


@st.composite
def styled(draw: st.DrawFn) -> Styled:
    """Write a list of one to four items in a random style, with things before and behind it."""
    outer = " " * draw(st.integers(1, 4))
    indent = outer + " " * draw(st.sampled_from([0, 0, 1, 2, 4]))
    gap = " " * draw(st.sampled_from([1, 1, 1, 3]))
    items = [item(draw, indent, gap) for _ in range(draw(st.integers(1, 4)))]
    lines = [*between(draw, ""), *(["---"] if draw(st.booleans()) else []), f"spec:{comment(draw)}"]
    lines += [f"{outer}before: {scalar(draw)}", *between(draw, outer), f"{outer}nodes:{comment(draw)}"]
    for each in items:
        lines += [*between(draw, indent), each]
    lines += between(draw, outer)
    lines += draw(st.sampled_from([[], [f"{outer}behind: 1"], ["metadata: {name: x}"], ["# end"], ["..."]]))
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "\n", "", "\n\n"]))
    text = text.replace("\n", "\r\n") if draw(st.integers(0, 3)) == 0 else text
    return Styled(draw(st.sampled_from(["", "", "\ufeff"])) + text, len(items))
