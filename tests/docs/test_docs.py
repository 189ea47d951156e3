"""The documentation says what the program does: executed, compared, and complete."""

import ast
import fnmatch
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import cmarkgfm
import pytest
import yaml

from generator.cli import VERBS, cli
from generator.layout.emit import emit
from generator.model.change import Effect
from generator.repository.cluster_files import Loaded, examine
from generator.spec.decode import hook
from generator.spec.schema import schema
from generator.spec.schema_check import validator

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/*.md"))
DOCS = runpy.run_path(str(ROOT / "tools/docs.py"))
WORDS: dict[str, dict[str, Any]] = DOCS["WORDS"]
SECTIONS: dict[str, Any] = schema()["$defs"]
# What a copy needs no more than a fresh clone has.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", ".coverage", "__pycache__", "tests")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


class Block(NamedTuple):
    """A fenced block: `run` when it is marked to be executed."""

    run: bool
    language: str
    text: str


def blocks(text: str) -> list[Block]:
    fenced = re.findall(r"^(<!-- run -->\n)?```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(bool(run), language, body) for run, language, body in fenced]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def section(page: Path, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page.name} has no section {title}"
    return found[1]


# What is generated


@pytest.mark.parametrize("name", ["cluster-file", "findings", "components", "changes", "operations"])
def test_generated_parts_are_up_to_date(name: str) -> None:
    page = ROOT / f"docs/{name}.md"
    assert page.read_text() == DOCS["pages"]()[page], "run `python tools/docs.py`"


def test_pictures_are_up_to_date() -> None:
    drawn = {path: path.read_text() for path in (ROOT / "docs/pictures").iterdir()}
    assert drawn == DOCS["pictures"](), "run `python tools/docs.py`"


def test_every_key_has_words_and_no_words_are_left_over() -> None:
    named = {section: set(keys) for section, keys in WORDS["keys"].items()}
    assert named == {section: set(about["properties"]) for section, about in SECTIONS.items()}


def test_every_key_without_a_section_has_an_example() -> None:
    keys = {(section, key) for section, about in SECTIONS.items() for key in about["properties"]}
    plain = {(section, key) for section, key in keys if "$ref" not in str(SECTIONS[section]["properties"][key])}
    assert plain - set(DOCS["examples"]()) == set()


@pytest.mark.parametrize(("place", "example"), DOCS["examples"]().items(), ids=lambda value: str(value)[:40])
def test_an_example_is_valid(place: tuple[str, str], example: object) -> None:
    name, key = place
    rule = {"$defs": SECTIONS, **SECTIONS[name]["properties"][key]}
    assert [error.message for error in validator(hook).evolve(schema=rule).iter_errors(example)] == []


def test_every_family_of_codes_has_a_title_and_is_in_the_contents() -> None:
    page = (ROOT / "docs/findings.md").read_text()
    families = {code.split("-")[1] for code in re.findall(r"^### (GEN-[A-Z0-9]+-\d{3})$", page, re.MULTILINE)}
    assert families == set(DOCS["SUBJECTS"])
    contents = re.findall(r"^- \[.+\]\(#.+\): `GEN-([A-Z0-9]+)`, \d+ codes?$", page, re.MULTILINE)
    assert sorted(contents) == sorted(families)


# What is written by hand


@pytest.mark.parametrize("name", ["changes", "review"])
def test_effects_are_told_as_the_program_tells_them(name: str) -> None:
    page = (ROOT / f"docs/{name}.md").read_text()
    rows = re.findall(r"^\| `([a-z -]+)`(?:, in words `([a-z ]+)`)? \| (.+) \|$", page, re.MULTILINE)
    approval = {effect: "; needs an approval" if effect.needs_approval else "" for effect in Effect}
    assert [(value, word or value, felt) for value, word, felt in rows if value in {*Effect}] == [
        (effect.value, effect.word, f"{effect.felt}{approval[effect]}") for effect in Effect
    ]


def anchors(page: Path) -> set[str]:
    index = DOCS["operations_index"]
    return {index.anchor(heading) for _, heading in index.headings(page.read_text())}


@each_page
def test_relative_links_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not link.startswith(("http://", "https://")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@each_page
def test_no_words_are_taken_for_tags(page: Path) -> None:
    """As `<cluster>` outside of code, which is not shown at all. Comments of ours are left out as well."""
    text = re.sub("<!-- [^>]* -->", "", page.read_text())
    lost = re.findall(".*raw HTML omitted.*", cmarkgfm.github_flavored_markdown_to_html(text))
    assert lost == []


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words behind `gen` of every command in code."""
    code = [
        *re.findall(r"(?<!`)`(gen [^`\n]+)`", text),
        *(line for it in blocks(text) for line in it.text.splitlines()),
    ]
    for line in code:
        found = re.match(r"(?:\$ |- run: |- |\. )?(?:\S*/)?(gen .*)", line.strip())
        for command in re.split(r"&&|;|\|| #|>", found[1]) if found else ():
            words = command.split()
            if words[:1] == ["gen"] and len(words) > 1:
                yield words[1:]


