"""Whoever runs an operation reads at one place what it does, what it needs and how it is undone."""

import re
from pathlib import Path
from typing import Any

import pytest
from test_docs import DOCS, ROOT, WORDS

from generator.components.static import FOLDER

ABOUT: dict[str, dict[str, str]] = WORDS["operations"]
INDEX = DOCS["operations_index"]
MADE = INDEX.operations()
SAID = ("What it needs", "Undo")

each_operation = pytest.mark.parametrize("name", ABOUT)


def part(page: Path, title: str) -> str:
    """Return what stands below a heading, up to the next one of any level."""
    text = re.sub(
        r"^```.*?^```$", lambda block: block[0].replace("\n#", "\n~"), page.read_text(), flags=re.MULTILINE | re.DOTALL
    )
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page.name} has no section {title}"
    return found[1]


def paragraphs(text: str, said: str, name: str) -> list[str]:
    """Return what a section says of an operation behind bold words: those that name it, else those that name none."""
    found = re.findall(rf"^(?:- )?\*\*{said}\b([^*]*)\*\*\s*(.*?)(?=\n\n|\n- |\Z)", text, re.MULTILINE | re.DOTALL)
    own = [words for names, words in found if f"`{name}`" in names]
    return own or [words for names, words in found if "`" not in names]


def pods(known: dict[str, Any], name: str) -> set[str]:
    """Return the steps with a pod that a step leads to."""
    if "steps" not in known[name]:
        return {name}
    return {pod for group in known[name]["steps"] for one in group for pod in pods(known, one["template"])}


def test_the_table_has_every_template_that_gen_can_render() -> None:
    """Those of all clusters that the tool reads, and those that any file of a component begins."""
    texts = (file.read_text() for file in FOLDER.rglob("*.yaml"))
    begins = re.compile(r"^kind: WorkflowTemplate\nmetadata:\n  name: (\S+)", re.MULTILINE)
    begun = {name for text in texts for name in begins.findall(text)}
    assert len(begun) > 20
    assert begun <= set(ABOUT) == set(MADE)


@each_operation
def test_its_section_says_what_it_does(name: str) -> None:
    """By its name, and by each of its steps; what only reports at its end is told of all."""
    text = part(*INDEX.section(MADE[name]))
    called = re.escape(ABOUT[name].get("as", name).partition(",")[0]).replace("NAME", r"[\w<>-]+")
    assert re.search(rf"\b{called}", text)
    for template in MADE[name]:
        spec = template["spec"]
        known = {one["name"]: one for one in spec["templates"]}
        assert {step for step in pods(known, spec["entrypoint"]) if f"`{step}`" not in text} == set()


@each_operation
@pytest.mark.parametrize("said", SAID)
def test_its_section_says_what_it_needs_and_how_it_is_undone(name: str, said: str) -> None:
    page, title = INDEX.section(MADE[name])
    found = paragraphs(part(page, title), said, name)
    assert found, f"{title} has no paragraph that begins with **{said}"
    assert all(len(words.split()) > 2 for words in found)


def test_a_paragraph_of_another_operation_would_not_do() -> None:
    text = "**Undo of `gpu-care`.** Clear it by hand.\n\n- **What it needs.** A node\n"
    assert paragraphs(text, "Undo", "gpu-care") == ["Clear it by hand."]
    assert paragraphs(text, "Undo", "gpu-drain") == []
    assert paragraphs(text, "What it needs", "gpu-drain") == ["A node\n"]


def test_the_page_says_in_which_namespace_each_operation_runs() -> None:
    text = part(ROOT / "docs/operations.md", "One run by hand")
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    spaces = {one["metadata"]["namespace"] for templates in MADE.values() for one in templates}
    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == spaces
