"""Zabbix's export format 6.0, which 6.0, 7.0 and 8.0 read: small makers for its parts.

In expressions and references `@` stands for the template; `template` puts its name there and gives every part its id.
Values that are Zabbix's defaults are left out, as its own export does: a comparison would show them as changes.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from generator.components.component import Manifest

VERSION = "6.0"
GROUP = "Templates/gen"
COLOURS = ("1A7C11", "F63100", "2774A4", "A54F10", "FC6EA3", "6C59DC")
GRID = 24
PARTS = {
    "items": "item",
    "item_prototypes": "item",
    "triggers": "trigger",
    "trigger_prototypes": "trigger",
    "graph_prototypes": "graph",
    "discovery_rules": "rule",
    "dashboards": "dashboard",
}


def identity(*seed: str) -> str:
    """Return the id that Zabbix wants: a UUID of version 4, always the same for the same words."""
    from hashlib import md5  # noqa: PLC0415 - it loads OpenSSL, which checking a cluster need not wait for

    digits = md5("\n".join(seed).encode(), usedforsecurity=False).hexdigest()
    # uuid.UUID would do the same, in a thirtieth of the time of a whole render.
    return f"{digits[:12]}4{digits[13:16]}{'89ab'[int(digits[16], 16) % 4]}{digits[17:]}"


def document(**parts: list[Manifest]) -> str:
    """Return an export file."""
    return msgspec.json.encode({"zabbix_export": {"version": VERSION, **parts}}).decode()


def template(name: str, description: str, *, macros: dict[str, str] | None = None, **parts: list[Manifest]) -> Manifest:
    """Return a template whose parts carry ids and its name. `triggers` are those over several items: in a file
    they stand beside the templates.
    """
    made: Manifest = {
        "template": name,
        "name": name,
        "description": description,
        "groups": [{"name": GROUP}],
        # Zabbix gives them back in the order of their names, without the braces: another one would be a difference.
        "macros": [_macro(name, value) for name, value in sorted((macros or {}).items(), key=_name)],
        **parts,
    }
    made["uuid"] = identity("template", name)
    stamped: Manifest = _stamp(made, name)
    return stamped


def _name(macro: tuple[str, str]) -> str:
    return macro[0].strip("{}")


def _macro(name: str, value: str) -> Manifest:
    return {"macro": name, "value": value} if value else {"macro": name}


def _stamp(part: Any, name: str) -> Any:
    if isinstance(part, str):
        return part.replace("/@/", f"/{name}/") if "/@/" in part else name if part == "@" else part
    if isinstance(part, list):
        return [_stamp(one, name) for one in part]
    made = {key: _stamp(value, name) for key, value in part.items()}
    for key, kind in PARTS.items():
        for one in made.get(key, ()):
            one["uuid"] = identity(kind, name, one.get("key") or one["name"])
    return made


def item(key: str, name: str, **more: Any) -> Manifest:
    """Return an item that the node's agent sends once a minute: a number with a fraction, unless told."""
    return {"type": "ZABBIX_ACTIVE", "key": key, "name": name, "value_type": "FLOAT", **more}


def integer(made: Manifest) -> Manifest:
    """Return an item that holds a whole number, which is Zabbix's default."""
    return {name: value for name, value in made.items() if name != "value_type"}


def http(key: str, name: str, url: str, **more: Any) -> Manifest:
    """Return an item that the proxy reads by HTTP: raw text that is not kept."""
    return {**raw(key, name), "type": "HTTP_AGENT", "url": url, "timeout": "15s", **more}


def raw(key: str, name: str) -> Manifest:
    """Return an agent's item that only others are made from."""
    return {**item(key, name), "value_type": "TEXT", "history": "0", "trends": "0"}


def text(made: Manifest) -> Manifest:
    """Return an item that holds a word."""
    return {**made, "value_type": "CHAR", "trends": "0"}


def dependent(master: str, key: str, name: str, *steps: Manifest, **more: Any) -> Manifest:
    """Return an item made from another by steps."""
    return {
        "type": "DEPENDENT",
        "key": key,
        "name": name,
        "value_type": "FLOAT",
        "delay": "0",
        "master_item": {"key": master},
        "preprocessing": list(steps),
        **{name: value for name, value in more.items() if value},
    }


def step(kind: str, *parameters: str, **more: str) -> Manifest:
    """Return one step of preprocessing."""
    return {"type": kind, "parameters": list(parameters) or [""], **more}


def prometheus(pattern: str, function: str = "") -> Manifest:
    """Take one sample of Prometheus' text, or a function of all that match. Without a match nothing is stored:
    exporters leave out what a device does not have.
    """
    how = ("function", function) if function else ("value", "")
    return step("PROMETHEUS_PATTERN", pattern, *how, error_handler="DISCARD_VALUE")


def maximum(pattern: str) -> Manifest:
    """Take the highest of the samples that match: a GPU in instances is reported once for each."""
    return prometheus(pattern, "max")


def calculated(key: str, name: str, formula: str, **more: Any) -> Manifest:
    """Return an item that the server calculates."""
    return {"type": "CALCULATED", "key": key, "name": name, "value_type": "FLOAT", "params": formula, **more}


def share(key: str, name: str, formula: str, **more: Any) -> Manifest:
    """Return a percentage calculated from other items."""
    return calculated(key, name, formula, units="%", **more)


def trigger(name: str, expression: str, priority: str, **more: Any) -> Manifest:
    """Return a trigger; where a part of a host fails alone, Zabbix tells the host's name beside it."""
    return {"name": name, "expression": expression, "priority": priority, **more}


def lld(**macros: str) -> list[Manifest]:
    """Return where each found thing's macros stand."""
    return [{"lld_macro": f"{{#{name}}}", "path": path} for name, path in macros.items()]


def condition(macro: str, value: str, letter: str, **more: str) -> Manifest:
    """Return a condition of a discovery's filter. Zabbix gives the letters in the order of the macros' names."""
    return {"macro": macro, "value": value, **more, "formulaid": letter}


def discovery(key: str, name: str, *, master: str = "", steps: Iterable[Manifest] = (), **parts: Any) -> Manifest:
    """Return a discovery rule: what is gone for a week is forgotten."""
    source = (
        {"type": "DEPENDENT", "delay": "0", "master_item": {"key": master}} if master else {"type": "ZABBIX_ACTIVE"}
    )
    found = {"preprocessing": list(steps)} if steps else {}
    return {"key": key, "name": name, "lifetime": "7d", **source, **found, **parts}


def graph(name: str, *keys: str) -> Manifest:
    """Return a graph of items of the same template."""
    lines = [
        {
            **({"sortorder": str(number)} if number else {}),
            "color": COLOURS[number],
            "item": {"host": "@", "key": key},
        }
        for number, key in enumerate(keys)
    ]
    return {"name": name, "graph_items": lines}


def dashboard(name: str, *graphs: str) -> Manifest:
    """Return a host's dashboard: for each graph prototype a row, with as many graphs as there are things."""
    widgets = [
        {
            "type": "GRAPH_PROTOTYPE",
            **({"y": str(6 * row)} if row else {}),
            "width": str(GRID),
            "height": "6",
            "fields": [
                {"type": "INTEGER", "name": "columns", "value": "4"},
                {"type": "GRAPH_PROTOTYPE", "name": "graphid", "value": {"name": one, "host": "@"}},
            ],
        }
        for row, one in enumerate(graphs)
    ]
    return {"name": name, "pages": [{"widgets": widgets}]}
