"""Images as other tools read them: what `skopeo sync` copies, and a software bill of materials (CycloneDX 1.6).

Plain data: `cyclonedx-python-lib` would bring six packages and random serial numbers for one document; the tests hold
this to its schema.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from generator import __version__
from generator.layout.image_references import split
from generator.upstream.image_list import Image


def skopeo(found: Iterable[Image]) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return what `skopeo sync --src yaml` reads: tags and digests by registry and repository. Both for a pinned image:
    registries sweep away what has no tag.
    """
    made: dict[str, dict[str, dict[str, list[str]]]] = {}
    for image in found:
        name, tag, digest = split(image.reference)
        host, _, repository = name.partition("/")
        marks = made.setdefault(host, {"images": {}})["images"].setdefault(repository, [])
        marks += [mark for mark in (tag, digest) if mark and mark not in marks]
    return made


def sbom(cluster: str, images: Sequence[Image], *, timestamp: str = "") -> dict[str, Any]:
    """Return the document. The same images give the same bytes: `timestamp` (RFC 3339) only where one is given."""
    components = [_component(image) for image in images]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            **({"timestamp": timestamp} if timestamp else {}),
            "tools": {"components": [{"type": "application", "name": "gen", "version": __version__}]},
            "component": {"type": "platform", "bom-ref": f"cluster/{cluster}", "name": cluster},
        },
        "components": components,
        "dependencies": [
            {"ref": f"cluster/{cluster}", "dependsOn": [component["bom-ref"] for component in components]},
        ],
    }


def _component(image: Image) -> dict[str, Any]:
    name, tag, _ = split(image.reference)
    facts = [("gen:component", component) for component in image.components]
    facts += [("gen:size", str(image.size))] if image.size is not None else []
    return {
        "type": "container",
        "bom-ref": purl(image),
        "name": name,
        "version": tag or image.digest,
        "purl": purl(image),
        **({"hashes": [{"alg": "SHA-256", "content": image.digest.removeprefix("sha256:")}]} if image.digest else {}),
        "properties": [{"name": key, "value": value} for key, value in facts],
    }


def purl(image: Image) -> str:
    """Return the package URL of an image: its version is the digest, where it is known."""
    name, tag, digest = split(image.reference)
    version = f"@{quote(digest, safe='')}" if digest else ""
    where = f"repository_url={quote(name, safe='/')}{f'&tag={quote(tag)}' if tag else ''}"
    return f"pkg:oci/{quote(name.rpartition('/')[2])}{version}?{where}"
