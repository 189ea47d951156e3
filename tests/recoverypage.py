"""The page on the way back of a lost site, taken apart: its steps, the cases that they belong to, their commands."""

import re
from typing import NamedTuple

from generator.components.kubeadm.recovery import recovery_files
from generator.model.cluster import Cluster

_STEP = re.compile(r"^## (\d+)\. (.*?)(?: \(([A-D, ]+)\))?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```sh\n(.*?)```", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    """A step: its number, the letters of its cases, its text and the commands in it."""

    number: int
    cases: str
    text: str
    blocks: list[str]


def page(cluster: Cluster) -> str:
    """Return the page."""
    return str({str(path): text for path, text in recovery_files(cluster).items()}["recovery/README.md"])


def steps(cluster: Cluster) -> dict[str, Step]:
    """Return its steps by their titles, in their order."""
    return {
        title: Step(int(number), cases.replace(", ", ""), text, _BLOCK.findall(text))
        for number, title, cases, text in _STEP.findall(page(cluster))
    }


def listed(cluster: Cluster) -> dict[str, list[int]]:
    """Return the numbers of the steps that the page's table names, by case."""
    rows = re.findall(r"^\| ([A-D]) \|.*\| ([0-9, ]+) \|$", page(cluster), re.MULTILINE)
    return {letter: [int(number) for number in numbers.split(", ")] for letter, numbers in rows}
