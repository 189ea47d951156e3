"""What the README says is not there yet is not there: each bullet has a proof, which fails once the thing comes.

A proof is the code of a rule that refuses it, a name that nothing has, a Secret that no command gives other values, or
in italics why a component is absent, in that component's own words.
"""

import re
from collections.abc import Iterator

import pytest
from test_docs import ROOT, WORDS, section
from test_named_keys import KEYS

from generator.cli import VERBS
from generator.cli.explain import explanations
from generator.components import CATALOGUE, compose
from generator.components.acceptance.pools import TESTS
from generator.repository.cluster_files import load

OPERATIONS: dict[str, dict[str, str]] = WORDS["operations"]
COMPONENTS = [one for each in load(ROOT) if each.cluster for one in compose(each.cluster)]
TURNED = {f"{it.namespace}/{it.name}": it.turn is not None for one in COMPONENTS for it in one.secrets}
ABSENCES = {one.absence for one in CATALOGUE.values() if one.absence}
NAMES = {*VERBS, *CATALOGUE, *OPERATIONS, *KEYS, *TESTS}


def bullets() -> list[str]:
    text = section(ROOT / "README.md", "Not there yet")
    return [" ".join(one.split()) for one in re.findall(r"^- (.*?)(?=^- |\n\n|\Z)", text, re.MULTILINE | re.DOTALL)]


def stems(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower())}


def there(bullet: str) -> Iterator[str]:
    """Yield what a bullet names and gen has: by its name, or by the words of an operation's name."""
    for name in re.findall(r"`([^`]+)`", bullet):
        if TURNED.get(name) or name.removeprefix("gen ").split()[0] in NAMES:
            yield name
    operations = (one for one in OPERATIONS if "-" in one)
    yield from (one for one in operations if stems(one) <= stems(re.sub(r"`[^`]+`", "", bullet)))


def proofs(bullet: str) -> list[str]:
    """Return what shows that something is not there."""
    codes = [code for code in re.findall(r"GEN-[A-Z]+-\d{3}", bullet) if code in explanations()]
    names = [name for name in re.findall(r"`([^`]+)`", bullet) if "/" not in name or name in TURNED]
    return [*codes, *names, *(why for why in re.findall(r"\*([^*]+)\*", bullet) if why in ABSENCES)]


@pytest.mark.parametrize("bullet", bullets())
def test_what_is_not_there_yet_is_not_there(bullet: str) -> None:
    assert [*there(bullet)] == []


@pytest.mark.parametrize("bullet", bullets())
def test_whoever_builds_it_is_told_to_take_its_bullet_out(bullet: str) -> None:
    assert proofs(bullet), "name the rule that refuses it, or what there would be"
    assert set(re.findall(r"GEN-[A-Z]+-\d{3}", bullet)) <= set(explanations())


@pytest.mark.parametrize(
    "bullet",
    [
        "Upgrades of drivers on running clusters, by hand.",
        "Turns of Secrets: there is no `gen secret rotate`.",
        "Failover of addresses: there is no test `vip`.",
        "Services with Calico: there is no `networks.exposure`.",
        "Envoys with Calico: there is no `envoy-gateway`.",
        "Other values for `minio/minio-root`.",
    ],
)
def test_what_came_would_be_found(bullet: str) -> None:
    assert [*there(bullet)]


@pytest.mark.parametrize(
    "bullet", ["Targets of backups other than MinIO.", "Exposure with Calico (GEN-NET-050).", "Jobs *where it rains*."]
)
def test_what_nothing_proves_would_be_found(bullet: str) -> None:
    assert proofs(bullet) == []
