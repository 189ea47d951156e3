"""References of images (`registry/path:tag@digest`) as text: what is one, its parts, its full name, and how it is
named when it comes from a mirror.
"""

import re
from collections.abc import Mapping

from generator.model.mirror import at_mirror, is_below

WORD = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
HOST = r"(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?|[a-z0-9-]+(?=:\d))(?::\d+)?"
DIGEST = r"@(?P<digest>sha256:[0-9a-f]{64})"
# As text: `re` compiles each when it is first used, and most clusters have no use for them.
NAME = rf"(?:(?:{HOST}|localhost)/)?{WORD}(?:/{WORD})*"
REFERENCE = rf"(?P<name>{NAME})(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:{DIGEST})?"


def is_reference(text: str) -> bool:
    """Tell whether a text is the name of an image, whole; registries are written in lower case, digests are SHA-256."""
    return re.fullmatch(REFERENCE, text) is not None


def has_tag_or_digest(reference: str) -> bool:
    """Tell whether a reference says which version of the image it means."""
    return ":" in reference.rpartition("/")[2]


def split(reference: str) -> tuple[str, str, str]:
    """Return name, tag and digest; the tag is `latest` where there is neither."""
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{head}{slash}{last}", tag or ("" if digest else "latest"), digest


def normalised(reference: str) -> str:
    """Return a reference with its registry and a tag or digest: `postgres` is `docker.io/library/postgres:latest`."""
    name, tag, digest = split(reference)
    return f"{with_registry(name)}{f':{tag}' if tag or not digest else ''}{f'@{digest}' if digest else ''}"


def with_registry(name: str) -> str:
    """Return a name as containerd completes it."""
    host, slash, rest = name.partition("/")
    if _has_host(name):
        return with_registry(rest) if host in {"docker.io", "index.docker.io"} else name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _has_host(name: str) -> bool:
    host, slash, _ = name.partition("/")
    return bool(slash) and ("." in host or ":" in host or host == "localhost")


def is_of_site(reference: str, mirror: str | None) -> bool:
    """Tell whether an image is the site's own: it lies on the mirror, and not below a registry that it is copied from.
    Its first folder is then no host.
    """
    return is_below(reference, mirror) and not _has_host(reference.removeprefix(f"{mirror}/"))


def upstream_name(reference: str, mirror: str | None) -> str:
    """Return the normalised reference as it is without the mirror; the site's own image has no other name."""
    copied = is_below(reference, mirror) and not is_of_site(reference, mirror)
    return normalised(reference.removeprefix(f"{mirror}/") if copied else reference)


def rewrite(reference: str, mirror: str | None, digests: Mapping[str, str]) -> str:
    """Return a reference as it is applied: below the mirror, and with its digest where one is locked. One that is there
    already stays; without a mirror and a digest it stays as it is spelt. So does the site's own, and one of a registry
    with a port. Without a tag it gets none: whoever reads it may add one.
    """
    image = upstream_name(reference, mirror)
    digest = "" if "@" in image else digests.get(image, "")
    pinned = f"@{digest}" if digest else ""
    tagged = image if pinned or has_tag_or_digest(reference) else split(image)[0]
    moved = at_mirror(tagged, mirror)
    if moved != tagged:
        return f"{moved}{pinned}"
    return f"{reference if has_tag_or_digest(reference) else image}{pinned}" if pinned else reference
