"""A component of the user's own is a component like gen's, and may write what the cluster file says and no more."""

from typing import Any

import pytest
import yaml
from msgspec import ValidationError, convert, structs
from reference import load

from generator.components import catalogue, compose
from generator.components.common import SYNC_WAVE as WAVE
from generator.components.component import Component
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.extras import Extra, ExtraChart, ExtraSecret
from generator.model.gitops import Window

ML50 = load("ml50")
CHART = ExtraChart(name="loki", repository="oci://ghcr.io/grafana/helm-charts", version="6.49.0")
ROLE = "rbac.authorization.k8s.io/ClusterRole"
LOKI = Extra(
    namespace="logs",
    tier="gitops",
    chart=CHART,
    values={"b": 1, "a": 2},
    needs=("ceph-cluster",),
    kinds=("example.org/Thing", ROLE),
    reach=("elsewhere",),
    secrets=(ExtraSecret(name="store", keys=("access",)), ExtraSecret(name="own", keys=("key",), source="in-cluster")),
)


def having(**extras: Extra) -> Cluster:
    return structs.replace(ML50, extras={name.replace("_", "-"): one for name, one in extras.items()})


def made(cluster: Cluster, name: str = "loki") -> Component:
    return next(one for one in compose(cluster) if one.name == name)


def document(cluster: Cluster, path: str) -> Any:
    return yaml.load(lay_out(cluster).files[path], yaml.CSafeLoader)


def project(cluster: Cluster, name: str = "extra-loki") -> Any:
    return document(cluster, f"clusters/ml50/argocd/appproject-{name}.yaml")["spec"]


def test_its_chart_gets_the_values_of_the_file() -> None:
    component = made(having(loki=LOKI))
    (release,) = component.releases
    assert (release.name, release.namespace, release.values) == ("loki", "logs", {"a": 2, "b": 1})
    assert component.version == "6.49.0"


def test_it_waits_for_what_it_needs_and_for_the_pod_network() -> None:
    cluster = having(loki=LOKI, alloy=Extra(namespace="logs", needs=("loki",)))
    assert made(cluster).needs == ("cilium", "ceph-cluster")
    files = lay_out(cluster).files
    waves = {
        name: int(
            yaml.load(files[f"clusters/ml50/argocd/application-{name}.yaml"], yaml.CSafeLoader)["metadata"][
                "annotations"
            ]["argocd.argoproj.io/sync-wave"]
        )
        for name in ("ceph-cluster", "loki", "alloy")
    }
    assert waves["ceph-cluster"] < waves["loki"] < waves["alloy"]


def test_what_it_needs_and_is_not_there_holds_nothing_up() -> None:
    """A rule reports it; composing a cluster must not fail."""
    assert made(having(loki=structs.replace(LOKI, needs=("nobody",)))).needs == ("cilium",)


def test_its_project_allows_what_the_file_states_and_nothing_that_its_tier_may_write() -> None:
    cluster = having(loki=LOKI)
    allowed = project(cluster)
    assert [one["namespace"] for one in allowed["destinations"]] == ["elsewhere", "logs"]
    kinds = [f"{one['group']}/{one['kind']}" for one in allowed["clusterResourceWhitelist"]]
    assert kinds == ["example.org/Thing", ROLE]
    assert document(cluster, "clusters/ml50/argocd/application-loki.yaml")["spec"]["project"] == "extra-loki"
    assert project(cluster, "gitops") == project(ML50, "gitops")


def test_its_project_comes_before_it_and_is_the_last_to_go() -> None:
    """Argo CD prunes against the order of the waves."""
    waves = [
        int(document(having(loki=LOKI), f"clusters/ml50/argocd/{file}.yaml")["metadata"]["annotations"][WAVE])
        for file in ("appproject-extra-loki", "application-loki")
    ]
    assert waves[0] < waves[1]


def test_windows_of_its_tier_and_its_own_are_its() -> None:
    def windows(name: str) -> list[Any]:
        always = Window(kind="deny", schedule="0 0 * * *", duration="1h")
        mine = [structs.replace(always, tiers=("gitops",)), structs.replace(always, components=("loki", "minio"))]
        gitops = structs.replace(ML50.gitops, windows=tuple(mine))
        found = project(structs.replace(having(loki=LOKI), gitops=gitops), name)
        return [one["applications"] for one in found.get("syncWindows", ())]

    assert windows("extra-loki") == [["*"], ["loki"]]
    assert windows("gitops") == [["*"]]
    assert windows("storage") == [["minio"]]


