"""Cluster files that went wrong, by a seed: the same number is always the same file.

A valid file is taken and up to four things happen to it: to its structure, to its values, and last maybe to its bytes.
"""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from nasty import NASTY, WORDS
from reference import ROOT

from generator.layout.emit import emit
from generator.model.finding import Path as Steps
from generator.spec.reader import read
from generator.spec.scalars import inline

WRONG = ROOT / "tests" / "wrong"
CONTROLS = "".join(map(chr, (0, 7, 8, 11, 27, 127, 0x85, 0x200B, 0x202E, 0x2028, 0xFEFF)))

TYPES: list[Any] = [None, True, False, 0, 1.5, "", "x", [], {}, [None], {"x": None}, [[]], {"": ""}]
BOUNDARIES: list[Any] = [
    -1, 0, 1, 2, 63, 64, 253, 65535, 65536, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63),
    1e308, -0.0, 5e-324, "0", "-1", "1m", "1e3", "9223372036854775807", "8Ei", "1000000Ei",
    "0.0.0.0", "255.255.255.255", "0.0.0.0/0", "10.0.0.0/31", "255.255.255.255/32", "::/0", "fd00::/64", "::1",
    "10.10.0.10:0", "10.10.0.10:65536", "10.10.0.9-10.10.0.1", "a" * 63, "a" * 64, "a" * 253, f"{'a' * 64}.example.org",
    "../../x", "/", "/etc", "~", "file:///etc/passwd", "javascript:alert(1)", "https://u:p@example.org", "http://[::1]/",
    "* * * * *", "0 0 31 2 *", "@daily", "60 24 * * *", "30d", "0d", "1s", "99999999999d", "2026-02-30", "9999-12-31",
    "a=b:NoSchedule", "=:", "a/b/c=d:NoExecute", "{{x}}", "{{ .Values.x }}", "$(x)", "${x}", "`id`", "'", '"', "%s",
    "1.35", "v1.35.3", "1.35.3+rke2", "99.99.99", "6.8", "kustomization", "localhost", "kubernetes", "default",
    "kube-system", "con", "aux.txt", "true", "null", "001", "1_000", "0x10",
]  # fmt: skip
KEYS = ["name", "pool", "cidr", "spec", "metadata", "kind", "hardware", "", "<<", "x", "a.b", "__proto__", "null", "1"]


class Mutation(Struct, frozen=True):
    """A file: the name of its cluster, what was done to it and where, its content, and its values where the bytes are
    what they were written as.
    """

    name: str
    done: tuple[tuple[str, Steps], ...]
    content: bytes
    value: Any = None

    @property
    def way(self) -> tuple[str, ...]:
        """What was changed, whatever the numbers of items."""
        return tuple(f"{how} {pattern(at)}" for how, at in self.done)


def mutated(seed: int, *, of_bytes: bool = True) -> Mutation:
    """Return the file of a number."""
    random = Random(seed)
    text, original = random.choice(bases())
    value = deepcopy(original)
    done = [change(value, random) for _ in range(random.choice((1, 1, 1, 2, 3, 4)))]
    if not of_bytes or random.random() < 0.7:
        return Mutation(name_of(original), tuple(done), written(value, random), value)
    # On the text as people wrote it, too.
    content, done = (text, []) if random.random() < 0.5 else (written(value, random), done)
    for _ in range(random.choice((1, 1, 2, 5))):
        how = random.choice(BYTES)
        content, done = how(content, random), [*done, (how.__name__, ())]
    return Mutation(name_of(original), tuple(done), content)


@cache
def bases() -> list[tuple[bytes, Any]]:
    files = [ROOT / "clusters" / name / "cluster.yaml" for name in ("ml50", "a30-bench")]
    return [(path.read_bytes(), value_of(path)) for path in (*files, *sorted((WRONG / "valid").glob("*.yaml")))]


def value_of(path: Path) -> Any:
    return read(path.read_bytes(), path.name).value


@cache
def known() -> dict[str, list[Any]]:
    """Return all values that stand in any file of the tests, by place."""
    found: dict[str, list[Any]] = {}
    for path in sorted((*WRONG.glob("rules/*.yaml"), *WRONG.glob("schema/*.yaml"), *WRONG.glob("valid/*.yaml"))):
        value = value_of(path)
        for at in places(value):
            each = at_path(value, at)
            if not (isinstance(each, float) and not isfinite(each)):
                found.setdefault(pattern(at), []).append(each)
    return found


@cache
def words() -> list[Any]:
    """Return all scalars that stand in any file of the tests."""
    return [each for values in known().values() for each in values if not isinstance(each, (dict, list))]


def name_of(value: Any) -> str:
    return str(value["metadata"]["name"])


def pattern(at: Steps) -> str:
    return ".".join("*" if isinstance(step, int) else step for step in at)


def places(value: Any, at: Steps = ()) -> Iterator[Steps]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in items:
        yield (*at, step)
        yield from places(each, (*at, step))


def at_path(value: Any, at: Steps) -> Any:
    for step in at:
        value = value[step]
    return value


# What happens to structure and values


def change(value: Any, random: Random) -> tuple[str, Steps]:
    """Change a document in place; return how, and where."""
    at = some_place(value, random)
    how = random.choice(CHANGES)
    holder = at_path(value, at[:-1]) if at else value
    how(value, holder, at, random)
    return how.__name__, at


def some_place(value: Any, random: Random) -> Steps:
    """Choose by kinds of places, as most places are nodes."""
    by_pattern: dict[str, list[Steps]] = {}
    for at in places(value):
        by_pattern.setdefault(pattern(at), []).append(at)
    return random.choice(by_pattern[random.choice([*by_pattern])]) if by_pattern else ()


