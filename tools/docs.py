#!/usr/bin/env python3
"""Write the generated parts of `docs/`, and both copies of the schema: `python tools/docs.py`.

They come from the types of the cluster file, the rules, the components of the reference clusters, and `docs/words.yaml`
for what none of these says. A test holds the pages equal to what this writes.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import msgspec
import yaml
from msgspec import structs

from generator import model
from generator.cli.explain import explanations
from generator.components import CATALOGUE, compose
from generator.components.component import Component, Secret
from generator.components.definition import Evidence
from generator.model.change import ChangeRule
from generator.model.plural import plural
from generator.model.rule import Explained
from generator.repository.cluster_files import load
from generator.review.html_report import quota, waves_of
from generator.review.page import alone
from generator.review.pictures.bars import parts
from generator.review.pictures.leaves import ports
from generator.review.pictures.racks import nodes as rack_nodes
from generator.review.state import State
from generator.review.words import change_of, effect_of, kind_name, known_rules
from generator.spec.schema import schema
from generator.spec.schema import text as schema_text

sys.path.append(str(Path(__file__).resolve().parent))  # tests read this file, and do not run it
import operations_index

ROOT = Path(__file__).resolve().parent.parent
WORDS: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docs/words.yaml").read_text(encoding="utf-8"))
SECTIONS: dict[str, dict[str, Any]] = schema()["$defs"]
REFERENCES = ("ml50", "a30-bench", "gpu-serving")  # where a key's example is looked for first
MODULES = [import_module(f"{model.__name__}.{one.name}") for one in iter_modules(model.__path__)]
SUBJECTS = {
    "YAML": "The file as YAML",
    "SCHEMA": "Keys and values",
    "REPO": "The file's place",
    "K8S": "Kubernetes and components",
    "COMP": "Settings of components",
    "NET": "Networks",
    "NODE": "Nodes and pools",
    "FAB": "The fabric",
    "DISK": "Disks",
    "CEPH": "Ceph",
    "OBJ": "MinIO and its buckets",
    "SCR": "Scratch on nodes",
    "DATA": "Datasets",
    "NFS": "NFS",
    "BKP": "Backups",
    "TEAM": "Teams and quotas",
    "FRM": "Frameworks",
    "ACC": "Acceptance of pools",
    "MLP": "Benchmarks",
    "SCALE": "Machines by Cluster API",
    "MON": "Monitoring",
    "SITE": "The site",
    "WIN": "Times of changes",
    "EXT": "Components of your own",
    "FLEET": "Between clusters",
    "FILE": "Manifests as files",
    "BUILD": "Overlays as Kustomize builds them",
    "VEND": "What is vendored",
    "API": "Objects: kinds and fields",
    "REF": "Objects: what they name",
    "SEL": "Objects: selectors and ports",
    "ARGO": "Objects: Argo CD",
    "POD": "Objects: pods",
    "PDB": "Objects: disruption budgets",
    "IMG": "Objects: images",
    "SEC": "Objects: Secrets",
    "QUEUE": "Objects: queues and gangs",
    "ROUTE": "Objects: routes of teams",
    "JOB": "Objects: jobs of several pods",
    "HPA": "Objects: autoscalers",
    "VOL": "Objects: volumes",
    "SRV": "Objects: what an API server says",
    "WAIVER": "Waivers",
}


def pages() -> dict[Path, str]:
    """Return each page that has generated parts, as it should be."""
    parts = {
        "cluster-file": cluster_file,
        "findings": findings,
        "components": components,
        "changes": changes,
        "operations": operations,
    }
    return {ROOT / f"docs/{name}.md": _fill(ROOT / f"docs/{name}.md", make()) for name, make in parts.items()}


def schemas() -> dict[Path, str]:
    """Return the schema at both its places: in the program, and where `gen render` puts it for editors."""
    return dict.fromkeys(
        (ROOT / f"{place}/cluster.schema.json" for place in ("generator/spec", "schemas")), schema_text().decode()
    )


def _fill(page: Path, part: str) -> str:
    text = page.read_text(encoding="utf-8")
    between = re.compile("(<!-- generated.*? -->\n).*(<!-- /generated -->)", re.DOTALL)
    return between.sub(lambda found: f"{found[1]}\n{part}\n{found[2]}", text)


# The cluster file


def cluster_file() -> str:
    """Return a section for each part of the cluster file, with a table of its keys."""
    found = examples()
    return "\n\n".join(_section(name, paths, found) for name, paths in _places().items())


def _places() -> dict[str, list[str]]:
    """Return every section and where it stands, in the order of the file; what lies below it once only."""
    found: dict[str, list[str]] = {}

    def visit(name: str, path: str) -> None:
        found.setdefault(name, []).append(path)
        if len(found[name]) == 1:
            for key, value in SECTIONS[name]["properties"].items():
                for below, end in _below(value):
                    visit(below, f"{path}.{key}{end}".removeprefix(".").removeprefix("spec."))

    visit("ClusterFile", "")
    return found


def _below(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the section that a value is, or holds, and how its path goes on."""
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2], ""
    elif value.get("type") == "array":
        yield from ((name, f"[]{end}") for name, end in _below(value["items"]))
    elif isinstance(value.get("additionalProperties"), dict):
        yield from ((name, f".NAME{end}") for name, end in _below(value["additionalProperties"]))


