"""The catalogue of versions: whole, pinned, and known to the checks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from generator.components import CATALOGUE, compose
from generator.components.component import Chart
from generator.components.definition import Version, Versions
from generator.model.cluster import Cluster, ComponentSettings

SHARED = Path(__file__).parent.parent.parent.parent / "shared" / "upstream"
NUMBERED = re.compile(r"v?\d+\.\d+\.\d+|RELEASE\.\d{4}(-\d\d){2}T(\d\d-){2}\d\dZ|[1-9]\d*\.\d+")
TAGGED = re.compile(r"[a-z0-9.-]+(?::\d+)?(/[a-z0-9._-]+)+:[\w.-]+(@sha256:[0-9a-f]{64})?")


def entries() -> Iterator[tuple[str, Version]]:
    return ((name, version) for name, one in CATALOGUE.items() for version in one.known)


def test_a_component_has_each_version_once() -> None:
    for name, one in CATALOGUE.items():
        assert one.versions is None or (one.versions.component == name and one.known), name
        assert len({each.version for each in one.known}) == len(one.known), name


@pytest.mark.parametrize(("name", "version"), [*entries()], ids=lambda each: each if isinstance(each, str) else "")
def test_everything_is_pinned(name: str, version: Version) -> None:
    assert NUMBERED.match(version.version), name
    for chart in version.charts:
        assert re.match(r"(https|oci)://", chart.repository)
        assert NUMBERED.match(chart.version)
    for url in version.manifests:
        # A file, not a folder that Kustomize would have to clone.
        assert re.fullmatch(r"https://[^?]+/(v|cluster-autoscaler-)\d+\.\d+\.\d+/[^?]+\.yaml", url), url
    for image in version.images.values():
        assert TAGGED.fullmatch(image), image
        assert not image.endswith(":latest")


@pytest.mark.parametrize(("name", "version"), [*entries()], ids=lambda each: each if isinstance(each, str) else "")
def test_the_range_of_kubernetes_is_one_and_holds_the_default_version(name: str, version: Version) -> None:
    first, last = version.kubernetes
    versions = CATALOGUE[name].versions
    assert versions
    if versions.by_minor:
        assert first == last, name
        assert 35 in {one.kubernetes[0] for one in versions.known}
    else:
        assert first <= 35 <= last, name


def test_a_chart_is_found_by_its_name() -> None:
    chart = Chart(name="a", repository="https://a", version="1.0.0")
    version = Version(version="1.0.0", charts=(chart, structs.replace(chart, name="b")))
    assert version.chart("b").name == "b"


def test_a_cluster_uses_the_default_unless_it_names_a_known_one(ml50: Cluster) -> None:
    versions = Versions("x", (Version(version="2.0.0"), Version(version="1.0.0")))

    def used(version: str | None) -> str:
        cluster = structs.replace(ml50, components={"x": ComponentSettings(version=version)})
        return versions.of(cluster).version

    assert (used(None), used("1.0.0"), used("2.0.0"), used("3.0.0")) == ("2.0.0", "1.0.0", "2.0.0", "2.0.0")


def test_components_use_what_the_catalogue_says(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        for component in compose(cluster):
            if known := next(iter(CATALOGUE[component.name].known), None):
                assert component.version == known.version
                assert {release.chart for release in component.releases} <= set(known.charts)
                assert set(component.manifests) <= set(known.manifests)


def test_what_an_entry_was_checked_against_is_there() -> None:
    if not SHARED.is_dir():
        pytest.skip("no ../shared/upstream: CRDs and chart values are not here")
    missing = [(name, each) for name, version in entries() for each in version.schemas if not (SHARED / each).is_dir()]
    assert missing == []


@pytest.mark.parametrize(("name", "wanted", "there"), [
    ("kueue", "v0.18.6", "oci://registry.k8s.io/kueue/charts/kueue:0.18.6"),
    ("calico", "v3.32.7-rc.1", "https://docs.tigera.io/calico/charts/tigera-operator:v3.32.7-rc.1"),
    ("argo-cd", "v3.5.1", "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.1/manifests/install.yaml"),
    ("argo-workflows", "v4.0.16", "quay.io/argoproj/argoexec:v4.0.16-nonroot"),
])  # fmt: skip
def test_a_version_like_a_known_one_is_fetched_like_it(name: str, wanted: str, there: str) -> None:
    versions = CATALOGUE[name].versions
    found = versions.named(wanted) if versions else None
    assert found
    charts = [f"{chart.repository}/{chart.name}:{chart.version}" for chart in found.charts]
    assert there in {*charts, *found.manifests, *found.images.values()}
    assert (found.version, found.schemas, found.proven) == (wanted, (), "")


@pytest.mark.parametrize(("name", "wanted"), [
    ("kueue", "0.18.6"), ("cilium", "v1.20.6"), ("cilium", "2.0.0"), ("cilium", "1.20.6/../../x"), ("cilium", "1.20"),
    ("minio", "RELEASE.2026-10-16T00-00-00Z"), ("ceph-cluster", "v20.2.5"), ("cilium", "1.20.6\n"),
])  # fmt: skip
def test_a_version_that_nothing_can_judge_or_fetch_is_none(name: str, wanted: str) -> None:
    versions = CATALOGUE[name].versions
    assert versions
    assert versions.named(wanted) is None
