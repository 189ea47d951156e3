"""The light reading of other clusters finds what the whole one does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from generator.repository import cluster_files
from generator.repository.cluster_files import load
from generator.repository.scaffold import starter

BALANCER = "    loadBalancer: {range: RANGE}\n  # Hardware"


def moved(name: str, second: int) -> str:
    """Return a starter in networks of its own."""
    text = starter(name).decode().replace("10.10.", f"10.{second}.")
    return text.replace("  # Hardware", BALANCER.replace("RANGE", f"10.{second}.0.200-10.{second}.0.220"), 1)


def exposed(text: str, second: int) -> str:
    """Return a cluster with a team's host, the same whoever has it."""
    balancer = f"    loadBalancer: {{range: 10.{second}.0.200-10.{second}.0.220}}\n"
    exposure = f"    exposure: {{domain: apps.example.org, address: 10.{second}.0.210}}\n"
    made = text.replace(balancer, balancer + exposure, 1)
    return made.replace("    - name: research\n", "    - name: research\n      hosts: [api.apps.example.org]\n", 1)


CONFLICTS: dict[str, Callable[[str], str]] = {
    "GEN-FLEET-001": lambda text: text.replace("10.12.0.22}", "10.11.0.22}"),
    "GEN-FLEET-002": lambda text: text.replace("10.12.0.10:6443", "10.11.0.10:6443"),
    "GEN-FLEET-003": lambda text: text.replace("10.12.0.10:6443", "10.11.0.22:6443"),
    "GEN-FLEET-004": lambda text: text.replace("  teams:", "  gitops: {host: argocd.one.example.org}\n  teams:"),
    "GEN-FLEET-004 of a team": lambda text: exposed(text, 12),
    "GEN-FLEET-005": lambda text: text.replace("10.12.0.200-10.12.0.220", "10.11.0.0/24"),
    "GEN-FLEET-007": lambda text: text.replace("git.example.org/platform", "git.example.org/other"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, second in {"one": 11, "two": 12, "three": 13, "four": 14}.items():
        file = tmp_path / "clusters" / name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        text = moved(name, second)
        if name == "one":
            text = exposed(text.replace("  teams:", "  gitops: {host: argocd.one.example.org}\n  teams:"), second)
        file.write_text(text)
    return tmp_path


def codes(root: Path, *wanted: str) -> set[str]:
    return {finding.code for one in load(root, wanted) for finding in one.findings if "FLEET" in finding.code}


@pytest.mark.parametrize("code", CONFLICTS)
@pytest.mark.parametrize("wanted", ["one", "two"])
def test_whoever_is_asked_about_is_told(repository: Path, code: str, wanted: str) -> None:
    assert codes(repository, "one", "two", "three", "four") == codes(repository, wanted) == set()
    file = repository / "clusters/two/cluster.yaml"
    text = file.read_text()
    file.write_text(CONFLICTS[code](text))
    assert file.read_text() != text
    for asked in ((), (wanted,), ("three", wanted)):
        assert code.split(maxsplit=1)[0] in codes(repository, *asked)


def test_clusters_that_have_nothing_in_common_are_not_decoded(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    examine = cluster_files.examine

    def noted(content: bytes, file: str, name: str) -> cluster_files.Loaded:
        read.append(name)
        return examine(content, file, name)

    monkeypatch.setattr(cluster_files, "examine", noted)
    load(repository, ["two"])
    assert read == ["two"]


@pytest.mark.parametrize("form", ['{"range": "10.11.0.0/24"}', "{range : 10.11.0.0/24}"])
def test_a_range_in_another_form_is_read_whole(repository: Path, form: str) -> None:
    file = repository / "clusters/two/cluster.yaml"
    file.write_text(file.read_text().replace("{range: 10.12.0.200-10.12.0.220}", form))
    assert "GEN-FLEET-005" in codes(repository, "one")
