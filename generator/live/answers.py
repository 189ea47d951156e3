"""Whether an answer comes from a Kubernetes API server, and not from a login page, a proxy or another program."""

from collections.abc import Mapping
from typing import Any

from generator.model.fields import sequence

UNKNOWN_PATH = "404 page not found"
"""All that an API server says, as plain text, of a path below which it serves nothing (Go's `http.NotFound`)."""


def foreign(status: int, body: Mapping[str, Any], text: str) -> str:
    """Say what came instead of a Kubernetes object; empty where it may be an API server that answered. `text` is what
    came as it was: when it is overloaded or a service behind it is away, an API server answers in plain text, too.
    """
    if isinstance(body.get("kind"), str) or (status == 200 and isinstance(body.get("gitVersion"), str)):
        return ""  # /version alone has no kind
    if text.lstrip().startswith("<"):
        return f"it answers with a web page (status {status})"
    if 300 <= status < 400:
        return f"it sends us elsewhere (status {status})"
    if status < 300:
        return f"it answers with something that is no Kubernetes object (status {status})"
    if status in {403, 404} and text.strip() != UNKNOWN_PATH:
        return f"it refuses in another way than one (status {status})"
    return ""


def objects(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a list, each of which has a name: an API server behind another one may send `items: null`,
    and what nobody can name, nobody can ask for.
    """
    return [one for one in sequence(page.get("items")) if _named(one)]


def _named(one: object) -> bool:
    metadata = one.get("metadata") if isinstance(one, dict) else None
    return isinstance(metadata, dict) and bool(metadata.get("name")) and isinstance(metadata["name"], str)
