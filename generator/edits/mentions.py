"""Where a cluster file names a node outside of its own line."""

import re
from collections.abc import Iterator
from typing import Any

from generator.errors import UsageError
from generator.model.finding import Path, dotted
from generator.model.nodes import Machine
from generator.spec.document import Document

# Pools, racks, switches and teams have names of their own, which may be a node's as well.
_NO_NODES = frozenset({"nodes", "pools", "teams", "fabric"})


def refuse_mentioned(document: Document, machine: Machine, *, address: bool = True) -> None:
    """Raise UsageError if a value of the file names the node, or one of its addresses, outside of `nodes`."""
    words = [machine.name, *(addresses_of(machine) if address else ())]
    for at, text in _texts(document.value.get("spec", {}), ("spec",)):
        word = next((word for word in words if names_word(text, word)), None)
        if word is not None and word not in document.value["spec"].get("pools", {}):
            named = word == machine.name
            what = word if named else f"{machine.name}'s address {word}"
            fix = "" if named else f", or `gen node replace {machine.name} NEW`, which keeps the addresses"
            line = document.position(at).line
            raise UsageError(f"{what} is named in line {line} ({dotted(at[1:])}): change that first{fix}")


def addresses_of(machine: Machine) -> list[str]:
    """Return a node's addresses, of both families and in all networks."""
    own = (machine.address, machine.address6, *machine.addresses.values())
    return [str(address) for address in own if address]


def _texts(value: Any, at: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if len(at) > 1 or key not in _NO_NODES:
                yield from _texts(each, (*at, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _texts(each, (*at, index))
    elif isinstance(value, str):
        yield at, value


def names_word(text: str, word: str) -> bool:
    """Tell whether a text names a node, or an address, and not one that is only longer."""
    sign = r"[\w:-]" if ":" in word else r"[\w-]"
    return word in text and re.search(rf"(?<!{sign}){re.escape(word)}(?!{sign}|\.\d)", text) is not None