def test_before_it_goes_argo_cd_may_still_delete_what_it_wrote() -> None:
    leaving = having(loki=structs.replace(LOKI, installed=False))
    assert "loki" not in {one.name for one in compose(leaving)}
    before, after = project(having(loki=LOKI)), project(leaving)
    assert before == after
    assert "clusters/ml50/argocd/application-loki.yaml" not in lay_out(leaving).files


def test_a_teams_project_does_not_reach_its_namespace() -> None:
    spaces = [one["namespace"] for one in project(having(loki=LOKI), "tenants")["destinations"]]
    assert "!logs" in spaces


def test_its_namespace_is_made_with_its_pod_security() -> None:
    cluster = having(loki=structs.replace(LOKI, security="baseline"))
    namespace = document(cluster, "overlays/ml50/namespaces/namespace-logs.yaml")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


def test_a_namespace_is_not_kubernetes_own_for_its_first_letters() -> None:
    cluster = having(tools=Extra(namespace="kube-mine"))
    namespace = document(cluster, "overlays/ml50/namespaces/namespace-kube-mine.yaml")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("space", ["kube-system", "kube-public", "kube-node-lease", "default", "minio"])
def test_a_namespace_of_somebody_else_stays_as_it_is(space: str) -> None:
    path = f"overlays/ml50/namespaces/namespace-{space}.yaml"
    before = lay_out(ML50).files.get(path)
    assert lay_out(having(tools=Extra(namespace=space, security="privileged"))).files.get(path) == before


def test_a_folder_is_built_with_its_overlay_and_seen_by_argo_cd() -> None:
    cluster = having(tools=Extra(namespace="tools", folder="apps/tools"))
    assert "../../../apps/tools" in document(cluster, "overlays/ml50/tools/kustomization.yaml")["resources"]
    application = document(cluster, "clusters/ml50/argocd/application-tools.yaml")
    paths = application["metadata"]["annotations"]["argocd.argoproj.io/manifest-generate-paths"]
    assert "/apps" in paths.split(";")


def test_what_brings_nothing_is_what_stands_in_its_custom_folder() -> None:
    cluster = having(tools=Extra(namespace="tools"))
    assert document(cluster, "overlays/ml50/tools/kustomization.yaml") == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../../base/tools/own"],
        "components": ["custom"],
    }
    assert "overlays/ml50/tools/custom/kustomization.yaml" in lay_out(cluster).once


def test_its_secrets_are_declared_and_never_taken_from_its_chart() -> None:
    component = made(having(loki=LOKI))
    assert component.releases[0].secrets == {"store": "drop", "own": "placeholder"}
    declared = document(having(loki=LOKI), "clusters/ml50/bootstrap/secrets.yaml")["secrets"]
    mine = [(one["name"], one["namespace"], one["source"]) for one in declared if one["component"] == "loki"]
    assert mine == [("store", "logs", "given"), ("own", "logs", "in-cluster")]


def test_a_component_of_gen_cannot_be_replaced() -> None:
    cluster = having(minio=Extra(namespace="mine"))
    assert catalogue(cluster)["minio"] is catalogue(ML50)["minio"]
    assert [one.name for one in compose(cluster)].count("minio") == 1


def test_it_may_wait_for_a_person() -> None:
    cluster = having(loki=structs.replace(LOKI, sync="manual"))
    policy = document(cluster, "clusters/ml50/argocd/application-loki.yaml")["spec"]["syncPolicy"]
    assert "automated" not in policy


@pytest.mark.parametrize("key", ["../../x", "a b", "..", ".", ""])
def test_a_key_of_a_secret_is_what_kubernetes_takes(key: str) -> None:
    """Bootstrap names a file by it."""
    with pytest.raises(ValidationError):
        convert({"name": "a", "keys": [key]}, ExtraSecret)
    assert convert({"name": "a", "keys": ["tls.crt"]}, ExtraSecret).keys == ("tls.crt",)
