"""Plain words for values: what they are, what they should look like, and why they do not."""

import json
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Interface, IPv6Network
from typing import Any

from generator.model.finding import Path, dotted
from generator.model.text import AddressRange
from generator.spec.schema import FORMATS

_KINDS = {
    "object": "a map",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
_URL = "an address, as in https://git.example.org/clusters.git"
_DURATION = "a duration, as in 30s, 15m, 2h or 7d"
# By key: fields whose type does not say what they look like.
_FORMS = {
    **dict.fromkeys(("charts", "heartbeat", "http", "https", "issuer", "manifests", "mattermost", "url"), _URL),
    **dict.fromkeys(("after", "duration", "retention"), _DURATION),
    "address": "host:port, as in 10.0.0.10:6443",
    "branch": "the name of a branch, as in main",
    "code": "a finding's code, as in GEN-POD-001",
    "hostDir": "an absolute path, as in /mnt/scratch",
    "images": "a registry and a path in it, as in registry.example.org/mirror",
    "kernel": 'a version of the kernel, as in "6.8"',
    "mac": "a MAC address in small letters, as in 0c:42:a1:00:00:01",
    "resource": "a name of letters, digits and _, as in hca_shared_devices_a",
    "path": "an absolute path, as in /exports/data",
    "share": "an absolute path, as in /exports/data",
    "version": 'a whole version, as in "1.35.3"',
}
_LABEL = "the value of a Kubernetes label"
_MORE = {
    _LABEL: f"{_LABEL}: letters, digits and -_. between them, up to 63 characters",
    "an S3 bucket name": "an S3 bucket name: 3 to 63 small letters, digits and hyphens",
}
_PREFIXES: dict[type, int] = {IPv4Network: 32, AddressRange: 32, IPv6Network: 128}


def examples() -> list[str]:
    """Return the examples that messages give: a text of nearly every form that there is."""
    told = [*_FORMS.values(), *(about for _, about in FORMATS.values())]
    return [found.strip('",') for about in told for found in re.findall(r"(?:as in|or) (\S+)", about)]


def named(at: Path) -> str:
    """Return a path as people write it: `nodes[3].address`; the whole file is `the file`."""
    text = dotted([step if isinstance(step, int) else short(step) for step in at])
    return text.removeprefix("spec.") or "the file"


def short(value: Any) -> str:
    """Return a value as text, cut off where it is long."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def either(words: Any) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *others, last = map(str, words)
    return f"{', '.join(others)} or {last}" if others else last


def kinds(names: list[str]) -> str:
    """Name the schema's types: `text or a whole number`."""
    return either(_KINDS[name] for name in names)


def unquoted(raw: str, value: float) -> str:
    """Say what YAML made of something that was to be text, written as `raw`; `value` is a number or truth value."""
    if isinstance(value, bool):
        what = "a truth value"
    else:
        what = "a number" if raw == str(value) else f"the number {short(value)}"
    return f"; without quotes YAML reads {short(raw)} as {what}"


def of_kind(value: Any) -> str:
    """Say what a value is; of a number or truth value the value itself."""
    kinds: dict[type, str] = {str: "text", list: "a list", dict: "a map"}
    return kinds.get(type(value)) or short(json.dumps(value))


def form(at: Path, schema: dict[str, Any]) -> str:
    """Say what the text at `at` must look like; empty where any text will do."""
    names = [step for step in at if isinstance(step, str)]
    about: str = schema.get("description", "")
    if names and (about.startswith("as in") or (not about and "pattern" in schema)):
        return _FORMS[names[-1]]
    return _MORE.get(about, about)


def holds_ipv6(text: str) -> bool:
    """Tell whether a text is an IPv6 address or network, or a list with one as kubeadm takes it for two families."""
    return any(map(_is_ipv6, text.split(",")))


def _is_ipv6(text: str) -> bool:
    try:
        return IPv6Interface(text.strip()) is not None
    except ValueError:
        return False


def reason(kind: type, text: str, error: ValueError) -> str:
    """Say why a text cannot be read as one of the types with a form of their own; `error` is the parser's complaint."""
    own, (_, prefix) = str(error), text.rpartition("/")[1:]
    if kind in {IPv4Address, IPv4Network} and holds_ipv6(text):
        return f"`{short(text)}` {'holds' if ',' in text else 'is'} IPv6, and this key is for IPv4 alone"
    if own.startswith("`") or "host bits" in own:
        return own
    most = _PREFIXES.get(kind)
    if most and "/" in text and not (len(prefix) <= 3 and prefix.isdecimal() and int(prefix) <= most):
        return f"`{short(prefix)}` is not a prefix length from 0 to {most}"
    what = FORMATS[kind][1].partition(", as in")[0]
    why = ": leading zeros are not allowed" if "eading zeros" in own else ""
    return f"`{short(text)}` is not {what}{why}"