def _section(name: str, paths: list[str], found: dict[tuple[str, str], Any]) -> str:
    about = SECTIONS[name]
    heading = f"`{paths[0]}`" if paths[0] else "The file"
    also = f"\n\nAlso at {', '.join(f'`{path}`' for path in paths[1:])}." if paths[1:] else ""
    rows = [_row(name, key, value, found.get((name, key))) for key, value in about["properties"].items()]
    table = ["| key | value | default | meaning | example |", "|---|---|---|---|---|", *rows]
    return f"## {heading}\n\n{about['description']}{also}\n\n" + "\n".join(table)


def _row(name: str, key: str, value: dict[str, Any], example: Any) -> str:
    shown = "" if example is None else f"`{_flow(example)}`"
    cells = (f"`{key}`", _kind(value), _default(name, key), WORDS["keys"][name][key], shown)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in (cell.replace("|", "\\|") for cell in cells)) + "|"


def _kind(value: dict[str, Any]) -> str:
    """Say what a value is, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        heading = _places()[name][0]
        return f"[{heading}](#{re.sub(r'[^a-z0-9-]', '', heading.lower())})"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "description" in value:
        return str(value["description"])
    if value["type"] == "array":
        return f"list: {_kind(value['items'])}"
    if value["type"] == "object":
        inner = value.get("additionalProperties")
        return f"map: {_kind(inner)}" if isinstance(inner, dict) and inner else "map"
    return {"boolean": "`true`, `false`", "string": "text"}.get(value["type"]) or _number(value)


def _number(value: dict[str, Any]) -> str:
    kind = "whole number" if value["type"] == "integer" else "number"
    most = value.get("maximum", 2**31)
    return f"{kind} from {value['minimum']}" + (f" to {most}" if most < 2**31 - 1 else "")


def _default(name: str, key: str) -> str:
    kind = next(vars(module)[name] for module in MODULES if name in vars(module))
    field = next(field for field in structs.fields(kind) if field.encode_name == key)
    if field.required:
        return "**required**"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    plain = msgspec.to_builtins(value, enc_hook=str)
    # A section's own defaults stand in its own table.
    return "" if plain is None or (plain == {} or isinstance(value, msgspec.Struct)) else f"`{_flow(plain)}`"


def examples() -> dict[tuple[str, str], Any]:
    """Return an example for the keys that hold no section, by section and key: from the words, else from the
    reference clusters.
    """
    found = {(name, key): value for name, keys in WORDS["examples"].items() for key, value in keys.items()}
    for reference in REFERENCES:
        file = ROOT / f"clusters/{reference}/cluster.yaml"
        if file.exists():
            _collect("ClusterFile", yaml.safe_load(file.read_text(encoding="utf-8")), found)
    return found


def _collect(name: str, content: dict[str, Any], found: dict[tuple[str, str], Any]) -> None:
    for key, value in content.items():
        below = list(_below(SECTIONS[name]["properties"][key]))
        if not below and value not in ([], {}):
            found.setdefault((name, key), value)
        for section, end in below:
            items = {"[]": value, ".NAME": value.values() if isinstance(value, dict) else ()}.get(end, (value,))
            for item in items:
                _collect(section, item, found)


def _flow(value: Any) -> str:
    """Write a value as it can stand on one line of a cluster file."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    # What a person would write without quotes, less what reads as a number or nearly so.
    plain = re.fullmatch(r"[\w/.][\w/.:@%+-]*", value) and not re.fullmatch(r"\d+(\.\d+){0,2}|true|false", value)
    return value if plain and yaml.safe_load(value) == value else json.dumps(value)


