"""The repository that Argo CD syncs a twin from, and its flags. With Argo CD: tests/real/test_rehearse_argocd.py."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from argocd_states import URL, built, entry, thing
from msgspec import structs
from reference import load

from generator.build.kinds import Kinds
from generator.build.objects import ROOT, Object
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.rehearsal.argocd.programs import flags
from generator.rehearsal.argocd.publishing import Published, contents, why_left_out

HERE = "git://127.9.0.2/clusters.git"
PROJECT = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "platform"},
    "spec": {"sourceRepos": [URL, "https://charts.example.org"], "destinations": []},
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "applications.argoproj.io"},
    "spec": {
        "group": "argoproj.io",
        "names": {"kind": "Application"},
        "versions": [{"name": "v1alpha1", "served": True}],
    },
}
PROJECTS: Any = CRD | {"spec": CRD["spec"] | {"names": {"kind": "AppProject"}}}  # type: ignore[operator]
DEFINITIONS = (Object(CRD, "one", ""), Object(PROJECTS, "one", ""))


@pytest.fixture
def cluster() -> Cluster:
    found = load("ml50")
    return structs.replace(found, repository=structs.replace(found.repository, url=URL))


def test_each_application_finds_its_objects_in_a_folder_of_its_own(cluster: Cluster) -> None:
    found = contents(built(*DEFINITIONS, entry("one"), entry("two"), thing("a")), cluster, HERE)
    assert [one["metadata"]["name"] for one in found["overlays/ml50/one"] if one["kind"] == "Deployment"] == ["a"]
    assert found["overlays/ml50/two"] == []
    assert [one["metadata"]["name"] for one in found["clusters/ml50/argocd"]] == ["one", "two"]


def test_applications_and_projects_name_the_repository_of_the_twin_and_are_else_as_they_were(cluster: Cluster) -> None:
    found = contents(built(*DEFINITIONS, entry("one"), Object(PROJECT, ROOT, "")), cluster, HERE)
    application, project = found["clusters/ml50/argocd"]
    source = {"repoURL": HERE, "targetRevision": "refs/heads/main", "path": "overlays/ml50/one"}
    assert application["spec"] == {"project": "platform", "source": source, "syncPolicy": {"retry": 1}}
    assert project["spec"] == {"sourceRepos": [HERE, "https://charts.example.org"], "destinations": []}
    assert entry("one").spec["source"]["repoURL"] == URL


def test_what_is_elsewhere_and_what_cannot_be_played_is_left_out(cluster: Cluster) -> None:
    hook: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}
    foreign: dict[str, Any] = {"apiVersion": "example.org/v1", "kind": "Odd", "metadata": {"name": "x"}}
    other = entry("other", url="https://elsewhere.example.org/x.git")
    some = built(*DEFINITIONS, entry("one"), other, Object(hook, "one", ""), Object(foreign, "one", ""))
    found = contents(some, cluster, HERE)
    assert [one["metadata"]["name"] for one in found["clusters/ml50/argocd"]] == ["one"]
    assert [one["kind"] for one in found["overlays/ml50/one"]] == ["CustomResourceDefinition"] * 2
    kinds = Kinds.of(some)
    assert why_left_out(other, kinds, cluster) == "it takes its objects from another repository"
    assert why_left_out(entry("one"), kinds, cluster) == ""


def test_the_same_content_is_the_same_commit_and_is_served(tmp_path: Path, cluster: Cluster) -> None:
    """A twin that was kept names the commit: the repository made anew for it must have that very one."""
    some, other = (
        built(*DEFINITIONS, entry("one"), thing("a")),
        built(*DEFINITIONS, entry("one"), thing("a", replicas=2)),
    )
    first, second = Published(tmp_path / "x", 9), Published(tmp_path / "y", 9)
    assert first.publish(some, cluster) == second.publish(some, cluster)
    assert first.publish(other, cluster) != second.publish(some, cluster)
    with first.serving():
        clone = tmp_path / "clone"
        subprocess.run(["git", "clone", "--quiet", first.url, str(clone)], check=True)
    dated = ["git", "-C", str(clone), "log", "-1", "--format=%aI %cI"]
    said = subprocess.run(dated, check=True, capture_output=True, text=True).stdout
    assert said == "2026-01-01T00:00:00+00:00 2026-01-01T00:00:00+00:00\n"
    (found,) = json.loads((clone / "overlays/ml50/one/objects.json").read_bytes())["items"][-1:]
    assert found["spec"] == {"replicas": 2}


def test_settings_become_flags_and_one_that_nobody_knows_is_refused() -> None:
    known = {"controller.diff.server.side": "true", "redis.server": "somewhere:6379"}
    assert flags(known) == ["--server-side-diff-enabled"]
    with pytest.raises(UsageError, match=r"controller\.sharding\.algorithm: a rehearsal does not know"):
        flags(known | {"controller.sharding.algorithm": "legacy"})
    with pytest.raises(UsageError, match=r"controller\.diff\.server\.side"):
        flags({"controller.diff.server.side": "false"})
