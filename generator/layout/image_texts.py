"""Images within a text: arguments, variables, files in ConfigMaps. What counts as one there, and putting another in its
place.
"""

import re
from collections.abc import Iterator

from generator.layout.image_references import DIGEST, HOST, NAME, WORD, has_tag_or_digest

_TAG = r":(?P<tag>[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_])?)"
# Not behind a scheme, a path or a variable; not before more of a path or a template.
_BEFORE, _AFTER = r"(?<![\w./:@%$}-])", r"(?![\w/@{$-]|[.:][\w/])"
_TOKEN = (
    rf"{_BEFORE}(?P<name>(?:{HOST}|localhost(?::\d+)?)(?:/{WORD})+)"
    rf"(?:{_TAG}(?:{DIGEST})?|@(?P<only>sha256:[0-9a-f]{{64}})){_AFTER}"
)
# `image: postgres:16` in a file within a ConfigMap, `--image=postgres:16`: no host, but the key says what it is.
_KEYED = (
    r"""[iI]mage["']?(?:\s*:\s+|\s*=\s*|\s+)["']?"""
    rf"(?P<image>{NAME}:[A-Za-z0-9_][\w.-]*(?:@sha256:[0-9a-f]{{64}})?){_AFTER}"
)
KEY = (
    r"""(?:(?:[iI]mage|IMAGE)\\?["']?\s*:(?:[ \t]+\\?["']?|\\?["'])"""
    r"""|(?:IMAGE=|(?<![\w-])-[\w-]*[iI]mage(?:=|[ \t]+))["']?)"""
)
"""What stands before an image without a tag and says that it is one: `image: `, `--image=`, `X_IMAGE=`."""
_END = r"""(?=[\s"',;)}\]\\]|$)"""
_UNTAGGED = rf"{KEY}(?P<image>{NAME}){_END}"
# Only a file with containers tells of a single word behind a key that it is an image.
_CONTAINERS = r"""ontainers\\?["']?\s*:"""
_FILES = (".png", ".jpg", ".jpeg", ".svg", ".gif", ".ico", ".webp", ".img", ".iso", ".qcow2", ".raw")
# What looks alike: taints, labels and resources, API kinds.
_WORDS = {"true", "false", "null", "str", "string"}
_EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}
_DOMAIN = r"(?!registry\.)(?:.+\.)?(?:kubernetes\.io|k8s\.io|x-k8s\.io|nvidia\.com|amd\.com|intel\.com)"
_KIND = r"v\d+(?:(?:alpha|beta)\d+)?"


def is_image_key(name: str) -> bool:
    """Tell whether a flag or variable of that name holds an image."""
    return name.lower().endswith("image")


def may_be_image(text: str) -> bool:
    """Tell whether what such a flag or variable holds may be one: a single word may be anything, and pictures and disks
    are called images too.
    """
    return (":" in text or "/" in text) and not text.lower().endswith(_FILES)


def images_in(text: str) -> list[str]:
    """Return the images that stand somewhere in a text, each once, as they are spelt."""
    found: dict[str, None] = {}
    if "/" in text and (":" in text or "@" in text):
        # None goes beyond its line, and few lines of a program or a dashboard may hold one.
        lines = (line for line in text.split("\n") if "/" in line and (":" in line or "@" in line))
        matches = (match for line in lines for match in re.finditer(_TOKEN, line))
        found |= dict.fromkeys(match[0] for match in matches if _is_image(match))
    if "mage" in text and ":" in text:
        found |= dict.fromkeys(match["image"] for match in re.finditer(_KEYED, text))
    if "mage" in text or "MAGE" in text:
        found |= dict.fromkeys(_untagged(text))
    return list(found)


def _is_image(match: re.Match[str]) -> bool:
    host, _, rest = match["name"].partition("/")
    if match["digest"] or match["only"]:
        return True
    tag = match["tag"]
    return not (tag in _EFFECTS or re.fullmatch(_DOMAIN, host) or (re.fullmatch(_KIND, rest) and tag[0].isupper()))


def _untagged(text: str) -> Iterator[str]:
    pod = re.search(_CONTAINERS, text)
    for name in (match["image"] for match in re.finditer(_UNTAGGED, text)):
        if may_be_image(name) or (pod and "/" not in name and name not in _WORDS):
            yield name


def replace_image(text: str, name: str, new: str) -> str:
    """Return a text with another image wherever one stands; without a tag or digest it is one only behind its key."""
    before, after = (_BEFORE, _AFTER) if has_tag_or_digest(name) else (KEY, _END)
    # Nothing in a name is special in a replacement.
    return re.sub(f"({before}){re.escape(name)}{after}", rf"\g<1>{new}", text)