# Findings


def findings() -> str:
    """Return all codes by subject, and what `gen explain` tells of each."""
    known = explanations()
    subjects = dict.fromkeys(code.split("-")[1] for code in known)
    by_subject = {name: [it for it in known.values() if f"-{name}-" in it.code] for name in subjects}
    return "\n\n".join([_contents(by_subject), *(_subject(name, codes) for name, codes in by_subject.items())])


def _contents(by_subject: dict[str, list[Explained]]) -> str:
    titles = {name: SUBJECTS.get(name, name) for name in by_subject}
    return "\n".join(
        f"- [{title}](#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}): "
        f"`GEN-{name}`, {plural(len(by_subject[name]), 'code')}"
        for name, title in titles.items()
    )


def _subject(name: str, codes: list[Explained]) -> str:
    rows = [f"| [{it.code}](#{it.code.lower()}) | {it.severity} | {_text(it.title)} |" for it in codes]
    table = "\n".join(["| code | severity | what must hold |", "|---|---|---|", *rows])
    return "\n\n".join([f"## {SUBJECTS.get(name, name)}", table, *map(_explained, codes)])


def _explained(it: Explained) -> str:
    examples = [
        f"{title}:\n```text\n{text.rstrip()}\n```" for title, text in (("Wrong", it.wrong), ("Right", it.right)) if text
    ]
    return "\n\n".join([f"### {it.code}", f"{_text(it.title)} ({it.severity}). {_text(it.why)}", *examples])


def _text(text: str) -> str:
    """Return words as Markdown: what is code stays, all else is no markup."""
    parts = re.split("(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*|])", r"\\\1", part) for part in parts)


# Changes


def changes() -> str:
    """Return what changes mean, kind by kind."""
    kinds: dict[str, list[ChangeRule]] = {}
    for rule in known_rules().values():
        for kind in rule.kinds:
            kinds.setdefault(kind, []).append(rule)
    # What holds for every kind comes first.
    order = sorted(kinds, key=lambda kind: (kind_name(kind) != "Every kind", kind_name(kind), kind))
    return "\n\n".join(_kind_of_changes(kind, kinds[kind]) for kind in order)


def _kind_of_changes(kind: str, found: list[ChangeRule]) -> str:
    group = kind.rpartition("/")[0]
    rows = [f"| {it.code} | {_cell(change_of(it))} | {effect_of(it)} | {_cell(_why(it))} |" for it in found]
    table = "\n".join(["| code | what changes | class | why |", "|---|---|---|---|", *rows])
    return "\n\n".join(filter(None, [f"## {kind_name(kind)}", f"`{group}`" if group else "", table]))


def _why(rule: ChangeRule) -> str:
    return f"{rule.reason}. Instead: {rule.instead}" if rule.instead else rule.reason