@each_page
def test_every_command_and_option_exists(page: Path) -> None:
    text = page.read_text()
    known = planned() if page.name == "README.md" else set[str]()
    assert {words[0] for words in commands(text)} <= {*VERBS, *known, "--help"}
    for verb, *rest in commands(text):
        command = cli.get_command(click.Context(cli), verb)
        if isinstance(command, click.Group) and rest:
            assert rest[0] in command.commands, (verb, rest)
            command = command.commands[rest[0]]
        options = {option for parameter in command.params for option in parameter.opts} if command else set()
        assert not command or {word for word in rest if word.startswith("-")} <= {*options, "--help"}, (verb, rest)


def strings(file: Path) -> Iterator[str]:
    """Yield what a module of the program can print: its texts and docstrings, not its comments."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def told(folder: str) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a folder that reach a reader."""
    for file in sorted((ROOT / folder).rglob("*.*")):
        if file.suffix == ".py":
            yield from ((file, text) for text in strings(file))
        elif file.is_file() and file.suffix != ".pyc":
            yield file, file.read_text()


@pytest.mark.parametrize("folder", ["generator", "docs", "base", "clusters", "overlays", "workflows", "schemas"])
def test_no_text_names_a_verb_that_is_not_there(folder: str) -> None:
    """Between backquotes a word behind `gen` is a verb. Elsewhere it may be prose ("gen writes"), but never a verb that
    is still to come. Templates of Zabbix are quoted otherwise.
    """
    quoted, bare = re.compile(r"`gen (\w+)"), re.compile(r"(?<=[\s(])gen (\w+)")
    texts = [*told(folder)]
    assert texts
    wrong = {(file, verb) for file, text in texts for verb in quoted.findall(text) if verb not in VERBS}
    wrong |= {(file, verb) for file, text in texts for verb in bare.findall(text) if verb in planned()}
    assert wrong == set()


def test_every_verb_is_in_the_table() -> None:
    rows = re.findall(r"^\| `gen (\w+)", section(ROOT / "README.md", "Commands"), re.MULTILINE)
    assert set(rows) == set(VERBS)


def planned() -> set[str]:
    """Return the commands that the README promises for later."""
    bullets = re.findall(r"^(?:- |  ).*", section(ROOT / "README.md", "Not there yet"), re.MULTILINE)
    return {verb for bullet in bullets for verb in re.findall(r"`gen (\w+)", bullet)}


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    pinned = [*project["dependencies"], *(each for extra in extras for each in extra if "==" in each)]
    rows = re.findall(r"^\| `([^`]+)` \| \S", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(re.split("[=<>~]", each)[0] for each in pinned)


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"`make ([\w-]+)", page.read_text())) <= targets, page


def test_the_make_targets_are_those_that_make_tells_of() -> None:
    makefile = (ROOT / "Makefile").read_text()
    told = dict(re.findall(r"^\t@echo 'make (\S+) +(.*)'$", makefile, re.MULTILINE))
    table = re.findall(r"^\| `make ([\w-]+)` \| (.*) \|$", section(ROOT / "README.md", "Development"), re.MULTILINE)
    assert dict(table) == told
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert {*phony.split()} == {*told, "help", "clean"}
    assert {*phony.split()} <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))


def test_no_folder_of_tests_is_passed_over(request: pytest.FixtureRequest) -> None:
    """By pytest's own words a folder `build` is none of tests, and nobody is told."""
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")]
    passed_over = request.config.getini("norecursedirs")
    wrong = {path for path in files for part in path.parts for each in passed_over if fnmatch.fnmatch(part, each)}
    assert wrong == set()


def test_the_readme_leads_to_every_page() -> None:
    links = set(re.findall(r"\]\(([\w./-]+)\)", (ROOT / "README.md").read_text()))
    assert {str(page.relative_to(ROOT)) for page in PAGES} - {"README.md"} <= links


