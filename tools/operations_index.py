"""The table at the top of `docs/operations.md`: each operation that gen can render, with its section, its locks, how
long it may take, and how it is undone; below it the page's sections.

Sections, locks and deadlines come from the WorkflowTemplates of the reference clusters and of the tests' valid cluster
files, which have what no reference cluster has; all else from `docs/words.yaml`.
"""
# ruff: noqa: INP001 - lies beside the script

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from generator.components.component import Manifest
from generator.components.reports.described import DESCRIPTION
from generator.day2.workflows.operations import templates
from generator.model.cluster import Cluster
from generator.model.plural import plural
from generator.repository.cluster_files import examine, load

ROOT = Path(__file__).resolve().parent.parent
BY_LABEL = ("restore", "volume-restore")
"""Operations whose templates are named after a backup: the label tells which they are."""
HOUR = 3600
PARAMETER = re.compile(r"\{\{(?:workflow|inputs)\.parameters\.([\w-]+)\}\}")


def index(page: str, found: dict[str, list[Manifest]], words: dict[str, dict[str, str]]) -> str:
    """Return the table of the operations, in the order of the words, and the contents of the page. Raises KeyError for
    an operation without words, and for words without an operation.
    """
    if unknown := found.keys() ^ words.keys():
        raise KeyError(f"docs/words.yaml, operations: {', '.join(sorted(unknown))} in one place alone")
    rows = [_row(one, about, found[one]) for one, about in words.items()]
    head = ["| operation | section | works | ends after | holds | undo |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n\n" + "\n".join(_contents(page))


def operations() -> dict[str, list[Manifest]]:
    """Return the templates of each operation, one for each cluster that has it."""
    found: dict[str, list[Manifest]] = {}
    for cluster in clusters():
        for template in templates(cluster):
            found.setdefault(operation(template), []).append(template)
    return found


def operation(template: Manifest) -> str:
    """Return the operation that a template is of."""
    metadata = template["metadata"]
    label = metadata["labels"]["app.kubernetes.io/name"]
    return str(label if label in BY_LABEL else metadata["name"])


def clusters() -> Iterator[Cluster]:
    """Yield the reference clusters, and those of the tests' valid files."""
    yield from (one.cluster for one in load(ROOT) if one.cluster)
    for file in sorted((ROOT / "tests/wrong/valid").glob("*.yaml")):
        content = file.read_bytes()
        name = yaml.load(content, yaml.CSafeLoader)["metadata"]["name"]
        if cluster := examine(content, f"clusters/{name}/cluster.yaml", name).cluster:
            yield cluster


def anchor(heading: str) -> str:
    """Return where a heading is found by links."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def headings(text: str) -> list[tuple[str, str]]:
    """Return the headings of a page, each with its `#` signs."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^(#+) (.+)$", plain, re.MULTILINE)


def section(made: list[Manifest]) -> tuple[Path, str]:
    """Return the page and heading that an operation's description ends with. Raises KeyError where there is none."""
    (told,) = {one["metadata"]["annotations"][DESCRIPTION].split()[-1] for one in made}
    file, _, place = told.partition("#")
    page = ROOT / file
    return page, {anchor(one): one for _, one in headings(page.read_text(encoding="utf-8"))}[place]


def _row(name: str, about: dict[str, str], made: list[Manifest]) -> str:
    (deadline,) = {int(one["spec"]["activeDeadlineSeconds"]) for one in made}
    called, comma, rest = about.get("as", name).partition(",")
    page, heading = section(made)
    link = f"[{heading}]({'' if page.name == 'operations.md' else page.name}#{anchor(heading)})"
    cells = (f"`{called}`{comma}{rest}", link, about["takes"], lasting(deadline), _held(made), about["undo"])
    return f"| {' | '.join(cells)} |"


def lasting(seconds: int) -> str:
    """Return a time in hours, in days from two of them on, in whole weeks where it is one or more."""
    days, hours = divmod(seconds // HOUR, 24)
    if days < 2:
        return f"{seconds // HOUR} h"
    if days % 7 or hours:
        return f"{plural(days, 'day')}{f' {hours} h' if hours else ''}"
    return plural(days // 7, "week")


def _held(made: list[Manifest]) -> str:
    """Return the locks of a run; behind them those that not all clusters' templates have, and those of single steps."""
    of_each = [list(locks(one["spec"])) for one in made]
    every = list(dict.fromkeys(lock for one in of_each for lock in one))
    always = [lock for lock in every if all(lock in one for one in of_each)]
    sometimes = [f"{lock} (some of them)" for lock in every if lock not in always]
    of_steps: dict[str, dict[str, None]] = {}
    for step in (step for one in made for step in one["spec"]["templates"]):
        for lock in locks(step):
            of_steps.setdefault(lock, {})[f"`{step['name']}`"] = None
    in_steps = [f"{lock} (in {', '.join(steps)})" for lock, steps in of_steps.items()]
    return ", ".join([*always, *sometimes, *in_steps])


def locks(spec: dict[str, Any]) -> Iterator[str]:
    """Yield the locks of a workflow or of a step, with its parameters in capitals."""
    held = spec.get("synchronization", {})
    yield from (f"`{_said(one['name'])}`" for one in held.get("mutexes", ()))
    yield from (f"a turn of `{one['configMapKeyRef']['name']}`" for one in held.get("semaphores", ()))


def _said(name: str) -> str:
    return PARAMETER.sub(lambda found: found[1].upper(), name)


def _contents(page: str) -> Iterable[str]:
    """Yield a line for each section of the page, with those below it."""
    lines: list[str] = []
    for level, heading in headings(page):
        link = f"[{heading}](#{anchor(heading)})"
        if level == "##":
            lines.append(f"- {link}")
        elif level == "###":
            lines[-1] += f"{', ' if lines[-1].count('](') > 1 else ': '}{link}"
    return lines
