"""Why a file is not a cluster: every mistake as one finding, in plain words."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from itertools import islice
from typing import Any
from unicodedata import category

from generator.model.finding import Edit, Finding, Path, Position, put, remove, rename
from generator.model.rule import Explained
from generator.spec.document import BESIDE_SPEC, MERGE, Document, printable
from generator.spec.limit import MOST, capped
from generator.spec.moved import MOVED, MOVED_KEY, moved, other_version
from generator.spec.near import did_you_mean, misnamed, near, suggest
from generator.spec.scalars import resolve
from generator.spec.schema import FORMATS
from generator.spec.schema_check import Hook, Mistake, validator, violated
from generator.spec.value_codes import (
    MISSING_KEY,
    OUT_OF_LIMITS,
    UNKNOWN_KEY,
    UNREADABLE_VALUE,
    WRONG_CHOICE,
    WRONG_FORM,
    WRONG_FORMAT,
    WRONG_KIND,
    WRONG_MAP_KEY,
)
from generator.spec.words import (
    either,
    form,
    holds_ipv6,
    kinds,
    named,
    of_kind,
    reason,
    short,
    unquoted,
)

_TRUTH = {**dict.fromkeys(("yes", "on", "y"), "true"), **dict.fromkeys(("no", "off", "n"), "false")}
_HASH = re.compile(r"[^\s:]+:\s+(#[^\s#]+)")
_LIMITS = {
    "minimum": ("must be at least {}", "write {} or more"),
    "maximum": ("must be at most {}", "write {} or less"),
    "maxLength": ("may have at most {} characters", "write it in {} characters"),
    "minItems": ("must list at least {}", "list at least {}"),
}
_SIZES = ("maxLength", "minItems")


def explain(document: Document, text: str, hook: Hook) -> list[Finding]:
    """Return what keeps `document` from being decoded; `text` is msgspec's own complaint (if any), used where the
    schema finds nothing, and `hook` what reads custom types.
    """
    teller = _Teller(document, hook)
    version = other_version(document)
    if version and not version.edits:
        return [version]  # what its keys mean only a newer gen knows
    found = capped(each for mistake in violated(document.value, hook) for each in teller.tell(mistake))
    return found if found or not text else [teller.own_words(text)]


class _Teller:
    """Puts mistakes of one document into words."""

    def __init__(self, document: Document, hook: Hook) -> None:
        self.document = document
        self.hook = hook

    def tell(self, mistake: Mistake) -> Iterator[Finding]:
        """Yield what a mistake is worth: one finding for each key that is missing or not known, else one."""
        match mistake.keyword:
            case "additionalProperties":
                yield from self._unknown(mistake)
            case "required":
                yield from self._missing(mistake)
            case "type":
                yield self._type(mistake)
            case "enum":
                older = other_version(self.document) if mistake.at == ("apiVersion",) else None
                yield older or self._choice(mistake)
            case "format":
                yield self._format(mistake)
            case "pattern":
                # What has a format says it better.
                yield from () if "format" in mistake.schema else [self._pattern(mistake)]
            case _:
                yield self._bound(mistake)

    def own_words(self, text: str) -> Finding:
        """Turn msgspec's complaint into a finding, should the schema ever know less than the types."""
        message, _, where = text.partition(" - at ")
        path = where.strip("`").rpartition("$")[2]
        steps = tuple(int(index) if index else name for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path))
        return self._finding(
            steps, UNREADABLE_VALUE, f"{named(steps)}: {message}", "write a value of the kind it asks for"
        )

    def _finding(  # noqa: PLR0913 - what makes a finding
        self, at: Path, code: Explained, message: str, fix: str, *, key: bool = False, edits: tuple[Edit, ...] = ()
    ) -> Finding:
        inside = _inside_spec(at)
        place: Path | Position = self.document.position(at, key=key) if inside is None else inside
        found = Finding(at=place, message=printable(message), fix=printable(fix), key=key, edits=_reachable(edits))
        return code.complete(found)

    def _valid(self, value: Any, schema: dict[str, Any]) -> bool:
        return bool(validator(self.hook).evolve(schema=schema).is_valid(value))

    def _unknown(self, mistake: Mistake) -> Iterator[Finding]:
        known = mistake.schema.get("properties", {})
        left = [name for name in known if name not in mistake.given]
        others = f"remove it; here may stand: {', '.join(left)}" if left else "remove it"
        for key, free in misnamed(mistake.given, known):
            at, now = (*mistake.at, key), MOVED.get((mistake.schema.get("title", ""), key))
            if now:
                message, fix, edits = moved(self.document, at, now, mistake.given[key])
                yield self._finding(at, MOVED_KEY, message, fix, key=True, edits=edits)
                continue
            meant = near(key, free)
            fix = suggest(key, free, others, "`{}`")
            message = f"`{short(key)}` is not a key of {named(mistake.at)}"
            edits = rename(at, meant) if meant else remove(at)
            yield self._finding(at, UNKNOWN_KEY, message, fix, key=True, edits=edits)

    def _missing(self, mistake: Mistake) -> Iterator[Finding]:
        known = mistake.schema["properties"]
        mistyped = {near(key, free) for key, free in islice(misnamed(mistake.given, known), MOST)}
        for name in mistake.argument if MERGE not in mistake.given else ():
            if name not in mistake.given and name not in mistyped:
                message, choices = f"{named(mistake.at)} has no `{name}`", known[name].get("enum", ())
                edits = put((*mistake.at, name), choices[0]) if len(choices) == 1 else ()
                fix = _addition(name, known[name])
                yield self._finding(mistake.at, MISSING_KEY, message, fix, key=True, edits=edits)

    def _type(self, mistake: Mistake) -> Finding:
        at, given, wanted = mistake.at, mistake.given, mistake.argument
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        if given is None:
            what = "item" if isinstance(at[-1], int) else "key"
            otherwise = "" if mistake.needed else f", or remove the {what}"
            fix = self._in_comment(at) or f"give it {kinds(names)}{otherwise}"
            edits = remove(at) if what == "item" else ()
            return self._finding(at, WRONG_KIND, f"{named(at)} is empty", fix, key=what == "key", edits=edits)
        raw = self.document.raw(at)
        told = unquoted(raw, given) if "string" in names and raw else f", not {of_kind(given)}"
        message = f"{named(at)} must be {kinds(names)}{told}"
        fix, edits = self._proposal(mistake, names, raw) or (_shape(mistake, names), ())
        return self._finding(at, WRONG_KIND, message, fix, edits=edits)

    def _in_comment(self, at: Path) -> str:
        """Say how to write a text that has become a comment: `channel: #alerts`."""
        place = self.document.position(at, key=True)
        found = _HASH.match(self.document.line(place.line), place.column - 1)
        return f'# begins a comment; if it is meant as text, quote it: "{found[1]}"' if found else ""

    def _proposal(self, mistake: Mistake, names: list[str], raw: str | None) -> tuple[str, tuple[Edit, ...]] | None:
        """Return a small change of the value that makes it right, if there is one."""
        at, given = mistake.at, mistake.given
        if "string" in names and raw and self._valid(raw, mistake.schema):
            return f'write "{raw}"', put(at, raw)
        if isinstance(given, str):
            plain = _TRUTH.get(given.lower(), given) if names == ["boolean"] else given
            if self._valid(resolve(plain), mistake.schema):
                without = f"write {plain}, without quotes" if raw != given else f"write {plain}"
                return without, put(at, resolve(plain))
        if isinstance(given, float) and given.is_integer() and self._valid(int(given), mistake.schema):
            return f"write {int(given)}", put(at, int(given))
        if names == ["array"] and raw and self._valid([given], mistake.schema):
            return f"write [{raw}]", put(at, [given])
        return None

    def _choice(self, mistake: Mistake) -> Finding:
        at = mistake.at
        values = {str(value): value for value in mistake.argument}
        choices = list(values)
        fix = f"write `{choices[0]}`" if len(choices) == 1 else f"write one of these: {', '.join(choices)}"
        if mistake.given is None:
            fix = f"write {either(choices)}" + ("" if mistake.needed else ", or remove the key")
            return self._finding(at, WRONG_KIND, f"{named(at)} is empty", fix, key=True)
        given = mistake.given if isinstance(mistake.given, str) else self.document.raw(at)
        shown = of_kind(mistake.given) if given is None else f"`{short(given)}`"
        message = f"{named(at)} cannot be {shown}; it may be {either(choices)}"
        # A number is not mistyped for another that looks like it.
        words = [word for word in choices if isinstance(values[word], str)]
        meant = choices[0] if len(choices) == 1 else near(given or "", words)
        fix = did_you_mean(f"`{meant}`") if meant and len(choices) > 1 else fix
        return self._finding(at, WRONG_CHOICE, message, fix, edits=put(at, values[meant]) if meant else ())

    def _format(self, mistake: Mistake) -> Finding:
        kind, about = next((kind, about) for kind, (name, about) in FORMATS.items() if name == mistake.argument)
        text = str(mistake.given)
        error = next(iter(self._refused(kind, mistake.given)))
        better = next((each for each in _repaired(text) if not self._refused(kind, each)), None)
        message = f"{named(mistake.at)}: {reason(kind, text, error)}"
        edits = put(mistake.at, better) if better else ()
        # Each network has a key for the other family beside it.
        is_other = kind is IPv4Network and holds_ipv6(text)
        beside = f"; an IPv6 network beside it goes into `{mistake.at[-1]}6`" if is_other else ""
        return self._finding(mistake.at, WRONG_FORMAT, message, f"write {better or about}{beside}", edits=edits)

    def _refused(self, kind: type, value: Any) -> list[ValueError]:
        try:
            self.hook(kind, value)
        except ValueError as error:
            return [error]
        return []

    def _pattern(self, mistake: Mistake) -> Finding:
        about = form(mistake.at, mistake.schema)
        what = re.split(r": |, as in", about)[0]
        better = _plain(mistake.given)
        right = (
            bool(better)
            and self._valid(better, mistake.schema)
            and not (mistake.key and self._taken(mistake.at, better))
        )
        fix, change = better if right else about, rename if mistake.key else put
        where = "the key " if mistake.key else f"{named(mistake.at)}: "
        code = WRONG_MAP_KEY if mistake.key else WRONG_FORM
        message = f"{where}`{short(mistake.given)}` is not {what}"
        edits = change(mistake.at, better) if right else ()
        return self._finding(mistake.at, code, message, f"write {fix}", key=mistake.key, edits=edits)

    def _taken(self, at: Path, better: str) -> bool:
        """Tell whether another key has this name already, or is offered it before this one."""
        there = self.document.value
        for step in at[:-1]:
            there = there[step]
        return better in there or next(key for key in there if _plain(str(key)) == better) != at[-1]

    def _bound(self, mistake: Mistake) -> Finding:
        words, fix = (each.format(mistake.argument) for each in _LIMITS[mistake.keyword])
        sized = mistake.keyword in _SIZES
        given = len(mistake.given) if sized else mistake.given
        message = f"{named(mistake.at)} {words}; it {'has' if sized else 'is'} {short(given)}"
        code = WRONG_MAP_KEY if mistake.key else OUT_OF_LIMITS
        edits = put(mistake.at, mistake.argument) if not sized else ()
        return self._finding(mistake.at, code, message, fix, key=mistake.key, edits=edits)


