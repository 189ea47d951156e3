"""The software bill of materials is what CycloneDX and the package URL specification call valid."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from msgspec import structs
from packageurl import PackageURL
from referencing import Registry, Resource

from generator.upstream.image_exports import purl, sbom
from generator.upstream.image_list import Image, Use

DIGEST = f"sha256:{'a' * 64}"
USE = Use(cluster="c", component="zabbix", file="f", applied="postgres:16")
PINNED = Image(name="docker.io/library/postgres:16.10", digest=DIGEST, uses=(USE, USE), size=7)
PLAIN = Image(name="mirror.example.org:5000/a/odd-1.x:v1.y", uses=(USE, structs.replace(USE, component="minio")))
BARE = Image(name="quay.io/a/b", digest=DIGEST, uses=(USE,))


@pytest.fixture(scope="module")
def validator() -> Any:
    folder = files("cyclonedx.schema") / "_res"
    texts = {
        name: json.loads((folder / name).read_text())
        for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    }
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_text())
    base = schema["$id"].rpartition("/")[0]
    known: Registry[Any] = Registry().with_resources(
        [(f"{base}/{name}", Resource.from_contents(text)) for name, text in texts.items()]
    )
    return jsonschema.Draft7Validator(schema, registry=known, format_checker=jsonschema.FormatChecker())


def test_it_is_valid(validator: Any) -> None:
    for time in ("", "2026-11-21T08:00:00+00:00"):
        validator.validate(sbom("ml50", [PINNED, PLAIN, BARE], timestamp=time))


def test_the_schema_finds_what_is_wrong(validator: Any) -> None:
    document = sbom("ml50", [PINNED])
    for change in ({"type": "image"}, {"purl": 1}, {"hashes": [{"alg": "SHA-256", "content": "x"}]}, {"unknown": 1}):
        broken = {**document, "components": [{**document["components"][0], **change}]}
        assert not validator.is_valid(broken), change


def test_the_same_images_give_the_same_bytes_without_a_time() -> None:
    one, two = (json.dumps(sbom("ml50", [PINNED, PLAIN])) for _ in range(2))
    assert one == two
    assert "timestamp" not in one
    assert "serialNumber" not in one


@pytest.mark.parametrize("image", [PINNED, PLAIN, BARE])
def test_a_package_url_reads_as_what_it_was_made_of(image: Image) -> None:
    read = PackageURL.from_string(purl(image))
    name, _, tag = image.name.rpartition(":") if image is not BARE else (image.name, "", "")
    assert (read.type, read.name, read.version or "") == ("oci", name.rpartition("/")[2], image.digest)
    qualifiers: dict[str, str] = dict(read.qualifiers)
    assert qualifiers == {"repository_url": name, **({"tag": tag} if tag else {})}


def test_a_package_url_is_spelt_as_its_specification_says() -> None:
    expected = f"pkg:oci/postgres@sha256%3A{'a' * 64}?repository_url=docker.io/library/postgres&tag=16.10"
    assert purl(PINNED) == expected


def test_who_wants_it_and_its_size_are_there() -> None:
    (component,) = sbom("ml50", [PINNED])["components"]
    assert component["name"] == "docker.io/library/postgres"
    assert component["version"] == "16.10"
    assert component["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert component["properties"] == [
        {"name": "gen:component", "value": "zabbix"},
        {"name": "gen:size", "value": "7"},
    ]
    (dependency,) = sbom("ml50", [PINNED])["dependencies"]
    assert dependency["dependsOn"] == [component["bom-ref"]]