def test_hooks_before_a_commit_are_local_and_there() -> None:
    repositories = yaml.load((ROOT / ".pre-commit-config.yaml").read_text(), yaml.CSafeLoader)["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for each in repositories[0]["hooks"]:
        assert (BIN / Path(each["entry"].split()[0]).name).exists()


def spec_blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in blocks(page.read_text()):
            first = re.match(r"(\w+):", block.text)
            if block.language == "yaml" and first and first[1] in SECTIONS["Spec"]["properties"]:
                yield f"{page.name}-{first[1]}", block.text


def merged(ours: Any, theirs: Any) -> Any:
    """Put `theirs` over `ours`: maps key by key, lists of named things by their names."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours | {key: merged(ours.get(key), value) for key, value in theirs.items()}
    if isinstance(ours, list) and all("name" in item for item in [*ours, *theirs]):
        named = {item["name"]: item for item in theirs}
        return [merged(item, named.pop(item["name"], {})) for item in ours] + list(named.values())
    return theirs


def checked(text: str) -> Loaded:
    whole = yaml.load((ROOT / "clusters/ml50/cluster.yaml").read_text(), yaml.CSafeLoader)
    whole["spec"] = merged(whole["spec"], yaml.load(text, yaml.CSafeLoader))
    return examine(emit(whole).encode(), "clusters/ml50/cluster.yaml", "ml50")


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in spec_blocks()])
def test_pieces_of_a_cluster_file_are_right(text: str) -> None:
    found = checked(text)
    assert found.cluster is not None
    assert found.findings == ()


def test_a_wrong_piece_of_a_cluster_file_would_be_found() -> None:
    assert checked("kubernetes: {podCIDR: 10.10.0.0/16}").wrong
    assert checked("nodes: [{name: cpu-28, rak: r1}]").wrong


# What is executed


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A fresh clone with its `.venv` made and its clusters rendered."""
    folder = tmp_path / "gen"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    (folder / ".venv").mkdir()
    (folder / ".venv/bin").symlink_to(BIN)
    (folder / ".venv/.ready").touch()
    shell(folder, "gen render && git init --quiet && git add --all && git commit --quiet --message=all", check=True)
    return folder


def shell(folder: Path, command: str, *, check: bool = False) -> str:
    # A closed port for a proxy: what would reach for the network fails at once.
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    people = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        **people,
        **closed,
    }
    argv = ["bash", "-c", command]
    done = subprocess.run(
        argv, cwd=folder, env=environment, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert not check or done.returncode == 0, done.stdout
    return done.stdout


def plain(text: str) -> list[str]:
    """Return the lines without what differs between machines and from day to day. What was rendered a moment ago is
    rendered again on a quick machine, and need not be on a slow one.
    """
    text = text.replace(", unchanged since the last render", " in 0.00 s")
    text = re.sub(r"\b\d+\.\d+ s\b", "T s", text)
    return [line.rstrip() for line in text.rstrip().splitlines()]


def pattern(line: str) -> str:
    return re.sub(r"\d+(?=\\ unchanged)", r"\\d+", re.escape(line))


def alike(shown: str, said: str) -> bool:
    """Tell whether a program said what is shown; a line `...` stands for any lines. How many files stay as they are
    moves with every component.
    """
    lines = (r"(?:.*\n)*" if line == "..." else f"{pattern(line)}\n" for line in plain(shown))
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in plain(said))) is not None


def dialogues(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block, and what it shows."""
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = piece.partition("\n")
        yield command, shown


@pytest.fixture
def place(page: Path, copy: Path, tmp_path: Path) -> Path:
    """Where a page's commands run: in a clone of gen, or in an empty folder of a user's own."""
    if page.name != "first-cluster.md":
        return copy
    (tmp_path / "lab").mkdir()
    return tmp_path / "lab"


EXECUTED = [page for page in PAGES if "<!-- run -->" in page.read_text()]


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_what_is_shown_is_what_happens(page: Path, place: Path) -> None:
    for block in blocks(page.read_text()):
        if block.run and block.language == "sh":
            shell(place, f"set -euo pipefail\n{block.text}", check=True)
        elif block.run:
            for command, shown in dialogues(block.text):
                said = shell(place, command)
                assert alike(shown, said), f"$ {command}\n{said}"


def test_another_answer_would_be_found() -> None:
    assert alike("a\n...\nd in 0.10 s\n", "a\nb\nc\nd in 0.22 s\n")
    assert alike("ml50: 3 components in 0.10 s\n", "ml50: 3 components, unchanged since the last render\n")
    assert not alike("a\n...\nd\n", "a\nb\nc\n")
    assert not alike("1 changed\n", "2 changed\n")
    assert not alike("", "an error\n")


def test_pages_with_marks_have_blocks_behind_them() -> None:
    assert {page.name for page in EXECUTED} >= {"README.md", "first-cluster.md", "layout.md", "operations.md"}
    for page in EXECUTED:
        assert page.read_text().count("<!-- run -->") == sum(block.run for block in blocks(page.read_text()))