def _cell(text: str) -> str:
    """Return words as a cell of a table, which a bar ends in code as well."""
    return re.sub(r"(?<!\\)\|", r"\\|", _text(text))


# Components


def components() -> str:
    """Return what each component of the reference clusters installs, in the order of the catalogue."""
    made = {one.name: compose(one.cluster) for one in load(ROOT) if one.cluster}
    found: dict[str, dict[str, Component]] = {}
    for reference, composed in made.items():
        for component in composed:
            found.setdefault(component.name, {})[reference] = component
    order = list(CATALOGUE)
    absent = [f"`{name}`" for name in order if name not in found]
    parts = [_component(name, found[name]) for name in order if name in found]
    return "\n\n".join([*parts, f"On no reference cluster: {', '.join(absent)}."] if absent else parts)


def _component(name: str, by_cluster: dict[str, Component]) -> str:
    alike = list(by_cluster.values())
    first = alike[0]
    known = next(iter(CATALOGUE[name].known), None)
    proven = f" (the real program was run at {known.proven})" if known and known.proven else ""
    sources = _union(f"chart `{it.chart.name}` {it.chart.version}" for one in alike for it in one.releases)
    sources += _union(f"manifest <{it}>" for one in alike for it in one.manifests)
    spaces = _union(f"`{it.name}` ({it.security or 'not ours'})" for one in alike for it in one.namespaces)
    lines = {
        "On": ", ".join(by_cluster),
        "Version": f"{first.version}{proven}",
        "Also known": ", ".join(one.version for one in CATALOGUE[name].known[1:]),
        "Tier": str(first.tier),
        "Installs": ", ".join(sources) or "objects of our own",
        "Namespaces": ", ".join(spaces),
        "Needs": ", ".join(_union(f"`{need}`" for one in alike for need in one.needs)),
        "Shown in a running cluster by": ", ".join(_evidence(CATALOGUE[name].shown_by)),
    }
    listed = "\n".join(f"- {title}: {text}" for title, text in lines.items() if text)
    parts = [f"## {name}", f"{first.summary}.", listed, _secrets(alike), CATALOGUE[name].notes]
    return "\n\n".join(part for part in parts if part)


def _evidence(shown: Evidence) -> Iterator[str]:
    yield from (f"an image `.../{each.removeprefix('/')}`" for each in shown.images)
    for each in shown.objects:
        kind = f"`{each.plural}.{each.group}`".replace(".`", "`")
        yield f"{kind} with label `{each.labels}`" if each.labels else kind
    yield from (f"the API group `{each}`" for each in shown.definitions)


def _union(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _secrets(alike: list[Component]) -> str:
    rows = _union(_secret(it) for one in alike for it in one.secrets)
    return "\n".join(["| Secret | keys | source | its loss |", "|---|---|---|---|", *rows]) if rows else ""


def _secret(it: Secret) -> str:
    keys = ", ".join(f"`{key}`" for key in it.keys)
    return f"| `{it.namespace}/{it.name}` | {keys} | {it.source} | {it.loss} |"


# Operations


def operations() -> str:
    """Return what operations there are, and the page's sections."""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    return operations_index.index(page, operations_index.operations(), WORDS["operations"])


# Pictures


def pictures() -> dict[Path, str]:
    """Return pictures of a reference cluster, as `gen report` draws them."""
    (state,) = (
        State(cluster=one.cluster, components=compose(one.cluster)) for one in load(ROOT, ["ml50"]) if one.cluster
    )
    drawn = {
        "rack": rack_nodes(state.racks[0]),
        "leaf": ports(state.leaves[0]),
        "quota": parts(quota(state.shared[0])),
        "waves": waves_of(state),
    }
    return {ROOT / f"docs/pictures/{name}.svg": alone(each) for name, each in drawn.items()}


def main() -> None:
    """Write the pages, pictures and schemas that are not as they should be."""
    for path, text in (pages() | pictures() | schemas()).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