def drop(_: Any, holder: Any, at: Steps, __: Random) -> None:
    if at:
        del holder[at[-1]]


def duplicate(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at and isinstance(holder, list):
        holder.insert(random.randint(0, len(holder)), deepcopy(holder[at[-1]]))  # type: ignore[index]
    elif at:
        holder[f"{at[-1]}2"] = deepcopy(holder[at[-1]])


def move(value: Any, holder: Any, at: Steps, random: Random) -> None:
    """Put a part elsewhere: below another map, or at another place of its list."""
    if not at:
        return
    taken = holder.pop(at[-1])
    other = at_path(value, some_place(value, random))
    if isinstance(holder, list):
        holder.insert(random.randint(0, len(holder)), taken)
    elif isinstance(other, dict):
        other[at[-1]] = taken
    elif isinstance(other, list):
        other.append(taken)


def exchange(value: Any, holder: Any, at: Steps, random: Random) -> None:
    """Put the value of another place here; of a place like this one where the die says so."""
    alike = [each for each in places(value) if at and each[-1] == at[-1]]
    other = random.choice(alike) if alike and random.random() < 0.5 else some_place(value, random)
    if at:
        holder[at[-1]] = deepcopy(at_path(value, other))


def graft(value: Any, _: Any, at: Steps, random: Random) -> None:
    """Take a value from another file of the tests, for the same place or for a key that is not here."""
    here = pattern(at)
    above = here.rpartition(".")[0]
    beside = [each for each in known() if each.rpartition(".")[0] == above and not each.endswith("*")]
    chosen = here if (here in known() and random.random() < 0.3) or not beside else random.choice(beside)
    holder = at_path(value, at[:-1])
    if isinstance(holder, dict) and chosen in known():
        holder[chosen.rpartition(".")[2]] = deepcopy(random.choice(known()[chosen]))


def rename(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if isinstance(holder, dict) and at:
        key = str(at[-1])
        names = [*KEYS, misspelt(key, random), key.upper(), f"{key} ", f" {key}", str(random.choice(words()))]
        holder[random.choice(names)] = holder.pop(at[-1])


def nested(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at:
        holder[at[-1]] = random.choice(([holder[at[-1]]], {str(at[-1]): holder[at[-1]]}))


def other_type(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at:
        old = holder[at[-1]]
        holder[at[-1]] = deepcopy(random.choice([*TYPES, str(old), [old], None]))


def boundary(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at:
        old = holder[at[-1]]
        near = [old + 1, old - 1, old * 1000, -old] if isinstance(old, int) and not isinstance(old, bool) else []
        holder[at[-1]] = random.choice(near or BOUNDARIES)


def named_as_another(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at:
        holder[at[-1]] = random.choice(words())


def nasty_text(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at:
        holder[at[-1]] = random.choice([random.choice(WORDS), "".join(random.choices(NASTY, k=random.randint(1, 12)))])


def text_with_a_slip(_: Any, holder: Any, at: Steps, random: Random) -> None:
    if at and isinstance(holder[at[-1]], str):
        holder[at[-1]] = misspelt(holder[at[-1]], random)


def misspelt(text: str, random: Random) -> str:
    cut = random.randint(0, len(text))
    added = random.choice([random.choice(NASTY), random.choice(CONTROLS), random.choice("abcxyz019-./: "), ""])
    return text[:cut] + added + text[cut + random.randint(0, 1) :]


CHANGES: list[Callable[[Any, Any, Steps, Random], None]] = [
    drop, duplicate, move, exchange, graft, graft, graft, rename, nested, other_type, boundary, boundary,
    named_as_another, nasty_text, text_with_a_slip,
]  # fmt: skip


# What happens to bytes


def written(value: Any, random: Random) -> bytes:
    text = f"{inline(value)}\n" if random.random() < 0.2 else emit(value)
    if random.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return text.encode(errors="surrogatepass")


def flip(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) or 1)
    changed = (content[at] ^ (1 << random.randrange(8))) if content else 0
    return content[:at] + bytes([changed]) + content[at + 1 :]


def cut(content: bytes, random: Random) -> bytes:
    start = random.randint(0, len(content))
    return content[:start] + content[start + random.choice((1, 2, 10, 100, len(content))) :]


def insert(content: bytes, random: Random) -> bytes:
    at = random.randint(0, len(content))
    some = [
        random.choice(WORDS),
        random.choice(NASTY),
        random.choice(CONTROLS),
        *"\t\n:-#&*!|>'\"{}[],",
        "---\n",
        "\n...\n",
    ]
    added: bytes = random.choice([*(each.encode(errors="surrogatepass") for each in some), random.randbytes(4)])
    return content[:at] + added + content[at:]


def unquote(content: bytes, random: Random) -> bytes:
    """Take the quotes of a text away: it is then whatever YAML makes of it."""
    quoted = list(re.finditer(rb"(['\"])(.*?)\1", content))
    if not quoted:
        return content
    found = random.choice(quoted)
    return content[: found.start()] + bytes(found[2]) + content[found.end() :]


def double_lines(content: bytes, random: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    start = random.randint(0, len(lines))
    taken = lines[start : start + random.choice((1, 2, 10))]
    at = random.randint(0, len(lines))
    return b"".join([*lines[:at], *taken, *lines[at:]])


def drop_lines(content: bytes, random: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    start = random.randint(0, len(lines))
    return b"".join([*lines[:start], *lines[start + random.choice((1, 2, 10)) :]])


def indent_otherwise(content: bytes, random: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    at = random.randrange(len(lines) or 1)
    return b"".join([*lines[:at], random.choice((b" ", b"  ", b"\t")), *lines[at:]])


BYTES: list[Callable[[bytes, Random], bytes]] = [flip, cut, insert, unquote, double_lines, drop_lines, indent_otherwise]