def _plain(name: str) -> str:
    """Return the name that somebody meant who wrote capitals, blanks, `_` or what nobody sees; empty where it may be
    another.
    """
    seen = "".join(each for each in name if category(each) != "Cf")
    return re.sub(r"[ \t_]+", "-", seen.strip().lower()).strip("-.") if seen.isascii() else ""


def _inside_spec(at: Path) -> Path | None:
    """Return a path of the file as findings have it, relative to `spec` but for what stands beside it; None where they
    cannot name it.
    """
    if at[:1] == ("spec",) and len(at) > 1 and at[1] not in BESIDE_SPEC:
        return at[1:]
    return None if at and at[0] not in BESIDE_SPEC else at


def _reachable(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Return edits with paths as findings have them; none where one cannot be named so."""
    inside = [(edit, _inside_spec(edit.at)) for edit in edits]
    found = tuple(Edit(edit.do, at, edit.value) for edit, at in inside if at is not None)
    return found if len(found) == len(edits) else ()


def _addition(name: str, schema: dict[str, Any]) -> str:
    choices = schema.get("enum", ())
    if len(choices) == 1:
        return f"add `{name}: {choices[0]}`"
    about = either(choices) if choices else form((name,), schema)
    return f"add `{name}: ...`" + (f" ({about})" if about and len(about) < 80 else "")


def _shape(mistake: Mistake, names: list[str]) -> str:
    """Say what to write where a value is of another kind altogether."""
    if names == ["array"]:
        return "begin each item with `- `" if mistake.given else "write []"
    if names == ["object"]:
        required = mistake.schema.get("required", ())
        return f"write a map with {', '.join(required)}" if required else "write a map, or {} where it is empty"
    about = form(mistake.at, mistake.schema) if "string" in names else ""
    return f"write {about or kinds(names)}"


def _repaired(text: str) -> Iterator[str]:
    """Yield what may have been meant: the network of an address, an amount without the B of bytes."""
    yield re.sub(r"\s|[bB]$", "", text)
    try:
        yield str(ip_network(text, strict=False)) if "/" in text else ""
    except ValueError:
        return
