"""What exporters answer, as series for Prometheus' own test program: each value at its minute, with the labels that the
target gives. The forms are those of the programs' sources.
"""

import json
import re
from collections.abc import Iterable, Mapping

LINE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
ESCAPED = re.compile(r'\\([\\"n])')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def scraped(target: Mapping[str, str], *answers: tuple[str, int], honored: bool = False) -> dict[str, str]:
    """Return the series of answers that came for so many minutes each, one after the other. What an answer lacks is
    marked as gone. A label that the target has as well is called `exported_...`, unless it is `honored`.
    """
    found: dict[str, str] = {}
    before = 0
    for text, minutes in answers:
        now = _samples(text, target, honored=honored)
        for name in found.keys() | now.keys():
            gone = f"stale {'_ ' * (minutes - 1)}" if name in found else ""
            told = f"{now[name]}x{minutes - 1} " if name in now else gone
            found[name] = found.get(name, "_ " * before) + told
        before += minutes
    return {name: values.strip() for name, values in found.items()}


def _samples(text: str, target: Mapping[str, str], *, honored: bool) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            parts = LINE.fullmatch(line)
            assert parts, line
            labels = dict(_labels(LABEL.findall(parts["labels"] or ""), target, honored=honored))
            written = ",".join(f"{name}={json.dumps(value)}" for name, value in {**target, **labels}.items())
            found[f"{parts['name']}{{{written}}}"] = parts["value"]
    return found


def _labels(told: Iterable[tuple[str, str]], target: Mapping[str, str], *, honored: bool) -> Iterable[tuple[str, str]]:
    for name, value in told:
        yield (name if honored or name not in target else f"exported_{name}"), ESCAPED.sub(_meant, value)


def _meant(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
